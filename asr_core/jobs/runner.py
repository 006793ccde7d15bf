"""The thread that works through the queue of jobs.

Owns which job runs now, its cancel token and what it has said so far. What is queued lives in the
history and survives the process. Knows nothing of how a recording is transcribed.
"""

from __future__ import annotations

import enum
import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from asr_core.errors import (
    AsrError,
    AudioDecodeError,
    InternalError,
    JobStateError,
    TranscriptionCancelled,
    UsageError,
)
from asr_core.events import EventSink, Progress
from asr_core.jobs.model import Job, JobState
from asr_core.results import Sentence, Transcript
from asr_core.store.history import History
from asr_core.transcription.cancel import CancelToken

logger = logging.getLogger(__name__)

TranscribeJob = Callable[[Path, Job, EventSink, CancelToken], Transcript]
"""Transcribes one file. Once the token is set it returns what it has, ``partial=True``, or raises
TranscriptionCancelled."""

_RETRY_S = 5.0
"""Pause before the queue is looked at again after the database refused."""


class Request(enum.Enum):
    """What the user wants of the running job."""

    NONE = enum.auto()
    CANCEL = enum.auto()
    PAUSE = enum.auto()


@dataclass(slots=True)
class _Running:
    """The running job; changed only under the runner's lock."""

    job: Job
    token: CancelToken = field(default_factory=CancelToken)
    request: Request = Request.NONE
    progress: Progress | None = None
    told_s: float = 0.0  # when, on the monotonic clock
    sentences: list[Sentence] = field(default_factory=list)

    def progress_now(self) -> Progress | None:
        """The last progress; the time left is what is left of it now."""
        told = self.progress
        if told is None or told.remaining_ms is None:
            return told
        gone_ms = int((time.monotonic() - self.told_s) * 1000)
        return replace(told, remaining_ms=max(told.remaining_ms - gone_ms, 0))


