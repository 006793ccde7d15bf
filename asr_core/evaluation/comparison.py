"""Two texts side by side: what was said and what was recognized."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from asr_core.evaluation.alignment import Alignment, Edit, align
from asr_core.evaluation.normalize import DEFAULT_NORMALIZATIONS, Normalized, normalize
from asr_core.text.scoring import ErrorRate


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of the aligned texts, in the words of the sources.

    Attributes:
        kind: what became of it.
        reference: what was said; empty in an insertion.
        hypothesis: what was recognized; empty in a deletion, the normalized equal in a match.
        after: marks and spaces that follow the reference part in its source.
    """

    kind: Edit
    reference: str
    hypothesis: str
    after: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring differences as one: places in both normalized texts."""

    start: int
    end: int
    other_start: int
    other_end: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A reference and a hypothesis, normalized and aligned."""

    reference: Normalized
    hypothesis: Normalized
    alignment: Alignment

    @property
    def counts(self) -> ErrorRate:
        return self.alignment.counts

    def pieces(self) -> Iterator[Piece]:
        """The aligned texts from left to right."""
        reference, hypothesis = self.reference, self.hypothesis
        lead = reference.gap(0)
        if lead and reference.text:
            yield Piece(Edit.EQUAL, "", "", lead)
        for part in self.alignment.operations:
            yield Piece(
                part.kind,
                reference.shown(part.start, part.end),
                hypothesis.shown(part.other_start, part.other_end),
                reference.gap(part.end) if part.end > part.start else "",
            )

    def blocks(self) -> Iterator[Block]:
        """Differences without a match between them, from left to right."""
        block: Block | None = None
        for part in self.alignment.operations:
            if part.kind is Edit.EQUAL:
                if block is not None:
                    yield block
                block = None
            elif block is None:
                block = Block(part.start, part.end, part.other_start, part.other_end)
            else:
                block = Block(block.start, part.end, block.other_start, part.other_end)
        if block is not None:
            yield block


def compare_texts(
    reference: str, hypothesis: str, normalizations: Iterable[str] = DEFAULT_NORMALIZATIONS
) -> Comparison:
    """Normalize two texts and align them.

    Raises:
        UsageError: a normalization is not known.
    """
    names = tuple(normalizations)
    said = normalize(reference, names, other=hypothesis)
    heard = normalize(hypothesis, names, other=reference)
    return Comparison(said, heard, align(said.text, heard.text))
