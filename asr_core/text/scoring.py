"""Character error rate."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

from asr_core.text.simplify import Simplifier


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """Edit counts of one comparison, or sums over several.

    Attributes:
        substitutions: characters replaced, in one of the shortest alignments.
        deletions: reference characters that are missing.
        insertions: characters that the reference does not have.
        reference_chars: characters of the reference after normalization.
    """

    substitutions: int
    deletions: int
    insertions: int
    reference_chars: int

    def __add__(self, other: ErrorRate) -> ErrorRate:
        return ErrorRate(
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
            self.reference_chars + other.reference_chars,
        )

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """Errors per reference character; above 1 is possible. An empty reference counts as one."""
        return self.errors / max(self.reference_chars, 1)


NO_ERRORS = ErrorRate(0, 0, 0, 0)
"""Where sums begin."""


def normalize_for_cer(text: str) -> str:
    """Letters and digits only: NFKC, lower case, simplified, no punctuation and no spaces."""
    folded = unicodedata.normalize("NFKC", text).lower()
    kept = "".join(char for char in folded if char.isalnum() or unicodedata.category(char) == "Mn")
    return _simplifier().simplify(kept)


def cer(reference: str, hypothesis: str) -> ErrorRate:
    """Compare a recognized text with what was said."""
    return count_edits(normalize_for_cer(reference), normalize_for_cer(hypothesis))


def count_edits(reference: str, hypothesis: str) -> ErrorRate:
    """Fewest edits between two texts as they stand.

    Time grows with the product of the lengths, memory with their sum.
    """
    from rapidfuzz.distance import Levenshtein

    counts = {"replace": 0, "delete": 0, "insert": 0}
    for edit in Levenshtein.editops(reference, hypothesis):
        counts[edit.tag] += 1
    return ErrorRate(counts["replace"], counts["delete"], counts["insert"], len(reference))


@cache
def _simplifier() -> Simplifier:
    return Simplifier()
