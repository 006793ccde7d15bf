"""What a file is, by its first bytes; never by its name.

The name is only compared with the content afterwards, to tell the user when they differ.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO

HEAD_BYTES = 16_400
"""Bytes from the start of a file that its kind is told from: two of the longest ADTS frames."""

_SILK = (b"#!SILK_V3", b"\x02#!SILK_V3")  # the second is what WeChat and QQ write

_LONGEST_OGG_PAGE_BYTES = 65_307
_OGG_HEADER = struct.Struct("<4sBBq")  # capture pattern, version, flags, position
_OGG_END = 0x04

_SIGNATURES = (
    *(b"RIFF", b"RIFX", b"RF64", b"FORM", b"riff", b"fLaC", b"OggS", b"ID3", b"caff"),
    *(b".snd", b"wvpk", b"MAC ", b"#!AMR", b"FLV", b"\x1aE\xdf\xa3", b"0&\xb2u", b"\0\0\x01\xba"),
    *(b"TTA1", b".RMF", b"MPCK", b"MP+", b"tBaK", b"Creative Voice"),
)
_MP4_BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"moof", b"styp")

_ISO = frozenset(
    ("mp4", "m4a", "m4v", "m4b", "m4r", "mov", "qt", "3gp", "3gpp", "3g2", "f4v", "f4a", "mj2")
)
_EXTENSIONS = {
    "wav": frozenset(("wav", "wave", "bwf", "rf64")),
    "w64": frozenset(("w64",)),
    "flac": frozenset(("flac", "fla")),
    "mp3": frozenset(("mp3", "mp2", "mp1", "mpga", "m2a")),
    "aac": frozenset(("aac", "adts")),
    "mp4": _ISO,
    "mov": _ISO,
    "webm": frozenset(("webm", "weba")),
    "matroska": frozenset(("mkv", "mka", "mk3d", "webm")),
    "ogg": frozenset(("ogg", "oga", "ogv", "ogx", "opus", "spx")),
    "amr": frozenset(("amr", "awb", "3ga")),
    "silk": frozenset(("silk", "slk", "sil", "aud")),
    "asf": frozenset(("wma", "wmv", "asf")),
    "aiff": frozenset(("aif", "aiff", "aifc")),
    "caf": frozenset(("caf",)),
    "au": frozenset(("au", "snd")),
    "avi": frozenset(("avi",)),
    "flv": frozenset(("flv", "f4v")),
    "mpegts": frozenset(("ts", "m2ts", "mts", "m2t", "tp", "trp")),
    "mpeg": frozenset(("mpg", "mpeg", "vob", "dat", "m2p", "mpe")),
    "wv": frozenset(("wv",)),
    "tta": frozenset(("tta",)),
    "ape": frozenset(("ape",)),
    "ac3": frozenset(("ac3",)),
    "eac3": frozenset(("eac3", "ec3")),
    "dts": frozenset(("dts",)),
    "rm": frozenset(("rm", "rmvb", "ra", "ram")),
}

_NAMED_RECORDINGS = frozenset().union(*_EXTENSIONS.values()) - {"dat"}  # dat is mostly other data


def is_named_recording(name: str) -> bool:
    """Whether a file name has an extension that recordings or videos have."""
    return PurePath(name).suffix[1:].lower() in _NAMED_RECORDINGS


def is_wave(head: bytes) -> bool:
    """Whether the file is RIFF WAVE, in any of its sizes."""
    return head[:4] in (b"RIFF", b"RIFX", b"RF64") and head[8:12] == b"WAVE"


def is_silk(head: bytes) -> bool:
    """Whether the file is a SILK v3 voice message."""
    return head.startswith(_SILK)


def has_signature(head: bytes) -> bool:
    """Whether the file begins like a recording, even if the rest of it is unusable."""
    is_mpeg_audio = len(head) > 1 and head[0] == 0xFF and 0xE0 <= head[1] < 0xFE
    is_transport = len(head) > 188 and head[0] == head[188] == 0x47
    is_mp4 = head[4:8] in _MP4_BOXES
    return is_mpeg_audio or is_transport or is_mp4 or head.startswith(_SIGNATURES) or is_silk(head)


@dataclass(frozen=True, slots=True)
class OggEnd:
    """The last page of an Ogg file.

    Attributes:
        is_end: it has the mark that ends a stream.
        has_sound: its position is behind the start, so pages with sound lie before it.
    """

    is_end: bool = False
    has_sound: bool = False


def read_ogg_end(file: BinaryIO) -> OggEnd:
    """Find the last page.

    Args:
        file: open for reading, seekable; its position is changed.
    """
    size_bytes = file.seek(0, os.SEEK_END)
    file.seek(max(size_bytes - _LONGEST_OGG_PAGE_BYTES, 0))
    tail = file.read(_LONGEST_OGG_PAGE_BYTES)
    page = tail[max(tail.rfind(b"OggS"), 0) :]
    if len(page) < _OGG_HEADER.size:
        return OggEnd()
    _, _, flags, position = _OGG_HEADER.unpack_from(page)
    return OggEnd(is_end=bool(flags & _OGG_END), has_sound=position > 0)


def agrees(name: str, container: str) -> bool:
    """Whether a file name's extension is one that such content usually has.

    Args:
        name: file name.
        container: as :class:`~asr_core.audio.reader.AudioInfo` names it; an unlisted one agrees
            with every extension.
    """
    usual = _EXTENSIONS.get(container)
    return usual is None or PurePath(name).suffix[1:].lower() in usual


def is_named_raw(name: str) -> bool:
    """Whether a file name says that the content is PCM without a header."""
    return PurePath(name).suffix.lower() in (".pcm", ".raw", ".sw", ".ulaw", ".alaw")