class JobRunner:
    """Runs the jobs of one queue one after the other; usable from any thread.

    Args:
        history: where jobs wait and transcripts go.
        transcribe: called on the runner's thread.
        queue: ``files``, ``dictation`` or ``cli``. A dictation has a queue of its own, so that it
            never waits for a long file.
        batch_id: only jobs of this batch.
        on_end: told on the runner's thread of every job that ended, after it was stored.
    """

    def __init__(
        self,
        history: History,
        transcribe: TranscribeJob,
        *,
        queue: str = "files",
        batch_id: str | None = None,
        on_end: Callable[[Job], None] | None = None,
    ) -> None:
        self._history = history
        self._queue = queue
        self._batch_id = batch_id
        self._transcribe = transcribe
        self._on_end = on_end
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None
        self._running: _Running | None = None
        self._paused: dict[str, _Running] = {}  # what was seen of jobs that were paused here
        self._kept: dict[threading.Thread, _Running] = {}  # cancelled, their text is being stored
        self._stopping = False
        self._woken = False

    def start(self) -> None:
        """Begin with whatever waits. Raises UsageError when already started."""
        with self._lock:
            if self._thread is not None:
                raise UsageError("the job runner is already started")
            self._stopping = False
            self._woken = True
            self._thread = threading.Thread(
                target=self._run, name=f"jobs-{self._queue}", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """End the thread; the running job goes back to its place in the queue."""
        with self._lock:
            thread = self._thread
            if thread is None:
                return
            self._stopping = True
            if self._running is not None:
                self._running.token.cancel()
            kept = dict(self._kept)
            for running in kept.values():
                running.token.cancel()
            self._lock.notify_all()
        for other in (thread, *kept):
            other.join()
        with self._lock:
            self._thread = None

    def submit(self, job: Job) -> None:
        """Tell the runner of a job that was added to the history."""
        logger.info("job queued id=%s origin=%s", job.id, job.origin)
        self.wake()

    def wake(self) -> None:
        """Look at the queue again."""
        with self._lock:
            self._woken = True
            self._lock.notify_all()

    def cancel(self, job_id: str) -> Job:
        """Cancel a job that waits at once, one that runs after its current group of segments.

        What was recognized becomes its text, also of one that waits because it was paused or
        interrupted.

        Returns:
            The job as it stands now; one whose text is still to be stored is ``running``.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: it has ended already, or another process runs it.
        """
        with self._lock:
            if self._ask(job_id, Request.CANCEL):
                return self._history.job(job_id)
            job = self._history.job(job_id)
            if job.state is JobState.QUEUED and job.recognized_ms:
                return self._begin_to_keep_text(job)
            if job.state not in (JobState.QUEUED, JobState.INTERRUPTED):
                raise _wrong_state(job, "cancelled")
            job = self._history.set_state(job_id, JobState.CANCELLED)
            self._paused.pop(job_id, None)
        self._tell_end(job)
        return job

    def pause(self, job_id: str) -> Job:
        """Pause a job that waits at once, one that runs after its current group of segments.

        What a running job has recognized stays, and it goes on there when it is resumed.

        Returns:
            The job as it stands now; a running one is still ``running``.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: it has ended already, or another process runs it.
        """
        with self._lock:
            if self._ask(job_id, Request.PAUSE):
                return self._history.job(job_id)
            return self._history.set_paused(job_id, paused=True)

    def resume(self, job_id: str) -> Job:
        """Let a paused job run again; one that is about to pause goes on.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: it has ended already, or another process runs it.
        """
        with self._lock:
            running = self._at_work(job_id)
            if running is not None:
                running.request = Request.NONE
                return self._history.job(job_id)
            job = self._history.set_paused(job_id, paused=False)
        self.wake()
        return job

    def _ask(self, job_id: str, request: Request) -> bool:
        """Ask the running job for something; false when that job does not run here."""
        running = self._at_work(job_id)
        if running is None:
            return False
        if running.request is not Request.CANCEL:
            running.request = request
        running.token.cancel()
        return True

    def _at_work(self, job_id: str) -> _Running | None:
        """The job, if it runs here and its end is not stored yet."""
        running = self._running
        if running is None or running.job.id != job_id:
            return None
        return None if self._history.job(job_id).state.is_final else running

    def live(self, job_id: str) -> tuple[Progress | None, tuple[Sentence, ...]]:
        """The last progress and all sentences so far of a job that runs or was paused here."""
        with self._lock:
            running = self._running
            if running is not None and running.job.id == job_id:
                return running.progress_now(), tuple(running.sentences)
            paused = self._paused.get(job_id)
            return (paused.progress, tuple(paused.sentences)) if paused else (None, ())

    def position(self, job_id: str) -> int:
        """1 for the job that runs next; 0 when it does not wait."""
        return self._history.queue_position(job_id)

    def _run(self) -> None:
        pause_s = None
        while self._wait(pause_s):
            pause_s = None
            try:
                while self._run_next():
                    pass
            except Exception:
                # The guard of the loop: whatever happened, the other jobs must still run.
                logger.exception("job queue failed, next try in %s s", _RETRY_S)
                pause_s = _RETRY_S

    def _wait(self, pause_s: float | None) -> bool:
        """Sleep until there may be something to do; false when the runner stops."""
        with self._lock:
            self._lock.wait_for(lambda: self._woken or self._stopping, pause_s)
            self._woken = False
            return not self._stopping

    def _run_next(self) -> bool:
        """Run the oldest waiting job to its end; false when none waits."""
        with self._lock:
            # Claimed under the lock: a cancel finds the job either queued or running here.
            job = None if self._stopping else self._claim()
            if job is None:
                return False
            running = self._running = _Running(job)
            self._paused.pop(job.id, None)
        try:
            self._work(running)
        finally:
            with self._lock:
                self._running = None
        self._tell_end(self._history.job(job.id))
        return True

    def _claim(self) -> Job | None:
        return self._history.claim_next(self._queue, batch_id=self._batch_id)

    def _tell_end(self, job: Job) -> None:
        if self._on_end is not None and job.state.is_final:
            self._on_end(job)

    def _work(self, running: _Running) -> None:
        job_id = running.job.id
        try:
            self._finish(running, self._call(running))
        except TranscriptionCancelled:
            self._end_without_text(running)
        except AsrError as exc:
            logger.warning("job failed id=%s code=%s reason=%s", job_id, exc.code, exc)
            self._history.set_state(job_id, JobState.FAILED, error=exc)
        except Exception as exc:
            error_id = uuid.uuid4().hex[:8]
            logger.exception("job failed id=%s error_id=%s", job_id, error_id)
            error = InternalError(f"unexpected {type(exc).__name__}", error_id=error_id)
            self._history.set_state(job_id, JobState.FAILED, error=error)

    def _call(self, running: _Running) -> Transcript:
        job = running.job
        path = self._history.recording_path(job.recording_id)
        if path is None:
            raise AudioDecodeError(
                f"the recording of job {job.id} is gone", path=job.name, reason="missing"
            )

        def report(progress: Progress) -> None:
            with self._lock:
                running.progress = progress
                running.told_s = time.monotonic()
                running.sentences.extend(progress.sentences)

        return self._transcribe(path, job, report, running.token)

    def _finish(self, running: _Running, transcript: Transcript) -> None:
        if transcript.partial and (self._is_stopped(running) or not transcript.sentences):
            self._end_without_text(running)
            return
        state = JobState.PARTIAL if transcript.partial else JobState.DONE
        self._history.save_transcript(running.job.id, transcript, state)
        logger.info(
            "job %s id=%s audio_s=%.1f rtf=%.3f",
            state.value,
            running.job.id,
            transcript.duration_ms / 1000,
            transcript.rtf,
        )

    def _end_without_text(self, running: _Running) -> None:
        with self._lock:
            if self._is_stopped(running):
                # In one step: whoever asks for something finds the job either running or waiting.
                is_paused = running.request is Request.PAUSE
                if is_paused:
                    self._paused[running.job.id] = running
                self._history.requeue(running.job.id, paused=is_paused)
                self._running = None
                logger.info("job queued again id=%s", running.job.id)
                return
        self._history.set_state(running.job.id, JobState.CANCELLED)
        logger.info("job cancelled id=%s", running.job.id)

    def _begin_to_keep_text(self, job: Job) -> Job:
        """Store what a cancelled job had recognized, on a thread of its own: others may run."""
        job = self._history.set_state(job.id, JobState.RUNNING)
        token = CancelToken(known_only=True)
        running = _Running(job, token, Request.CANCEL)
        thread = threading.Thread(
            target=self._keep_text, args=(running,), name=f"text-{self._queue}", daemon=True
        )
        self._kept[thread] = running
        self._paused.pop(job.id, None)
        thread.start()
        return job

    def _keep_text(self, running: _Running) -> None:
        job_id = running.job.id
        try:
            self._finish(running, self._call(running))
        except Exception:
            # The guard of the thread: the job was cancelled, whatever becomes of its text.
            logger.exception("text of a cancelled job not kept id=%s", job_id)
            self._history.set_state(job_id, JobState.CANCELLED)
        finally:
            with self._lock:
                del self._kept[threading.current_thread()]
        self._tell_end(self._history.job(job_id))

    def _is_stopped(self, running: _Running) -> bool:
        """Whether the job is to go on later."""
        with self._lock:
            return running.token.is_cancelled and running.request is not Request.CANCEL


def _wrong_state(job: Job, wanted: str) -> JobStateError:
    return JobStateError(
        f"job {job.id} is {job.state.value}: it cannot be {wanted}",
        id=job.id,
        state=job.state.value,
    )
