"""The estimate of the remaining time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.transcription.pace import Pace


def test_nothing_is_said_before_something_is_done():
    pace = Pace()
    assert pace.remaining_s(100) is None
    pace.add(0, 10)
    assert pace.remaining_s(100) is None
    pace.add(0, 20)
    assert pace.remaining_s(100) is None


@given(
    st.lists(st.floats(1, 60), min_size=1, max_size=50),
    st.floats(0.01, 5),
    st.floats(0, 1000),
    st.floats(0, 10_000),
)
def test_a_steady_pace_is_met_exactly(steps, seconds_each, start, left):
    pace = Pace()
    position = 0.0
    pace.add(position, start)
    for step in steps:
        position += step
        pace.add(position, start + seconds_each * position)
    assert pace.remaining_s(position + left) == pytest.approx(
        seconds_each * left, rel=1e-6, abs=1e-6
    )


def test_a_slow_start_is_forgotten():
    pace = Pace()
    pace.add(0, 0)
    pace.add(10, 10)  # ten times slower than what follows
    for position in range(20, 200, 10):
        pace.add(position, 10 + (position - 10) / 10)
    assert pace.remaining_s(1000) == pytest.approx(81)


def test_what_was_known_before_says_nothing():
    pace = Pace()
    pace.add(0, 0)
    pace.restart(500, 1)
    assert pace.remaining_s(1000) is None
    pace.add(550, 11)
    assert pace.remaining_s(1000) == pytest.approx(90)


def test_beyond_the_stated_length_nothing_is_left():
    pace = Pace()
    pace.add(0, 0)
    pace.add(100, 10)
    assert pace.remaining_s(90) == 0
