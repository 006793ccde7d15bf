"""Punctuation marks against a punctuated reference."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from asr_core.evaluation.comparison import Comparison
from asr_core.evaluation.normalize import Normalized

MARKS = "，。？！、；："
_HALF_WIDTH = dict(zip(",.?!;:", "，。？！；：", strict=True))


@dataclass(frozen=True, slots=True)
class MarkScore:
    """How often a mark was expected, given, and given where it was expected."""

    expected: int
    given: int
    hits: int

    @property
    def precision(self) -> float:
        return self.hits / self.given if self.given else 0.0

    @property
    def recall(self) -> float:
        return self.hits / self.expected if self.expected else 0.0

    @property
    def f1(self) -> float:
        both = self.expected + self.given
        return 2 * self.hits / both if both else 0.0


@dataclass(frozen=True, slots=True)
class MarkScores:
    """Attributes: ``marks`` each mark that was expected or given; ``micro`` all of them summed;
    ``boundary`` any mark where any mark was expected."""

    marks: dict[str, MarkScore]
    micro: MarkScore
    boundary: MarkScore


def score_marks(comparisons: Iterable[Comparison]) -> MarkScores | None:
    """Compare marks at aligned places; ``None`` when no reference has any.

    A mark hits when the alignment leads through both places and the marks are the same. Between
    differences several places of the reference can lie beside one of the hypothesis; each mark
    of the reference is used once.
    """
    expected: Counter[str] = Counter()
    given: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    boundaries = 0
    for comparison in comparisons:
        wanted, found = marks_of(comparison.reference), marks_of(comparison.hypothesis)
        expected.update(wanted.values())
        given.update(found.values())
        left = dict(wanted)
        for place, mark in found.items():
            first, last = comparison.alignment.boundaries(place)
            beside = [at for at in range(first, last + 1) if at in left]
            if beside:
                boundaries += 1
                at = next((at for at in beside if left[at] == mark), beside[0])
                hits[mark] += left.pop(at) == mark
    if not expected:
        return None
    return MarkScores(
        {
            mark: MarkScore(expected[mark], given[mark], hits[mark])
            for mark in MARKS
            if expected[mark] or given[mark]
        },
        MarkScore(expected.total(), given.total(), hits.total()),
        MarkScore(expected.total(), given.total(), boundaries),
    )


def marks_of(text: Normalized) -> dict[int, str]:
    """Place among the normalized characters to the mark there, the first one of several."""
    found: dict[int, str] = {}
    for at, char in enumerate(text.source):
        mark = _mark(text.source, at, char)
        place = bisect_right(text.ends, at) if mark else 0
        if place:
            found.setdefault(place, mark)
    return found


def _mark(source: str, at: int, char: str) -> str:
    if char in MARKS:
        return char
    folded = unicodedata.normalize("NFKC", char)
    if folded not in _HALF_WIDTH:
        return ""
    around = source[max(0, at - 1) : at] + source[at + 1 : at + 2]
    joins_a_word = len(around) == 2 and all(one.isascii() and one.isalnum() for one in around)
    return "" if joins_a_word else _HALF_WIDTH[folded]
