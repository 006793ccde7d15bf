"""A limit on how long a decoder may work on a file without handing out audio."""

from __future__ import annotations

import errno
import time
from typing import BinaryIO


class StalledError(Exception):
    """Nothing came out of a recording for longer than allowed."""


class WatchedFile:
    """An open file as FFmpeg reads it: without its name, and only for a while.

    FFmpeg would guess a format from the name's extension. It reads through here, so a reader that
    runs in circles is stopped at its next read.

    Args:
        file: open for reading, seekable.
        stall_s: time that may pass between two calls of :meth:`restart`.

    Attributes:
        stall_s: the limit.
    """

    def __init__(self, file: BinaryIO, stall_s: float) -> None:
        self._file = file
        self.stall_s = stall_s
        self.tell = file.tell
        self.restart()

    def restart(self) -> None:
        """Audio came out, or the decoder begins to work."""
        self._deadline = time.monotonic() + self.stall_s

    def check(self) -> None:
        """Raises StalledError when the time is over."""
        if time.monotonic() > self._deadline:
            raise StalledError

    def seek(self, offset: int, whence: int = 0) -> int:
        """As of the file, but -22 (FFmpeg's "invalid argument") for a place that cannot exist."""
        try:
            return self._file.seek(offset, whence)
        except (OSError, ValueError, OverflowError):
            return -errno.EINVAL

    def read(self, size: int = -1) -> bytes:
        self.check()
        return self._file.read(size)
