"""The part of a recording that segmentation still needs."""

from __future__ import annotations

from collections import deque

import numpy as np

from asr_core.errors import UsageError
from asr_core.runtime.session import Float32

_PIECE_VALUES = 4_096  # shorter pieces are joined, so that there are few of them to search


class StreamHistory:
    """The latest values of a stream, addressed by their position in it.

    Attributes:
        start: position of the oldest value kept.
        end: one past the newest.
    """

    def __init__(self) -> None:
        self._pieces: deque[Float32] = deque()
        self.start = 0
        self.end = 0

    def append(self, values: Float32) -> None:
        """Keep a copy of the next values, float32, shape (values,)."""
        if not len(values):
            return
        if self._pieces and len(self._pieces[-1]) < _PIECE_VALUES:
            self._pieces[-1] = np.concatenate([self._pieces[-1], values], dtype=np.float32)
        else:
            self._pieces.append(np.array(values, np.float32))
        self.end += len(values)

    def slice(self, start: int, end: int) -> Float32:
        """A copy of ``[start, end)``.

        Raises:
            UsageError: part of it was dropped or has not arrived.
        """
        if start < end and not self.start <= start < end <= self.end:
            raise UsageError(f"[{start}, {end}) is not within [{self.start}, {self.end})")
        parts: list[Float32] = []
        position = self.start
        for piece in self._pieces:
            if position >= end:
                break
            if position + len(piece) > start:
                parts.append(piece[max(start - position, 0) : max(end - position, 0)])
            position += len(piece)
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def drop_before(self, position: int) -> None:
        """Forget whole pieces that end at or before ``position``."""
        while self._pieces and self.start + len(self._pieces[0]) <= position:
            self.start += len(self._pieces.popleft())
