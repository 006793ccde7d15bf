"""``batch``: a folder of recordings, to be called again until everything is done."""

from __future__ import annotations

import argparse
import logging
import sys
import threading
from collections.abc import Sequence
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
from asr_core.engine import (
    EXPORT_FORMATS,
    Batch,
    BatchItem,
    BatchRequest,
    Engine,
    ItemState,
)
from asr_core.errors import BatchError
from asr_core.export.clean import whole_clock
from asr_core.jobs.batch_model import ON_EXISTING
from asr_core.jobs.batch_report import reason
from asr_core.messages import describe, error_message, message
from asr_core.settings import Settings

_LOOK_S = 0.5  # between two looks at a running batch


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Transcribe the recordings of a folder into an output folder of the same shape. What is "
        "done already is skipped; after an interruption the same command goes on."
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder with recordings")
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="folder of results (default: DIR/transcripts)"
    )
    parser.add_argument(
        "--formats",
        type=_formats,
        default=("txt",),
        metavar="NAME,NAME",
        help=f"of {', '.join(EXPORT_FORMATS)} (default: txt)",
    )
    parser.add_argument(
        "--on-existing",
        choices=ON_EXISTING,
        default="skip",
        help="what to do where results exist (default: skip what is up to date)",
    )
    parser.add_argument(
        "--pattern",
        action="append",
        default=[],
        metavar="GLOB",
        help="file names to take, may be given again (default: those of recordings)",
    )
    parser.add_argument("--no-recursive", action="store_true", help="stay out of folders in DIR")
    parser.add_argument("--watch", action="store_true", help="take new files until Ctrl-C")
    add_options(parser)
    parser.set_defaults(run=_batch)


def _formats(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    unknown = [name for name in names if name not in EXPORT_FORMATS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"choose from {', '.join(EXPORT_FORMATS)}")
    return names


def _batch(arguments: argparse.Namespace, settings: Settings) -> int:
    request = BatchRequest(
        options=options_of(arguments),
        source=arguments.folder,
        output=arguments.output,
        formats=arguments.formats,
        on_existing=arguments.on_existing,
        recursive=not arguments.no_recursive,
        patterns=tuple(arguments.pattern),
        watch=arguments.watch,
    )
    # The table at the end tells of every failure.
    logging.getLogger("asr_core.jobs").setLevel(logging.ERROR)
    stop = threading.Event()
    on_first_interrupt(stop.set)
    with Engine(settings) as engine:
        engine.check_model()
        try:
            batch = engine.run_batch(request)
        except BatchError as exc:
            tell(describe(exc, settings.locale))
            return USAGE if exc.details["reason"] == "missing" else SOME_FAILED
        while not (stop.wait(_LOOK_S) or engine.batch(batch.id).state.is_final):
            _show(engine.batch(batch.id), engine.batch_items(batch.id), settings.locale)
        batch, items = engine.batch(batch.id), engine.batch_items(batch.id)
        _report(batch, items, settings.locale)
    is_good = batch.state.is_final and not batch.error_code
    return OK if is_good and all(item.state.is_good for item in items) else SOME_FAILED


def _show(batch: Batch, items: Sequence[BatchItem], locale: str) -> None:
    """The progress line; none when standard error is no terminal."""
    if not sys.stderr.isatty():
        return
    running = next((item for item in items if item.state is ItemState.RUNNING), None)
    left = "" if batch.remaining_ms is None else whole_clock(batch.remaining_ms)
    line = message(
        "cli.batch_progress",
        locale,
        done=sum(item.state.is_final for item in items),
        total=len(items),
        name=_printable(running.path) if running else "",
        position=whole_clock(running.done_ms) if running else "",
        remaining=left,
    )
    show_progress(line)


def _report(batch: Batch, items: Sequence[BatchItem], locale: str) -> None:
    """Every file with what became of it and why, then the sum."""
    for item in items:
        state = message(f"batch.state.{item.state.value}", locale)
        cells = [state, item.path, *_facts(item), reason(item, locale)]
        tell("\t".join(_printable(cell) for cell in cells if cell))
    if batch.error_code:
        tell(error_message(batch.error_code, batch.error_details, locale))
    if not items:
        tell(message("error.batch.empty", locale))
    counts = "，" if locale == "zh-CN" else ", "
    line = counts.join(
        f"{message(f'batch.state.{state.value}', locale)} {batch.items[state]}"
        for state in ItemState
        if state in batch.items
    )
    tell(message("cli.batch_total", locale, counts=line or "0", output=batch.output))
    if not batch.state.is_final:
        tell(message("cli.batch_stopped", locale))


def _facts(item: BatchItem) -> list[str]:
    """Length, speed and results of what has a text."""
    if not item.state.is_good:
        return []
    speed = f"{item.speed:.1f}x" if item.speed else ""
    length = whole_clock(item.duration_ms) if item.duration_ms else ""
    return [length, speed, " ".join(item.outputs)]


def _printable(text: str) -> str:
    """Names of files must not steer the terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)
