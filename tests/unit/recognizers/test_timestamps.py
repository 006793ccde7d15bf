"""Times of tokens: FunASR's rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from asr_core.recognizers.cif import PEAK, fire_by_steps
from asr_core.recognizers.timestamps import even_times, token_times
from tests.golden.paraformer_files import golden


def peaks_at(steps: int, *places: int) -> np.ndarray:
    peaks = np.zeros(steps, np.float32)
    peaks[list(places)] = 1.0
    return peaks


def times(peaks: np.ndarray, count: int) -> list[tuple[int, int]]:
    return token_times(np.zeros_like(peaks), peaks, count)


@pytest.mark.parametrize("case", golden()["times"])
def test_times_are_those_of_funasr(case: dict) -> None:
    alphas = np.array(case["alphas"], np.float32)
    peaks = np.array(case["peaks"], np.float32)
    found = token_times(alphas, peaks, case["count"])
    assert [list(span) for span in found] == case["times"]


def test_a_token_lasts_until_the_next_one() -> None:
    assert times(peaks_at(21, 4, 10, 18), 2) == [(50, 170), (170, 420)]


def test_a_long_token_ends_after_240_ms() -> None:
    assert times(peaks_at(60, 4, 40, 50), 2) == [(50, 290), (770, 1085)]


def test_silence_at_the_end_is_shared_with_the_last_token() -> None:
    assert times(peaks_at(60, 4, 10), 1) == [(50, 685)]


def test_no_token_has_no_time() -> None:
    assert times(peaks_at(20, 3), 0) == []


@given(st.integers(1, 12), st.lists(st.floats(0, 1, width=32), min_size=1, max_size=60))
@example(1, [1.401298464324817e-45])
def test_there_is_one_time_for_each_token(count: int, weights: list[float]) -> None:
    alphas = np.array(weights, np.float32)
    found = token_times(alphas, fire_by_steps(alphas[None], PEAK)[0], count)
    assert len(found) == count
    assert all(begin <= end for begin, end in found)
    assert [begin for begin, _ in found] == sorted(begin for begin, _ in found)
    assert found[0][0] >= -30
    assert found[-1][1] <= 20 * len(weights)


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 40))
def test_even_times_fill_the_interval(start_ms: int, length_ms: int, count: int) -> None:
    found = even_times(start_ms, start_ms + length_ms, count)
    assert len(found) == count
    if count:
        assert (found[0][0], found[-1][1]) == (start_ms, start_ms + length_ms)
        assert all(one[1] == next_[0] for one, next_ in itertools.pairwise(found))
