"""``doctor``: what people check by hand before an installation goes live."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from asr_core.cli.common import OK, SOME_FAILED, tell
from asr_core.doctor.context import Context
from asr_core.doctor.examination import examine
from asr_core.doctor.host import Host
from asr_core.doctor.report import to_json, to_lines
from asr_core.doctor.report_html import to_html
from asr_core.engine import Engine
from asr_core.errors import ExportError
from asr_core.messages import message
from asr_core.settings import Settings


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Check software, devices, models, sound, processor, memory and service before an "
        "installation goes live, and transcribe the sample recording. Exit code 1 if something "
        "fails."
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report to read here")
    parser.add_argument("--json", action="store_true", help="JSON on standard output, not text")
    parser.add_argument(
        "--quick", action="store_true", help="leave out hashing and the transcription"
    )
    parser.set_defaults(run=_doctor)


def _doctor(arguments: argparse.Namespace, settings: Settings) -> int:
    locale = settings.locale
    if arguments.html:
        _write(arguments.html, "")
    with ExitStack() as stack:

        @cache
        def engine() -> Engine:
            return stack.enter_context(Engine(settings))

        def on_group(name: str) -> None:
            if os.isatty(2):
                group = message(f"doctor.group.{name}", locale)
                tell(message("doctor.running", locale, name=group))

        examination = examine(Context(Host(), settings, engine, arguments.quick), on_group)
    if arguments.json:
        print(to_json(examination, locale))
    else:
        for line in to_lines(examination, locale):
            print(line)
    if arguments.html:
        _write(arguments.html, to_html(examination, locale))
        tell(message("doctor.written", locale, path=arguments.html))
    return SOME_FAILED if examination.failed else OK


def _write(path: Path, text: str) -> None:
    """Write the report, whole or not at all; tried once before the work begins."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8", errors="replace")
        if text:
            part.replace(path)
        else:
            part.unlink()
    except OSError as exc:
        raise ExportError(
            f"{path} cannot be written: {exc}", path=str(path), reason=str(exc)
        ) from exc
