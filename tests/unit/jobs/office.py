"""Batches with real stores, threads and folders; only the recognizer is a reader of text files.

A recording is a file whose content is its text. ``bad`` cannot be decoded; one that begins with
``慢`` is read once the test lets it go.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from asr_core.errors import AudioDecodeError
from asr_core.events import EventSink, Progress
from asr_core.jobs.batch import BatchDesk
from asr_core.jobs.batch_model import Batch, BatchItem, BatchRequest, ItemState
from asr_core.jobs.control import JobControl
from asr_core.jobs.model import Job
from asr_core.jobs.runner import JobRunner
from asr_core.results import Transcript
from asr_core.settings import Settings
from asr_core.store.batches import BatchStore
from asr_core.store.database import Database
from asr_core.store.history import History
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import transcript
from tests.waiting import wait_until


class Office:
    """One installation; may be closed and opened again.

    Attributes:
        read: texts of the recordings that were transcribed, in order.
        holding: is set while a held recording is being read.
        release: set by the test to let held recordings go.
    """

    def __init__(self, home: Path, *roots: Path, queue: str = "files", **settings: object) -> None:
        self.settings = Settings(home=home, batch_roots=roots or None, **settings)
        self.queue = queue
        self.read: list[str] = []
        self.holding = threading.Event()
        self.release = threading.Event()

    def __enter__(self) -> Office:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, *, run: bool = True) -> Office:
        """``run`` false leaves jobs waiting."""
        self.prepare()
        self.history.recover_interrupted((self.queue,))
        if run:
            self.runner.start()
        self.desk.open(self.queue)
        return self

    def prepare(self) -> None:
        """Everything but the threads."""
        self.database = Database(self.settings.database)
        self.history = History(self.database, self.settings.recordings)
        self.store = BatchStore(self.database)
        control = JobControl(self.history, lambda _: self.runner)
        self.desk = BatchDesk(
            self.history,
            self.store,
            self.settings,
            control,
            default_model=lambda: transcript("").model.name,
        )
        self.runner = JobRunner(
            self.history, self._transcribe, queue=self.queue, on_end=self.desk.on_job_end
        )

    def close(self) -> None:
        self.desk.close()
        self.runner.stop()
        self.desk.flush()
        self.database.close()

    def start(self, source: Path | None = None, *, bound: bool = False, **words: object) -> Batch:
        request = BatchRequest(TranscribeOptions(), source=source, **words)
        return self.desk.start(request, bound=bound)

    def finish(self, batch: Batch) -> Batch:
        """Wait until a batch has ended."""
        wait_until(lambda: self.desk.get(batch.id).state.is_final)
        return self.desk.get(batch.id)

    def run(self, source: Path, **words: object) -> Batch:
        return self.finish(self.start(source, **words))

    def items(self, batch: Batch) -> tuple[BatchItem, ...]:
        return self.desk.items(batch.id)

    def states(self, batch: Batch) -> dict[str, ItemState]:
        return {item.path: item.state for item in self.items(batch)}

    def _transcribe(self, path: Path, job: Job, sink: EventSink, token: CancelToken) -> Transcript:
        text = path.read_text(encoding="utf-8")
        if text == "bad":
            raise AudioDecodeError("not audio", path=job.name, reason="not_audio")
        if text.startswith("慢"):
            sink(Progress(1_000, 4_000, 500, 1_500, 1))
            self.holding.set()
            wait_until(lambda: self.release.is_set() or token.is_cancelled)
            self.holding.clear()
            if token.is_cancelled:
                return transcript(text[:1], partial=True)
        self.read.append(text)
        return replace(transcript(text), duration_ms=4_000, processing_ms=400)


def write(folder: Path, **files: str) -> Path:
    """Recordings by stem; ``__`` in a name is a folder."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder with its text, without summaries and byte order marks."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8-sig").strip()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "summary.csv"
    }


def parts(*folders: Path) -> Sequence[Path]:
    """Unfinished files."""
    return [path for folder in folders for path in folder.rglob("*.part*")]
