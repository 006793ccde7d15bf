"""What segments have to be, by definition: plain oracles for the tests of this folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st

from asr_core.audio.segmenter import Segment, SegmenterOptions
from asr_core.audio.vad import WINDOW_SAMPLES

MS = 16
SHORT = SegmenterOptions(
    min_silence_ms=200, padding_ms=120, max_segment_ms=2000, cut_zone_ms=700, min_speech_ms=64
)

Span = tuple[int, int]

_RUNS = st.tuples(st.sampled_from([0.0, 0.1, 0.36, 0.45, 0.5, 0.7, 1.0]), st.integers(1, 70))
PROBABILITIES = st.one_of(
    st.lists(_RUNS, max_size=12).map(lambda runs: [p for p, count in runs for _ in range(count)]),
    st.lists(st.floats(0, 1, width=32), max_size=120),
)
"""Probabilities of one recording: long runs, and windows that know nothing of each other."""


def make_waveform(samples: int, seed: int = 0) -> np.ndarray:
    """Noise whose every sample is different, with a level that wanders."""
    rng = np.random.default_rng(seed)
    level = 0.05 + 0.2 * np.abs(np.sin(np.arange(samples) / 3000 + seed))
    return (rng.uniform(-1, 1, samples) * level).astype(np.float32)


def windows_of(*runs: tuple[float, int]) -> list[float]:
    """``(probability, milliseconds)`` runs as one probability per window of 32 ms."""
    return [value for value, length_ms in runs for _ in range(length_ms // 32)]


def bounds(segments: Sequence[Segment]) -> list[tuple[int, int, int, int]]:
    return [(s.start, s.speech_start, s.speech_end, s.end) for s in segments]


def reference_speech(
    probabilities: Sequence[float], total: int, options: SegmenterOptions
) -> list[Span]:
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
    joined: list[list[int]] = []
    for begin, end in runs:
        if joined and begin - joined[-1][1] < options.min_silence_ms * MS:
            joined[-1][1] = end
        else:
            joined.append([begin, end])
    return [(b, e) for b, e in joined if e - b >= options.min_speech_ms * MS]


def check_segments(
    segments: Sequence[Segment],
    speech: Sequence[Span],
    waveform: np.ndarray,
    options: SegmenterOptions,
) -> list[Segment]:
    """Assert that segments are exactly what the speech intervals make of the recording.

    Cuts inside an interval may lie anywhere in their zone.

    Returns:
        The segments that end with such a cut.
    """
    padding, limit = options.padding_ms * MS, options.max_segment_ms * MS
    zone = options.cut_zone_ms * MS
    left, cut_ones, rest = 0, [], list(segments)
    for number, (begin, end) in enumerate(speech):
        start, speech_start = max(begin - padding, left), begin
        while end - start > limit:
            piece = rest.pop(0)
            assert bounds([piece]) == [(start, speech_start, piece.end, piece.end)]
            assert start + limit - zone < piece.end <= start + limit
            start = speech_start = piece.end
            cut_ones.append(piece)
        is_last = number == len(speech) - 1
        right = len(waveform) if is_last else (end + speech[number + 1][0]) // 2
        padded_end = min(end + padding, start + limit, right)
        assert bounds(rest[:1]) == [(start, speech_start, end, padded_end)]
        rest.pop(0)
        left = right
    assert rest == []
    for segment in segments:
        assert segment.waveform.dtype == np.float32
        np.testing.assert_array_equal(segment.waveform, waveform[segment.start : segment.end])
    return cut_ones


def check_cut(
    cut: int, waveform: np.ndarray, zone: Span, probability_at: Callable[[int], float]
) -> None:
    """Assert that no place of the zone is better to cut.

    Places are the middles of its frames of 10 ms; the cost of one is the level of the 50 ms
    around it as far as they lie in the zone, and 20 dB for certain speech.
    """
    costs = {}
    starts = range(zone[0], zone[1] - 160 + 1, 160)
    for start in starts:
        near = [begin for begin in starts if abs(begin - start) <= 320]
        values = np.concatenate([waveform[begin : begin + 160] for begin in near])
        power = float(np.mean(np.square(values, dtype=np.float64)))
        level_db = 10 * math.log10(power + 1e-8)
        costs[start + 80] = level_db + 20 * probability_at(start + 80)
    assert cut in costs
    assert costs[cut] <= min(costs.values()) + 1e-6


def check_settled(told: Sequence[tuple[int, int]], segments: Sequence[Segment]) -> None:
    """Assert what ``settled`` promises.

    Args:
        told: ``(settled, segments handed out by then)`` after each piece.
        segments: all of the recording.
    """
    positions = [settled for settled, _ in told]
    assert positions == sorted(positions)
    for settled, count in told:
        assert all(segment.start >= settled for segment in segments[count:])
