"""The one door for the page, the HTTP API and the command line."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from asr_core.archive import HistoryDoor
from asr_core.batches import BatchDoor
from asr_core.editing import EditDoor
from asr_core.equipment import Equipment
from asr_core.errors import AsrError, StoreError
from asr_core.evaluations import DEFAULT_NORMALIZATIONS, NORMALIZATIONS, Comparison, EvaluationDoor
from asr_core.events import EventSink
from asr_core.export.options import ExportOptions
from asr_core.export.progress import ExportProgress, ExportResult
from asr_core.exports import CLIP_FORMATS, EXPORT_CHOICES, EXPORT_FORMATS, ExportDoor
from asr_core.jobs.batch import BatchDesk
from asr_core.jobs.batch_model import (
    Batch,
    BatchItem,
    BatchRequest,
    BatchState,
    FolderView,
    ItemState,
    Root,
    Upload,
)
from asr_core.jobs.control import JobControl
from asr_core.jobs.model import Job, JobState
from asr_core.jobs.runner import JobRunner
from asr_core.media import Media
from asr_core.model_door import ModelDoor
from asr_core.results import Transcript
from asr_core.settings import Settings
from asr_core.shelf import ModelShelf
from asr_core.store.archive import Archive
from asr_core.store.batches import BatchStore
from asr_core.store.database import Database
from asr_core.store.edits import Edits
from asr_core.store.entries import (
    HistoryEntry,
    HistoryFacets,
    HistoryFilters,
    HistoryPage,
    HistorySelection,
    HistorySort,
    OwnerUse,
    Snippet,
    StorageUse,
    TagCount,
)
from asr_core.store.history import History, HistoryRecord
from asr_core.store.model_choices import ModelChoices
from asr_core.store.proposals import Proposals
from asr_core.store.tmp_files import prune
from asr_core.system import SystemInfo, read_system
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.options import POLISHES, TranscribeOptions
from asr_core.transcription.pipeline import transcribe
from asr_core.views import EngineStatus, LiveView, Measures, ModelStatus

__all__ = [
    "CLIP_FORMATS",
    "DEFAULT_NORMALIZATIONS",
    "EXPORT_CHOICES",
    "EXPORT_FORMATS",
    "NORMALIZATIONS",
    "POLISHES",
    "Batch",
    "BatchItem",
    "BatchRequest",
    "BatchState",
    "CancelToken",
    "Comparison",
    "Engine",
    "EngineStatus",
    "ExportOptions",
    "ExportProgress",
    "ExportResult",
    "FolderView",
    "HistoryEntry",
    "HistoryFacets",
    "HistoryFilters",
    "HistoryPage",
    "HistoryRecord",
    "HistorySelection",
    "HistorySort",
    "ItemState",
    "Job",
    "JobState",
    "LiveView",
    "Measures",
    "ModelStatus",
    "OwnerUse",
    "Root",
    "Snippet",
    "StorageUse",
    "SystemInfo",
    "TagCount",
    "TranscribeOptions",
    "Upload",
]

logger = logging.getLogger(__name__)

_PRUNE_EVERY_S = 3600.0


class Engine(BatchDoor, EditDoor, EvaluationDoor, ExportDoor, HistoryDoor, ModelDoor):
    """Opened once per process; every method may be called from any thread.

    Nothing is loaded before it is needed.

    Raises:
        StoreError: the history database cannot be opened.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._database = Database(settings.database)
        self._history = History(self._database, settings.recordings)
        self._edits = Edits(self._database)
        self._proposals = Proposals(self._database)
        self._archive = Archive(
            self._database,
            settings.recordings,
            bin_days=settings.bin_days,
            keep_days=settings.keep_days,
            keep_audio_days=settings.keep_audio_days,
        )
        self._shelf = ModelShelf(settings, ModelChoices(self._database))
        self._equipment = Equipment(settings, self._shelf)
        self._serving = threading.Event()
        self._control = JobControl(self._history, self._runner_of)
        store = BatchStore(self._database)
        self._batches = BatchDesk(
            self._history, store, settings, self._control, default_model=self._shelf.default
        )
        self._runner = self._new_runner("files")
        self._dictations = self._new_runner("dictation")
        self._command: JobRunner | None = None  # of the batch that this process was called for
        self._npus = self._equipment.npus
        self._stopping = threading.Event()
        self._media = Media(
            self._history,
            settings.tmp / "playback",
            limits=self._equipment.limits,
            is_stopped=self._stopping.is_set,
        )
        self._keeper = threading.Thread(target=self._keep_house, name="housekeeping", daemon=True)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Serve: recover interrupted jobs, load the model in the background, run queued jobs."""
        for job in self._history.recover_interrupted():
            logger.info("job queued again id=%s", job.id)
        self._proposals.sweep()
        self._serving.set()
        self._equipment.pool.preload(self._shelf.default())
        self._runner.start()
        self._dictations.start()
        self._batches.open()
        self._keeper.start()

    def run_batch(self, request: BatchRequest) -> Batch:
        """Run one batch in this process, in the background, instead of serving.

        An unfinished batch that was asked for in the same words in a process that is gone goes
        on. Folders need not be inside the configured roots.

        Raises:
            BatchError: it cannot be started.
        """
        self._history.recover_interrupted(("cli",))
        self._batches.open("cli")
        batch = self._batches.take_up(request)
        self._command = self._new_runner("cli", batch.id)
        self._command.start()
        return batch

    def close(self) -> None:
        """Stop after the running group of segments; queued jobs stay queued."""
        self._stopping.set()
        self._batches.close()
        for runner in (self._runner, self._dictations, self._command):
            if runner is not None:
                runner.stop()
        self._batches.flush()
        self._equipment.pool.close()
        if self._keeper.is_alive():
            self._keeper.join()
        self._database.close()

    def submit(
        self,
        path: Path,
        options: TranscribeOptions,
        *,
        name: str = "",
        origin: str = "file",
        batch_id: str = "",
    ) -> Job:
        """Take an own copy of a file and queue it.

        Raises:
            AudioDecodeError: the file is missing or unreadable; content is judged by the job.
            StoreError: the copy or the job cannot be stored.
        """
        recording_id = self._history.add_recording(
            path, name=name or path.name, origin=origin, keep="copy"
        )
        queue = "dictation" if origin == "dictation" else "files"
        job = self._history.add_job(
            recording_id, self._with_model(options), batch_id=batch_id, queue=queue
        )
        self._runner_of(job).submit(job)
        return job

    def live(self, job_id: str) -> LiveView:
        """A job with what it has recognized so far; the whole text once it has ended.

        Raises:
            JobNotFoundError: no job has that id.
        """
        runner = self._runner_of(self._history.job(job_id))
        # The running state is read before the row: a job that ends in between is seen as ended.
        progress, sentences = runner.live(job_id)
        job = self._history.job(job_id)
        if job.state.is_final:
            transcript = self._history.record(job.recording_id).transcript
            return LiveView(job, None, transcript.sentences if transcript else (), 0)
        return LiveView(job, progress, sentences, runner.position(job_id))

    def jobs(self, batch_id: str) -> list[Job]:
        """Jobs submitted together, oldest first."""
        return self._history.jobs(batch_id=batch_id)

    def active_jobs(self) -> list[Job]:
        """Queued and running jobs, oldest first."""
        return self._history.jobs(states=(JobState.QUEUED, JobState.RUNNING))

    def cancel(self, job_id: str) -> Job:
        """Cancel a waiting job at once, a running one after its group of segments.

        What was recognized by then becomes its text.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: the job has ended, or another process runs it.
        """
        return self._runner_of(self._history.job(job_id)).cancel(job_id)

    def pause(self, job_id: str) -> Job:
        """Pause a waiting job at once, a running one after its group of segments.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: the job has ended, or another process runs it.
        """
        return self._runner_of(self._history.job(job_id)).pause(job_id)

    def resume(self, job_id: str) -> Job:
        """Let a paused job go on after the last segment that it recognized.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: the job does not wait.
        """
        return self._runner_of(self._history.job(job_id)).resume(job_id)

    def retry(self, job_id: str) -> Job:
        """Try a recording again whose newest job failed, was cancelled or was interrupted.

        Returns:
            The new job, which goes on after the last segment that the old one recognized.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: the job cannot be tried again.
            AudioDecodeError: its recording is not kept or gone.
        """
        queue = self._history.job(job_id).queue
        # Nobody waits at a command line for it any more.
        return self._control.retry(job_id, "files" if queue == "cli" else queue)

    def prioritize(self, job_id: str, priority: int) -> Job:
        """Change the place of a job in its queue; a higher priority runs earlier, 0 is usual.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: the job has ended.
        """
        return self._history.set_priority(job_id, priority)

    def transcribe(
        self,
        path: Path,
        options: TranscribeOptions,
        *,
        on_event: EventSink | None = None,
        cancel: CancelToken | None = None,
        origin: str = "cli",
    ) -> Transcript:
        """Transcribe a file now, on this thread, and enter it into the history.

        The recording itself is not copied.

        Raises:
            AudioDecodeError: the file cannot be read or decoded.
            ModelError, DeviceError, RecognitionError: the recognizer cannot work.
        """
        recording_id = self._history.add_recording(path, name=path.name, origin=origin, keep="none")
        options = self._with_model(options)
        job = self._history.add_job(recording_id, options, running=True, queue="cli")
        try:
            transcript = self.recognize(path, options, on_event=on_event, cancel=cancel)
        except AsrError as exc:
            self._history.set_state(job.id, JobState.FAILED, error=exc)
            raise
        state = JobState.PARTIAL if transcript.partial else JobState.DONE
        self._history.save_transcript(job.id, transcript, state)
        return transcript

    def record(self, recording_id: str) -> HistoryRecord:
        """Raises RecordNotFoundError when no recording has that id."""
        return self._history.record(recording_id)

    def playback(self, recording_id: str) -> Path | None:
        """A file that browsers play; see :meth:`asr_core.media.Media.playback`."""
        return self._media.playback(recording_id)

    def peaks(self, recording_id: str) -> Path | None:
        """The peaks file of a recording; see :meth:`asr_core.media.Media.peaks`."""
        return self._media.peaks(recording_id)

    def outline(self, recording_id: str, count: int, *, end_ms: int | None = None) -> bytes | None:
        """What a page draws of a recording; see :meth:`asr_core.media.Media.outline`."""
        return self._media.outline(recording_id, count, end_ms=end_ms)

    def system(self) -> SystemInfo:
        """Versions, memory, disk and where data lies."""
        return read_system(self._settings, self._npus.report())

    def _with_model(self, options: TranscribeOptions) -> TranscribeOptions:
        """A job keeps its model, whatever becomes of the default."""
        return replace(options, model=options.model or self._shelf.default())

    def _runner_of(self, job: Job) -> JobRunner:
        if job.queue == "cli" and self._command is not None:
            return self._command
        return self._dictations if job.queue == "dictation" else self._runner

    def _new_runner(self, queue: str, batch_id: str | None = None) -> JobRunner:
        on_end = self._batches.on_job_end
        return JobRunner(
            self._history, self._run_job, queue=queue, batch_id=batch_id, on_end=on_end
        )

    def _run_job(
        self, path: Path, job: Job, on_event: EventSink, cancel: CancelToken
    ) -> Transcript:
        self._equipment.pin()
        part = self._proposals.stretch(job.recording_id)
        with self._equipment.stages(job.options, cancel) as stages:
            if part is not None:
                limits = replace(stages.limits, start_ms=part.start_ms, end_ms=part.end_ms)
                stages = replace(stages, limits=limits)
            fingerprint = self._equipment.fingerprint(job.options, stages)
            return transcribe(
                path,
                job.options,
                stages,
                name=job.name,
                on_event=on_event,
                cancel=cancel,
                peaks=self._history.peaks_path(job.recording_id),
                checkpoints=self._history.checkpoints(job.id, fingerprint),
            )

    def _keep_house(self) -> None:
        """Keep temporary files inside their limits until the engine closes."""
        while True:
            freed = prune(
                self._settings.tmp,
                max_age_s=self._settings.tmp_max_age_h * 3600.0,
                max_bytes=self._settings.tmp_max_mb * 1024 * 1024,
            )
            if freed:
                logger.info("temporary files deleted bytes=%d", freed)
            self._tidy_history()
            if self._stopping.wait(_PRUNE_EVERY_S):
                return

    def _tidy_history(self) -> None:
        try:
            self._archive.keep_rules(self._stopping.is_set)
        except StoreError as exc:
            logger.warning("history not tidied error=%s", exc)
