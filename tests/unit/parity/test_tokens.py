"""Equal, other, extra and missing tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.parity.tokens import Agreement, agreement, total


@pytest.mark.parametrize(
    ("reference", "other", "expected"),
    [
        ((), (), Agreement()),
        ((1, 2, 3), (1, 2, 3), Agreement(3, 3, 3)),
        ((1, 2, 3), (1, 9, 3), Agreement(3, 3, 2, substitutions=1)),
        ((1, 2, 3), (1, 2, 7, 3), Agreement(3, 4, 3, insertions=1)),
        ((1, 2, 3), (3,), Agreement(3, 1, 1, deletions=2)),
        ((), (4, 5), Agreement(0, 2, 0, insertions=2)),
    ],
)
def test_edits(reference: tuple[int, ...], other: tuple[int, ...], expected: Agreement) -> None:
    assert agreement(reference, other) == expected


@pytest.mark.parametrize(
    ("reference", "other", "share"),
    [((), (), 1.0), ((1, 2, 3, 4), (1, 2, 9, 4), 0.75), ((1,), (), 0.0), ((1,), (1, 2), 0.5)],
)
def test_share(reference: tuple[int, ...], other: tuple[int, ...], share: float) -> None:
    assert agreement(reference, other).share == share


_TOKENS = st.lists(st.integers(0, 9000), max_size=12)


@given(_TOKENS, _TOKENS)
def test_every_token_is_accounted_for(reference: list[int], other: list[int]) -> None:
    found = agreement(reference, other)
    assert found.equal + found.substitutions + found.deletions == len(reference)
    assert found.equal + found.substitutions + found.insertions == len(other)
    assert (found.share == 1) == (reference == other)


def test_all_recordings_together() -> None:
    parts = [agreement((1, 2), (1, 2)), agreement((1, 2), (1,)), agreement((), (3,))]
    assert total(parts) == Agreement(4, 4, 3, insertions=1, deletions=1)
