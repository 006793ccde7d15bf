"""What is confused with what, and which words would help as hotwords."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from asr_core.evaluation.comparison import Block, Comparison
from asr_core.text.hotword_context import common_text

_LONGEST_PAIR = 8
"""Characters of either side; a longer difference is no confusion of words."""
_CONTEXTS = 3
_CONTEXT_CHARS = 6
_LONGEST_WORD = 8
"""Chinese characters of a suggested word."""
_AROUND = 4
"""Characters beside a difference that may belong to its word."""
_LONGEST_LATIN = 24
_MOST_SUGGESTIONS = 30
_MOST_PAIRS = 200

_NUMERALS = frozenset("零一二三四五六七八九十百千万亿点")
_NO_WORD = frozenset(
    "的了着吗呢吧是在我你您他她它这那和与及或也都就还不没有把被对从到为以个很更最又再让给向跟等呃嗯啊而且但如所之其些么怎哪谁可"
    "要想说去来做看叫请用该将使由于因则只并每各某另已曾正才刚里得地年月日号点分秒元块次儿们"
)
"""Characters that stand alone between words; unknown words do not have them."""


@dataclass(frozen=True, slots=True)
class Context:
    """One place where something was confused, with a few characters around it."""

    before: str
    reference: str
    hypothesis: str
    after: str


@dataclass(frozen=True, slots=True)
class Confusion:
    """A part of the reference that was recognized as something else, with the first places."""

    reference: str
    hypothesis: str
    count: int
    contexts: tuple[Context, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word of the reference to add to the hotwords.

    Attributes:
        word: at least two characters.
        missed: places where it was not recognized.
        total: places where it was said.
    """

    word: str
    missed: int
    total: int


def confusions(comparisons: Iterable[Comparison]) -> tuple[Confusion, ...]:
    """Substituted parts, the most frequent first; at most 200."""
    counts: Counter[tuple[str, str]] = Counter()
    contexts: defaultdict[tuple[str, str], list[Context]] = defaultdict(list)
    for comparison in comparisons:
        said, heard = comparison.reference.text, comparison.hypothesis.text
        for block in comparison.blocks():
            pair = said[block.start : block.end], heard[block.other_start : block.other_end]
            if not all(0 < len(side) <= _LONGEST_PAIR for side in pair):
                continue
            counts[pair] += 1
            if len(contexts[pair]) < _CONTEXTS:
                contexts[pair].append(_context(said, block, pair))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], -len(item[0][0]), item[0]))
    return tuple(
        Confusion(*pair, count, tuple(contexts[pair])) for pair, count in ranked[:_MOST_PAIRS]
    )


def _context(said: str, block: Block, pair: tuple[str, str]) -> Context:
    before = said[max(0, block.start - _CONTEXT_CHARS) : block.start]
    return Context(before, *pair, said[block.end : block.end + _CONTEXT_CHARS])


def suggest_hotwords(
    comparisons: Sequence[Comparison], known: Iterable[str] = ()
) -> tuple[Suggestion, ...]:
    """Words of two and more characters that were misrecognized, the most promising first.

    Those that went wrong more often come first, then words that ordinary text does not have, as
    names are. Words that are ``known`` already are left out; an empty hypothesis tells nothing.
    """
    places: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    ordinary: dict[str, bool] = {}
    written: dict[str, str] = {}
    for number, comparison in enumerate(comparisons):
        if not comparison.hypothesis.text:
            continue
        said = _Said(comparison)
        text = said.text
        for block in comparison.blocks():
            if not 0 < block.end - block.start <= _LONGEST_PAIR:
                continue
            for low, high in said.runs(block):
                start, end, is_ordinary = said.word_around(low, high)
                word = text[start:end]
                longest = _LONGEST_LATIN if word.isascii() else _LONGEST_WORD
                if 2 <= len(word) <= longest and not _NUMERALS.issuperset(text[low:high]):
                    places[word].add((number, start))
                    ordinary[word] = is_ordinary
                    written.setdefault(word, comparison.reference.shown(start, end))
    totals = _totals((comparison.reference.text for comparison in comparisons), places)
    taken = {word.upper() for word in known}
    found = [
        Suggestion(word, len(where), totals[word])
        for word, where in places.items()
        if word.upper() not in taken
    ]
    found.sort(key=lambda s: (-s.missed, ordinary[s.word], -s.missed / s.total, s.word))
    texts = [_with_breaks(comparison) for comparison in comparisons]
    grown = (
        replace(one, word=written[one.word] + _follower(one.word, texts))
        for one in found[:_MOST_SUGGESTIONS]
    )
    return tuple({one.word: one for one in grown}.values())


