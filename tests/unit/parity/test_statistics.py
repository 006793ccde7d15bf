"""Sums of differences say what NumPy says of all values at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.parity.statistics import DifferenceSum

_VALUES = st.floats(-1e3, 1e3, width=32)
_PAIRS = st.lists(
    st.lists(st.tuples(_VALUES, _VALUES), max_size=6).map(
        lambda rows: np.array(rows, np.float32).reshape(-1, 2)
    ),
    max_size=5,
)


@given(_PAIRS)
def test_equals_all_values_at_once(pairs: list[np.ndarray]) -> None:
    total = DifferenceSum()
    for pair in pairs:
        total.add(pair[:, 0], pair[:, 1])
    found = total.result()
    both = np.concatenate([np.zeros((0, 2)), *pairs]).astype(np.float64)
    left, right = both.T
    apart = np.abs(left - right)
    assert found.values == len(both)
    assert found.unpaired == 0
    assert found.max_abs == apart.max(initial=0)
    assert found.mean_abs == pytest.approx(apart.mean() if len(both) else 0)
    lengths = np.linalg.norm(left), np.linalg.norm(right)
    if all(lengths):
        assert found.cosine == pytest.approx(left @ right / np.prod(lengths), abs=1e-9)
        assert found.relative == pytest.approx(np.linalg.norm(left - right) / lengths[0])
    else:
        assert found.cosine == (1.0 if not any(lengths) else 0.0)


def test_where_the_largest_difference_is() -> None:
    total = DifferenceSum()
    total.add(np.zeros(3), np.zeros(3))
    total.add(np.zeros(3), np.array([0, 5, 0]))
    total.add(np.zeros(3), np.array([4, 4, 4]))
    assert total.result().worst == 1


def test_other_shapes_are_counted_and_not_compared() -> None:
    total = DifferenceSum()
    total.add(np.ones((2, 3)), np.ones((3, 2)))
    total.add(np.ones(2), np.ones(2))
    total.miss(4)
    found = total.result()
    assert (found.values, found.unpaired, found.max_abs) == (2, 5, 0.0)


def test_nothing_to_compare() -> None:
    found = DifferenceSum().result()
    assert (found.values, found.cosine, found.max_abs, found.worst) == (0, 1.0, 0.0, -1)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_never_within_a_limit(value: float) -> None:
    total = DifferenceSum()
    total.add(np.array([1.0, 2.0]), np.array([1.0, value]))
    total.add(np.array([1.0, 2.0]), np.array([1.0, 2.5]))
    found = total.result()
    assert not found.max_abs <= 1e9
    assert not found.cosine >= 0.5
    assert found.worst == 0


def test_infinities_of_both_sides_are_no_equal_values() -> None:
    total = DifferenceSum()
    total.add(np.array([math.inf]), np.array([math.inf]))
    assert not total.result().max_abs <= 1e9
