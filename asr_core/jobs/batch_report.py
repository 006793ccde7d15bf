"""What a batch says about itself: its summary as a table, its texts as one archive."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from asr_core.errors import BatchError, ExportError
from asr_core.export.clean import whole_clock
from asr_core.export.data import plain_cell
from asr_core.export.registry import export
from asr_core.jobs import outputs
from asr_core.jobs.batch_model import BatchItem, ItemState
from asr_core.messages import error_message, message
from asr_core.store.batch_rows import BatchRow, Result
from asr_core.store.batches import BatchStore
from asr_core.store.history import History

SUMMARY_NAME = "summary.csv"
SUMMARY_KEY = b"\0summary"
"""What stands for the input of a summary; no file has this name."""

_COLUMNS = ("file", "state", "length", "seconds", "speed", "outputs", "reason")
_WITH_TEXT = (ItemState.DONE, ItemState.PARTIAL, ItemState.SKIPPED)


def reason(item: BatchItem, locale: str) -> str:
    """Why an item is where it is, in words; empty when there is nothing to say."""
    if item.error_code:
        return error_message(item.error_code, item.error_details, locale)
    return message(f"batch.note.{item.note}", locale) if item.note else ""


def summary_content(items: Sequence[BatchItem], locale: str) -> bytes:
    """The table, UTF-8 with byte order mark so that spreadsheets read Chinese."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow([message(f"batch.column.{name}", locale) for name in _COLUMNS])
    for item in items:
        writer.writerow(
            (
                plain_cell(item.path),
                message(f"batch.state.{item.state.value}", locale),
                whole_clock(item.duration_ms) if item.duration_ms else "",
                f"{item.processing_ms / 1000:.1f}" if item.speed else "",
                f"{item.speed:.1f}" if item.speed else "",
                plain_cell("; ".join(item.outputs) if item.state in _WITH_TEXT else ""),
                plain_cell(reason(item, locale)),
            )
        )
    return buffer.getvalue().encode("utf-8-sig")


def write_summary(store: BatchStore, batch: BatchRow, content: bytes) -> Path | None:
    """Put the summary into the output folder; one that is not ours is left alone.

    Returns:
        Where it is; ``None`` without an output folder.

    Raises:
        BatchError: the folder is ``missing``, ``not_writable`` or ``disk_full``.
    """
    folder = batch.output
    if folder is None:
        return None
    for number in outputs.numbers():
        name = SUMMARY_NAME if number == 1 else f"summary ({number}).csv"
        known = store.result_at(folder, Path(name))
        if known is None or known.input != SUMMARY_KEY:
            if (folder / name).exists():
                continue
            row = Result(Path(name), SUMMARY_KEY, "csv", number, "", "", (), batch.id, 0)
            store.claim(folder, [row])
        part = outputs.stage(folder, folder / name, content)
        try:
            outputs.publish(part, folder / name, replace=True)
        finally:
            outputs.discard(part)
        return folder / name
    return None


def write_archive(
    history: History,
    batch: BatchRow,
    items: Sequence[BatchItem],
    formats: Sequence[str],
    target: Path,
    locale: str,
) -> Path:
    """Pack the texts of a batch and its summary; the tree is kept.

    Args:
        history: holds the texts.
        batch: which batch.
        items: of the batch.
        formats: names of export formats.
        target: file to write, in a folder that is made.
        locale: of the summary and the documents.

    Raises:
        BatchError: ``empty``: no item has a text.
        ExportError: a format is unknown, or the archive cannot be written.
    """
    taken = {SUMMARY_NAME}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
            for item in items:
                _pack(bundle, taken, history, item, formats, locale)
            if len(taken) == 1:
                raise BatchError(f"batch {batch.id} has no text", path=batch.name, reason="empty")
            bundle.writestr(SUMMARY_NAME, summary_content(items, locale))
    except OSError as exc:
        raise ExportError(f"{target}: {exc}", path=target.name, reason=str(exc)) from exc
    return target


def _pack(
    bundle: zipfile.ZipFile,
    taken: set[str],
    history: History,
    item: BatchItem,
    formats: Sequence[str],
    locale: str,
) -> None:
    if item.state not in _WITH_TEXT or not item.recording_id:
        return
    transcript = history.record(item.recording_id).transcript
    if transcript is None:
        return
    for number in outputs.numbers():
        names = {name: outputs.place_of(item.path, name, number).as_posix() for name in formats}
        if not taken.intersection(names.values()):
            break
    for format_name, name in names.items():
        taken.add(name)
        title = PurePosixPath(item.path).name
        content = export(transcript, format_name, title=title, locale=locale)
        bundle.writestr(name, content)
