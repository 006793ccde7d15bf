"""The texts of many recordings in one file, written while they are read.

A zip has a file for each recording and format; CSV has a row and JSONL a line for each recording.
Whatever the number of recordings, a few hundred entries and one transcript are in memory.
"""

from __future__ import annotations

import codecs
import csv
import errno
import io
import json
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from asr_core.errors import ExportError
from asr_core.export.clean import whole_clock
from asr_core.export.data import plain_cell
from asr_core.export.naming import Named, name_file
from asr_core.export.options import ExportOptions, shown
from asr_core.export.progress import ExportProgress, ExportResult, ManyKind
from asr_core.export.registry import FORMATS, export
from asr_core.export.taken_names import TakenNames
from asr_core.export.zip_stream import ZipStream
from asr_core.messages import LOCALES
from asr_core.results import Transcript
from asr_core.store.archive import Archive
from asr_core.store.entries import HistoryEntry, HistorySelection
from asr_core.transcription.cancel import CancelToken

KINDS: tuple[ManyKind, ...] = ("zip", "csv", "jsonl")

_COLUMNS = (
    *("id", "name", "created", "length", "model", "origin", "owner", "tags", "note"),
    *("speakers", "text", "spoken_text"),
)
_TELL_EVERY_S = 0.1
_FULL = (errno.ENOSPC, errno.EDQUOT)

Tell = Callable[[ExportProgress], None]


class _Sink(Protocol):
    """Takes one transcript after the other."""

    def add(self, entry: HistoryEntry, transcript: Transcript) -> None: ...

    def close(self) -> None: ...

    def discard(self) -> None: ...


