"""Batches: what users ask of them.

Owns whether a request may be started and what pausing, cancelling and trying again mean for the
files of a batch. Files are found by ``batch_keeper``.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from asr_core.errors import AudioDecodeError, BatchError, JobNotFoundError, JobStateError
from asr_core.export.registry import FORMATS
from asr_core.jobs import folders, outputs
from asr_core.jobs.batch_keeper import BatchKeeper
from asr_core.jobs.batch_model import (
    ON_EXISTING,
    Batch,
    BatchItem,
    BatchRequest,
    BatchState,
    FolderView,
    ItemState,
    Root,
)
from asr_core.jobs.batch_report import write_archive
from asr_core.jobs.batch_results import ResultWriter
from asr_core.jobs.batch_sources import Inbox, newer
from asr_core.jobs.batch_view import batch_view, with_progress
from asr_core.jobs.batch_work import BatchWork
from asr_core.jobs.control import JobControl
from asr_core.jobs.model import Job, JobState
from asr_core.settings import Settings
from asr_core.store.batch_rows import BatchRow, ItemRow
from asr_core.store.batches import BatchStore
from asr_core.store.history import History
from asr_core.transcription.options import TranscribeOptions

logger = logging.getLogger(__name__)

_DEFAULT_OUTPUT = "transcripts"
_RETRIED = (ItemState.FAILED, ItemState.CANCELLED, ItemState.PARTIAL, ItemState.REFUSED)


class BatchDesk:
    """Starts, shows and controls batches; usable from any thread.

    Args:
        history: recordings, jobs and texts.
        store: batches and their items.
        settings: roots, folders and pauses.
        control: the jobs of this process.
        default_model: name of the recognizer where the options of a batch name none.

    Methods that take the id of a batch raise BatchError ``not_found`` when there is none.
    """

    def __init__(
        self,
        history: History,
        store: BatchStore,
        settings: Settings,
        control: JobControl,
        *,
        default_model: Callable[[], str],
    ) -> None:
        self._history = history
        self._store = store
        self._settings = settings
        self._control = control
        self._queue = "files"
        writer = ResultWriter(store, settings.vad, settings.locale)
        self._default_model = default_model
        self._work = BatchWork(
            history, store, writer, default_model=default_model, submit=control.wake
        )
        self._inbox = Inbox(settings.home / "inbox")
        self._keeper = BatchKeeper(
            store,
            self._work,
            writer,
            self._inbox,
            watch_s=settings.watch_s,
            locale=settings.locale,
        )

    def open(self, queue: str = "files") -> None:
        """Look for files from now on; to be called once interrupted jobs are queued again.

        Args:
            queue: of the jobs of new batches. Unfinished batches of ``files`` go on, one of
                ``cli`` does when its command is given again (:meth:`take_up`).
        """
        self._queue = queue
        self._keeper.open(queue if queue == "files" else None)

    def close(self) -> None:
        """Look for no more files; to be called before runners stop, :meth:`flush` after it."""
        self._keeper.close()

    def flush(self) -> None:
        """Write the summaries that are not up to date."""
        self._keeper.flush()

    def on_job_end(self, job: Job) -> None:
        """Write down what became of a job; the hook of every runner."""
        if not job.batch_id:
            return
        try:
            batch = self._store.get(job.batch_id)
            row = self._store.item_of_job(batch.id, job.recording_id)
        except BatchError:
            return
        is_settled = False
        try:
            self._work.settle(batch, row)
            is_settled = True
        finally:
            self._keeper.touch(batch.id, tidy=not is_settled)

    def roots(self) -> tuple[Root, ...]:
        """Folders of the server that may be offered."""
        return folders.open_roots(self._settings.batch_roots or ())

    def browse(self, path: Path) -> FolderView:
        """Look into a folder of the server.

        Raises:
            BatchError: ``no_roots``, ``outside``, ``missing`` or ``unreadable``.
        """
        return folders.browse(path, self.roots())

    def start(self, request: BatchRequest, *, bound: bool = True) -> Batch:
        """Begin a batch; its files are found in the background.

        Args:
            request: what is asked for.
            bound: folders must be inside the configured roots.

        Raises:
            BatchError: it cannot be started; nothing has been changed but for an empty output
                folder.
            StoreError: there is no room for what was sent.
        """
        row = self._checked(request, bound=bound)
        self._end_abandoned(row.output)
        if row.source is None:
            self._inbox.accept(row.id, request.uploads)
        try:
            if row.output is not None:
                outputs.prepare(row.output)
            row = self._store.add(row)
        except BaseException:
            self._inbox.remove(row.id)
            raise
        if row.output is not None:
            outputs.sweep(row.output)
        logger.info("batch started id=%s queue=%s", row.id, self._queue)
        self._keeper.touch(row.id)
        return self.get(row.id)

    def take_up(self, request: BatchRequest) -> Batch:
        """Go on with an unfinished batch that was asked for in the same words, or begin it.

        Raises:
            BatchError, StoreError: as :meth:`start`.
        """
        wanted = self._checked(request, bound=False)
        for row in self._store.unfinished():
            asked = replace(row, options=self._with_model(row.options))
            if row.queue == self._queue and row.is_abandoned and _same_words(asked, wanted):
                return self.retry(row.id)
        return self.start(request, bound=False)

    def recent(self, limit: int = 20) -> tuple[Batch, ...]:
        """Batches, newest first."""
        return tuple(self._view(row) for row in self._store.recent(limit))

    def get(self, batch_id: str) -> Batch:
        """One batch as it stands now."""
        return self._view(self._store.get(batch_id))

    def items(self, batch_id: str, since: int = 0) -> tuple[BatchItem, ...]:
        """Files of a batch that changed after a revision, and all that have not ended."""
        self._store.get(batch_id)
        return tuple(self._shown(row) for row in self._store.items(batch_id, since=since))

    def pause(self, batch_id: str) -> Batch:
        """Find and run no more of its files until it is resumed; what was recognized stays."""
        with self._work.lock:
            if self._store.get(batch_id).state is BatchState.RUNNING:
                self._store.set_state(batch_id, BatchState.PAUSED)
            self._each_open(batch_id, self._control.pause)
        self._keeper.touch(batch_id)
        return self.get(batch_id)

    def resume(self, batch_id: str) -> Batch:
        """Go on with a paused batch, or with one that a dead command line left."""
        with self._work.lock:
            row = self._store.get(batch_id)
            if row.state in (BatchState.RUNNING, BatchState.PAUSED):
                if row.is_abandoned:
                    self._store.adopt(batch_id, self._queue)
                self._store.set_state(batch_id, BatchState.RUNNING)
            self._each_open(batch_id, self._control.resume)
        self._keeper.touch(batch_id)
        return self.get(batch_id)

    def cancel(self, batch_id: str) -> Batch:
        """End a batch; text that was recognized by then stays in the history."""
        with self._work.lock:
            if not self._store.get(batch_id).state.is_final:
                self._store.set_state(batch_id, BatchState.CANCELLED)
            self._each_open(batch_id, self._control.cancel)
            for row in self._store.items(batch_id):
                if row.job_state is None and not row.is_settled:
                    self._store.settle(batch_id, row.item.number, ItemState.CANCELLED)
        self._keeper.touch(batch_id)
        return self.get(batch_id)

    def retry(self, batch_id: str) -> Batch:
        """Try again what failed or was cancelled, and find the files that are still missing.

        Raises:
            BatchError: ``busy``: another batch, or another process, works on its output folder.
        """
        with self._work.lock:
            self._store.revive(batch_id, self._queue)
            row = self._store.get(batch_id)
            if row.output is not None:
                outputs.sweep(row.output)
            for item in self._store.items(batch_id):
                if item.is_settled and item.item.state in _RETRIED:
                    # One whose recording is gone stays as it is.
                    with contextlib.suppress(AudioDecodeError, JobStateError, JobNotFoundError):
                        self._try_again(row, item)
            if row.source is not None:
                self._keeper.find_again(batch_id)
        self._keeper.touch(batch_id)
        return self.get(batch_id)

    def retry_item(self, batch_id: str, number: int) -> BatchItem:
        """Try one file again; only its results, when it has a text that could not be written.

        Raises:
            BatchError: ``not_found``, or ``missing``: there is no recording to try again.
            JobStateError: it has not ended, or ended well.
        """
        with self._work.lock:
            row = self._store.item(batch_id, number)
            if not row.is_settled or row.item.state not in _RETRIED:
                state = row.item.state.value
                raise JobStateError(
                    f"item {number} is {state}: it cannot be tried again",
                    id=row.item.job_id,
                    state=state,
                )
            batch = self._store.get(batch_id)
            if not row.item.recording_id and newer(batch, row) is None:
                path = row.item.path
                raise BatchError(f"{path} has no recording", path=path, reason="missing")
            self._store.revive(batch_id, self._queue)
            self._try_again(self._store.get(batch_id), row)
        self._keeper.touch(batch_id)
        return self._shown(self._store.item(batch_id, number))

    def archive(self, batch_id: str, formats: Sequence[str], *, locale: str = "") -> Path:
        """All texts of a batch as one zip file below the temporary folder; the tree is kept.

        Args:
            batch_id: which batch.
            formats: of :data:`EXPORT_FORMATS`.
            locale: of the summary and the documents; empty for the setting.

        Raises:
            BatchError: ``formats`` (unknown) or ``empty`` (no text yet).
            ExportError: it cannot be written.
        """
        _check_formats(formats)
        row, items = self._store.get(batch_id), self.items(batch_id)
        target = self._exports() / "transcripts.zip"
        spoken = locale or self._settings.locale
        return write_archive(self._history, row, items, formats, target, spoken)

    def _checked(self, request: BatchRequest, *, bound: bool) -> BatchRow:
        """A request as a row, its folders judged."""
        _check_formats(request.formats)
        if request.on_existing not in ON_EXISTING:
            raise BatchError("no such choice", path=request.on_existing, reason="on_existing")
        source, output, boundary = request.source, request.output, None
        if source is None and not request.uploads:
            raise BatchError("there is nothing to transcribe", path="", reason="empty")
        if source is not None:
            source, boundary = self._folder(source, bound=bound)
            if not source.is_dir():
                raise BatchError(f"{source} is no folder", path=str(source), reason="missing")
            output = output or source / _DEFAULT_OUTPUT
        if output is not None:
            output, _ = self._folder(output, bound=bound)
        name = source.name if source is not None else request.uploads[0].name
        return BatchRow(
            id=uuid.uuid4().hex,
            name=name or str(source),
            source=source,
            boundary=boundary,
            output=output,
            formats=tuple(dict.fromkeys(request.formats)),
            on_existing=request.on_existing,
            recursive=request.recursive,
            patterns=request.patterns,
            watch=request.watch and source is not None,
            options=self._with_model(request.options),
            queue=self._queue,
        )

    def _with_model(self, options: TranscribeOptions) -> TranscribeOptions:
        return replace(options, model=options.model or self._default_model())

    def _folder(self, path: Path, *, bound: bool) -> tuple[Path, Path | None]:
        """Where a folder really is, and the root that it must stay in."""
        if not bound:
            return path.resolve(), None
        real, root = folders.permitted(path, self.roots())
        return real, root.path

    def _end_abandoned(self, output: Path | None) -> None:
        """Cancel what interrupted commands left on an output folder: other words count now."""
        for row in self._store.unfinished():
            if row.output == output is not None and row.queue == "cli" and row.is_abandoned:
                self.cancel(row.id)

    def _view(self, row: BatchRow) -> Batch:
        return batch_view(row, [self._shown(one) for one in self._store.items(row.id)])

    def _shown(self, row: ItemRow) -> BatchItem:
        item = row.item
        is_running = item.state is ItemState.RUNNING
        return with_progress(item, self._control.progress(item.job_id) if is_running else None)

    def _each_open(self, batch_id: str, request: Callable[[str], Job]) -> None:
        """Ask something of every job of a batch that has not ended."""
        for row in self._store.items(batch_id):
            if row.job_state is not None and not row.job_state.is_final:
                # It may end by itself meanwhile, or belong to a command that still runs.
                with contextlib.suppress(JobStateError, JobNotFoundError):
                    request(row.item.job_id)

    def _try_again(self, batch: BatchRow, row: ItemRow) -> None:
        item = row.item
        changed = newer(batch, row)
        if changed is not None and item.state is not ItemState.REFUSED:
            self._work.retake(batch, row, changed)
        elif not item.recording_id:
            if batch.source is not None:
                self._store.remove_item(batch.id, item.number)  # the next look finds it again
        elif row.job_state is None or row.job_state is JobState.DONE:
            self._store.reopen(batch.id, item.number)  # its results are written again
        else:
            self._control.retry(item.job_id, batch.queue)

    def _exports(self) -> Path:
        return self._settings.tmp / "exports" / uuid.uuid4().hex


def _check_formats(formats: Sequence[str]) -> None:
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        names = ", ".join(unknown)
        raise BatchError(f"no export format {names}", path=names, reason="formats")


def _same_words(row: BatchRow, wanted: BatchRow) -> bool:
    return all(
        getattr(row, name) == getattr(wanted, name)
        for name in (
            *("source", "output", "formats", "on_existing"),
            *("recursive", "patterns", "watch", "options"),
        )
    )
