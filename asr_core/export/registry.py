"""The formats by name, and files."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from asr_core.errors import ExportError
from asr_core.export.data import write_csv, write_json, write_jsonl, write_tsv
from asr_core.export.naming import USUAL_NAME, Named, name_file
from asr_core.export.options import ExportOptions, Sheet, shown
from asr_core.export.pdf import write_pdf
from asr_core.export.reading import write_md, write_txt
from asr_core.export.subtitles import write_ass, write_lrc, write_srt, write_vtt
from asr_core.export.word import write_docx
from asr_core.messages import LOCALES
from asr_core.results import Transcript

_READING = ("times", "speakers", "form")
_DOCUMENT = (*_READING, "title")
_SUBTITLES = ("speakers", "form", "line_chars")
_MOST_NUMBERS = 10_000  # of one name


@dataclass(frozen=True, slots=True)
class Writer:
    """One format.

    Attributes:
        extension: of the file, without a dot.
        write: the whole file.
        options: names of the :class:`ExportOptions` that it heeds. A format that heeds none holds
            both forms and everything else that is known.
        times: whether it shows times unless something else is chosen.
    """

    extension: str
    write: Callable[[Sheet], bytes]
    options: tuple[str, ...] = ()
    times: bool = True


FORMATS: dict[str, Writer] = {
    "txt": Writer("txt", write_txt, _READING, times=False),
    "srt": Writer("srt", write_srt, _SUBTITLES),
    "vtt": Writer("vtt", write_vtt, (*_SUBTITLES, "words")),
    "json": Writer("json", write_json),
    "jsonl": Writer("jsonl", write_jsonl),
    "lrc": Writer("lrc", write_lrc, (*_SUBTITLES, "title")),
    "ass": Writer("ass", write_ass, (*_SUBTITLES, "title")),
    "csv": Writer("csv", write_csv),
    "tsv": Writer("tsv", write_tsv),
    "md": Writer("md", write_md, _DOCUMENT),
    "docx": Writer("docx", write_docx, _DOCUMENT),
    "pdf": Writer("pdf", write_pdf, _DOCUMENT),
}


def export(
    transcript: Transcript,
    format_name: str,
    *,
    title: str,
    options: ExportOptions | None = None,
    created: datetime | None = None,
    locale: str = LOCALES[0],
) -> bytes:
    """The content of a file.

    Args:
        transcript: of any recording.
        format_name: name of a format.
        title: headline, unless the options have one.
        options: what the user chose; the format heeds those that its entry names.
        created: when the recording was taken in, in local time.
        locale: of what stands around the text in documents.

    Raises:
        ExportError: no such format.
    """
    writer = _writer(format_name)
    options = options or ExportOptions()
    sheet = Sheet(
        transcript=shown(transcript, options) if writer.options else transcript,
        title=options.title or title,
        created=created,
        times=writer.times if options.times is None else options.times,
        words=options.words,
        line_chars=options.line_chars,
        locale=locale,
    )
    return writer.write(sheet)


def put_file(content: bytes, path: Path, *, replace: bool) -> bool:
    """Give content a name, whole or not at all.

    Args:
        content: of the file.
        path: where; its folder exists.
        replace: whatever lies there is replaced.

    Returns:
        False when something lies there and is not to be replaced.

    Raises:
        ExportError: the file cannot be written.
    """
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return _publish(part, path, replace=replace)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise ExportError(
            f"{path.name} cannot be written: {reason}", path=path.name, reason=reason
        ) from exc
    finally:
        part.unlink(missing_ok=True)


def put_new_file(content: bytes, folder: Path, name_of: Callable[[int], str]) -> Path:
    """Write a file under the first name that nothing has yet.

    Args:
        content: of the file.
        folder: which exists.
        name_of: a number from 1 on to a name; other numbers give other names.

    Raises:
        ExportError: the file cannot be written, or no name is free.
    """
    for number in range(1, _MOST_NUMBERS):
        path = folder / name_of(number)
        if not os.path.lexists(path) and put_file(content, path, replace=False):
            return path
    raise ExportError(f"no name is free in {folder}", path=str(folder), reason="names")


def file_name(original_name: str, format_name: str, number: int = 1) -> str:
    """A name for the export of a recording: ``会议.m4a`` gives ``会议.srt``.

    Args:
        original_name: of the recording, with or without folders.
        format_name: name of a format.
        number: from 2 on, tells apart recordings of one name: ``会议 (2).srt``.

    Raises:
        ExportError: no such format.
    """
    return name_file(USUAL_NAME, Named(original_name), _writer(format_name).extension, number)


def _publish(part: Path, path: Path, *, replace: bool) -> bool:
    if not replace:
        try:
            os.link(part, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links: the window between look and move is small
            if os.path.lexists(path):
                return False
        else:
            return True
    part.replace(path)
    return True


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
