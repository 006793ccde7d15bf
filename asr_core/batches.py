"""What the engine offers for batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asr_core.jobs.batch import BatchDesk
from asr_core.jobs.batch_model import Batch, BatchItem, BatchRequest, FolderView, Root


class BatchDoor:
    """The engine's methods for batches; usable from any thread.

    Methods that take the id of a batch raise BatchError ``not_found`` when there is none.
    """

    _batches: BatchDesk

    def batch_roots(self) -> tuple[Root, ...]:
        """Folders of the server that may be offered; none unless they are configured."""
        return self._batches.roots()

    def browse(self, path: Path) -> FolderView:
        """Look into a folder of the server; see :meth:`BatchDesk.browse`."""
        return self._batches.browse(path)

    def start_batch(self, request: BatchRequest) -> Batch:
        """Begin a batch; see :meth:`BatchDesk.start`."""
        return self._batches.start(request)

    def batches(self, limit: int = 20) -> tuple[Batch, ...]:
        """Batches, newest first."""
        return self._batches.recent(limit)

    def batch(self, batch_id: str) -> Batch:
        """One batch as it stands now."""
        return self._batches.get(batch_id)

    def batch_items(self, batch_id: str, since: int = 0) -> tuple[BatchItem, ...]:
        """Files of a batch that changed after a revision, and all that have not ended."""
        return self._batches.items(batch_id, since)

    def pause_batch(self, batch_id: str) -> Batch:
        """Find and run no more of its files until it is resumed; what was recognized stays."""
        return self._batches.pause(batch_id)

    def resume_batch(self, batch_id: str) -> Batch:
        """Go on with a paused batch, or with one that an interrupted command left."""
        return self._batches.resume(batch_id)

    def cancel_batch(self, batch_id: str) -> Batch:
        """End a batch; text that was recognized by then stays in the history."""
        return self._batches.cancel(batch_id)

    def retry_batch(self, batch_id: str) -> Batch:
        """Try again what failed or was cancelled; see :meth:`BatchDesk.retry`."""
        return self._batches.retry(batch_id)

    def retry_batch_item(self, batch_id: str, number: int) -> BatchItem:
        """Try one file again; see :meth:`BatchDesk.retry_item`."""
        return self._batches.retry_item(batch_id, number)

    def batch_archive(self, batch_id: str, formats: Sequence[str], *, locale: str = "") -> Path:
        """All texts of a batch as one zip file; see :meth:`BatchDesk.archive`."""
        return self._batches.archive(batch_id, formats, locale=locale)
