"""AAC in its bare form (ADTS), freed from what is damaged in it.

FFmpeg passes over damaged bytes without a word, and the stream has no clock: what comes after
them would come too early. Here the frames are found first, so that holes are known.
Header fields are those of ISO/IEC 13818-7, section 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

_HEADER_BYTES = 7
_LONGEST_FRAME_BYTES = (1 << 13) - 1
_BLOCK_BYTES = 1 << 16


class ByteSource(Protocol):
    """What frames are read from."""

    def read(self, size: int = -1) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Hole:
    """Bytes between two frames that are none.

    Attributes:
        frame: number of the frame behind the hole, from 0.
        size_bytes: length of the hole.
    """

    frame: int
    size_bytes: int


def is_adts(head: bytes) -> bool:
    """Whether a file begins with an ADTS frame and another one behind it."""
    length = _frame_bytes(head, 0)
    return _frame_bytes(head, length) > 0 and _identity(head, length) == _identity(head, 0)


class AdtsFrames:
    """A file as FFmpeg reads it: whole frames only, one after the other.

    Args:
        source: the file, at its start.

    Attributes:
        holes: found so far, in order.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._ready = bytearray()
        self._buffer = b""
        self._start = 0  # of the next frame in the buffer
        self._identity = b""
        self._frames = 0
        self._skipped_bytes = 0
        self._ended = False
        self.holes: list[Hole] = []

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes of whole frames; empty at the end."""
        while len(self._ready) < size:
            self._fill()
            length = self._next_frame()
            if not length:
                break
            self._ready += self._buffer[self._start : self._start + length]
            self._start += length
        given = bytes(self._ready[:size])
        del self._ready[:size]
        return given

    def _fill(self) -> None:
        """Hold two of the longest frames, as far as the file has them."""
        while not self._ended and len(self._buffer) - self._start < 2 * _LONGEST_FRAME_BYTES:
            block = self._source.read(_BLOCK_BYTES)
            self._ended = not block
            self._buffer = self._buffer[self._start :] + block
            self._start = 0

    def _next_frame(self) -> int:
        """Length of the frame at ``_start``, which moves over what is none; 0 at the end."""
        while self._start < len(self._buffer):
            length = self._whole_frame()
            if length:
                self._note_frame()
                return length
            found = self._buffer.find(b"\xff", self._start + 1)
            behind = len(self._buffer) if found < 0 else found
            self._skipped_bytes += behind - self._start
            self._start = behind
            self._fill()
        return 0

    def _whole_frame(self) -> int:
        """Length of the frame at ``_start`` if another one, or the end, is right behind it.

        A stream may change its sample rate: of two frames behind each other, either both are of
        one kind or the first is of the kind so far.
        """
        length = _frame_bytes(self._buffer, self._start)
        if not length:
            return 0
        behind = self._start + length
        identity = _identity(self._buffer, self._start)
        is_known = identity == self._identity
        has_next = _frame_bytes(self._buffer, behind) > 0
        is_last = behind == len(self._buffer)
        is_pair = has_next and (is_known or _identity(self._buffer, behind) == identity)
        if not is_pair and not (is_last and is_known):
            return 0
        self._identity = identity
        return length

    def _note_frame(self) -> None:
        if self._skipped_bytes and self._frames:
            self.holes.append(Hole(self._frames, self._skipped_bytes))
        self._skipped_bytes = 0
        self._frames += 1


def _frame_bytes(data: bytes, at: int) -> int:
    """Length of the frame whose header is there; 0 when there is none."""
    if at + _HEADER_BYTES > len(data) or data[at] != 0xFF or data[at + 1] & 0xF6 != 0xF0:
        return 0
    length = (data[at + 3] & 0x03) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
    return length if length >= _HEADER_BYTES else 0


def _identity(data: bytes, at: int) -> bytes:
    """What all frames of a stream have in common: version, profile, rate and channels."""
    return bytes((data[at + 1] & 0xFE, data[at + 2] & 0xFD, data[at + 3] & 0xC0))
