"""Batches and items as they are shown: stored rows and what running jobs say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from asr_core.events import Progress
from asr_core.jobs.batch_model import Batch, BatchItem, BatchState, ItemState
from asr_core.store.batch_rows import BatchRow


def with_progress(item: BatchItem, progress: Progress | None) -> BatchItem:
    """An item of a running job with what the job says at the moment."""
    if progress is None or item.state is not ItemState.RUNNING:
        return item
    speed = progress.done_ms / progress.elapsed_ms if progress.elapsed_ms else 0.0
    return replace(
        item,
        duration_ms=progress.total_ms or item.duration_ms,
        done_ms=max(progress.done_ms, item.done_ms),
        speed=speed,
        remaining_ms=progress.remaining_ms,
    )


def batch_view(row: BatchRow, items: Sequence[BatchItem]) -> Batch:
    """A batch with the sum of its items."""
    open_items = [item for item in items if not item.state.is_final]
    return Batch(
        id=row.id,
        name=row.name,
        source=row.source,
        output=row.output,
        formats=row.formats,
        on_existing=row.on_existing,
        options=row.options,
        recursive=row.recursive,
        patterns=row.patterns,
        watch=row.watch,
        created_ms=row.created_ms,
        state=_state(row, has_open=bool(open_items)),
        items=Counter(item.state for item in items),
        duration_ms=sum(item.duration_ms for item in items),
        done_ms=sum(item.duration_ms if item.state.is_good else item.done_ms for item in items),
        remaining_ms=_remaining_ms(items, open_items),
        error_code=row.error_code,
        error_details=row.error_details,
    )


def _state(row: BatchRow, *, has_open: bool) -> BatchState:
    if row.state is BatchState.RUNNING:
        if row.queue == "cli" and row.is_abandoned:
            return BatchState.PAUSED  # its command was interrupted and may be given again
        return BatchState.RUNNING if row.planned else BatchState.PLANNING
    if row.state is BatchState.DONE and has_open:
        return BatchState.RUNNING  # one of its files is being tried again
    return row.state


def _remaining_ms(items: Sequence[BatchItem], open_items: Sequence[BatchItem]) -> int | None:
    """From the speed so far; unknown before anything has ended or while a length is unknown."""
    worked_ms = sum(item.processing_ms for item in items if item.state is ItemState.DONE)
    heard_ms = sum(item.duration_ms for item in items if item.processing_ms and item.state.is_good)
    running = [item for item in open_items if item.remaining_ms is not None]
    waiting = [item for item in open_items if item.remaining_ms is None]
    known_ms = sum(item.remaining_ms or 0 for item in running)
    if not waiting:
        return known_ms
    if running and not worked_ms:
        worked_ms = sum(int(item.done_ms / item.speed) for item in running if item.speed)
        heard_ms = sum(item.done_ms for item in running if item.speed)
    if not worked_ms or not heard_ms or any(item.duration_ms == 0 for item in waiting):
        return None
    left_ms = sum(max(item.duration_ms - item.done_ms, 0) for item in waiting)
    return known_ms + left_ms * worked_ms // heard_ms
