"""A simulation of the engine for tests of the page. It recognizes nothing.

Every job follows a script: each look at a running job (``live``) makes one more scripted
sentence appear, so tests advance it by polling and need neither threads nor clocks.
"""

from __future__ import annotations

import shutil
import wave
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from asr_core.engine import (
    EngineStatus,
    HistoryEntry,
    HistoryPage,
    HistoryRecord,
    Job,
    JobState,
    LiveView,
    ModelStatus,
    SystemInfo,
    TranscribeOptions,
)
from asr_core.errors import (
    AudioDecodeError,
    ExportError,
    JobNotFoundError,
    JobStateError,
    RecordNotFoundError,
)
from asr_core.events import Progress
from asr_core.results import (
    Coverage,
    ModelInfo,
    Sentence,
    Token,
    Transcript,
    TranscriptWarning,
    WrittenSpan,
)
from asr_core.settings import Settings

FIRST_MS = 1_764_400_000_000
"""Creation time of the first scripted job; each later one is a minute younger."""

MODEL = ModelInfo("whisper-base", "ctranslate2 int8", "cpu")


def sentence(
    text: str,
    start_ms: int,
    *,
    marks: str = "",
    doubtful: str = "",
    spans: Sequence[tuple[int, int, str]] = (),
    speaker: str = "",
) -> Sentence:
    """One token for each character of ``text``, 200 ms each.

    Args:
        marks: closes the sentence.
        doubtful: characters that get a low confidence.
        spans: first token, last token, written form.
    """
    tokens = [
        Token(
            char,
            start_ms + 200 * index,
            start_ms + 200 * (index + 1),
            0.2 if char in doubtful else 0.95,
        )
        for index, char in enumerate(text)
    ]
    tokens[-1] = replace(tokens[-1], mark=marks)
    return Sentence(tuple(tokens), tuple(WrittenSpan(*span) for span in spans), speaker)


MEETING = (
    sentence("各位同事下午好今天的项目例会现在开始", 400, marks="。"),
    sentence("我们邀请了二十六位用户进行试用", 4_800, marks="，", spans=[(5, 7, "26")]),
    sentence("其中有百分之八十五的用户表示满意", 9_000, marks="。", spans=[(3, 8, "85%")]),
    sentence("研发部把模型迁移到了昇腾芯片上", 13_000, marks="。", doubtful="迁移"),
    sentence("大家觉得这个方案怎么样", 18_000, marks="？"),
)


@dataclass
class Script:
    """What happens to the next submitted recording."""

    sentences: tuple[Sentence, ...] = MEETING
    duration_ms: int = 24_000
    hold_after: int | None = None  # the job stays running once it has this many sentences
    gaps: tuple[tuple[int, int], ...] = ()
    warnings: tuple[TranscriptWarning, ...] = ()
    error: AudioDecodeError | None = None
    wait_looks: int = 0  # how many looks find it queued


@dataclass
class _Run:
    job: Job
    script: Script
    path: Path
    shown: int = 0
    waited: int = 0
    transcript: Transcript | None = None
    cancelled: bool = False


