"""Another written text for a sentence, word by word: what is not touched keeps its time.

Owns how typed characters become tokens and how the tokens join to exactly the text that was
typed. Knows nothing of which edits there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from asr_core.results import Sentence, Token, WrittenSpan, needs_space
from asr_core.text.layout import Part, layout
from asr_core.text.words import clings, cut_words, has_word

_MOST_CELLS = 20_000_000
"""Largest product of two lengths whose differences are looked for character by character."""


@dataclass(frozen=True, slots=True)
class Change:
    """Characters ``start`` to ``end`` of a text become ``text``."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class _Unit:
    """A word of the new text: parts that stay, or characters that take the place of others.

    Attributes:
        text: as it is written.
        mark: what stands between it and the next one.
        parts: that it is made of; empty for one that was typed.
        is_typed: whether any of its characters was typed.
    """

    text: str
    mark: str
    parts: list[Part] = field(default_factory=list)
    is_typed: bool = False


@dataclass(slots=True)
class _Region:
    """What stands between two parts that stay: removed parts, hidden ones and typed words."""

    before: list[Part] = field(default_factory=list)  # hidden, before the typed words
    removed: list[Part] = field(default_factory=list)
    behind: list[Part] = field(default_factory=list)  # hidden, after them


def differences(old: str, new: str) -> list[Change]:
    """The changes that make ``new`` of ``old``, in order.

    Time is linear in the length of the texts but for the part between the first and the last
    difference, which counts as one change where it is very long.
    """
    from rapidfuzz.distance import Levenshtein

    start = common_start(old, new)
    rest = min(len(old), len(new)) - start
    tail = common_start(old[len(old) - rest :][::-1], new[len(new) - rest :][::-1])
    left, right = old[start : len(old) - tail], new[start : len(new) - tail]
    if not left and not right:
        return []
    if len(left) * len(right) > _MOST_CELLS:
        return [Change(start, start + len(left), right)]
    return [
        Change(start + step.src_start, start + step.src_end, right[step.dest_start : step.dest_end])
        for step in Levenshtein.opcodes(left, right)
        if step.tag != "equal"
    ]


def rewrite(sentence: Sentence, changes: Sequence[Change]) -> Sentence | None:
    """Change characters of the written text.

    Words that no change touches keep their tokens, spans and times. Others take the time of what
    they replace, or of the gap where they are put in, evenly by characters, with confidence 1.

    Args:
        sentence: with times in order.
        changes: of its text, in order, not overlapping.

    Returns:
        A sentence whose text is exactly the changed one; ``None`` where no word is left.
    """
    if not changes:
        return sentence
    old = sentence.text
    parts = layout(sentence)
    kept = {id(part) for part in parts if part.is_shown and not _is_touched(part, changes)}
    moved = _Moved(old, changes)
    units: list[_Unit] = []
    regions = [_Region()]  # before each part that stays, and one at the end
    done = 0
    for part in parts:
        if id(part) not in kept:
            _sort_in(regions[-1], part)
            continue
        place = moved.start_of(part.start)
        _add_typed(units, moved.text[done:place], len(regions) == 1)
        units.append(_Unit(moved.text[place : place + part.end - part.start], "", [part]))
        regions.append(_Region())
        done = place + part.end - part.start
    _add_typed(units, moved.text[done:], len(regions) == 1)
    if not moved.text.strip():
        return None
    return _Builder(sentence, _joined(units, sentence.spaced), regions).build()


def common_start(first: str, second: str) -> int:
    """How many characters two texts start with alike."""
    low, high = 0, min(len(first), len(second))
    while low < high:  # halving compares long stretches at once
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _is_touched(part: Part, changes: Sequence[Change]) -> bool:
    """Whether a change lies inside the word; one at its edge does not."""
    # Changes are few where parts are many: only the first one that ends behind its start counts.
    low, high = 0, len(changes)
    while low < high:
        middle = (low + high) // 2
        if changes[middle].end <= part.start:
            low = middle + 1
        else:
            high = middle
    return low < len(changes) and changes[low].start < part.end


class _Moved:
    """The new text, and where offsets of the old one lie in it."""

    def __init__(self, old: str, changes: Sequence[Change]) -> None:
        self._changes = changes
        self._next = 0
        self._shift = 0
        pieces = []
        done = 0
        for change in changes:
            pieces += [old[done : change.start], change.text]
            done = change.end
        self.text = "".join([*pieces, old[done:]])

    def start_of(self, offset: int) -> int:
        """Where a word that stays begins now; asked in rising order."""
        while self._next < len(self._changes) and self._changes[self._next].end <= offset:
            change = self._changes[self._next]
            self._shift += len(change.text) - (change.end - change.start)
            self._next += 1
        return offset + self._shift


def _sort_in(region: _Region, part: Part) -> None:
    if part.is_shown:
        # What was left out between two words that go is gone with them.
        region.behind.clear()
        region.removed.append(part)
    elif region.removed:
        region.behind.append(part)
    else:
        region.before.append(part)


def _add_typed(units: list[_Unit], text: str, is_first: bool) -> None:
    """Words of typed text; what stands before the first one belongs to the word before it."""
    lead, words = cut_words(text)
    if units:
        units[-1].mark += lead
    elif lead and (words or is_first):
        units.append(_Unit(lead, "", is_typed=True))
    units.extend(_Unit(word, mark, is_typed=True) for word, mark in words)


