"""Batches, their files and the server's folders as plain JSON values for the page's components."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asr_core.engine import Batch, BatchItem, FolderView, Root
from asr_core.messages import error_message
from ui.view import FORMATS, View

NO_BATCH: View = {"batch": None, "rows": [], "since": 0, "whole": True}
"""What the table shows where there has never been a batch."""


def has_ended(batch: Batch) -> bool:
    """Whether nothing changes by itself any more: what runs when a batch ends stops later."""
    return batch.state.is_final and all(state.is_final for state in batch.items)


def batch_view(batch: Batch, locale: str) -> View:
    """What stands above the table."""
    return {
        **recent_view(batch),
        "final": has_ended(batch),
        "watched": batch.watch,
        "watching": batch.watch and not batch.state.is_final,
        "counts": {state.value: count for state, count in batch.items.items()},
        "good": sum(count for state, count in batch.items.items() if state.is_good),
        "total_ms": batch.duration_ms,
        "done_ms": batch.done_ms,
        "remaining_ms": batch.remaining_ms,
        "output": str(batch.output) if batch.output else "",
        "formats": list(batch.formats),
        "every_format": list(FORMATS),
        "error": error_message(batch.error_code, batch.error_details, locale)
        if batch.error_code
        else "",
    }


def recent_view(batch: Batch) -> View:
    """One entry in the list of batches."""
    return {
        "id": batch.id,
        "name": batch.name,
        "created_ms": batch.created_ms,
        "state": batch.state.value,
        "total": batch.total,
        "ended": sum(count for state, count in batch.items.items() if state.is_final),
    }


def item_view(item: BatchItem, locale: str) -> View:
    """One row of the table."""
    return {
        "n": item.number,
        "path": item.path,
        "state": item.state.value,
        "job": item.job_id,
        "recording": item.recording_id,
        "total_ms": item.duration_ms,
        "done_ms": item.done_ms,
        "speed": round(item.speed, 1),
        "remaining_ms": item.remaining_ms,
        "outputs": list(item.outputs),
        "note": item.note,
        "error": error_message(item.error_code, item.error_details, locale)
        if item.error_code
        else "",
    }


def folder_view(folder: FolderView, roots: Sequence[Root]) -> View:
    """One folder of the browser with the way to it; ``chosen`` says that it can be transcribed."""
    return {
        "path": str(folder.path),
        "crumbs": _crumbs(folder.path, roots),
        "folders": [[inner.name, str(inner)] for inner in folder.folders],
        "recordings": folder.recordings,
        "size_bytes": folder.size_bytes,
        "complete": folder.is_complete,
        "chosen": True,
    }


def roots_view(roots: Sequence[Root]) -> View:
    """The permitted folders side by side; one of them has to be opened before a start."""
    return {
        "path": "",
        "crumbs": [["", ""]],
        "folders": [[root.name, str(root.path)] for root in roots],
        "recordings": 0,
        "size_bytes": 0,
        "complete": True,
        "chosen": False,
    }


def _crumbs(path: Path, roots: Sequence[Root]) -> list[list[str]]:
    """Names and paths from the list of roots, where there are several, down to ``path``."""
    above = [root for root in roots if path.is_relative_to(root.path)]
    root = max(above, key=lambda found: len(found.path.parts))
    crumbs = [["", ""]] if len(roots) > 1 else []
    crumbs.append([root.name, str(root.path)])
    here = root.path
    for part in path.relative_to(root.path).parts:
        here /= part
        crumbs.append([part, str(here)])
    return crumbs
