"""Segments of a recording: where they begin and end, and that no speech is lost."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.segmenter import FixedWindows, Segment, Segmenter, SegmenterOptions
from asr_core.audio.vad import WINDOW_SAMPLES
from asr_core.errors import UsageError
from tests.unit.audio.segments import (
    MS,
    PROBABILITIES,
    SHORT,
    bounds,
    check_cut,
    check_segments,
    check_settled,
    make_waveform,
    reference_speech,
    windows_of,
)


class Windows(FixedWindows):
    """Whole-recording windows fed like a :class:`Segmenter`."""

    def accept(self, waveform, probabilities):
        return super().accept(waveform)


def segment_all(waveform, probabilities, options=SHORT, cuts=(), lag=0, build=Segmenter):
    """Feed a recording in pieces cut at the given samples.

    Probabilities come when their window is complete and ``lag`` more windows are.
    """
    segmenter = build(options)
    probabilities = np.asarray(probabilities, np.float32)
    segments: list[Segment] = []
    told, start, sent = [], 0, 0
    for end in [*sorted(min(cut, len(waveform)) for cut in cuts), len(waveform)]:
        known = max(end // WINDOW_SAMPLES - lag, sent)
        segments += segmenter.accept(waveform[start:end], probabilities[sent:known])
        told.append((segmenter.settled, len(segments)))
        start, sent = end, known
    segments += segmenter.accept(waveform[:0], probabilities[sent:])
    told.append((segmenter.settled, len(segments)))
    segments += segmenter.finish()
    check_settled(told, segments)
    return segments


@settings(deadline=None)
@given(PROBABILITIES, st.integers(0, WINDOW_SAMPLES - 1), st.integers(0, 9), st.data())
def test_all_speech_lands_in_exactly_one_segment_and_no_segment_breaks_a_rule(
    probabilities, missing, seed, data
):
    total = max(len(probabilities) * WINDOW_SAMPLES - missing, 0)
    waveform = make_waveform(total, seed)
    cuts = data.draw(st.lists(st.integers(0, total), max_size=6))

    segments = segment_all(waveform, probabilities, cuts=cuts, lag=data.draw(st.integers(0, 3)))

    speech = reference_speech(probabilities, total, SHORT)
    zone = SHORT.cut_zone_ms * MS
    for segment in check_segments(segments, speech, waveform, SHORT):
        zone_end = segment.start + SHORT.max_segment_ms * MS
        check_cut(
            segment.end,
            waveform,
            (zone_end - zone, zone_end),
            lambda at: float(probabilities[at // WINDOW_SAMPLES]),
        )


@settings(deadline=None)
@given(PROBABILITIES, st.integers(0, 3), st.data())
def test_the_division_into_pieces_does_not_matter(probabilities, lag, data):
    total = len(probabilities) * WINDOW_SAMPLES
    waveform = make_waveform(total)
    cuts = data.draw(st.lists(st.integers(0, total), max_size=8))

    whole = segment_all(waveform, probabilities)
    pieces = segment_all(waveform, probabilities, cuts=cuts, lag=lag)

    assert bounds(pieces) == bounds(whole)


def test_speech_between_long_silences_gets_full_padding():
    probabilities = windows_of((0.0, 1600), (0.9, 960), (0.0, 1600))
    waveform = make_waveform(len(probabilities) * WINDOW_SAMPLES)

    (segment,) = segment_all(waveform, probabilities, SegmenterOptions())

    assert (segment.speech_start, segment.speech_end) == (1600 * MS, 2560 * MS)
    assert (segment.start, segment.end) == (1300 * MS, 2860 * MS)


def test_a_pause_shorter_than_two_paddings_is_halved():
    probabilities = windows_of((0.9, 960), (0.0, 544), (0.9, 960))
    waveform = make_waveform(len(probabilities) * WINDOW_SAMPLES)

    first, second = segment_all(waveform, probabilities, SegmenterOptions())

    assert first.end == second.start == (960 + 272) * MS
    assert second.speech_start == (960 + 544) * MS


def test_a_short_pause_does_not_end_a_segment():
    probabilities = windows_of((0.9, 960), (0.0, 480), (0.9, 960))
    waveform = make_waveform(len(probabilities) * WINDOW_SAMPLES)

    (segment,) = segment_all(waveform, probabilities, SegmenterOptions())

    assert (segment.speech_start, segment.speech_end) == (0, 2400 * MS)


def test_a_two_window_word_is_kept_and_a_one_window_click_is_not():
    probabilities = windows_of((0.0, 960), (0.9, 64), (0.0, 960), (0.9, 32), (0.0, 960))
    waveform = make_waveform(len(probabilities) * WINDOW_SAMPLES)

    (segment,) = segment_all(waveform, probabilities, SegmenterOptions())

    assert (segment.speech_start, segment.speech_end) == (960 * MS, 1024 * MS)


def test_middling_probability_goes_on_with_speech_but_does_not_begin_it():
    probabilities = windows_of((0.45, 640), (0.9, 320), (0.45, 640), (0.0, 960))
    waveform = make_waveform(len(probabilities) * WINDOW_SAMPLES)

    (segment,) = segment_all(waveform, probabilities, SegmenterOptions())

    assert (segment.speech_start, segment.speech_end) == (640 * MS, 1600 * MS)


@pytest.mark.parametrize("build", [Segmenter, Windows])
def test_speech_without_a_pause_is_cut_at_the_quietest_place(build):
    total_ms = 40_000
    waveform = make_waveform(total_ms * MS)
    waveform[26_000 * MS : 26_100 * MS] *= 0.01
    waveform[12_000 * MS : 12_100 * MS] = 0  # quieter, but before the zone of the cut

    probabilities = np.ones(total_ms // 32, np.float32)
    segments = segment_all(waveform, probabilities, SegmenterOptions(), build=build)

    assert len(segments) == 2
    assert segments[0].end == segments[1].start == segments[1].speech_start
    assert 26_000 * MS < segments[0].end < 26_100 * MS


@pytest.mark.parametrize("build", [Segmenter, Windows])
@pytest.mark.parametrize(("samples", "count"), [(32_000, 1), (32_001, 2)])
def test_what_fits_into_the_limit_to_the_sample_is_not_cut(build, samples, count):
    segments = segment_all(make_waveform(samples), [1.0] * 63, build=build)
    assert len(segments) == count
    assert (segments[0].start, segments[-1].end) == (0, samples)


@pytest.mark.parametrize("build", [Segmenter, Windows])
def test_equally_quiet_places_are_cut_at_the_latest(build):
    waveform = np.zeros(2_500 * MS, np.float32)
    probabilities = np.ones(-(-len(waveform) // WINDOW_SAMPLES), np.float32)

    first, second = segment_all(waveform, probabilities, build=build)

    assert (first.end, second.end) == (1_995 * MS, 2_500 * MS)


def test_an_unlikely_speech_window_is_preferred_for_the_cut_at_equal_level():
    total_ms = 32_000
    rng = np.random.default_rng(3)
    waveform = (0.1 * rng.choice([-1, 1], total_ms * MS)).astype(np.float32)
    probabilities = np.ones(total_ms // 32, np.float32)
    probabilities[24_000 // 32] = 0.4

    first, _ = segment_all(waveform, probabilities, SegmenterOptions())

    assert 24_000 * MS <= first.end < 24_032 * MS


def test_speech_up_to_the_limit_is_not_cut_although_its_padding_would_exceed_it():
    probabilities = windows_of((0.0, 320), (0.9, 1856), (0.0, 960))
    waveform = make_waveform(len(probabilities) * WINDOW_SAMPLES)

    (segment,) = segment_all(waveform, probabilities)

    assert (segment.speech_start, segment.speech_end) == (320 * MS, 2176 * MS)
    assert segment.start == 200 * MS
    assert segment.end == 2200 * MS


def test_speech_that_lasts_to_the_end_is_kept_without_the_last_probability():
    waveform = make_waveform(100 * WINDOW_SAMPLES + 300)
    segmenter = Segmenter(SegmenterOptions())

    early = segmenter.accept(waveform, np.ones(100, np.float32))
    segments = early + segmenter.finish()

    assert [(s.start, s.speech_end, s.end) for s in segments] == [(0, len(waveform), len(waveform))]


def test_a_segment_is_handed_out_as_soon_as_it_is_certain():
    segmenter = Segmenter(SegmenterOptions())
    probabilities = np.array(windows_of((0.9, 960), (0.0, 608)), np.float32)
    waveform = make_waveform(len(probabilities) * WINDOW_SAMPLES)

    assert len(segmenter.accept(waveform, probabilities)) == 1


def test_settled_keeps_up_with_silence_and_waits_for_speech():
    segmenter = Segmenter(SegmenterOptions())

    def feed(*runs):
        probabilities = np.array(windows_of(*runs), np.float32)
        count = len(segmenter.accept(make_waveform(len(probabilities) * 512), probabilities))
        return segmenter.settled // MS, count

    assert feed() == (0, 0)
    assert feed((0.0, 3200)) == (2900, 0)
    assert feed((0.9, 3200)) == (2900, 0)
    assert feed((0.0, 480)) == (2900, 0)  # the pause has not ended the speech
    assert feed((0.0, 96)) == (2900, 0)  # the padding behind it is open
    assert feed((0.0, 32)) == (6708, 1)
    assert feed((0.0, 3200)) == (9908, 0)


@pytest.mark.parametrize("pattern", [[0.0], [0.9], [0.9, 0.9, 0.0], [0.9, 0.4, 0.0, 0.0, 0.0]])
@pytest.mark.parametrize("build", [Segmenter, Windows])
@pytest.mark.parametrize("piece_s", [10, 0.1])
def test_memory_does_not_grow_with_the_recording(build, pattern, piece_s):
    segmenter = build(SegmenterOptions())
    piece = make_waveform(round(piece_s * 16_000))
    total = windows = most_bytes = 0
    tracemalloc.start()
    try:
        while total < 300 * 16_000:
            total += len(piece)
            count = total // WINDOW_SAMPLES - windows
            # The pattern's values last two seconds each.
            values = [pattern[at // 63 % len(pattern)] for at in range(windows, windows + count)]
            windows += count
            segmenter.accept(piece, np.array(values, np.float32))
            most_bytes = max(most_bytes, tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # One segment and its padding, the newest piece, and a tenth for the rest; 19 MB came in.
    assert most_bytes < 1.1 * 4 * (31 * 16_000 + 2 * len(piece))


@pytest.mark.parametrize("samples", [0, 1, 511, 512, 800])
def test_hardly_any_audio_gives_no_segment_when_silent(samples):
    waveform = np.zeros(samples, np.float32)
    assert segment_all(waveform, [0.0] * -(-samples // WINDOW_SAMPLES)) == []


@pytest.mark.parametrize("samples", [1, 511])
def test_less_than_the_shortest_speech_is_none_however_likely(samples):
    assert segment_all(make_waveform(samples), [1.0]) == []


@settings(deadline=None)
@given(st.integers(0, 150_000), st.integers(0, 9), st.lists(st.integers(0, 150_000), max_size=5))
def test_fixed_windows_tile_the_recording(total, seed, cuts):
    waveform = make_waveform(total, seed)

    segments = segment_all(waveform, [], cuts=cuts, build=Windows)

    speech = [(0, total)] if total else []
    limit, zone = SHORT.max_segment_ms * MS, SHORT.cut_zone_ms * MS
    for segment in check_segments(segments, speech, waveform, SHORT):
        zone_end = segment.start + limit
        check_cut(segment.end, waveform, (zone_end - zone, zone_end), lambda at: 0.0)
    assert bounds(segments) == bounds(segment_all(waveform, [], build=Windows))


def test_a_single_sample_is_a_window_of_its_own():
    assert bounds(segment_all(make_waveform(1), [], build=Windows)) == [(0, 0, 1, 1)]


@pytest.mark.parametrize("build", [Segmenter, Windows])
def test_nothing_can_be_fed_after_the_end(build):
    segmenter = build(SegmenterOptions())
    segmenter.finish()
    with pytest.raises(UsageError):
        segmenter.accept(np.zeros(1, np.float32), np.zeros(0, np.float32))
    with pytest.raises(UsageError):
        segmenter.finish()


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": 0.3, "neg_threshold": 0.5},
        {"padding_ms": -1},
        {"cut_zone_ms": 20_000},
        {"cut_zone_ms": 0},
        {"max_segment_ms": 500, "cut_zone_ms": 100},
    ],
)
def test_options_that_contradict_each_other_are_refused(changes):
    with pytest.raises(UsageError):
        SegmenterOptions(**changes)


@pytest.mark.parametrize("step", [511, 4_000, 16_000, 50_001])
def test_a_long_recording_in_equal_blocks_keeps_every_probability_in_its_place(step):
    """Speech that begins right after a block must not shift what the detector said later."""
    rng = np.random.default_rng(11)
    runs = [
        (probability, int(rng.integers(64, 4000))) for _ in range(60) for probability in (1.0, 0.0)
    ]
    probabilities = windows_of(*runs)
    total = len(probabilities) * WINDOW_SAMPLES
    waveform = make_waveform(total)

    in_blocks = segment_all(waveform, probabilities, cuts=range(step, total, step))

    check_segments(in_blocks, reference_speech(probabilities, total, SHORT), waveform, SHORT)
