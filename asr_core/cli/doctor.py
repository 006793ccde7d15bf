"""``doctor``: what people check by hand before an installation goes live."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from asr_core.cli.common import OK, SOME_FAILED, tell
from asr_core.cli.reports import write_report
from asr_core.doctor.context import Context
from asr_core.doctor.examination import examine
from asr_core.doctor.host import Host
from asr_core.doctor.report import to_json, to_lines
from asr_core.doctor.report_html import to_html
from asr_core.engine import Engine
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
        write_report(arguments.html, "")
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
        write_report(arguments.html, to_html(examination, locale))
        tell(message("doctor.written", locale, path=arguments.html))
    return SOME_FAILED if examination.failed else OK
