"""Character error rate."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np

from asr_core.text.simplify import Simplifier


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """Edit counts of one comparison, or sums over several.

    Attributes:
        substitutions: characters replaced; the smallest number among the shortest alignments.
        deletions: reference characters that are missing.
        insertions: characters that the reference does not have.
        reference_chars: characters of the reference after normalization.
    """

    substitutions: int
    deletions: int
    insertions: int
    reference_chars: int

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """Errors per reference character; above 1 is possible. An empty reference counts as one."""
        return self.errors / max(self.reference_chars, 1)


def normalize_for_cer(text: str) -> str:
    """Letters and digits only: NFKC, lower case, simplified, no punctuation and no spaces."""
    folded = unicodedata.normalize("NFKC", text).lower()
    kept = "".join(char for char in folded if char.isalnum() or unicodedata.category(char) == "Mn")
    return _simplifier().simplify(kept)


def cer(reference: str, hypothesis: str) -> ErrorRate:
    """Compare a recognized text with what was said.

    Time grows with the product of the lengths, memory with the hypothesis only.
    """
    return count_edits(normalize_for_cer(reference), normalize_for_cer(hypothesis))


def count_edits(reference: str, hypothesis: str) -> ErrorRate:
    """Fewest edits between two texts as they stand.

    Each row of the distance matrix is one array operation. A cell holds
    ``distance * unit + substitutions``; the length difference then gives the other two counts.
    """
    rows, columns = len(reference), len(hypothesis)
    unit = rows + columns + 1
    codes = np.array([ord(char) for char in hypothesis], dtype=np.int32)
    steps = np.arange(columns + 1, dtype=np.int64) * unit
    row = steps.copy()
    for index, char in enumerate(reference, start=1):
        best = row + unit
        np.minimum(best[1:], row[:-1] + (codes != ord(char)) * (unit + 1), out=best[1:])
        best[0] = index * unit
        row = np.minimum.accumulate(best - steps) + steps
    distance, substitutions = divmod(int(row[-1]), unit)
    unmatched = distance - substitutions
    deletions = (unmatched + rows - columns) // 2
    return ErrorRate(substitutions, deletions, unmatched - deletions, rows)


@cache
def _simplifier() -> Simplifier:
    return Simplifier()
