"""``history``: find what was transcribed, and take it along."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

from asr_core.cli.common import OK, SOME_FAILED, on_first_interrupt, show_progress, tell
from asr_core.engine import (
    EXPORT_FORMATS,
    ExportOptions,
    ExportProgress,
    HistoryEntry,
    HistoryFilters,
    HistorySelection,
    HistorySort,
    JobState,
)
from asr_core.errors import TranscriptionCancelled
from asr_core.export.clean import one_line, whole_clock
from asr_core.export.many import KINDS, ManyExport
from asr_core.messages import message
from asr_core.settings import Settings
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.transcription.cancel import CancelToken

_LIST_LIMIT = 50


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = "Find what was transcribed on this machine, and take it along."
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="recordings with what they are found by")
    _add_filters(listing)
    listing.add_argument("--sort", choices=("time", "name", "length"), default="time")
    listing.add_argument("--ascending", action="store_true", help="the other way round")
    listing.add_argument(
        "--limit", type=_positive, default=_LIST_LIMIT, metavar="N", help="lines (default: 50)"
    )
    listing.add_argument("--json", action="store_true", help="one object a line, for programs")
    listing.set_defaults(run=_list)
    export = actions.add_parser("export", help="all texts, or those that are found, in one file")
    _add_filters(export)
    export.add_argument("--format", choices=KINDS, default="zip", help="default: zip")
    export.add_argument(
        "--formats",
        type=_formats,
        default=("txt",),
        metavar="NAME,NAME",
        help=f"of the files in a zip: {', '.join(EXPORT_FORMATS)} (default: txt)",
    )
    export.add_argument(
        "--output", type=Path, metavar="FILE", help="default: tinglu-DATE.FORMAT in this folder"
    )
    export.add_argument("--name", default="", metavar="TEMPLATE", help="of the names in a zip")
    export.set_defaults(run=_export)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--query", default="", metavar="TEXT", help="in names, texts, hotwords, notes, tags; a day"
    )
    parser.add_argument("--from", dest="first", type=_day, metavar="YYYY-MM-DD")
    parser.add_argument("--to", dest="last", type=_day, metavar="YYYY-MM-DD", help="inclusive")
    parser.add_argument("--tag", action="append", default=[], metavar="NAME", help="may repeat")
    parser.add_argument("--made-by", action="append", default=[], metavar="MODEL")
    parser.add_argument(
        "--state", action="append", default=[], choices=[state.value for state in JobState]
    )
    parser.add_argument("--deleted", action="store_true", help="in the bin instead")


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    sort = HistorySort(arguments.sort, descending=not arguments.ascending)
    filters = _filters_of(arguments)
    with _opened(settings) as database:
        archive = Archive(database, settings.recordings)
        left, cursor = arguments.limit, ""
        while left > 0:
            page = archive.find(
                arguments.query, filters, sort, cursor=cursor, limit=min(left, 1000)
            )
            for entry in page.entries:
                print(_as_json(entry) if arguments.json else _as_line(entry))
            left, cursor = left - len(page.entries), page.cursor
            if not cursor:
                break
    total = str(page.total) if page.is_exact else f"{page.total}+"
    tell(message("cli.history_total", settings.locale, count=total))
    return OK


def _export(arguments: argparse.Namespace, settings: Settings) -> int:
    day = datetime.now().strftime("%Y-%m-%d")
    target = arguments.output or Path(f"tinglu-{day}.{arguments.format}")
    selection = HistorySelection(query=arguments.query, filters=_filters_of(arguments))
    options = ExportOptions(name=arguments.name or settings.export_name)
    cancel = CancelToken()
    on_first_interrupt(cancel.cancel)
    with _opened(settings) as database:
        archive = Archive(database, settings.recordings)
        export = ManyExport(archive, arguments.format, arguments.formats, options, settings.locale)
        try:
            result = export.write(selection, target, on_progress=_show, cancel=cancel)
        except TranscriptionCancelled:
            tell(message("cli.export_stopped", settings.locale))
            return SOME_FAILED
    texts, left_out = result.written, result.skipped
    tell(message("cli.history_exported", settings.locale, count=texts, skipped=left_out))
    print(result.path)
    return OK


def _show(progress: ExportProgress) -> None:
    if sys.stderr.isatty():
        show_progress(f"{progress.done} / {progress.total}")


def _filters_of(arguments: argparse.Namespace) -> HistoryFilters:
    return HistoryFilters(
        from_ms=None if arguments.first is None else _unix_ms(arguments.first),
        to_ms=None if arguments.last is None else _unix_ms(arguments.last + timedelta(days=1)),
        models=tuple(arguments.made_by),
        states=tuple(JobState(state) for state in arguments.state),
        tags=tuple(arguments.tag),
        deleted=arguments.deleted,
    )


def _opened(settings: Settings) -> closing[Database]:
    return closing(Database(settings.database))


def _as_line(entry: HistoryEntry) -> str:
    day = datetime.fromtimestamp(entry.created_ms / 1000).astimezone()
    cells = [
        entry.id,
        day.strftime("%Y-%m-%d %H:%M"),
        whole_clock(entry.duration_ms),
        entry.state.value,
        entry.name,
        " ".join(entry.tags),
        entry.preview,
    ]
    return "\t".join(_printable(one_line(cell)) for cell in cells)


def _as_json(entry: HistoryEntry) -> str:
    hits = [{"field": hit.field, "text": hit.text, "ranges": hit.ranges} for hit in entry.hits]
    facts = {
        "id": entry.id,
        "name": entry.name,
        "created_ms": entry.created_ms,
        "duration_ms": entry.duration_ms,
        "state": entry.state.value,
        "model": entry.model,
        "origin": entry.origin,
        "tags": entry.tags,
        "note": entry.note,
        "hits": hits,
    }
    return json.dumps(facts, ensure_ascii=False)


def _printable(text: str) -> str:
    """Names and texts must not steer the terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _unix_ms(local: datetime) -> int:
    return int(local.timestamp() * 1000)


def _day(value: str) -> datetime:
    try:
        return datetime.strptime(value, "%Y-%m-%d")
    except ValueError as exc:
        raise argparse.ArgumentTypeError("a day is written 2026-11-30") from exc


def _positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _formats(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names or not set(names) <= set(EXPORT_FORMATS):
        raise argparse.ArgumentTypeError(f"choose from {', '.join(EXPORT_FORMATS)}")
    return names
