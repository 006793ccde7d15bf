"""Where speech is: the segments of one recording as it arrives, by any of the detectors."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from asr_core.audio.segmenter import FixedWindows, Segment, Segmenter, SegmenterOptions
from asr_core.audio.vad import SileroVad, VadStream, load_silero_vad
from asr_core.runtime.session import Float32


class SegmentStream(Protocol):
    """The segments of one recording that arrives in pieces of any length."""

    @property
    def settled(self) -> int:
        """Position in samples; no later segment starts before it. Never falls."""
        ...

    def accept(self, waveform: Float32) -> list[Segment]:
        """Feed the next piece, float32 mono 16 kHz, shape (samples,).

        Returns:
            Segments that became final, in time order.
        """
        ...

    def finish(self) -> list[Segment]:
        """End of the recording: the remaining segments."""
        ...


class Detector(Protocol):
    """A loaded detector; its streams are independent of each other, on one thread at a time."""

    def stream(self) -> SegmentStream: ...

    def close(self) -> None: ...


def open_detector(vad: str) -> Detector:
    """Load a detector.

    Args:
        vad: ``silero``, or ``off`` for fixed windows without detection.

    Raises:
        ModelFileMissingError: its network is not installed.
    """
    return FixedDetector() if vad == "off" else SileroDetector(load_silero_vad())


class SileroDetector:
    """Speech by Silero's probabilities."""

    def __init__(self, vad: SileroVad) -> None:
        self._vad = vad

    def stream(self) -> SegmentStream:
        return _SileroSegments(self._vad.stream())

    def close(self) -> None:
        self._vad.close()


class FixedDetector:
    """Everything is speech, cut at quiet places, but a window of digital silence."""

    def stream(self) -> SegmentStream:
        return _FixedSegments()

    def close(self) -> None:
        """Nothing is loaded."""


class _SileroSegments:
    def __init__(self, vad: VadStream) -> None:
        self._vad = vad
        self._segmenter = Segmenter(SegmenterOptions())

    @property
    def settled(self) -> int:
        return self._segmenter.settled

    def accept(self, waveform: Float32) -> list[Segment]:
        return self._segmenter.accept(waveform, self._vad.accept(waveform))

    def finish(self) -> list[Segment]:
        last = self._segmenter.accept(np.zeros(0, np.float32), self._vad.finish())
        return [*last, *self._segmenter.finish()]


class _FixedSegments:
    def __init__(self) -> None:
        self._windows = FixedWindows(SegmenterOptions())

    @property
    def settled(self) -> int:
        return self._windows.settled

    def accept(self, waveform: Float32) -> list[Segment]:
        return _audible(self._windows.accept(waveform))

    def finish(self) -> list[Segment]:
        return _audible(self._windows.finish())


def _audible(segments: list[Segment]) -> list[Segment]:
    """Without those whose every sample is 0: damaged ranges, muted calls."""
    return [segment for segment in segments if segment.waveform.any()]
