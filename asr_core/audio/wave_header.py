"""What the chunks of a WAV file state, as far as it helps where libsndfile believes too much."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import BinaryIO

# Writers that stream put this or more where the length is not known yet.
_UNKNOWN_LENGTH_BYTES = 0x7FFFF000

_WRAP_BYTES = 1 << 32  # a RIFF size counts no further
_MOST_TRAILING_BYTES = 1 << 20  # notes behind the sound
_MAX_CHUNKS = 1_000


@dataclass(frozen=True, slots=True)
class WaveHeader:
    """The ``fmt`` and ``data`` chunks.

    Attributes:
        form: ``RIFF``, ``RIFX`` (big-endian) or ``RF64``.
        bytes_a_second: of the sound; 0 when not stated.
        data_start: position of the first sample; 0 when there is none.
        stated_bytes: length of the sound; ``None`` when it is not stated.
    """

    form: str
    bytes_a_second: int = 0
    data_start: int = 0
    stated_bytes: int | None = None

    @property
    def promised_s(self) -> float | None:
        """Length that is stated; ``None`` when none is."""
        if self.stated_bytes is None or not self.bytes_a_second:
            return None
        return self.stated_bytes / self.bytes_a_second

    def oversize_bytes(self, file_bytes: int) -> int | None:
        """Length of sound that is too long for the size field of RIFF, which has wrapped round.

        Args:
            file_bytes: size of the file.

        Returns:
            ``None`` when the size field is right or nothing is known.
        """
        rest = file_bytes - self.data_start
        if self.form == "RF64" or not self.data_start or rest < _WRAP_BYTES:
            return None
        if self.stated_bytes is None:
            return rest
        trailing = (rest - self.stated_bytes) % _WRAP_BYTES
        return rest - trailing if trailing <= _MOST_TRAILING_BYTES else None


def read_wave_header(file: BinaryIO) -> WaveHeader:
    """Walk the chunks up to the sound.

    Args:
        file: open at its start, seekable.
    """
    form = file.read(12)[:4].decode("latin-1")
    order = ">" if form == "RIFX" else "<"
    bytes_a_second = 0
    long_data_bytes = None
    for _ in range(_MAX_CHUNKS):
        header = file.read(8)
        if len(header) < 8:
            break
        kind, size_bytes = struct.unpack(f"{order}4sI", header)
        if kind == b"data":
            stated: int | None = size_bytes
            if form == "RF64" and long_data_bytes is not None:
                stated = long_data_bytes
            elif size_bytes >= _UNKNOWN_LENGTH_BYTES:
                stated = None
            return WaveHeader(form, bytes_a_second, file.tell(), stated)
        body = file.read(min(size_bytes, 28))
        if kind == b"fmt " and len(body) >= 12:
            (bytes_a_second,) = struct.unpack_from(f"{order}I", body, 8)
        elif kind == b"ds64" and len(body) >= 16:
            (long_data_bytes,) = struct.unpack_from("<Q", body, 8)
        file.seek(size_bytes + size_bytes % 2 - len(body), os.SEEK_CUR)
    return WaveHeader(form, bytes_a_second)
