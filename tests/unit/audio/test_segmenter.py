"""Segments of a recording: where they begin and end, and that no speech is lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.audio.segmenter import FixedWindows, Segment, Segmenter, SegmenterOptions
from asr_core.audio.vad import WINDOW_SAMPLES
from asr_core.errors import UsageError

MS = 16
SHORT = SegmenterOptions(
    min_silence_ms=200, padding_ms=120, max_segment_ms=2000, cut_zone_ms=700, min_speech_ms=64
)


def make_waveform(samples: int, seed: int = 0) -> np.ndarray:
    """Noise whose every sample is different, with a level that wanders."""
    rng = np.random.default_rng(seed)
    level = 0.05 + 0.2 * np.abs(np.sin(np.arange(samples) / 3000))
    return (rng.uniform(-1, 1, samples) * level).astype(np.float32)


def segment_all(waveform, probabilities, options=SHORT, cuts=()) -> list[Segment]:
    """Feed a recording in pieces cut at the given samples; probabilities come as they complete."""
    segmenter = Segmenter(options)
    probabilities = np.asarray(probabilities, np.float32)
    segments, start, sent = [], 0, 0
    for end in [*sorted(min(cut, len(waveform)) for cut in cuts), len(waveform)]:
        known = end // WINDOW_SAMPLES
        segments += segmenter.accept(waveform[start:end], probabilities[sent:known])
        start, sent = end, known
    segments += segmenter.accept(waveform[:0], probabilities[sent:])
    return segments + segmenter.finish()


def windows_of(*runs: tuple[float, int]) -> list[float]:
    """``(probability, milliseconds)`` runs as one probability per window of 32 ms."""
    return [value for value, length_ms in runs for _ in range(length_ms // 32)]


def reference_speech(probabilities, total, options) -> list[tuple[int, int]]:
    """Speech intervals by definition: hysteresis, then joining, then dropping of blips."""
    runs, on = [], False
    for index, value in enumerate(probabilities):
        begin, end = index * WINDOW_SAMPLES, min((index + 1) * WINDOW_SAMPLES, total)
        if value >= options.threshold or (on and value >= options.neg_threshold):
            if on:
                runs[-1][1] = end
            else:
                runs.append([begin, end])
            on = True
        else:
            on = False
    joined = []
    for begin, end in runs:
        if joined and begin - joined[-1][1] < options.min_silence_ms * MS:
            joined[-1][1] = end
        else:
            joined.append([begin, end])
    return [(b, e) for b, e in joined if e - b >= options.min_speech_ms * MS]


def joined_speech(segments: list[Segment]) -> list[tuple[int, int]]:
    """Speech intervals of segments, pieces of one cut interval joined again."""
    joined: list[tuple[int, int]] = []
    for segment in segments:
        if joined and joined[-1][1] == segment.speech_start:
            joined[-1] = (joined[-1][0], segment.speech_end)
        else:
            joined.append((segment.speech_start, segment.speech_end))
    return joined


PROBABILITIES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.36, 0.45, 0.5, 0.7, 1.0]), st.integers(1, 70)),
    max_size=12,
).map(lambda runs: [value for value, count in runs for _ in range(count)])


@given(PROBABILITIES, st.integers(0, WINDOW_SAMPLES - 1), st.data())
def test_all_speech_lands_in_exactly_one_segment_and_no_segment_breaks_a_rule(
    probabilities, missing, data
):
    total = max(len(probabilities) * WINDOW_SAMPLES - missing, 0)
    waveform = make_waveform(total)
    cuts = data.draw(st.lists(st.integers(0, total), max_size=6))

    segments = segment_all(waveform, probabilities, cuts=cuts)

    assert joined_speech(segments) == reference_speech(probabilities, total, SHORT)
    position = 0
    for segment in segments:
        assert position <= segment.start <= segment.speech_start
        assert segment.speech_start < segment.speech_end <= segment.end <= total
        assert segment.end - segment.start <= SHORT.max_segment_ms * MS
        assert segment.speech_start - segment.start <= SHORT.padding_ms * MS
        assert segment.end - segment.speech_end <= SHORT.padding_ms * MS
        np.testing.assert_array_equal(segment.waveform, waveform[segment.start : segment.end])
        position = segment.end


@given(PROBABILITIES, st.data())
def test_the_division_into_pieces_does_not_matter(probabilities, data):
    total = len(probabilities) * WINDOW_SAMPLES
    waveform = make_waveform(total)
    cuts = data.draw(st.lists(st.integers(0, total), max_size=8))

    whole = segment_all(waveform, probabilities)
    pieces = segment_all(waveform, probabilities, cuts=cuts)

    bounds = [(s.start, s.speech_start, s.speech_end, s.end) for s in whole]
    assert [(s.start, s.speech_start, s.speech_end, s.end) for s in pieces] == bounds


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


class Windows(FixedWindows):
    """Whole-recording windows fed like a :class:`Segmenter`."""

    def accept(self, waveform, probabilities):
        return super().accept(waveform)


@pytest.mark.parametrize("build", [Segmenter, Windows])
def test_speech_without_a_pause_is_cut_at_the_quietest_place(build):
    total_ms = 40_000
    waveform = make_waveform(total_ms * MS)
    waveform[26_000 * MS : 26_100 * MS] *= 0.01
    waveform[12_000 * MS : 12_100 * MS] = 0  # quieter, but before the zone of the cut
    segmenter = build(SegmenterOptions())

    probabilities = np.ones(total_ms // 32, np.float32)
    segments = segmenter.accept(waveform, probabilities) + segmenter.finish()

    assert len(segments) == 2
    assert segments[0].end == segments[1].start == segments[1].speech_start
    assert 26_000 * MS < segments[0].end < 26_100 * MS


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


@pytest.mark.parametrize("probability", [0.0, 0.9])
@pytest.mark.parametrize("build", [Segmenter, Windows])
def test_memory_does_not_grow_with_the_recording(build, probability):
    options = SegmenterOptions()
    segmenter = build(options)
    block = make_waveform(10 * 16_000)
    probabilities = np.full(len(block) // WINDOW_SAMPLES, probability, np.float32)
    kept = []
    for _ in range(60):
        segmenter.accept(block, probabilities)
        kept.append(segmenter._spans._history.end - segmenter._spans._history.start)

    assert segmenter._spans._history.end == 60 * len(block)
    assert max(kept) <= (options.max_segment_ms + 2 * options.padding_ms) * MS + 2 * len(block)


@pytest.mark.parametrize("samples", [0, 1, 511, 800])
def test_hardly_any_audio_gives_no_segment_when_silent(samples):
    waveform = np.zeros(samples, np.float32)
    assert segment_all(waveform, [0.0] if samples else []) == []


@given(st.integers(0, 150_000), st.lists(st.integers(0, 150_000), max_size=5))
def test_fixed_windows_tile_the_recording(total, cuts):
    waveform = make_waveform(total)
    windows = FixedWindows(SHORT)
    segments, start = [], 0
    for end in [*sorted(min(cut, total) for cut in cuts), total]:
        segments += windows.accept(waveform[start:end])
        start = end
    segments += windows.finish()

    position = 0
    for segment in segments:
        assert segment.start == segment.speech_start == position
        assert position < segment.end == segment.speech_end
        assert segment.end - segment.start <= SHORT.max_segment_ms * MS
        np.testing.assert_array_equal(segment.waveform, waveform[segment.start : segment.end])
        position = segment.end
    assert position == total
    whole = FixedWindows(SHORT)
    once = whole.accept(waveform) + whole.finish()
    assert [s.end for s in once] == [s.end for s in segments]


@pytest.mark.parametrize("build", [Segmenter, Windows])
def test_nothing_can_be_fed_after_the_end(build):
    segmenter = build(SegmenterOptions())
    segmenter.finish()
    with pytest.raises(UsageError):
        segmenter.accept(np.zeros(1, np.float32), np.zeros(0, np.float32))


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

    assert joined_speech(in_blocks) == reference_speech(probabilities, total, SHORT)
    for segment in in_blocks:
        np.testing.assert_array_equal(segment.waveform, waveform[segment.start : segment.end])
