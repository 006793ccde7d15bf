"""The one door for the page, the HTTP API and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from asr_core.events import EventSink, Progress
from asr_core.jobs.model import Job, JobState
from asr_core.results import Sentence, Transcript
from asr_core.settings import Settings
from asr_core.store.history import HistoryEntry, HistoryPage, HistoryRecord
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.options import TranscribeOptions

__all__ = [
    "CancelToken",
    "Engine",
    "EngineStatus",
    "HistoryEntry",
    "HistoryPage",
    "HistoryRecord",
    "Job",
    "JobState",
    "LiveView",
    "ModelStatus",
    "SystemInfo",
    "TranscribeOptions",
]


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """What the header line says.

    Attributes:
        model: name of the active recognizer (``whisper-base``).
        backend: runtime that executes it (``ctranslate2 int8``).
        device: where it really runs (``cpu``).
        threads: CPU threads it uses.
        state: ``loading``, ``ready``, ``busy`` or ``unavailable``.
        queued: jobs that wait.
        error_code: why it is unavailable, empty otherwise.
        error_details: to format the user's sentence.
    """

    model: str
    backend: str
    device: str
    threads: int
    state: str
    queued: int
    error_code: str
    error_details: dict[str, str]


@dataclass(frozen=True, slots=True)
class LiveView:
    """A job as it stands now: the stored row, the last progress and the sentences so far."""

    job: Job
    progress: Progress | None
    sentences: tuple[Sentence, ...]
    queue_position: int  # 0 when it does not wait


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One catalogue entry: ``state`` is ``installed``, ``missing`` or ``damaged``."""

    name: str
    title: str
    licence: str
    size_bytes: int
    state: str
    active: bool
    path: Path


@dataclass(frozen=True, slots=True)
class SystemInfo:
    """What the system page shows. ``mindspore`` is empty with ``mindspore_note`` saying why."""

    versions: dict[str, str]  # component -> version, application and python included
    cpu_cores: int
    machine: str
    rss_bytes: int
    memory_total_bytes: int
    memory_available_bytes: int
    disk_total_bytes: int
    disk_free_bytes: int
    paths: dict[str, Path]  # home, database, recordings, models, tmp
    sizes_bytes: dict[str, int]  # database, recordings, models, tmp
    mindspore_note: str  # "", "python_too_new" or "missing"


class Engine:
    """Opened once per process; every method may be called from any thread."""

    def __init__(self, settings: Settings) -> None:
        raise NotImplementedError

    def __enter__(self) -> Engine: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def start(self) -> None:
        """Serve: recover interrupted jobs, load the model in the background, run queued jobs."""

    def close(self) -> None:
        """Stop after the running group of segments; queued jobs stay queued."""

    # jobs
    def submit(
        self,
        path: Path,
        options: TranscribeOptions,
        *,
        name: str = "",
        origin: str = "file",
        batch_id: str = "",
    ) -> Job:
        """Take an own copy of a file and queue it. Returns at once."""

    def live(self, job_id: str) -> LiveView: ...
    def jobs(self, batch_id: str) -> list[Job]: ...
    def active_jobs(self) -> list[Job]:
        """Queued and running jobs, oldest first."""

    def cancel(self, job_id: str) -> Job: ...

    # direct use (command line)
    def transcribe(
        self,
        path: Path,
        options: TranscribeOptions,
        *,
        on_event: EventSink | None = None,
        cancel: CancelToken | None = None,
        origin: str = "cli",
    ) -> Transcript: ...

    # history
    def history(self, query: str = "", *, limit: int = 50, offset: int = 0) -> HistoryPage: ...
    def record(self, recording_id: str) -> HistoryRecord: ...
    def delete(self, recording_ids: Sequence[str]) -> None: ...
    def export(self, recording_id: str, format_name: str) -> Path:
        """Write one transcript into the temporary folder under the recording's own name."""

    def playback(self, recording_id: str) -> Path | None:
        """A file that browsers play (the recording or a converted copy); None if it is gone."""

    # state
    def status(self) -> EngineStatus: ...
    def models(self) -> list[ModelStatus]: ...
    def system(self) -> SystemInfo: ...
