"""``transcribe``: single files, one after the other."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
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
from asr_core.engine import EXPORT_FORMATS, CancelToken, Engine
from asr_core.errors import AsrError, ExportError
from asr_core.events import EventSink, Progress
from asr_core.export.clean import whole_clock
from asr_core.export.registry import export, file_name, write_file
from asr_core.messages import describe, message, warning_message
from asr_core.results import Transcript
from asr_core.settings import Settings

_BINARY_FORMATS = frozenset({"docx"})


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Transcribe files. Without --output the text goes to standard output, progress to "
        "standard error."
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="audio or video file")
    parser.add_argument("--format", choices=EXPORT_FORMATS, default="txt", help="(default: txt)")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write one file per input here")
    add_options(parser)
    parser.set_defaults(run=_transcribe)


@dataclass(frozen=True, slots=True)
class _Target:
    """One input and where its result goes; ``output`` is ``None`` for standard output."""

    path: Path
    output: Path | None


def _transcribe(arguments: argparse.Namespace, settings: Settings) -> int:
    to_stdout = arguments.output is None
    if to_stdout and arguments.format in _BINARY_FORMATS and len(arguments.files) > 1:
        tell(message("cli.binary_to_stdout", settings.locale, format=arguments.format))
        return USAGE
    options = options_of(arguments)
    if not to_stdout:
        _check_writable(arguments.output)
    cancel = CancelToken()
    on_first_interrupt(cancel.cancel)
    failed = 0
    with Engine(settings) as engine:
        engine.check_model()
        for target in _targets(arguments.files, arguments.output, arguments.format):
            if cancel.is_cancelled:
                break
            try:
                transcript = engine.transcribe(
                    target.path,
                    options,
                    on_event=_progress_line(target.path.name, settings.locale),
                    cancel=cancel,
                )
                _deliver(transcript, target, arguments.format)
            except AsrError as exc:
                tell(describe(exc, settings.locale))
                failed += 1
            else:
                tell(_summary(target.path.name, transcript, settings.locale))
    return SOME_FAILED if failed or cancel.is_cancelled else OK


def _targets(files: Sequence[Path], output: Path | None, format_name: str) -> list[_Target]:
    """Output paths; inputs of one name in several folders get a number each."""
    targets = []
    taken: set[Path] = set()
    for path in files:
        if output is None:
            targets.append(_Target(path, None))
            continue
        number = 1
        while (free := output / file_name(path.name, format_name, number)) in taken:
            number += 1
        taken.add(free)
        targets.append(_Target(path, free))
    return targets


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


def _deliver(transcript: Transcript, target: _Target, format_name: str) -> None:
    title = target.path.name
    if target.output is not None:
        write_file(transcript, format_name, target.output, title)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(export(transcript, format_name, title=title))
    sys.stdout.buffer.flush()


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
