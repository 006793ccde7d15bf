"""How far the tokens of two runs agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein


@dataclass(frozen=True, slots=True)
class Agreement:
    """Tokens of a recording, or of several.

    Attributes:
        reference: tokens of the reference.
        other: tokens of the other side.
        equal: tokens that both have, in this order.
        substitutions: tokens that are other ones.
        insertions: tokens that only the other side has.
        deletions: tokens that only the reference has.
    """

    reference: int = 0
    other: int = 0
    equal: int = 0
    substitutions: int = 0
    insertions: int = 0
    deletions: int = 0

    @property
    def share(self) -> float:
        """Equal tokens of all that one side or both have; 1 where there is none."""
        all_of_them = self.equal + self.substitutions + self.insertions + self.deletions
        return self.equal / all_of_them if all_of_them else 1.0


def agreement(reference: Sequence[int], other: Sequence[int]) -> Agreement:
    """Align two runs of tokens with as few edits as possible."""
    edits = Levenshtein.editops(reference, other)
    kinds = [edit.tag for edit in edits]
    substitutions, deletions = kinds.count("replace"), kinds.count("delete")
    return Agreement(
        reference=len(reference),
        other=len(other),
        equal=len(reference) - substitutions - deletions,
        substitutions=substitutions,
        insertions=kinds.count("insert"),
        deletions=deletions,
    )


def total(parts: Iterable[Agreement]) -> Agreement:
    """All recordings as one."""
    every = list(parts)
    return Agreement(
        reference=sum(part.reference for part in every),
        other=sum(part.other for part in every),
        equal=sum(part.equal for part in every),
        substitutions=sum(part.substitutions for part in every),
        insertions=sum(part.insertions for part in every),
        deletions=sum(part.deletions for part in every),
    )