class ManyExport:
    """One way to write many transcripts.

    Args:
        archive: where they are.
        kind: of ``KINDS``.
        formats: of a zip, at least one; otherwise none counts.
        options: what the user chose for the files; ``name`` is the template of names in a zip.
        locale: of what stands around the text in documents.

    Raises:
        ExportError: no such kind (``kind``) or format, or a zip without formats.
        SettingsError: the template of names is not usable.
    """

    def __init__(
        self,
        archive: Archive,
        kind: ManyKind,
        formats: Collection[str] = (),
        options: ExportOptions | None = None,
        locale: str = LOCALES[0],
    ) -> None:
        if kind not in KINDS:
            raise ExportError(f"no kind of export {kind!r}", reason="kind", format=kind)
        self._archive = archive
        self._kind = kind
        self._formats = tuple(dict.fromkeys(formats))
        self._options = options or ExportOptions()
        self._locale = locale
        known = ", ".join(FORMATS)
        for name in self._formats if kind == "zip" else ():
            if name not in FORMATS:
                raise ExportError(
                    f"no export format {name!r}; known: {known}",
                    format=name,
                    reason=f"{name}: {known}",
                )
        if kind == "zip" and not self._formats:
            raise ExportError("a zip needs formats", format="", reason=known)
        name_file(self._options.name, Named("a"), "txt")

    def write(
        self,
        selection: HistorySelection,
        target: Path,
        *,
        on_progress: Tell | None = None,
        cancel: CancelToken | None = None,
    ) -> ExportResult:
        """Write a file whole or not at all; an existing one is replaced.

        Raises:
            ExportError: nothing has a text (``empty``), the disk is full (``disk_full``) or the
                file cannot be written.
            TranscriptionCancelled: it was cancelled; nothing is left behind.
        """
        part = target.with_name(f".{uuid.uuid4().hex}.part")
        try:
            with _typed_faults(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                with part.open("xb") as file:
                    written, skipped = self._fill(file, selection, on_progress, cancel)
                    file.flush()
                    os.fsync(file.fileno())
                size_bytes = part.stat().st_size
                if not written:
                    raise ExportError("nothing selected has a text", reason="empty")
                part.replace(target)
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return ExportResult(target, written, skipped, size_bytes)

    def _fill(
        self,
        file: BinaryIO,
        selection: HistorySelection,
        on_progress: Tell | None,
        cancel: CancelToken | None,
    ) -> tuple[int, int]:
        clock = _Clock(on_progress, self._archive.count(selection) if on_progress else 0)
        written = skipped = 0
        with _ended(self._sink(file)) as sink:
            for entry in (entry for chunk in self._archive.chunks(selection) for entry in chunk):
                if cancel is not None:
                    cancel.raise_if_cancelled()
                clock.tell(written + skipped)
                transcript = self._archive.transcript(entry.id) if entry.model else None
                if transcript is None:
                    skipped += 1
                else:
                    sink.add(entry, transcript)
                    written += 1
        clock.tell(written + skipped, at_once=True)
        return written, skipped

    def _sink(self, file: BinaryIO) -> _Sink:
        if self._kind == "csv":
            return _CsvRows(file, self._options)
        if self._kind == "jsonl":
            return _JsonLines(file, self._options)
        return _Bundle(file, self._formats, self._options, self._locale)


class _Clock:
    """Tells how far the work is, not too often."""

    def __init__(self, on_progress: Tell | None, total: int) -> None:
        self._on_progress = on_progress
        self._total = total
        self._next_s = 0.0

    def tell(self, done: int, *, at_once: bool = False) -> None:
        now_s = time.monotonic()
        if self._on_progress is not None and (at_once or now_s >= self._next_s):
            self._next_s = now_s + _TELL_EVERY_S
            self._on_progress(ExportProgress(done, max(self._total, done)))


class _Bundle:
    """A zip; its names are unique also where case and the form of letters do not count."""

    def __init__(
        self, file: BinaryIO, formats: tuple[str, ...], options: ExportOptions, locale: str
    ) -> None:
        self._zip = ZipStream(file)
        self._formats = formats
        self._options = options
        self._locale = locale
        self._taken = TakenNames()

    def add(self, entry: HistoryEntry, transcript: Transcript) -> None:
        created = _created(entry)
        named = Named(
            name=entry.name,
            model=transcript.model.name,
            created=created,
            duration_ms=transcript.duration_ms,
        )
        for format_name, name in zip(self._formats, self._free(named), strict=True):
            content = export(
                transcript,
                format_name,
                title=entry.name,
                options=self._options,
                created=created,
                locale=self._locale,
            )
            self._zip.add(name, content, created)

    def close(self) -> None:
        self._zip.close()

    def discard(self) -> None:
        self._zip.discard()
        self._taken.close()

    def _free(self, named: Named) -> list[str]:
        """Names with the first number with which none of the recording's files has a taken one."""
        names = self._names(named, 1)
        first = names[0]
        number = self._taken.last(first) + 1
        if number > 1:
            names = self._names(named, number)
        while self._taken.any_taken(names):
            number += 1
            names = self._names(named, number)
        self._taken.take(names, first, number)
        return names

    def _names(self, named: Named, number: int) -> list[str]:
        extensions = [FORMATS[name].extension for name in self._formats]
        return [name_file(self._options.name, named, one, number) for one in extensions]


class _CsvRows:
    """A row for each recording, UTF-8 with byte order mark so that Excel reads Chinese."""

    def __init__(self, file: BinaryIO, options: ExportOptions) -> None:
        self._file = file
        self._options = options
        self._file.write(codecs.BOM_UTF8)
        self._write(_COLUMNS)

    def add(self, entry: HistoryEntry, transcript: Transcript) -> None:
        facts = _facts(entry, shown(transcript, self._options))
        cells = facts | {name: "、".join(facts[name]) for name in ("tags", "speakers")}
        cells = {name: plain_cell(str(cells[name])) for name in _COLUMNS if name in cells}
        cells |= {"created": facts["created"], "length": whole_clock(transcript.duration_ms)}
        self._write([cells[name] for name in _COLUMNS])

    def close(self) -> None:
        """Every row is written."""

    def discard(self) -> None:
        """Nothing is held."""

    def _write(self, cells: Sequence[str]) -> None:
        row = io.StringIO(newline="")
        csv.writer(row, lineterminator="\r\n").writerow(cells)
        self._file.write(row.getvalue().encode("utf-8", "replace"))


class _JsonLines:
    """An object on a line for each recording, UTF-8."""

    def __init__(self, file: BinaryIO, options: ExportOptions) -> None:
        self._file = file
        self._options = options

    def add(self, entry: HistoryEntry, transcript: Transcript) -> None:
        facts = _facts(entry, shown(transcript, self._options))
        line = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
        self._file.write(line.encode("utf-8", "replace") + b"\n")

    def close(self) -> None:
        """Every line is written."""

    def discard(self) -> None:
        """Nothing is held."""


def _facts(entry: HistoryEntry, transcript: Transcript) -> dict[str, Any]:
    speakers = dict.fromkeys(sentence.speaker for sentence in transcript.sentences)
    return {
        "id": entry.id,
        "name": entry.name,
        "created": _created(entry).isoformat(timespec="seconds"),
        "duration_ms": transcript.duration_ms,
        "model": transcript.model.name,
        "origin": entry.origin,
        "owner": entry.owner,
        "tags": [*entry.tags],
        "note": entry.note,
        "speakers": [speaker for speaker in speakers if speaker],
        "text": transcript.text,
        "spoken_text": transcript.spoken_text,
    }


def _created(entry: HistoryEntry) -> datetime:
    return datetime.fromtimestamp(entry.created_ms / 1000).astimezone()


@contextmanager
def _ended(sink: _Sink) -> Iterator[_Sink]:
    """Close a sink that got everything; one that did not lets go of what it holds."""
    try:
        yield sink
        sink.close()
    finally:
        sink.discard()


@contextmanager
def _typed_faults(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        reason = "disk_full" if exc.errno in _FULL else exc.strerror or str(exc)
        raise ExportError(
            f"{target.name} cannot be written: {reason}", path=target.name, reason=reason
        ) from exc
