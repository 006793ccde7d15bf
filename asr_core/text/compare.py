"""What became of the sentences of a transcript between two versions."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from asr_core.results import Sentence, join_sentences
from asr_core.text.words import cut_words

Operation = Literal["equal", "insert", "delete"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Sentences of one version and those that stand in their place in the other one.

    Attributes:
        before_first: position of the first sentence in the earlier version.
        before: none where sentences were put in.
        after_first: position of the first sentence in the later version.
        after: none where sentences were removed.
        pieces: both texts, word by word: ``insert`` stands in the later one only, ``delete`` in
            the earlier one only. One ``equal`` piece where only speakers or times differ.
    """

    before_first: int
    before: tuple[Sentence, ...]
    after_first: int
    after: tuple[Sentence, ...]
    pieces: tuple[tuple[Operation, str], ...]


def compare(before: Sequence[Sentence], after: Sequence[Sentence]) -> tuple[Difference, ...]:
    """The differences of two versions, in order; sentences that are equal are left out."""
    matcher = difflib.SequenceMatcher(None, _keys(before), _keys(after), autojunk=False)
    found: list[Difference] = []
    for tag, first, end, other_first, other_end in matcher.get_opcodes():
        if tag == "equal" or end - first == other_end - other_first:
            pairs = zip(range(first, end), range(other_first, other_end), strict=True)
            found += [
                _difference(before, index, index + 1, after, other, other + 1)
                for index, other in pairs
                if before[index] != after[other]
            ]
        else:
            found.append(_difference(before, first, end, after, other_first, other_end))
    return tuple(found)


def compare_words(before: str, after: str) -> tuple[tuple[Operation, str], ...]:
    """Two texts word by word; the equal and the deleted pieces are the first one."""
    from rapidfuzz.distance import Levenshtein

    left, right = _words(before), _words(after)
    pieces: list[tuple[Operation, str]] = []
    old = new = ""  # of the difference that still goes on
    for step in [*Levenshtein.opcodes(left, right), None]:
        if step is not None and step.tag != "equal":
            old += "".join(left[step.src_start : step.src_end])
            new += "".join(right[step.dest_start : step.dest_end])
            continue
        changed: list[tuple[Operation, str]] = [("delete", old), ("insert", new)]
        pieces += [piece for piece in changed if piece[1]]
        old = new = ""
        if step is not None:
            pieces.append(("equal", "".join(left[step.src_start : step.src_end])))
    return tuple(pieces)


def _keys(sentences: Sequence[Sentence]) -> list[tuple[int, str]]:
    return [(sentence.start_ms, sentence.text) for sentence in sentences]


def _words(text: str) -> list[str]:
    lead, words = cut_words(text)
    pieces = [lead, *(piece for pair in words for piece in pair)]
    return [piece for piece in pieces if piece]


def _difference(
    before: Sequence[Sentence],
    first: int,
    end: int,
    after: Sequence[Sentence],
    other_first: int,
    other_end: int,
) -> Difference:
    old, new = tuple(before[first:end]), tuple(after[other_first:other_end])
    pieces = compare_words(*(join_sentences(one.text for one in side) for side in (old, new)))
    return Difference(first, old, other_first, new, pieces)
