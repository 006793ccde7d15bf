"""Where speech is: the segments of one recording as it arrives, by any of the detectors."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np

from asr_core.audio.fsmn_vad import FsmnVad, FsmnVadStream, load_fsmn_vad
from asr_core.audio.segmenter import (
    FixedWindows,
    Segment,
    Segmenter,
    SegmenterOptions,
    SpanSegmenter,
)
from asr_core.audio.vad import SileroVad, VadStream, load_silero_vad
from asr_core.errors import UsageError
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


def open_detector(vad: str, *, fsmn_folder: Path | None = None) -> Detector:
    """Load a detector.

    Args:
        vad: ``silero``, ``fsmn``, or ``off`` for fixed windows without detection.
        fsmn_folder: model folder of ``fsmn``; the others need none.

    Raises:
        ModelFileMissingError: its network is not installed.
        ModelIntegrityError: a file of the model folder is damaged.
        DeviceError: ONNX Runtime cannot load the network.
    """
    if vad == "off":
        return FixedDetector()
    if vad == "silero":
        return SileroDetector(load_silero_vad())
    if vad == "fsmn" and fsmn_folder:
        return FsmnDetector(load_fsmn_vad(fsmn_folder))
    raise UsageError(f"There is no detector {vad!r}, or it lacks its folder")


class SileroDetector:
    """Speech by Silero's probabilities."""

    def __init__(self, vad: SileroVad) -> None:
        self._vad = vad

    def stream(self) -> SegmentStream:
        return _SileroSegments(self._vad.stream())

    def close(self) -> None:
        self._vad.close()


class FsmnDetector:
    """Speech by FSMN-VAD."""

    def __init__(self, vad: FsmnVad) -> None:
        self._vad = vad

    def stream(self) -> SegmentStream:
        return _FsmnSegments(self._vad.stream())

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


class _FsmnSegments:
    def __init__(self, vad: FsmnVadStream) -> None:
        self._vad = vad
        self._segmenter = SpanSegmenter(SegmenterOptions())

    @property
    def settled(self) -> int:
        return self._segmenter.settled

    def accept(self, waveform: Float32) -> list[Segment]:
        intervals = self._vad.accept(waveform)
        return self._segmenter.accept(waveform, intervals, self._vad.settled, self._vad.open_span)

    def finish(self) -> list[Segment]:
        return self._segmenter.finish(self._vad.finish())


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
