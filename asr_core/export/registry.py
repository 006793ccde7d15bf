"""The formats by name, files and file names."""

from __future__ import annotations

import os
import re
import unicodedata
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from asr_core.errors import ExportError
from asr_core.export.documents import write_docx, write_json, write_txt
from asr_core.export.subtitles import write_lrc, write_srt, write_vtt
from asr_core.export.tables import write_csv, write_md, write_tsv
from asr_core.results import Transcript

_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_MAX_NAME_BYTES = 255
_JOINER, _NON_JOINER = "\u200d", "\u200c"
_SUFFIX = re.compile(r"\.(?=[0-9]*[A-Za-z])[A-Za-z0-9]{1,5}$")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


@dataclass(frozen=True, slots=True)
class Writer:
    """One format.

    Attributes:
        extension: of the file, without a dot.
        media_type: for HTTP.
        write: the whole file from a transcript and a title.
    """

    extension: str
    media_type: str
    write: Callable[[Transcript, str], bytes]


FORMATS: dict[str, Writer] = {
    "txt": Writer("txt", "text/plain; charset=utf-8", write_txt),
    "srt": Writer("srt", "application/x-subrip; charset=utf-8", write_srt),
    "vtt": Writer("vtt", "text/vtt; charset=utf-8", write_vtt),
    "json": Writer("json", "application/json", write_json),
    "lrc": Writer("lrc", "text/plain; charset=utf-8", write_lrc),
    "csv": Writer("csv", "text/csv; charset=utf-8", write_csv),
    "tsv": Writer("tsv", "text/tab-separated-values; charset=utf-8", write_tsv),
    "md": Writer("md", "text/markdown; charset=utf-8", write_md),
    "docx": Writer("docx", _WORD, write_docx),
}


def export(transcript: Transcript, format_name: str, *, title: str) -> bytes:
    """The content of a file.

    Raises:
        ExportError: no such format.
    """
    return _writer(format_name).write(transcript, title)


def write_file(transcript: Transcript, format_name: str, path: Path, title: str) -> None:
    """Write a file whole or not at all; an existing one is replaced.

    Raises:
        ExportError: no such format, or the file cannot be written.
    """
    content = export(transcript, format_name, title=title)
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as exc:
        part.unlink(missing_ok=True)
        reason = exc.strerror or str(exc)
        raise ExportError(
            f"{path.name} cannot be written: {reason}", path=path.name, reason=reason
        ) from exc


def file_name(original_name: str, format_name: str, number: int = 1) -> str:
    """A name for the export of a recording: ``会议.m4a`` gives ``会议.srt``.

    Args:
        original_name: of the recording, with or without folders.
        number: from 2 on, tells apart recordings of one name: ``会议 (2).srt``.

    Returns:
        A name without path separators, control characters and what Windows forbids, of at most
        255 bytes in UTF-8; ``transcript`` stands in for a name of which nothing is left.

    Raises:
        ExportError: no such format.
    """
    counted = f" ({number})" if number > 1 else ""
    ending = f"{counted}.{_writer(format_name).extension}"
    base = re.split(r"[/\\]", original_name.rstrip("/\\"))[-1]
    stem = "".join(char for char in _SUFFIX.sub("", base) if _allowed(char))
    stem = stem.strip(" .")
    room = _MAX_NAME_BYTES - len(ending.encode())
    stem = _shortened(stem, room).rstrip(" .").removesuffix(_JOINER) or "transcript"
    if _RESERVED.fullmatch(stem):
        stem = f"_{stem}"
    return stem + ending


def _shortened(text: str, most_bytes: int) -> str:
    """As much of a text as fits, cut where a reader sees a border between characters."""
    kept = text.encode()[:most_bytes].decode(errors="ignore")
    while kept and len(kept) < len(text) and (_extends(text[len(kept)]) or kept[-1] == _JOINER):
        kept = kept[:-1]
    return kept


def _extends(char: str) -> bool:
    """Accents, selectors, joiners, skin tones and later parts of a Hangul syllable go with
    the character before them."""
    is_mark = unicodedata.category(char)[0] == "M" or char in (_JOINER, _NON_JOINER)
    return is_mark or "\U0001f3fb" <= char <= "\U0001f3ff" or "\u1160" <= char <= "\u11ff"


def _writer(format_name: str) -> Writer:
    try:
        return FORMATS[format_name]
    except KeyError as exc:
        known = ", ".join(FORMATS)
        raise ExportError(
            f"no export format {format_name!r}; known: {known}",
            format=format_name,
            reason=f"{format_name}: {known}",
        ) from exc


def _allowed(char: str) -> bool:
    if char in '<>:"|?*':
        return False
    if char in (_JOINER, _NON_JOINER):  # part of how emoji, Persian and Indian scripts are written
        return True
    # Private use and invisible characters can hide what a name really ends in.
    return unicodedata.category(char)[0] != "C" and unicodedata.category(char) not in ("Zl", "Zp")
