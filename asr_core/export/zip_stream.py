"""Zip files of any number of members, written from front to end.

``zipfile`` keeps an object for every member until the end; here their list waits in a temporary
file. Members are whole in memory while they are written, and below 4 GiB each.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
import zlib
from datetime import datetime
from typing import BinaryIO

_UTF8_NAMES = 0x800
_DEFLATED = 8
_VERSION, _VERSION_64 = 20, 45
_MADE_ON_UNIX = 3 << 8
_MODE = 0o100644 << 16
_MOST_32, _MOST_16 = 0xFFFFFFFF, 0xFFFF
_SPOOL_BYTES = 1 << 20
_FIRST_YEAR, _LAST_YEAR = 1980, 2107


class ZipStream:
    """Writes members one after the other; the archive is whole after :meth:`close`.

    :meth:`discard` comes last in any case.

    Args:
        file: stands at its start and stays owned by the caller.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._list = tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES)  # noqa: SIM115
        self._offset = 0
        self._count = 0

    def add(self, name: str, content: bytes, when: datetime) -> None:
        """Write one member.

        Args:
            name: at most 65,535 bytes in UTF-8, not used before.
            content: of the member.
            when: its time of change, in local time.

        Raises:
            OSError: the file cannot be written.
        """
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(content) + packer.flush()
        raw = name.encode("utf-8", "replace")
        common = struct.pack(
            "<HHHHLLLH",
            *(_UTF8_NAMES, _DEFLATED, *_dos_time(when)),
            *(zlib.crc32(content), len(packed), len(content), len(raw)),
        )
        extra, offset, version = b"", self._offset, _VERSION
        if offset >= _MOST_32:
            extra = struct.pack("<HHQ", 1, 8, offset)
            offset, version = _MOST_32, _VERSION_64
        self._list.write(
            struct.pack("<4sHH", b"PK\1\2", _MADE_ON_UNIX | version, version)
            + common
            + struct.pack("<HHHHLL", len(extra), 0, 0, 0, _MODE, offset)
            + raw
            + extra
        )
        self._put(struct.pack("<4sH", b"PK\3\4", _VERSION) + common + struct.pack("<H", 0) + raw)
        self._put(packed)
        self._count += 1

    def close(self) -> None:
        """Write the list of members behind them.

        Raises:
            OSError: the file cannot be written.
        """
        start, size = self._offset, self._list.tell()
        self._list.seek(0)
        shutil.copyfileobj(self._list, self._file)
        count = self._count
        if count >= _MOST_16 or start >= _MOST_32 or size >= _MOST_32:
            self._file.write(
                struct.pack(
                    "<4sQHHLLQQQQ",
                    *(b"PK\6\6", 44, _VERSION_64, _VERSION_64, 0, 0, count, count, size, start),
                )
            )
            self._file.write(struct.pack("<4sLQL", b"PK\6\7", 0, start + size, 1))
            count, size, start = min(count, _MOST_16), min(size, _MOST_32), min(start, _MOST_32)
        self._file.write(struct.pack("<4sHHHHLLH", b"PK\5\6", 0, 0, count, count, size, start, 0))

    def discard(self) -> None:
        """Let go of the list of members."""
        self._list.close()

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._offset += len(data)


def _dos_time(when: datetime) -> tuple[int, int]:
    year = min(max(when.year, _FIRST_YEAR), _LAST_YEAR)
    date = (year - _FIRST_YEAR) << 9 | when.month << 5 | when.day
    return when.hour << 11 | when.minute << 5 | when.second // 2, date
