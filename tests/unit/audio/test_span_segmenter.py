"""Segments from finished intervals of speech, as a detector with its own logic gives them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.history import StreamHistory
from asr_core.audio.segmenter import Segment, Segmenter, SegmenterOptions, SpanSegmenter
from asr_core.audio.vad import WINDOW_SAMPLES
from asr_core.errors import UsageError
from tests.unit.audio.segments import (
    MS,
    PROBABILITIES,
    SHORT,
    Span,
    bounds,
    check_cut,
    check_segments,
    check_settled,
    make_waveform,
    reference_speech,
)

NOTHING = np.zeros(0, np.float32)


@st.composite
def recordings(draw) -> tuple[list[Span], int]:
    """Speech intervals, some touching, some longer than a segment; and the recording's length."""
    spans, position = [], 0
    lengths = st.one_of(st.integers(1, 3_000), st.integers(1, 90_000))
    pauses = st.one_of(st.just(0), st.integers(0, 9_000))
    for pause, length in draw(st.lists(st.tuples(pauses, lengths), max_size=6)):
        spans.append((position + pause, position + pause + length))
        position = spans[-1][1]
    return spans, position + draw(st.integers(0, 9_000))


def segment_all(waveform, spans, options=SHORT, cuts=(), draw=None) -> list[Segment]:
    """Feed a recording in pieces; ``draw`` makes intervals late, and tells of open ones or not."""
    segmenter = SpanSegmenter(options)
    segments: list[Segment] = []
    told, start, left = [], 0, list(spans)
    for end in [*sorted(min(cut, len(waveform)) for cut in cuts), len(waveform)]:
        known = [span for span in left if span[1] <= end]
        if draw:
            known = known[: draw(st.integers(0, len(known)))]
        left = left[len(known) :]
        settled = min([end, *(span[0] for span in left)])
        open_span = None
        if left and left[0][0] < end and draw and draw(st.booleans()):
            open_span = left[0][0], min(left[0][1], end)
        segments += segmenter.accept(waveform[start:end], known, settled, open_span)
        told.append((segmenter.settled, len(segments)))
        start = end
    segments += segmenter.finish(left)
    check_settled(told, segments)
    return segments


@settings(deadline=None)
@given(recordings(), st.integers(0, 9), st.data())
def test_every_interval_lands_in_segments_that_break_no_rule(recording, seed, data):
    spans, total = recording
    waveform = make_waveform(total, seed)
    cuts = data.draw(st.lists(st.integers(0, total), max_size=6))

    segments = segment_all(waveform, spans, cuts=cuts, draw=data.draw)

    limit, zone = SHORT.max_segment_ms * MS, SHORT.cut_zone_ms * MS
    for segment in check_segments(segments, spans, waveform, SHORT):
        zone_end = segment.start + limit
        check_cut(segment.end, waveform, (zone_end - zone, zone_end), lambda at: 0.0)
    assert bounds(segments) == bounds(segment_all(waveform, spans))


@settings(deadline=None)
@given(PROBABILITIES)
def test_intervals_and_the_probabilities_that_they_come_from_make_the_same_segments(probabilities):
    """As long as nothing is cut: a cut looks at the probabilities too."""
    options = SegmenterOptions(padding_ms=120)
    total = len(probabilities) * WINDOW_SAMPLES
    waveform = make_waveform(total)
    segmenter = Segmenter(options)
    expected = segmenter.accept(waveform, np.array(probabilities, np.float32)) + segmenter.finish()

    segments = segment_all(waveform, reference_speech(probabilities, total, options), options)

    assert bounds(segments) == bounds(expected)


def test_padding_may_be_none():
    options = SegmenterOptions(padding_ms=0)
    segments = segment_all(make_waveform(9_000), [(0, 10), (10, 20), (7_000, 9_000)], options)
    assert bounds(segments) == [(0, 0, 10, 10), (10, 10, 20, 20), (7_000, 7_000, 9_000, 9_000)]


def test_a_segment_is_handed_out_as_soon_as_nothing_can_reach_its_padding():
    segmenter = SpanSegmenter(SegmenterOptions())
    assert segmenter.accept(make_waveform(40_000), [(8_000, 20_000)], 20_000) == []
    assert segmenter.settled == 8_000 - 300 * MS
    assert segmenter.accept(NOTHING, [], 20_000 + 600 * MS - 1) == []
    (segment,) = segmenter.accept(NOTHING, [], 20_000 + 600 * MS)
    assert bounds([segment]) == [(3_200, 8_000, 20_000, 24_800)]
    assert segmenter.settled == 24_800