@dataclass
class ScriptedEngine:
    """The engine's methods over scripted jobs. ``script`` applies to what is submitted next."""

    settings: Settings
    script: Script = field(default_factory=Script)
    state: str = "ready"
    error_code: str = ""
    _runs: list[_Run] = field(default_factory=list)
    _submitted: int = 0

    def start(self) -> None:
        self.settings.recordings.mkdir(parents=True, exist_ok=True)
        self.settings.tmp.mkdir(parents=True, exist_ok=True)

    def close(self) -> None: ...

    def forget_jobs(self) -> None:
        self._runs.clear()

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
        number = self._submitted
        self._submitted += 1
        recording_id = f"{number:032x}"
        kept = self.settings.recordings / f"{recording_id}{path.suffix}"
        shutil.copyfile(path, kept)
        job = Job(
            id=f"{number + 4096:032x}",
            recording_id=recording_id,
            name=name or path.name,
            origin=origin,
            batch_id=batch_id,
            state=JobState.QUEUED,
            created_ms=FIRST_MS + 60_000 * number,
            options=options,
        )
        self._runs.append(_Run(job, self.script, kept))
        return job

    def live(self, job_id: str) -> LiveView:
        run = self._run(job_id)
        self._advance(run)
        sentences = run.script.sentences[: run.shown]
        if run.job.state is JobState.FAILED:
            return LiveView(run.job, None, (), 0)
        done_ms = sentences[-1].end_ms if sentences else 0
        if run.job.state.is_final and not run.cancelled:
            done_ms = run.script.duration_ms
        left_ms = (run.script.duration_ms - done_ms) // 10
        progress = Progress(
            done_ms, run.script.duration_ms, max(1, done_ms // 10), left_ms, run.shown
        )
        waiting = run.job.state is JobState.QUEUED
        return LiveView(run.job, None if waiting else progress, sentences, int(waiting))

    def jobs(self, batch_id: str) -> list[Job]:
        return [run.job for run in self._runs if batch_id and run.job.batch_id == batch_id]

    def active_jobs(self) -> list[Job]:
        return [run.job for run in self._runs if not run.job.state.is_final]

    def cancel(self, job_id: str) -> Job:
        """Takes effect at the next look, as the real engine stops between segments."""
        run = self._run(job_id)
        if run.job.state.is_final:
            raise JobStateError("it has ended", id=job_id, state=run.job.state.value)
        run.cancelled = True
        return run.job

    def _advance(self, run: _Run) -> None:
        script = run.script
        if run.job.state.is_final:
            return
        if run.cancelled:
            self._finish(run, JobState.PARTIAL if run.shown else JobState.CANCELLED)
        elif script.error is not None:
            details = {name: str(value) for name, value in script.error.details.items()}
            run.job = replace(
                run.job,
                state=JobState.FAILED,
                error_code=script.error.code,
                error_details=details,
            )
        elif run.waited < script.wait_looks:
            run.waited += 1
        elif run.job.state is JobState.QUEUED:
            run.job = replace(run.job, state=JobState.RUNNING, duration_ms=script.duration_ms)
        elif run.shown < len(script.sentences):
            if script.hold_after is None or run.shown < script.hold_after:
                run.shown += 1
        else:
            self._finish(run, JobState.DONE)

    def _finish(self, run: _Run, state: JobState) -> None:
        script = run.script
        gap_ms = sum(end - start for start, end in script.gaps)
        text_ms = sum(s.end_ms - s.start_ms for s in script.sentences[: run.shown])
        if run.shown or state is JobState.DONE:
            run.transcript = Transcript(
                script.sentences[: run.shown],
                script.duration_ms,
                "zh",
                MODEL,
                script.duration_ms // 10,
                Coverage(text_ms + gap_ms, text_ms, script.gaps),
                script.warnings,
                partial=state is JobState.PARTIAL,
            )
        run.job = replace(
            run.job,
            state=state,
            duration_ms=script.duration_ms,
            processing_ms=script.duration_ms // 10,
        )

    def _run(self, job_id: str) -> _Run:
        for run in self._runs:
            if run.job.id == job_id:
                return run
        raise JobNotFoundError(f"no job {job_id}", id=job_id)

    # history
    def history(self, query: str = "", *, limit: int = 50, offset: int = 0) -> HistoryPage:
        entries = [self._entry(run) for run in reversed(self._runs) if self._matches(run, query)]
        return HistoryPage(tuple(entries[offset : offset + limit]), len(entries))

    def record(self, recording_id: str) -> HistoryRecord:
        run = self._recording(recording_id)
        path = run.path if run.path.exists() else None
        return HistoryRecord(self._entry(run), run.job, path, run.transcript)

    def delete(self, recording_ids: Sequence[str]) -> None:
        for recording_id in recording_ids:
            run = self._recording(recording_id)
            if not run.job.state.is_final:
                raise JobStateError("it runs", id=run.job.id, state=run.job.state.value)
            run.path.unlink(missing_ok=True)
            self._runs.remove(run)

    def export(self, recording_id: str, format_name: str) -> Path:
        run = self._recording(recording_id)
        if run.transcript is None:
            raise ExportError("nothing to write", format=format_name, reason="no transcript")
        folder = self.settings.tmp / f"export-{recording_id}"
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{Path(run.job.name).stem}.{format_name}"
        target.write_text(run.transcript.text, encoding="utf-8")
        return target

    def playback(self, recording_id: str) -> Path | None:
        return self.record(recording_id).path

    def _recording(self, recording_id: str) -> _Run:
        for run in self._runs:
            if run.job.recording_id == recording_id:
                return run
        raise RecordNotFoundError(f"no recording {recording_id}", id=recording_id)

    def _matches(self, run: _Run, query: str) -> bool:
        text = run.transcript.text if run.transcript else ""
        return query.lower() in f"{run.job.name}\n{text}".lower()

    def _entry(self, run: _Run) -> HistoryEntry:
        text = run.transcript.text if run.transcript else ""
        return HistoryEntry(
            run.job.recording_id,
            run.job.name,
            run.job.origin,
            run.job.created_ms,
            run.job.duration_ms,
            run.job.state,
            MODEL.name if run.transcript else "",
            text[:120],
        )

    # state
    def status(self) -> EngineStatus:
        queued = sum(run.job.state is JobState.QUEUED for run in self._runs)
        details = {"name": MODEL.name, "path": "model.bin"} if self.error_code else {}
        return EngineStatus(
            MODEL.name, MODEL.backend, MODEL.device, 2, self.state, queued, self.error_code, details
        )

    def models(self) -> list[ModelStatus]:
        folder = self.settings.models / "whisper-base"
        return [
            ModelStatus(
                "whisper-base", "Whisper base", "MIT", 145_217_532, "installed", True, folder
            )
        ]

    def system(self) -> SystemInfo:
        paths = {
            "home": self.settings.home,
            "database": self.settings.database,
            "recordings": self.settings.recordings,
            "models": self.settings.models,
            "tmp": self.settings.tmp,
        }
        return SystemInfo(
            versions={"tinglu": "0.1.0", "python": "3.11.2", "gradio": "6.31.0"},
            cpu_cores=2,
            machine="x86_64 Linux",
            rss_bytes=412_000_000,
            memory_total_bytes=8_589_934_592,
            memory_available_bytes=5_368_709_120,
            disk_total_bytes=107_374_182_400,
            disk_free_bytes=64_424_509_440,
            paths=paths,
            sizes_bytes={"database": 49_152, "recordings": 0, "models": 145_217_532, "tmp": 0},
            mindspore_note="missing",
        )


def write_tone(path: Path, seconds: float = 24.0) -> Path:
    """A quiet square wave that any browser plays; stands for a recording."""
    half = b"\x40\x02" * 20 + b"\xc0\xfd" * 20
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8_000)
        out.writeframes(half * int(seconds * 200))
    return path
