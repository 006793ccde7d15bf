"""Hotwords after recognition: corrections of the token list, for any recognizer.

``parse_hotwords`` reads the user's text, ``HotwordCorrector`` finds the spans that are written
otherwise and the hotwords that stand there already. Tokens are never changed: dropping a span
undoes its correction.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from asr_core.results import Token, WrittenSpan, join_text
from asr_core.text.hotword_context import CommonText, common_text
from asr_core.text.hotword_index import PhraseIndex, Sound, SoundIndex, Text
from asr_core.text.hotword_latin import LatinIndex, Spelling
from asr_core.text.hotword_list import HotwordList, RejectedEntry, parse_hotwords
from asr_core.text.hotword_score import WEIGHTS, Judge, Weights, score
from asr_core.text.pinyin import FUZZY_DEFAULT, FUZZY_PAIRS

__all__ = [
    "FUZZY_DEFAULT",
    "FUZZY_PAIRS",
    "HotwordCorrector",
    "HotwordList",
    "HotwordMatch",
    "RejectedEntry",
    "parse_hotwords",
]

_FORM_ONLY = 20.0
"""Evidence, in nats, for a word whose case, spacing or digits alone are written otherwise."""

_ENGLISH = """
    am an and any are as at be but by can did do for get go had has he her him his how if in
    is it its let may me my no not of off on one or our out see she so the to too two up us
    was we who why will you
"""
"""Little English words: beside other Latin words they are not an acronym of the same letters."""


@dataclass(frozen=True, slots=True)
class HotwordMatch:
    """A place where a hotword belongs.

    Attributes:
        first_token, last_token: inclusive.
        word: what is to be written.
        score: in (0, 1).
    """

    first_token: int
    last_token: int
    word: str
    score: float


class HotwordCorrector:
    """Finds where a hotword of the user was said and something else is written.

    Immutable; safe to share between threads.
    """

    def __init__(
        self,
        words: Sequence[str],
        replacements: Sequence[tuple[str, str]] = (),
        *,
        fuzzy: frozenset[str] = FUZZY_DEFAULT,
        threshold: float = 0.5,
        common: CommonText | None = None,
        weights: Weights = WEIGHTS,
    ) -> None:
        """Args:
        words: as ``parse_hotwords`` gives them.
        replacements: ``(wrong, right)``: written wherever the wrong text stands, case folded.
        fuzzy: names from ``FUZZY_PAIRS``.
        threshold: least score of a correction, in [0, 1]; higher is more careful.
        common: statistic of ordinary text; ``None`` takes the shipped one.
        """
        self._words = tuple(dict.fromkeys(words))
        self._replacements = tuple(replacements)
        self._fuzzy = fuzzy
        self._threshold = threshold
        self._common = common
        self._weights = weights
        self._exact = PhraseIndex(self._words, folded=False)
        self._wrong = PhraseIndex([wrong for wrong, _ in self._replacements], folded=True)
        self._sounds = SoundIndex(self._words, fuzzy)
        self._latin = LatinIndex(self._words)

    @property
    def words(self) -> tuple[str, ...]:
        """The hotwords in the user's order."""
        return self._words

    def spans(self, tokens: Sequence[Token]) -> tuple[WrittenSpan, ...]:
        """What is to be written otherwise, sorted and disjoint.

        Hotwords that stand there as the user wrote them are never touched, replacements win over
        corrections by sound.
        """
        text = Text(tokens, self._fuzzy)
        exact = self._exact_runs(text)
        within = [False] * len(tokens)
        for first, last, _ in exact:
            within[first : last + 1] = [True] * (last + 1 - first)
        spans = [
            WrittenSpan(first, last, self._replacements[number][1], "replacement")
            for first, last, number in self._wrong.find(tokens, text.breaks, within=within)
            if self._replacements[number][1] != _written(tokens, first, last)
        ]
        taken = [(span.first_token, span.last_token) for span in spans]
        spans += [
            WrittenSpan(match.first_token, match.last_token, match.word, "hotword")
            for match in self._choose(text, exact, taken)
        ]
        return tuple(sorted(spans, key=lambda span: span.first_token))

    def spoken(self, tokens: Sequence[Token]) -> tuple[tuple[int, int, str], ...]:
        """Inclusive token ranges where a hotword was recognized as it is written."""
        runs = self._exact_runs(Text(tokens, self._fuzzy))
        return tuple((first, last, self._words[number]) for first, last, number in runs)

    def matches(self, tokens: Sequence[Token]) -> tuple[HotwordMatch, ...]:
        """Every place with its score, below the threshold too; they may overlap."""
        text = Text(tokens, self._fuzzy)
        return tuple(
            HotwordMatch(first, last, self._words[number], likeness)
            for first, last, number, _, likeness in self._candidates(text, [], [])
        )

    def _exact_runs(self, text: Text) -> list[tuple[int, int, int]]:
        runs = self._exact.find(text.tokens, text.breaks)
        return [r for r in runs if _written(text.tokens, r[0], r[1]) == self._words[r[2]]]

    def _choose(
        self, text: Text, exact: list[tuple[int, int, int]], taken: list[tuple[int, int]]
    ) -> list[HotwordMatch]:
        """The disjoint candidates with the largest sum of evidence."""
        found = [c for c in self._candidates(text, exact, taken) if c[4] >= self._threshold]
        found.sort(key=lambda c: (c[1], c[2]))
        ends = [last for _, last, *_ in found]
        best: list[tuple[float, int, int]] = [(0.0, -1, 0)]
        for index, (first, _, _, weight, _) in enumerate(found):
            before = bisect_left(ends, first, 0, index)
            total = best[before][0] + max(weight, 1e-6)
            best.append((total, index, before) if total > best[-1][0] else (best[-1][0], -1, index))
        chosen: list[HotwordMatch] = []
        state = len(found)
        while state:
            _, index, before = best[state]
            if index >= 0:
                first, last, number, _, likeness = found[index]
                chosen.append(HotwordMatch(first, last, self._words[number], likeness))
            state = before
        return chosen

    def _candidates(
        self, text: Text, exact: list[tuple[int, int, int]], taken: list[tuple[int, int]]
    ) -> list[tuple[int, int, int, float, float]]:
        """``(first_token, last_token, word, evidence above the threshold, score)``."""
        free = _Free(text.tokens, exact, taken)
        sounds, forms = [], []
        for sound in self._sounds.find(text):
            first, last, word = sound.first_token, sound.last_token, self._words[sound.word]
            if _written(text.tokens, first, last) == word or not free.allows(first, last, word):
                continue
            if sound.changed:
                sounds.append(sound)
            elif not _is_english(text.tokens, first, last):
                forms.append(sound)
        spellings = [
            s
            for s in self._latin.find(text.tokens, text.breaks)
            if free.is_free(s.first_token, s.last_token)
        ]
        if not sounds and not spellings and not forms:
            return []
        judge = Judge(text, self._words, self._common or common_text(), self._weights)
        found: list[tuple[Sound | Spelling, float]] = [(form, _FORM_ONLY) for form in forms]
        if sounds:
            found += zip(sounds, judge.evidence(sounds), strict=True)
        found += [(spelling, self._spelling_evidence(spelling, judge)) for spelling in spellings]
        return [
            (at.first_token, at.last_token, at.word, evidence, score(evidence))
            for at, evidence in found
        ]

    def _spelling_evidence(self, spelling: Spelling, judge: Judge) -> float:
        common = self._common or common_text()
        if common.is_common_latin(spelling.heard):
            return -20.0
        doubt = judge.doubt(range(spelling.first_token, spelling.last_token + 1))
        return 0.5 * len(spelling.heard) - 3 * spelling.edits + 0.3 + doubt


