"""The latest values of a stream, by their position in it."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.history import StreamHistory
from asr_core.errors import UsageError


@settings(deadline=None)
@given(st.lists(st.integers(0, 9_000), max_size=8), st.data())
def test_what_is_kept_is_what_came(lengths, data):
    stream = np.arange(sum(lengths), dtype=np.float32)
    history, end, needed = StreamHistory(), 0, 0
    for length in lengths:
        history.append(stream[end : end + length])
        end += length
        needed = data.draw(st.integers(needed, end))
        history.drop_before(needed)

        assert history.start <= needed <= history.end == end
        first = data.draw(st.integers(history.start, end))
        last = data.draw(st.integers(first, end))
        np.testing.assert_array_equal(history.slice(first, last), stream[first:last])


def test_what_was_dropped_or_has_not_come_is_refused():
    history = StreamHistory()
    for _ in range(3):
        history.append(np.ones(5_000, np.float32))
    history.drop_before(12_000)
    assert history.slice(12_000, 15_000).shape == (3_000,)
    for start, end in [(0, 100), (9_999, 12_000), (14_000, 15_001)]:
        with pytest.raises(UsageError):
            history.slice(start, end)


def test_it_keeps_copies():
    history = StreamHistory()
    values = np.ones(5, np.float32)
    history.append(values)
    values[:] = 0
    history.slice(0, 5)[:] = 7
    np.testing.assert_array_equal(history.slice(0, 5), np.ones(5))


def test_single_values_take_no_more_memory_than_large_pieces():
    history = StreamHistory()
    value = np.ones(1, np.float32)
    tracemalloc.start()
    try:
        for _ in range(50_000):
            history.append(value)
            history.drop_before(history.end - 10_000)
        kept_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert history.end == 50_000
    assert kept_bytes < 4 * 20_000
