"""The edit alignment of two texts."""

from __future__ import annotations

import enum
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from asr_core.text.scoring import ErrorRate

_EXACT_CELLS = 400_000_000
"""Product of the lengths up to which two texts are aligned as a whole, in about 0.1 s."""
_REFINED_CELLS = 4_000
"""Product of the lengths up to which a run of differences is looked at once more."""
_ANCHOR_CHARS = (24, 12, 6)
"""Lengths of the pieces that occur once in both texts, tried in this order."""
_PIECE_CHARS = 8_000
"""Longer texts are cut at anchors about this far apart."""


class Edit(enum.Enum):
    """What became of a part of the reference."""

    EQUAL = "equal"
    SUBSTITUTION = "replace"
    DELETION = "delete"
    INSERTION = "insert"


@dataclass(frozen=True, slots=True)
class Operation:
    """``reference[start:end]`` against ``hypothesis[other_start:other_end]``.

    Both parts have the same length when they are equal or substituted; that of the hypothesis is
    empty in a deletion, that of the reference in an insertion.
    """

    kind: Edit
    start: int
    end: int
    other_start: int
    other_end: int

    @property
    def length(self) -> int:
        return max(self.end - self.start, self.other_end - self.other_start)


@dataclass(frozen=True)
class Alignment:
    """Operations that turn the reference into the hypothesis; not slotted, to keep its sums.

    Attributes:
        operations: from left to right, without gaps; neighbours are of different kinds.
        reference_chars: length of the reference.
        hypothesis_chars: length of the hypothesis.
    """

    operations: tuple[Operation, ...]
    reference_chars: int
    hypothesis_chars: int

    @cached_property
    def counts(self) -> ErrorRate:
        totals = dict.fromkeys(Edit, 0)
        for operation in self.operations:
            totals[operation.kind] += operation.length
        return ErrorRate(
            totals[Edit.SUBSTITUTION],
            totals[Edit.DELETION],
            totals[Edit.INSERTION],
            self.reference_chars,
        )

    @cached_property
    def _ends(self) -> list[int]:
        return [operation.end for operation in self.operations]

    @cached_property
    def _other_ends(self) -> list[int]:
        return [operation.other_end for operation in self.operations]

    def boundaries(self, other_index: int) -> tuple[int, int]:
        """First and last place in the reference that the alignment sets beside a place in the
        hypothesis; places are between characters."""
        first = self._beside(other_index, bisect_left(self._other_ends, other_index))
        last = self._beside(other_index, bisect_right(self._other_ends, other_index))
        return first[0], last[1]

    def image(self, start: int, end: int) -> tuple[int, int]:
        """Where ``reference[start:end]`` lies in the hypothesis, as narrow as can be said.

        Where an edge falls into a run of differences, that whole run belongs to the image.
        """
        first = bisect_right(self._ends, start)
        last = bisect_left(self._ends, end)
        if start >= end or first >= len(self.operations):
            return self.hypothesis_chars, self.hypothesis_chars
        while first > 0 and self._differs(first) and self._differs(first - 1):
            first -= 1
        while last + 1 < len(self.operations) and self._differs(last) and self._differs(last + 1):
            last += 1
        low, high = self.operations[first], self.operations[last]
        other_start = low.other_start + (start - low.start if low.kind is Edit.EQUAL else 0)
        other_end = high.other_end - (high.end - end if high.kind is Edit.EQUAL else 0)
        return other_start, other_end

    def is_equal(self, start: int, end: int) -> bool:
        """Whether a part of the reference stands in the hypothesis as it is, in one piece."""
        index = bisect_right(self._ends, start)
        if start >= end or index >= len(self.operations):
            return False
        operation = self.operations[index]
        return operation.kind is Edit.EQUAL and end <= operation.end

    def _differs(self, index: int) -> bool:
        return self.operations[index].kind is not Edit.EQUAL

    def _beside(self, other_index: int, index: int) -> tuple[int, int]:
        """Reference places of the path inside one operation at a hypothesis place."""
        if index >= len(self.operations):
            return self.reference_chars, self.reference_chars
        operation = self.operations[index]
        if operation.kind is Edit.DELETION:
            return operation.start, operation.end
        inside = other_index - operation.other_start
        if operation.kind is Edit.INSERTION:
            inside = 0
        at = operation.start + max(inside, 0)
        return at, at


def align(reference: str, hypothesis: str) -> Alignment:
    """The shortest way from one text to the other.

    Texts of more than about 20,000 characters are cut at passages that occur once in both and in
    the same order, and the parts aligned on their own; time then grows with the length.
    """
    operations: list[Operation] = []
    for start, end, other_start, other_end in _parts(reference, hypothesis):
        part = _align_part(reference[start:end], hypothesis[other_start:other_end])
        for kind, a, b, c, d in part:
            moved = Operation(kind, a + start, b + start, c + other_start, d + other_start)
            last = operations[-1] if operations else None
            if last is not None and last.kind is kind:
                moved = Operation(kind, last.start, moved.end, last.other_start, moved.other_end)
                operations.pop()
            operations.append(moved)
    return Alignment(tuple(operations), len(reference), len(hypothesis))


_Step = tuple[Edit, int, int, int, int]


