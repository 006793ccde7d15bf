from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.segmenter import Segment
from asr_core.recognizers.packing import Window, divide, pack

LIMIT = 30 * 16_000
lengths = st.lists(
    st.tuples(st.integers(0, 100_000), st.integers(1, LIMIT)), min_size=0, max_size=12
)


def segments_of(parts: list[tuple[int, int]]) -> list[Segment]:
    """Segments from (pause before, length), each filled with its own number."""
    segments, position = [], 0
    for number, (pause, length) in enumerate(parts):
        start = position + pause
        position = start + length
        waveform = np.full(length, number, np.float32)
        segments.append(Segment(start, position, start, position, waveform))
    return segments


@settings(deadline=None)
@given(lengths)
def test_windows_hold_every_segment_once_in_order(parts: list[tuple[int, int]]) -> None:
    segments = segments_of(parts)
    windows = pack(segments, LIMIT)
    assert [one for window in windows for one in window.segments] == segments
    assert all(window.samples <= LIMIT for window in windows)


@settings(deadline=None)
@given(lengths)
def test_a_window_ends_only_where_the_next_segment_does_not_fit(
    parts: list[tuple[int, int]],
) -> None:
    windows = pack(segments_of(parts), LIMIT)
    for window, following in itertools.pairwise(windows):
        first = following.segments[0]
        assert window.samples + first.end - first.start > LIMIT


@settings(deadline=None)
@given(st.integers(1, 4 * LIMIT), st.integers(0, 10_000), st.integers(4_800, LIMIT))
def test_a_divided_segment_is_the_same_segment(length: int, start: int, most: int) -> None:
    waveform = np.random.default_rng(length).standard_normal(length).astype(np.float32)
    speech_start, speech_end = start + length // 10, start + length - length // 10
    segment = Segment(start, start + length, speech_start, speech_end, waveform)
    pieces = divide(segment, most)
    assert (pieces[0].start, pieces[-1].end) == (segment.start, segment.end)
    assert all(one.end == two.start for one, two in itertools.pairwise(pieces))
    assert all(len(piece.waveform) == piece.end - piece.start <= most for piece in pieces)
    assert np.array_equal(np.concatenate([piece.waveform for piece in pieces]), waveform)
    assert (pieces[0].speech_start, pieces[-1].speech_end) == (speech_start, speech_end)


short_parts = st.lists(
    st.tuples(st.integers(0, 2_000), st.integers(1, 2_000)), min_size=1, max_size=6
)


@settings(deadline=None)
@given(short_parts, st.data())
def test_times_go_to_the_segment_that_holds_their_middle(
    parts: list[tuple[int, int]], data: st.DataObject
) -> None:
    segments = segments_of(parts)
    window = Window(tuple(segments))
    # A recognizer may place text into the silence that fills the window up.
    start_ms = data.draw(st.integers(0, window.samples // 16 + 100))
    end_ms = data.draw(st.integers(start_ms, window.samples // 16 + 200))

    place, start, end = window.place(start_ms, end_ms)

    holders = [number for number, one in enumerate(segments) for _ in range(one.end - one.start)]
    middle = min((start_ms + end_ms) * 8, len(holders) - 1)
    assert place == holders[middle]
    segment = segments[place]
    assert segment.start <= start * 16 or end == start
    assert start <= end
    assert end * 16 <= max(segment.end, segment.start + 16)
    # Where the whole interval lies in the segment, it is moved and not changed, to a millisecond.
    moved = segment.start - holders.index(place)
    if segment.start <= start_ms * 16 + moved and end_ms * 16 + moved <= segment.end:
        assert abs(start * 16 - (start_ms * 16 + moved)) < 16
        assert abs(end * 16 - (end_ms * 16 + moved)) < 16


@settings(deadline=None)
@given(short_parts, st.data())
def test_later_times_in_a_window_are_later_in_the_recording(
    parts: list[tuple[int, int]], data: st.DataObject
) -> None:
    window = Window(tuple(segments_of(parts)))
    instants = st.integers(0, window.samples // 16)
    times_ms = sorted(data.draw(st.lists(instants, min_size=2, max_size=8)))
    placed = [window.place(time_ms, time_ms) for time_ms in times_ms]
    assert placed == sorted(placed)
    assert [start for _, start, _ in placed] == sorted(start for _, start, _ in placed)


def test_times_after_a_cut_out_pause_are_shifted_by_it() -> None:
    segments = segments_of([(16_000, 32_000), (160_000, 16_000)])
    window = Window(tuple(segments))
    assert window.place(500, 700) == (0, 1500, 1700)
    # The second segment begins 2 s into the window and 13 s into the recording.
    assert window.place(2100, 2300) == (1, 13_100, 13_300)
    # What spans the joint belongs where its middle is, and is clipped there.
    assert window.place(1900, 2300) == (1, 13_000, 13_300)