def test_what_is_settled_cannot_lie_in_audio_that_has_not_come():
    segmenter = SpanSegmenter(SegmenterOptions())
    assert segmenter.accept(make_waveform(20_000), [(8_000, 20_000)], 99_999) == []
    assert bounds(segmenter.finish()) == [(3_200, 8_000, 20_000, 20_000)]


def test_an_open_interval_is_cut_before_it_ends():
    segmenter = SpanSegmenter(SHORT)
    cut = segmenter.accept(make_waveform(70_000), [], 5_000, (5_000, 70_000))
    assert len(cut) == 2
    assert cut[0].start == 5_000 - 120 * MS
    assert segmenter.settled == cut[1].end
    # It was never said to end; it ends with what is known of it.
    (last,) = segmenter.finish()
    assert (last.start, last.speech_end) == (cut[1].end, 70_000)


def test_an_interval_beyond_the_end_of_the_recording_ends_with_it():
    segmenter = SpanSegmenter(SegmenterOptions())
    segmenter.accept(make_waveform(10_000), [], 0)
    segments = segmenter.finish([(6_000, 10_400), (10_400, 10_800)])
    assert bounds(segments) == [(1_200, 6_000, 10_000, 10_000)]


@pytest.mark.parametrize("samples", [0, 1])
def test_hardly_any_audio_is_no_error(samples):
    assert segment_all(make_waveform(samples), []) == []
    spans = [(0, samples)] if samples else []
    assert bounds(segment_all(make_waveform(samples), spans)) == [(0, 0, 1, 1)] * samples


@pytest.mark.parametrize(
    ("spans", "settled"),
    [
        ([(100, 100)], 0),
        ([(200, 100)], 0),
        ([(500, 900), (100, 200)], 0),
        ([(100, 500), (499, 900)], 0),
        ([(100, 1_001)], 0),
        ([(-1, 500)], 0),
        ([(100, 500)], 101),
    ],
)
def test_intervals_that_contradict_the_waveform_or_each_other_are_refused(spans, settled):
    segmenter = SpanSegmenter(SegmenterOptions())
    segmenter.accept(make_waveform(1_000), [], settled)
    with pytest.raises(UsageError):
        segmenter.accept(NOTHING, spans, settled)


@pytest.mark.parametrize("span", [(4_999, 60_000), (5_001, 60_000), (5_000, 59_999)])
def test_an_open_interval_may_neither_move_nor_shrink(span):
    segmenter = SpanSegmenter(SHORT)
    segmenter.accept(make_waveform(70_000), [], 0, (5_000, 60_000))
    with pytest.raises(UsageError):
        segmenter.accept(NOTHING, [span], 0)


def test_nothing_can_be_fed_after_the_end():
    segmenter = SpanSegmenter(SegmenterOptions())
    segmenter.finish()
    with pytest.raises(UsageError):
        segmenter.accept(NOTHING, [], 0)
    with pytest.raises(UsageError):
        segmenter.finish()


def test_memory_holds_the_speech_that_may_still_come_and_no_more():
    segmenter = SpanSegmenter(SegmenterOptions())
    piece = make_waveform(16_000)
    most_bytes = 0
    tracemalloc.start()
    try:
        for second in range(600):
            # Each minute: 20 s of speech, known 10 s after its end.
            begin = second // 60 * 60 * 16_000
            spans = [(begin, begin + 20 * 16_000)] if second % 60 == 30 else []
            settled = begin if second % 60 < 30 else second * 16_000
            segmenter.accept(piece, spans, settled)
            most_bytes = max(most_bytes, tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # 31 s, a padding, and the segment that is handed out, of the 600 s that came in.
    assert most_bytes < 1.1 * 4 * 16_000 * (31 + 21)


def test_probabilities_are_forgotten_with_the_audio_that_they_describe():
    probabilities = StreamHistory()
    segmenter = SpanSegmenter(SegmenterOptions(), probabilities)
    piece = make_waveform(5_000 * WINDOW_SAMPLES)
    for _ in range(4):
        probabilities.append(np.zeros(5_000, np.float32))
        segmenter.accept(piece, [], probabilities.end * WINDOW_SAMPLES)
    assert probabilities.end - probabilities.start <= 5_000
