"""Conversion of a waveform that arrives in pieces to the engine's sample rate."""

from __future__ import annotations

import numpy as np

from asr_core.errors import UsageError
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.session import Float32


class Resampler:
    """One stream at one rate; keeps the filter's state between pieces.

    Everything pushed plus the flush lasts as long as the input, to within one sample.

    Args:
        source_hz: sample rate of what is pushed; 16 kHz passes through unchanged.
    """

    def __init__(self, source_hz: int) -> None:
        if source_hz <= 0:
            raise UsageError(f"A sample rate of {source_hz} Hz cannot be resampled")
        self._stream = None
        self._finished = False
        if source_hz != SAMPLE_RATE_HZ:
            import soxr

            self._stream = soxr.ResampleStream(
                source_hz, SAMPLE_RATE_HZ, 1, dtype="float32", quality="HQ"
            )

    def push(self, waveform: Float32) -> Float32:
        """Convert one piece.

        Args:
            waveform: float32 mono, shape (samples,), any length.

        Returns:
            What is complete so far, float32 16 kHz, shape (samples,); the filter holds back a
            few milliseconds until the next piece.
        """
        return self._convert(waveform, last=False)

    def flush(self) -> Float32:
        """The held-back end, float32 16 kHz, shape (samples,). Nothing can be pushed after it."""
        rest = self._convert(np.zeros(0, np.float32), last=True)
        self._finished = True
        return rest

    def _convert(self, waveform: Float32, *, last: bool) -> Float32:
        if self._finished:
            raise UsageError("The resampler has been flushed")
        piece = np.ascontiguousarray(waveform, np.float32)
        if self._stream is None:
            return piece
        converted: Float32 = self._stream.resample_chunk(piece, last=last)
        return converted