def _joined(units: Iterable[_Unit], spaced: bool) -> list[_Unit]:
    """Units whose marks leave out the spaces that joining adds, and that join to the same text.

    Two words between which joining would add a space that is not there become one.
    """
    joined: list[_Unit] = []
    for unit in units:
        before = joined[-1] if joined else None
        if before is None:
            joined.append(unit)
            continue
        if before.mark.endswith(" ") and needs_space(
            before.text + before.mark[:-1], unit.text, spaced=spaced
        ):
            before.mark = before.mark[:-1]
        elif needs_space(before.text + before.mark, unit.text, spaced=spaced) or clings(
            before.text + before.mark, unit.text + unit.mark
        ):
            before.text += before.mark + unit.text
            before.mark = unit.mark
            before.parts += unit.parts
            before.is_typed = before.is_typed or unit.is_typed
            continue
        joined.append(unit)
    return joined


class _Builder:
    """Tokens and spans of the new sentence."""

    def __init__(self, sentence: Sentence, units: Sequence[_Unit], regions: list[_Region]) -> None:
        self._old = sentence
        self._text = sentence.text
        self._spans = {span.first_token: span for span in sentence.spans}
        self._units = units
        self._regions = regions
        self._tokens: list[Token] = []
        self._new_spans: list[WrittenSpan] = []
        self._settled = False  # the last word has its mark: none of what is left out may change it

    def build(self) -> Sentence:
        place = 0  # in the regions
        typed: list[_Unit] = []
        for index, unit in enumerate(self._units):
            if not unit.parts:
                typed.append(unit)
                continue
            last = place + len(unit.parts)
            if unit.is_typed:
                is_alone = index + 1 == len(self._units) or bool(self._units[index + 1].parts)
                self._put_typed_over(unit, typed, place, is_alone=is_alone)
            else:
                self._put_region(self._regions[place], typed, unit.parts[0])
                self._put_kept(unit, self._regions[place + 1 : last + 1])
            typed = []
            place = last
        self._put_region(self._regions[place], typed, None)
        return replace(self._old, tokens=tuple(self._tokens), spans=tuple(self._new_spans))

    def _put_region(self, region: _Region, typed: Sequence[_Unit], following: Part | None) -> None:
        """What stands before a part that stays: hidden parts and the typed words."""
        for part in region.before:
            self._copy(part)
        if typed:
            next_part = region.behind[0] if region.behind else following
            start_ms, end_ms = self._room(region.removed, next_part)
            self._tokens += _spread(typed, start_ms, end_ms)
            self._settled = True
        for part in region.behind:
            self._copy(part)

    def _put_kept(self, unit: _Unit, behind: Sequence[_Region]) -> None:
        """Words that stay; several that are written together get a span."""
        first = len(self._tokens)
        for part, region in zip(unit.parts, behind, strict=True):
            self._copy(part)
            if part is not unit.parts[-1] and not region.removed:
                for hidden in region.before:
                    self._copy(hidden)
        part = unit.parts[-1]
        shown = self._text[part.end : part.mark_end]
        if len(unit.parts) > 1:
            self._new_spans = [span for span in self._new_spans if span.first_token < first]
            last = len(self._tokens) - 1
            self._new_spans.append(WrittenSpan(first, last, unit.text, "edit"))
        elif unit.mark == shown and not behind[-1].removed:
            self._settled = False
            return
        self._tokens[-1] = replace(self._tokens[-1], mark=unit.mark)
        self._settled = True

    def _put_typed_over(
        self, unit: _Unit, typed: Sequence[_Unit], place: int, *, is_alone: bool
    ) -> None:
        """A word that was partly typed takes the place of all that it is made of."""
        region = self._regions[place]
        parts = list(unit.parts)
        if typed or not region.removed:
            self._put_region(region, typed, parts[0])
        else:
            for part in region.before:
                self._copy(part)
            parts = [*region.removed, *parts]
        following = self._regions[place + len(unit.parts)]
        if is_alone:
            parts += following.removed
            following.removed.clear()
        self._tokens += _spread([unit], *self._room(parts, None))
        self._settled = True

    def _room(self, removed: Sequence[Part], following: Part | None) -> tuple[int, int]:
        """The time of removed parts; without any, that between the words around."""
        old = self._old.tokens
        before = self._tokens[-1].end_ms if self._tokens else None
        after = old[following.first_token].start_ms if following else None
        if removed:
            start_ms, end_ms = (
                old[removed[0].first_token].start_ms,
                old[removed[-1].last_token].end_ms,
            )
        else:
            known = [time for time in (before, after) if time is not None]
            start_ms, end_ms = known[0], known[-1]
        if before is not None:
            start_ms = max(start_ms, before)
        if after is not None:
            end_ms = min(end_ms, after)
        return start_ms, max(start_ms, end_ms)

    def _copy(self, part: Part) -> None:
        """A part as it was; the mark of one that is left out gives way to a settled one."""
        shift = len(self._tokens) - part.first_token
        self._tokens += self._old.tokens[part.first_token : part.last_token + 1]
        if not part.is_shown and self._settled:
            self._tokens[-1] = replace(self._tokens[-1], mark="")
        span = self._spans.get(part.first_token)
        if span is not None:
            moved = replace(
                span, first_token=span.first_token + shift, last_token=span.last_token + shift
            )
            self._new_spans.append(moved)


def _spread(units: Sequence[_Unit], start_ms: int, end_ms: int) -> Iterator[Token]:
    """Tokens of typed words that share a time evenly, by characters."""
    sizes = [len(unit.text) if has_word(unit.text) else 0 for unit in units]
    total = sum(sizes)
    if not total:
        sizes, total = [1] * len(units), len(units)
    done = 0
    length_ms = end_ms - start_ms
    for unit, size in zip(units, sizes, strict=True):
        begin_ms = start_ms + length_ms * done // total
        done += size
        yield Token(unit.text, begin_ms, start_ms + length_ms * done // total, 1.0, unit.mark)
