"""The thread that keeps batches going: finds their files, sees their end, writes summaries.

Owns when something is looked for. What is done with one file is in ``batch_work``.
"""

from __future__ import annotations

import functools
import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from asr_core.errors import AsrError, BatchError, UsageError
from asr_core.jobs import outputs
from asr_core.jobs.batch_model import BatchState
from asr_core.jobs.batch_report import summary_content, write_summary
from asr_core.jobs.batch_results import ResultWriter
from asr_core.jobs.batch_sources import Candidate, Inbox, candidates
from asr_core.jobs.batch_work import BatchWork
from asr_core.store.batch_rows import BatchRow
from asr_core.store.batches import BatchStore
from asr_core.store.process import own_tag

logger = logging.getLogger(__name__)

_SUMMARY_PAUSE_S = 2.0  # between two summaries of a batch that goes on
_RETRY_S = 5.0  # pause after the database refused
_LOOK_S = 1.0  # how often states that another process may change are looked at
_TIDY_S = 30.0  # how often half done files are looked for without any hint
_EVERY_REVISION = 2**62


@dataclass(slots=True)
class _Watch:
    """The last look at a watched folder."""

    due_s: float = 0.0  # monotonic time
    stamps: dict[bytes, str] = field(default_factory=dict)


class BatchKeeper:
    """Keeps the batches of this process going.

    Args:
        store: batches and their items.
        work: steps of single files.
        writer: is told when a batch has ended.
        inbox: files that were sent.
        watch_s: pause between two looks at a watched folder.
        locale: of summaries.
    """

    def __init__(
        self,
        store: BatchStore,
        work: BatchWork,
        writer: ResultWriter,
        inbox: Inbox,
        *,
        watch_s: float,
        locale: str,
    ) -> None:
        self._store = store
        self._work = work
        self._writer = writer
        self._inbox = inbox
        self._watch_s = watch_s
        self._locale = locale
        self._wake = threading.Condition()  # guards the fields below
        self._woken = False
        self._stopping = False
        self._dirty: dict[str, float] = {}  # batches with changes: when a summary is due
        self._tidy_due: dict[str, float] = {}  # when half done files are looked for again
        self._again: set[str] = set()  # batches whose source is to be walked through once more
        # Of the thread alone:
        self._watches: dict[str, _Watch] = {}
        self._held: dict[str, float] = {}  # batches in which a fault happened: when to go on
        self._thread: threading.Thread | None = None

    def open(self, queue: str | None) -> None:
        """Start the thread.

        Args:
            queue: go on with what a dead process left of this one; ``None`` leaves it alone.

        Raises:
            UsageError: already open.
        """
        if self._thread is not None:
            raise UsageError("the batches are already open")
        if queue is not None:
            self._inherit(queue)
        self._woken = True
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; what is unfinished goes on at the next start."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join()

    def touch(self, batch_id: str, *, tidy: bool = True) -> None:
        """Something of a batch has changed: look at it, and write its summary soon.

        Args:
            batch_id: which batch.
            tidy: something may be half done.
        """
        with self._wake:
            if tidy:
                self._tidy_due.pop(batch_id, None)
            self._dirty.setdefault(batch_id, time.monotonic() + _SUMMARY_PAUSE_S)
            self._woken = True
            self._wake.notify_all()

    def find_again(self, batch_id: str) -> None:
        """Walk through the source once more, also if that happens at this moment."""
        with self._wake:
            self._again.add(batch_id)
        self._store.set_planned(batch_id, False)
        self.touch(batch_id)

    def flush(self) -> None:
        """Write the summaries of all batches with changes."""
        for batch_id in self._take_due(math.inf):
            self._summarize(self._store.get(batch_id))

    def _inherit(self, queue: str) -> None:
        self._store.take_over(queue)
        unfinished = self._store.unfinished()
        self._inbox.sweep({batch.id for batch in unfinished})
        for batch in unfinished:
            if batch.output is not None and batch.owner == own_tag():
                outputs.sweep(batch.output)
        for batch in self._store.half_done():
            if batch.queue == queue:
                self._tidy(batch)
                self.touch(batch.id)

    def _run(self) -> None:
        pause_s = 0.0
        while self._wait(pause_s):
            pause_s = _LOOK_S if self._guarded(self._round) else _RETRY_S

    def _round(self) -> None:
        for batch in self._store.unfinished(owner=own_tag()):
            if not self._guarded(functools.partial(self._look_at, batch)):
                self._hold_back(batch.id)
        for batch_id in self._take_due(time.monotonic()):
            self._summarize(self._store.get(batch_id))

    def _guarded(self, step: Callable[[], None]) -> bool:
        """The guard of the loop: whatever happened, the other batches must still go on."""
        try:
            step()
        except Exception:
            logger.exception("batches failed, next try in %s s", _RETRY_S)
            return False
        return True

    def _hold_back(self, batch_id: str) -> None:
        """Look at a batch again after a while, and for what it may have left half done."""
        with self._wake:
            self._tidy_due.pop(batch_id, None)
        self._held[batch_id] = time.monotonic() + _RETRY_S

    def _wait(self, pause_s: float) -> bool:
        """Sleep until there may be something to do; false when the thread is to end."""
        with self._wake:
            self._wake.wait_for(lambda: self._woken or self._stopping, pause_s)
            self._woken = False
            return not self._stopping

    def _look_at(self, batch: BatchRow) -> None:
        """Find files, mend what is half done, and end the batch when nothing is left."""
        if time.monotonic() < self._held.get(batch.id, 0.0):
            return
        is_running = batch.state is BatchState.RUNNING
        if is_running and batch.watch:
            self._watch(batch)
        elif is_running and not batch.planned:
            self._plan(batch)
        if self._is_tidying_due(batch.id):
            self._tidy(batch)
        with self._work.lock:
            batch = self._store.get(batch.id)
            goes_on = batch.watch or not batch.planned or self._store.has_open(batch.id)
            if batch.state.is_final or goes_on:
                return
            self._summarize(batch)
            self._store.set_state(batch.id, BatchState.DONE)
        with self._wake:
            self._dirty.pop(batch.id, None)
            self._tidy_due.pop(batch.id, None)
        self._writer.forget(batch.id)
        self._inbox.remove(batch.id)
        logger.info("batch done id=%s", batch.id)

    def _plan(self, batch: BatchRow) -> None:
        """Enter every file that is not known yet."""
        with self._wake:
            self._again.discard(batch.id)
        known = self._store.keys(batch.id)
        error = None
        try:
            for candidate in candidates(batch, self._inbox, known):
                if candidate.key not in known and not self._take(batch, candidate):
                    return
                if self._is_stopping():
                    return
        except BatchError as exc:
            error = exc
        with self._wake:
            is_over = batch.id not in self._again
        if is_over:
            self._store.set_planned(batch.id, True, error)

    def _watch(self, batch: BatchRow) -> None:
        """Enter files that are new or have changed, and did not grow since the last look."""
        watch = self._watches.setdefault(batch.id, _Watch())
        if time.monotonic() < watch.due_s:
            return
        known = self._store.keys(batch.id)
        seen: dict[bytes, str] = {}
        try:
            for candidate in candidates(batch, self._inbox, known):
                if self._is_stopping():
                    return
                seen[candidate.key] = candidate.stamp
                is_new = known.get(candidate.key) != candidate.stamp
                is_still = watch.stamps.get(candidate.key) == candidate.stamp
                has_content = candidate.size_bytes > 0 or candidate.error is not None
                if is_new and is_still and has_content and not self._take(batch, candidate):
                    return
        except BatchError as exc:
            # It may come back: a disk that is not mounted at the moment.
            self._store.set_planned(batch.id, True, exc)
        else:
            self._store.set_planned(batch.id, True)
        watch.stamps = seen
        watch.due_s = time.monotonic() + self._watch_s

    def _take(self, batch: BatchRow, candidate: Candidate) -> bool:
        taken = self._work.take(batch, candidate)
        with self._wake:
            self._dirty.setdefault(batch.id, time.monotonic() + _SUMMARY_PAUSE_S)
        return taken

    def _tidy(self, batch: BatchRow) -> None:
        """Do what a process that died, or a fault, left half done."""
        for row in self._store.items(batch.id, since=_EVERY_REVISION):
            if row.job_state is None:
                self._work.queue(batch, row)
            elif row.job_state.is_final:
                self._work.settle(batch, row)

    def _summarize(self, batch: BatchRow) -> None:
        """Write the summary; a folder that is gone or full does not stop the batch."""
        items = [row.item for row in self._store.items(batch.id)]
        try:
            write_summary(self._store, batch, summary_content(items, self._locale))
        except AsrError as exc:
            logger.warning("summary not written batch=%s reason=%s", batch.id, exc)

    def _take_due(self, now_s: float) -> list[str]:
        with self._wake:
            due = [batch_id for batch_id, due_s in self._dirty.items() if due_s <= now_s]
            for batch_id in due:
                del self._dirty[batch_id]
            return due

    def _is_tidying_due(self, batch_id: str) -> bool:
        now_s = time.monotonic()
        with self._wake:
            is_due = now_s >= self._tidy_due.get(batch_id, 0.0)
            if is_due:
                self._tidy_due[batch_id] = now_s + _TIDY_S
            return is_due

    def _is_stopping(self) -> bool:
        with self._wake:
            return self._stopping