def _with_breaks(comparison: Comparison) -> str:
    """The reference with a space where a mark stands."""
    reference = comparison.reference
    return "".join(
        (" " if reference.gap(index) else "") + char for index, char in enumerate(reference.text)
    )


def _follower(word: str, texts: Sequence[str]) -> str:
    """The character that follows a word everywhere (达摩 and 院), if others follow that one."""
    after = _followers(word, texts)
    if len(after) != 1 or word.isascii():
        return ""
    (char,) = after
    belongs = char.isalpha() and not char.isascii() and char not in _NO_WORD
    return char if belongs and len(_followers(word + char, texts)) > 1 else ""


def _followers(word: str, texts: Sequence[str]) -> set[str]:
    found = set()
    for text in texts:
        at = text.find(word)
        while at >= 0:
            found.add(text[at + len(word) : at + len(word) + 1])
            at = text.find(word, at + 1)
    return found


class _Said:
    """A reference and where its words are."""

    def __init__(self, comparison: Comparison) -> None:
        reference = comparison.reference
        self.text = text = reference.text
        self._edges = [
            index in (0, len(text))
            or bool(reference.gap(index))
            or _is_latin(text[index]) != _is_latin(text[index - 1])
            for index in range(len(text) + 1)
        ]
        common = common_text()
        ids = [common.id_of(char) for char in text]
        nothing = [False] * len(text)
        self._pairs, self._triples = common.words(ids) if len(ids) > 2 else (nothing, nothing)

    def runs(self, block: Block) -> Iterator[tuple[int, int]]:
        """Parts of a difference between marks."""
        cuts = [at for at in range(block.start + 1, block.end) if self._edges[at]]
        return pairwise([block.start, *cuts, block.end])

    def word_around(self, low: int, high: int) -> tuple[int, int, bool]:
        """The word that holds a difference: its place, and whether ordinary text has it."""
        text = self.text
        reach = _LONGEST_LATIN if _is_latin(text[low]) else _AROUND
        first, last = low, high
        while first > 0 and low - first < reach and not self._edges[first]:
            first -= 1
        while last < len(text) and last - high < reach and not self._edges[last]:
            last += 1
        if _is_latin(text[low]):
            return first, last, common_text().is_common_latin(text[first:last].lower())
        units = self._units(first, last)
        touched = [n for n, (start, end) in enumerate(units) if start < high and end > low]
        left, right = touched[0], touched[-1]
        while left <= right and _stands_alone(text, units[left]):
            left += 1
        while right > left and _stands_alone(text, units[right]):
            right -= 1
        if left > right:
            return low, low, False
        if all(end - start > 1 for start, end in units[left : right + 1]):
            return units[left][0], units[right][1], left == right
        # Unknown words fall apart into single characters.
        while left > 0 and _is_loose(text, units[left - 1]):
            left -= 1
        while right + 1 < len(units) and _is_loose(text, units[right + 1]):
            right += 1
        return units[left][0], units[right][1], False

    def _units(self, first: int, last: int) -> list[tuple[int, int]]:
        """Ordinary words of three or two characters and what is left, one by one."""
        units = []
        while first < last:
            if self._triples[first] and first + 3 <= last:
                size = 3
            else:
                size = 2 if self._pairs[first] and first + 2 <= last else 1
            units.append((first, first + size))
            first += size
        return units


def _stands_alone(text: str, unit: tuple[int, int]) -> bool:
    start, end = unit
    return end - start == 1 and (text[start] in _NO_WORD or text[start] in _NUMERALS)


def _is_loose(text: str, unit: tuple[int, int]) -> bool:
    return unit[1] - unit[0] == 1 and not _stands_alone(text, unit)


def _is_latin(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _totals(texts: Iterable[str], words: Iterable[str]) -> Counter[str]:
    """How often each word stands in the texts."""
    wanted = set(words)
    sizes = sorted({len(word) for word in wanted})
    totals: Counter[str] = Counter()
    for text in texts:
        for size in sizes:
            grams = (text[at : at + size] for at in range(len(text) - size + 1))
            totals.update(gram for gram in grams if gram in wanted)
    return totals
