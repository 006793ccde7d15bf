"""What is done with one file of a batch: entered, queued, written down when its job has ended.

Every step may be the last one of a process. What a step finds half done it does again, so that a
file gets one item, one job and one set of results whatever happens in between.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from asr_core.audio.decode import DecodeOptions, probe
from asr_core.errors import (
    AsrError,
    BatchError,
    ExportError,
    InternalError,
    RecordNotFoundError,
    StoreError,
)
from asr_core.jobs.batch_model import BatchState, ItemState
from asr_core.jobs.batch_results import ResultWriter, Source
from asr_core.jobs.batch_sources import Candidate
from asr_core.jobs.model import Job, JobState
from asr_core.results import Transcript
from asr_core.store.batch_rows import BatchRow, ItemRow, NewItem
from asr_core.store.batches import BatchStore
from asr_core.store.history import History

logger = logging.getLogger(__name__)


class BatchWork:
    """Steps of single files; usable from any thread.

    Args:
        history: recordings, jobs and texts.
        store: batches and their items.
        writer: places and files in output folders.
        default_model: name of the recognizer where a batch names none: one of an earlier version.
        submit: tells the right runner of a new job.
    """

    def __init__(
        self,
        history: History,
        store: BatchStore,
        writer: ResultWriter,
        *,
        default_model: Callable[[], str],
        submit: Callable[[Job], None],
    ) -> None:
        self._history = history
        self._store = store
        self._writer = writer
        self._default_model = default_model
        self._submit = submit
        self.lock = threading.RLock()  # one change of a batch or an item at a time

    def take(self, batch: BatchRow, candidate: Candidate) -> bool:
        """Enter a file and queue it, unless its results are there already.

        Returns:
            False when the batch was paused, cancelled or ended meanwhile; nothing is entered.
        """
        try:
            return self._take(batch, candidate)
        except StoreError:
            raise
        except Exception:
            # One file that no step foresees must not keep the others waiting.
            error_id = uuid.uuid4().hex[:8]
            logger.exception("batch file failed batch=%s error_id=%s", batch.id, error_id)
            error = InternalError("unexpected fault", error_id=error_id)
            return self._enter_fault(batch, candidate, ItemState.FAILED, error)

    def _take(self, batch: BatchRow, candidate: Candidate) -> bool:
        if candidate.error is not None:
            refused = isinstance(candidate.error, BatchError) and candidate.keep == "link"
            state = ItemState.REFUSED if refused else ItemState.FAILED
            return self._enter_fault(batch, candidate, state, candidate.error)
        name = PurePosixPath(candidate.path).name
        try:
            recording_id = self._history.add_recording(
                candidate.file, name=name, origin="batch", keep=candidate.keep
            )
        except AsrError as exc:
            return self._enter_fault(batch, candidate, ItemState.FAILED, exc)
        duration_ms = _stated_length_ms(candidate, batch.options.raw)
        with self.lock:
            if not self._goes_on(batch):
                self._history.delete([recording_id])
                return False
            self._enter(batch, candidate, recording_id, duration_ms)
        return True

    def retake(self, batch: BatchRow, row: ItemRow, candidate: Candidate) -> None:
        """Give an item the content that its file has now, and queue it.

        Raises:
            AudioDecodeError, StoreError: the file cannot be read or kept.
        """
        name = PurePosixPath(candidate.path).name
        recording_id = self._history.add_recording(
            candidate.file, name=name, origin="batch", keep=candidate.keep
        )
        with self.lock:
            self._store.renew(
                batch.id,
                row.item.number,
                recording_id,
                sha256=self._store.content(recording_id),
                stamp=candidate.stamp,
            )
            self.queue(batch, self._store.item(batch.id, row.item.number))

    def queue(self, batch: BatchRow, row: ItemRow) -> None:
        """Give an item that has no job what it lacks: a text from the history, or a job."""
        with self.lock:
            row = self._store.item(batch.id, row.item.number)
            # An item that shares the recording of another one is seen with the job of that one.
            if row.is_settled or (row.job_state is not None and not row.job_state.is_final):
                return
            reused = self._reusable(batch, row.sha256)
            if reused is not None:
                self._store.set_recording(batch.id, row.item.number, reused)
                row = self._store.item(batch.id, row.item.number)
                self._write(batch, row, row.item.job_id, note="reused")
                return
            if row.job_state is not None:
                return
            if not row.item.recording_id:
                gone = RecordNotFoundError("its recording was deleted", id="")
                self._fail(batch, row, "", gone)
                return
            skips = batch.on_existing == "skip"
            if skips and self._store.has_twin(batch.id, row.item.number, row.sha256):
                return  # its text will be this one's too
            job = self._history.add_job(
                row.item.recording_id, batch.options, batch_id=batch.id, queue=batch.queue
            )
            if self._store.get(batch.id).state is BatchState.PAUSED:
                self._history.set_paused(job.id, paused=True)
        self._submit(job)

    def settle(self, batch: BatchRow, row: ItemRow) -> None:
        """Write down what became of an item whose job has ended, and its results."""
        with self.lock:
            row = self._store.item(batch.id, row.item.number)
            if row.is_settled or row.job_state is None or not row.job_state.is_final:
                return
            job = self._history.job(row.item.job_id)
            if job.state is JobState.DONE:
                self._write(batch, row, job.id)
            else:
                self._store.settle(
                    batch.id,
                    row.item.number,
                    ItemState(job.state.value),
                    job_id=job.id,
                    error=(job.error_code, job.error_details),
                )
            if self._store.get(batch.id).state is not BatchState.CANCELLED:
                for twin in self._store.waiting_twins(batch.id, row.sha256):
                    self.queue(batch, twin)

    def _reusable(self, batch: BatchRow, sha256: str) -> str | None:
        """A recording whose text is what a job would produce."""
        if batch.on_existing != "skip":
            return None
        return self._history.find_done(sha256, batch.options, self._model_of(batch))

    def _model_of(self, batch: BatchRow) -> str:
        return batch.options.model or self._default_model()

    def _goes_on(self, batch: BatchRow) -> bool:
        return self._store.get(batch.id).state is BatchState.RUNNING

    def _enter(
        self, batch: BatchRow, candidate: Candidate, recording_id: str, duration_ms: int
    ) -> None:
        sha256 = self._store.content(recording_id)
        source = Source(candidate.path, candidate.key, sha256)
        reused = self._reusable(batch, sha256)
        try:
            places = self._writer.plan(batch, source, self._model_of(batch))
        except BatchError as exc:
            self._history.delete([recording_id])
            self._enter_fault(batch, candidate, ItemState.FAILED, exc)
            return
        is_needed = not places.is_done and reused is None
        number = self._store.add_item(
            batch.id,
            NewItem(
                path=candidate.path,
                source_key=candidate.key,
                stamp=candidate.stamp,
                state=ItemState.SKIPPED if places.is_done else None,
                recording_id=recording_id if is_needed else reused or "",
                sha256=sha256,
                duration_ms=duration_ms,
                outputs=places.outputs,
                note="already_done" if places.is_done else places.note,
            ),
        )
        if not is_needed:
            self._history.delete([recording_id])
        if not places.is_done:
            self.queue(batch, self._store.item(batch.id, number))

    def _enter_fault(
        self, batch: BatchRow, candidate: Candidate, state: ItemState, error: AsrError
    ) -> bool:
        logger.warning("batch file not taken batch=%s reason=%s", batch.id, error.code)
        with self.lock:
            if not self._goes_on(batch):
                return False
            self._store.add_item(
                batch.id,
                NewItem(
                    path=candidate.path,
                    source_key=candidate.key,
                    stamp=candidate.stamp,
                    state=state,
                    error_code=error.code,
                    error_details=_texts(error),
                ),
            )
        return True

    def _write(self, batch: BatchRow, row: ItemRow, job_id: str, *, note: str = "") -> None:
        """Write the results of an item that has a whole text."""
        item = row.item
        source = Source(item.path, row.source_key, row.sha256, item.number)
        title = PurePosixPath(item.path).name
        try:
            places = self._writer.write(batch, source, title, self._text(item.recording_id))
        except (BatchError, ExportError, RecordNotFoundError) as exc:
            self._fail(batch, row, job_id, exc)
            return
        except StoreError:
            raise
        except Exception:
            error_id = uuid.uuid4().hex[:8]
            logger.exception("batch result failed batch=%s error_id=%s", batch.id, error_id)
            self._fail(batch, row, job_id, InternalError("unexpected fault", error_id=error_id))
            return
        self._store.settle(
            batch.id,
            item.number,
            ItemState.DONE,
            job_id=job_id,
            outputs=places.outputs,
            note=places.note or note,
        )

    def _text(self, recording_id: str) -> Transcript:
        transcript = self._history.record(recording_id).transcript
        if transcript is None:
            raise RecordNotFoundError("its text was deleted", id=recording_id)
        return transcript

    def _fail(self, batch: BatchRow, row: ItemRow, job_id: str, error: AsrError) -> None:
        logger.warning("batch result not written batch=%s reason=%s", batch.id, error)
        self._store.settle(
            batch.id,
            row.item.number,
            ItemState.FAILED,
            job_id=job_id,
            error=(error.code, _texts(error)),
        )


def _stated_length_ms(candidate: Candidate, raw: str) -> int:
    """What the container says; 0 when it says nothing or cannot be read: its job will tell."""
    try:
        return probe(candidate.file, options=DecodeOptions(raw=raw)).duration_ms or 0
    except AsrError:
        return 0


def _texts(error: AsrError) -> Mapping[str, str]:
    return {name: str(value) for name, value in error.details.items()}