class _Free:
    """Which runs a correction may cover: no replacement, and no hotword unless it keeps it."""

    def __init__(
        self,
        tokens: Sequence[Token],
        exact: Iterable[tuple[int, int, int]],
        taken: Iterable[tuple[int, int]],
    ) -> None:
        self._tokens = tokens
        self._owner: dict[int, tuple[int, int, bool]] = {}
        for first, last, _ in exact:
            self._owner |= dict.fromkeys(range(first, last + 1), (first, last, True))
        for first, last in taken:
            self._owner |= dict.fromkeys(range(first, last + 1), (first, last, False))

    def is_free(self, first: int, last: int) -> bool:
        return not any(index in self._owner for index in range(first, last + 1))

    def allows(self, first: int, last: int, word: str) -> bool:
        for index in range(first, last + 1):
            owner = self._owner.get(index)
            if owner is None:
                continue
            begin, end, keepable = owner
            if not keepable or begin < first or end > last:
                return False
            before = sum(len(token.text) for token in self._tokens[first:begin])
            kept = "".join(token.text for token in self._tokens[begin : end + 1])
            if word[before : before + len(kept)] != kept:
                return False
        return True


def _written(tokens: Sequence[Token], first: int, last: int) -> str:
    return join_text((token.text, "") for token in tokens[first : last + 1])


def _is_english(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Whether a run is a little English word beside other Latin words."""
    text = tokens[first].text.lower()
    if first != last or text not in _ENGLISH.split():
        return False
    return any(_is_latin(token.text) for token in _beside(tokens, first))


def _beside(tokens: Sequence[Token], index: int) -> Iterator[Token]:
    yield from tokens[max(index - 1, 0) : index]
    yield from tokens[index + 1 : index + 2]


def _is_latin(text: str) -> bool:
    return text[:1].isascii() and text[:1].isalpha()
