"""``transcribe``: single files, one after the other."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import datetime
from pathlib import Path

from asr_core.cli.common import (
    OK,
    SOME_FAILED,
    USAGE,
    add_options,
    on_first_interrupt,
    options_of,
    show_progress,
    tell,
)
from asr_core.engine import EXPORT_FORMATS, CancelToken, Engine, ExportOptions
from asr_core.errors import AsrError, ExportError
from asr_core.events import EventSink, Progress
from asr_core.export.clean import whole_clock
from asr_core.export.naming import Named, name_file
from asr_core.export.registry import FORMATS, export, put_file, put_new_file
from asr_core.messages import describe, message, warning_message
from asr_core.results import Transcript
from asr_core.settings import Settings, check_export_name

_BINARY_FORMATS = frozenset({"docx", "pdf"})


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Transcribe files. Without --output the text goes to standard output, progress to "
        "standard error."
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="audio or video file")
    parser.add_argument("--format", choices=EXPORT_FORMATS, default="txt", help="(default: txt)")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write one file per input here")
    parser.add_argument(
        "--name",
        default="",
        metavar="TEMPLATE",
        help="names of these files, such as '{date} {name}' (default: ASR_EXPORT_NAME)",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace files that exist instead of numbering"
    )
    parser.add_argument("--times", action="store_true", help="txt: when each sentence begins")
    parser.add_argument("--no-speakers", action="store_true", help="leave out who speaks")
    parser.add_argument("--spoken", action="store_true", help="the words as they were said")
    parser.add_argument("--word-times", action="store_true", help="vtt: a time for every word")
    parser.add_argument(
        "--line-chars",
        type=_line_chars,
        default=21,
        metavar="N",
        help="width of a subtitle's line in Chinese characters (default: 21)",
    )
    add_options(parser)
    parser.set_defaults(run=_transcribe)


def _transcribe(arguments: argparse.Namespace, settings: Settings) -> int:
    to_stdout = arguments.output is None
    if to_stdout and arguments.format in _BINARY_FORMATS and len(arguments.files) > 1:
        tell(message("cli.binary_to_stdout", settings.locale, format=arguments.format))
        return USAGE
    check_export_name(arguments.name, "--name")
    options = options_of(arguments)
    if not to_stdout:
        _check_writable(arguments.output)
    cancel = CancelToken()
    on_first_interrupt(cancel.cancel)
    deliver = _Delivery(arguments, arguments.name or settings.export_name, settings.locale)
    failed = 0
    with Engine(settings) as engine:
        engine.check_model()
        for path in arguments.files:
            if cancel.is_cancelled:
                break
            try:
                transcript = engine.transcribe(
                    path,
                    options,
                    on_event=_progress_line(path.name, settings.locale),
                    cancel=cancel,
                )
                deliver(transcript, path.name)
            except AsrError as exc:
                tell(describe(exc, settings.locale))
                failed += 1
            else:
                tell(_summary(path.name, transcript, settings.locale))
    return SOME_FAILED if failed or cancel.is_cancelled else OK


class _Delivery:
    """Brings transcripts to standard output or into the output folder.

    A file that exists is replaced on request only, and never one of the same call.
    """

    def __init__(self, arguments: argparse.Namespace, template: str, locale: str) -> None:
        self._format: str = arguments.format
        self._folder: Path | None = arguments.output
        self._overwrite: bool = arguments.overwrite
        self._template = template
        self._locale = locale
        self._taken: set[str] = set()
        self._options = ExportOptions(
            times=True if arguments.times else None,
            speakers=not arguments.no_speakers,
            form="spoken" if arguments.spoken else "written",
            words=arguments.word_times,
            line_chars=arguments.line_chars,
        )

    def __call__(self, transcript: Transcript, name: str) -> None:
        """Raises ExportError when the file cannot be written."""
        created = datetime.now().astimezone()
        content = export(
            transcript,
            self._format,
            title=name,
            options=self._options,
            created=created,
            locale=self._locale,
        )
        if self._folder is None:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
            return
        named = Named(name, transcript.model.name, created, transcript.duration_ms)
        extension = FORMATS[self._format].extension

        def name_of(number: int) -> str:
            return name_file(self._template, named, extension, number)

        if not self._overwrite:
            put_new_file(content, self._folder, name_of)
            return
        number = 1
        while name_of(number).casefold() in self._taken:
            number += 1
        self._taken.add(name_of(number).casefold())
        put_file(content, self._folder / name_of(number), replace=True)


def _line_chars(value: str) -> int:
    try:
        return ExportOptions(line_chars=int(value)).line_chars
    except ExportError as exc:
        raise argparse.ArgumentTypeError(f"must be {exc.details['allowed']}") from exc


def _check_writable(folder: Path) -> None:
    """Find out before hours of work that the results cannot be written."""
    probe = folder / f".write-test-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as exc:
        raise ExportError(
            f"{folder} cannot be written: {exc}", path=str(folder), reason=str(exc)
        ) from exc


def _progress_line(name: str, locale: str) -> EventSink | None:
    """A line that is rewritten in place; none when standard error is no terminal."""
    if not sys.stderr.isatty():
        return None

    def show(progress: Progress) -> None:
        total = whole_clock(progress.total_ms) if progress.total_ms else "?"
        left = "" if progress.remaining_ms is None else whole_clock(progress.remaining_ms)
        line = message(
            "cli.progress",
            locale,
            name=name,
            done=whole_clock(progress.done_ms),
            total=total,
            remaining=left,
        )
        show_progress(line)

    return show


def _summary(name: str, transcript: Transcript, locale: str) -> str:
    key = "cli.cancelled" if transcript.partial else "cli.done"
    notes = "".join(f" · {warning_message(w, locale)}" for w in transcript.warnings)
    line = message(
        key,
        locale,
        name=name,
        duration=whole_clock(transcript.duration_ms),
        seconds=f"{transcript.processing_ms / 1000:.1f}",
        rtf=f"{transcript.rtf:.3f}",
    )
    return line + notes
