"""Speech segments laid end to end in the windows that a fixed-length network takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asr_core.audio.segmenter import FixedWindows, Segment, SegmenterOptions
from asr_core.audio.timeline import Timeline
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.session import Float32

_MS_SAMPLES = SAMPLE_RATE_HZ // 1000


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Consecutive segments in one waveform.

    Attributes:
        segments: at least one, in time order.
    """

    segments: tuple[Segment, ...]

    @property
    def waveform(self) -> Float32:
        """float32 mono 16 kHz, shape (samples,)."""
        return np.concatenate([segment.waveform for segment in self.segments])

    @property
    def samples(self) -> int:
        return sum(segment.end - segment.start for segment in self.segments)

    def place(self, start_ms: int, end_ms: int) -> tuple[int, int, int]:
        """Map an interval of the window to the recording.

        The segment that holds the interval's middle takes it; its bounds clip it.

        Returns:
            ``(place of the segment in the window, start_ms, end_ms)``, times absolute.
        """
        timeline = Timeline((segment.start, segment.end) for segment in self.segments)
        middle = (start_ms + end_ms) * _MS_SAMPLES // 2
        place = timeline.index_at(min(middle, timeline.samples - 1))
        start, end = timeline.within(place, start_ms * _MS_SAMPLES, end_ms * _MS_SAMPLES)
        first_ms = -(-self.segments[place].start // _MS_SAMPLES)
        last_ms = max(self.segments[place].end // _MS_SAMPLES, first_ms)
        placed_start_ms = min(max(start // _MS_SAMPLES, first_ms), last_ms)
        return place, placed_start_ms, min(max(end // _MS_SAMPLES, first_ms), last_ms)


def pack(segments: Sequence[Segment], window_samples: int) -> list[Window]:
    """Fill windows in order; a segment is never divided.

    Args:
        segments: in time order.
        window_samples: capacity of a window; a longer segment gets a window of its own.
    """
    windows: list[Window] = []
    first = used = 0
    for index, segment in enumerate(segments):
        length = segment.end - segment.start
        if index > first and used + length > window_samples:
            windows.append(Window(tuple(segments[first:index])))
            first, used = index, 0
        used += length
    if first < len(segments):
        windows.append(Window(tuple(segments[first:])))
    return windows


def divide(segment: Segment, most_samples: int) -> list[Segment]:
    """Cut a segment at its quietest places into pieces of at most ``most_samples``."""
    if len(segment.waveform) <= most_samples:
        return [segment]
    most_ms = most_samples // _MS_SAMPLES
    options = SegmenterOptions(
        max_segment_ms=most_ms, cut_zone_ms=most_ms // 2, padding_ms=0, min_speech_ms=0
    )
    cutter = FixedWindows(options)
    pieces = [*cutter.accept(segment.waveform), *cutter.finish()]
    return [
        Segment(
            start=segment.start + piece.start,
            end=segment.start + piece.end,
            speech_start=max(segment.start + piece.start, segment.speech_start),
            speech_end=min(segment.start + piece.end, segment.speech_end),
            waveform=piece.waveform,
        )
        for piece in pieces
    ]
