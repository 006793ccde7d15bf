"""The part of a recording that segmentation still needs."""

from __future__ import annotations

from collections import deque

import numpy as np

from asr_core.runtime.session import Float32


class WaveformHistory:
    """The latest samples of a recording, addressed by their position in it.

    Attributes:
        start: position of the oldest sample kept.
        end: one past the newest.
    """

    def __init__(self) -> None:
        self._pieces: deque[Float32] = deque()
        self.start = 0
        self.end = 0

    def append(self, waveform: Float32) -> None:
        """Keep a copy of the next samples, float32, shape (samples,)."""
        if len(waveform):
            self._pieces.append(np.array(waveform, np.float32))
            self.end += len(waveform)

    def slice(self, start: int, end: int) -> Float32:
        """A copy of ``[start, end)``, which must lie within what is kept."""
        parts: list[Float32] = []
        position = self.start
        for piece in self._pieces:
            if position >= end:
                break
            parts.append(piece[max(start - position, 0) : max(end - position, 0)])
            position += len(piece)
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def drop_before(self, position: int) -> None:
        """Forget whole pieces that end at or before ``position``."""
        while self._pieces and self.start + len(self._pieces[0]) <= position:
            self.start += len(self._pieces.popleft())