def _align_part(reference: str, hypothesis: str) -> Iterator[_Step]:
    """Steps of one of the shortest ways, with as many equal characters as such a way can have."""
    from rapidfuzz.distance import Levenshtein

    block: list[_Step] = []
    for code in Levenshtein.opcodes(reference, hypothesis):
        step = (Edit(code.tag), code.src_start, code.src_end, code.dest_start, code.dest_end)
        if step[0] is not Edit.EQUAL:
            block.append(step)
            continue
        yield from _refined(block, reference, hypothesis)
        block = []
        yield step
    yield from _refined(block, reference, hypothesis)


def _refined(block: list[_Step], reference: str, hypothesis: str) -> list[_Step]:
    """The same differences with more equal characters among them, where that costs no error.

    乙丙丁 against 丁戊 are 乙丙 missing and 戊 extra, not 乙 for 丁, 丙 for 戊 and 丁 missing.
    """
    if not block:
        return block
    start, end, other_start, other_end = block[0][1], block[-1][2], block[0][3], block[-1][4]
    said, heard = reference[start:end], hypothesis[other_start:other_end]
    if len(said) * len(heard) > _REFINED_CELLS or set(said).isdisjoint(heard):
        return block
    steps: list[_Step] = []
    for kind, at, other_at in _best_way(said, heard):
        a, c = start + at, other_start + other_at
        b, d = a + (kind is not Edit.INSERTION), c + (kind is not Edit.DELETION)
        if steps and steps[-1][0] is kind:
            _, a, _, c, _ = steps.pop()
        steps.append((kind, a, b, c, d))
    return steps


def _best_way(said: str, heard: str) -> list[tuple[Edit, int, int]]:
    """Fewest errors and, among those, fewest substitutions; one step a character."""
    rows, columns = len(said), len(heard)
    cost = [[(i + j, 0) for j in range(columns + 1)] for i in range(rows + 1)]
    for i, j in itertools.product(range(1, rows + 1), range(1, columns + 1)):
        wrong = said[i - 1] != heard[j - 1]
        errors, replaced = cost[i - 1][j - 1]
        cost[i][j] = min(
            (errors + wrong, replaced + wrong),
            (cost[i - 1][j][0] + 1, cost[i - 1][j][1]),
            (cost[i][j - 1][0] + 1, cost[i][j - 1][1]),
        )
    steps = []
    i, j = rows, columns
    while i or j:
        errors, replaced = cost[i][j]
        wrong = i > 0 and j > 0 and said[i - 1] != heard[j - 1]
        if i and j and cost[i - 1][j - 1] == (errors - wrong, replaced - wrong):
            i, j = i - 1, j - 1
            steps.append((Edit.SUBSTITUTION if wrong else Edit.EQUAL, i, j))
        elif i and cost[i - 1][j] == (errors - 1, replaced):
            i -= 1
            steps.append((Edit.DELETION, i, j))
        else:
            j -= 1
            steps.append((Edit.INSERTION, i, j))
    return steps[::-1]


def _parts(reference: str, hypothesis: str) -> list[tuple[int, int, int, int]]:
    """The two texts cut into parts that are short enough to be aligned exactly."""
    todo = [(0, len(reference), 0, len(hypothesis), 0)]
    done = []
    while todo:
        start, end, other_start, other_end, level = todo.pop()
        if (end - start) * (other_end - other_start) <= _EXACT_CELLS:
            done.append((start, end, other_start, other_end))
            continue
        if level < len(_ANCHOR_CHARS):
            anchors = _anchors(
                reference[start:end], hypothesis[other_start:other_end], _ANCHOR_CHARS[level]
            )
            cuts = [(a + start, b + other_start) for a, b in anchors]
        else:
            # Texts without any passage in common: where they are cut makes no difference.
            pieces = max(end - start, other_end - other_start) // _PIECE_CHARS + 1
            cuts = [
                (
                    start + (end - start) * index // pieces,
                    other_start + (other_end - other_start) * index // pieces,
                )
                for index in range(1, pieces)
            ]
        edges = [(start, other_start), *cuts, (end, other_end)]
        for (a, b), (c, d) in itertools.pairwise(edges):
            todo.append((a, c, b, d, level + 1))
    return sorted(done)


def _anchors(reference: str, hypothesis: str, size: int) -> list[tuple[int, int]]:
    """Cuts at passages of a size that occur once in both texts, in the same order in both."""
    known, places = _once(reference, size), _once(hypothesis, size)
    pairs = sorted((at, places[gram]) for gram, at in known.items() if gram in places)
    chain = _longest_rise(pairs)
    cuts: list[tuple[int, int]] = []
    last = (0, 0)
    for at, other_at in chain:
        if at - last[0] >= _PIECE_CHARS or other_at - last[1] >= _PIECE_CHARS:
            cuts.append((at, other_at))
            last = (at, other_at)
    return cuts


def _once(text: str, size: int) -> dict[str, int]:
    """Passages of a size that occur exactly once, with their places."""
    places: dict[str, int] = {}
    for at in range(len(text) - size + 1):
        gram = text[at : at + size]
        places[gram] = -1 if gram in places else at
    return {gram: at for gram, at in places.items() if at >= 0}


def _longest_rise(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs whose second values rise too; first values rise already."""
    tails: list[int] = []
    tail_index: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        place = bisect_left(tails, value)
        before.append(tail_index[place - 1] if place else -1)
        if place == len(tails):
            tails.append(value)
            tail_index.append(index)
        else:
            tails[place], tail_index[place] = value, index
    chain = []
    index = tail_index[-1] if tail_index else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]
