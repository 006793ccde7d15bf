"""Recordings that are encrypted and play only in the program or account they were bought for."""

from __future__ import annotations

import os
import struct
from typing import BinaryIO

# Formats of music services that encrypt the whole file: NetEase, Kugou (two kinds), Kuwo.
_ENCRYPTED_HEADS = (
    b"CTENFDAM",
    bytes.fromhex("7cd532eb86027f4ba8afa68e0fff9914"),
    bytes.fromhex("0528bc96e9e45a4391aabdd07af53631"),
    b"yeelion-kuwo",
)
_ENCRYPTED_TAILS = (b"QTag", b"STag")  # QQ Music

# Sample entries of MP4 audio tracks: Common Encryption, FairPlay, Audible.
_ENCRYPTED_ENTRIES = frozenset((b"enca", b"drms", b"aavd"))
_PATH_TO_ENTRIES = (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd")
_LONGEST_ENTRIES_BYTES = 65_536

_ASF_HEADER = bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")
_ASF_ENCRYPTION = frozenset(
    (
        bytes.fromhex("fbb3112223bdd211b4b700a0c955fc6e"),  # Content Encryption Object
        bytes.fromhex("14e68a292226174cb935dae07ee9289c"),  # Extended Content Encryption Object
    )
)
_MAX_PARTS = 10_000  # boxes or objects looked at in one file


def is_protected(file: BinaryIO, head: bytes) -> bool:
    """Whether a recording is encrypted by digital rights management.

    Args:
        file: open for reading, seekable; its position is changed.
        head: its first bytes.
    """
    if head.startswith(_ENCRYPTED_HEADS):
        return True
    size_bytes = file.seek(0, os.SEEK_END)
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide"):
        return _mp4_is_protected(file, size_bytes)
    if head.startswith(_ASF_HEADER):
        return _asf_is_protected(file, size_bytes)
    file.seek(max(size_bytes - 4, 0))
    return file.read(4) in _ENCRYPTED_TAILS


def _mp4_is_protected(file: BinaryIO, size_bytes: int) -> bool:
    """Walk the boxes down to the sample descriptions of every track."""
    pending = [(0, size_bytes, 0)]  # start, end, depth in the path
    for _ in range(_MAX_PARTS):
        if not pending:
            return False
        start, end, depth = pending.pop()
        box = _box(file, start, end)
        if box is None:
            continue
        kind, body, after = box
        pending.append((after, end, depth))
        if kind != _PATH_TO_ENTRIES[depth]:
            continue
        if kind == b"stsd":
            if _has_encrypted_entry(file, body, after):
                return True
        else:
            pending.append((body, after, depth + 1))
    return False


def _box(file: BinaryIO, start: int, end: int) -> tuple[bytes, int, int] | None:
    """``(kind, start of the body, end)`` of the box at ``start``; None when there is none."""
    file.seek(start)
    header = file.read(16)
    if start + 8 > end or len(header) < 8:
        return None
    size, kind = struct.unpack_from(">I4s", header)
    body = start + 8
    if size == 1 and len(header) == 16:
        (size,) = struct.unpack_from(">Q", header, 8)
        body = start + 16
    elif size == 0:
        size = end - start
    after = start + size
    return (kind, body, after) if body <= after <= end else None


def _has_encrypted_entry(file: BinaryIO, start: int, end: int) -> bool:
    file.seek(start)
    entries = file.read(min(end - start, _LONGEST_ENTRIES_BYTES))
    position = 8  # version, flags and number of entries
    while position + 8 <= len(entries):
        size, kind = struct.unpack_from(">I4s", entries, position)
        if kind in _ENCRYPTED_ENTRIES:
            return True
        if size < 8:
            break
        position += size
    return False


def _asf_is_protected(file: BinaryIO, size_bytes: int) -> bool:
    """Walk the objects of the header."""
    file.seek(16)
    (header_bytes,) = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))
    position = 30  # size, number of objects and two reserved bytes follow the header's id
    for _ in range(_MAX_PARTS):
        if position + 24 > min(header_bytes, size_bytes):
            return False
        file.seek(position)
        kind, size = struct.unpack("<16sQ", file.read(24).ljust(24, b"\0"))
        if kind in _ASF_ENCRYPTION:
            return True
        if size < 24:
            return False
        position += size
    return False
