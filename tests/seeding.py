"""Histories written by the real store: transcripts of any content, jobs in any state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile

from asr_core.errors import AsrError
from asr_core.jobs.model import Job, JobState
from asr_core.results import (
    SAMPLE_RATE_HZ,
    Coverage,
    ModelInfo,
    Sentence,
    Token,
    Transcript,
    TranscriptWarning,
    WrittenSpan,
)
from asr_core.settings import Settings
from asr_core.store.database import Database
from asr_core.store.history import History
from asr_core.transcription.options import TranscribeOptions

MODEL = ModelInfo("whisper-base", "ctranslate2 int8", "cpu")


def sentence(
    text: str,
    start_ms: int,
    *,
    marks: str = "",
    doubtful: str = "",
    spans: Sequence[tuple[int, int, str] | tuple[int, int, str, str]] = (),
    speaker: str = "",
) -> Sentence:
    """One token for each character of ``text``, 200 ms each.

    Args:
        marks: closes the sentence.
        doubtful: characters that get a low confidence.
        spans: first token, last token, written form and, if it is no number, its kind.
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


def transcript(
    sentences: Sequence[Sentence] = MEETING,
    *,
    duration_ms: int = 24_000,
    gaps: tuple[tuple[int, int], ...] = (),
    warnings: tuple[TranscriptWarning, ...] = (),
    partial: bool = False,
) -> Transcript:
    """A transcript of the model whose speech is its sentences and its gaps."""
    gaps_ms = sum(end_ms - start_ms for start_ms, end_ms in gaps)
    text_ms = sum(line.end_ms - line.start_ms for line in sentences)
    coverage = Coverage(text_ms + gaps_ms, text_ms, gaps)
    elapsed_ms = duration_ms // 10
    return Transcript(
        tuple(sentences), duration_ms, "zh", MODEL, elapsed_ms, coverage, warnings, partial
    )


def repeated_meeting(times: int, every_ms: int) -> tuple[Sentence, ...]:
    """The meeting again and again, each ``every_ms`` after the one before."""
    return tuple(
        replace(
            line,
            tokens=tuple(
                replace(t, start_ms=t.start_ms + shift_ms, end_ms=t.end_ms + shift_ms)
                for t in line.tokens
            ),
        )
        for shift_ms in range(0, times * every_ms, every_ms)
        for line in MEETING
    )


def write_tone(path: Path, seconds: float = 24.0) -> Path:
    """A quiet tone that any browser plays; stands for a recording. 16 kHz, mono, 16 bit."""
    times_s = np.arange(int(seconds * SAMPLE_RATE_HZ)) / SAMPLE_RATE_HZ
    waveform = 0.02 * np.sin(2 * np.pi * 440 * times_s)
    soundfile.write(path, waveform.astype(np.float32), SAMPLE_RATE_HZ, subtype="PCM_16")
    return path


@contextmanager
def open_history(settings: Settings) -> Iterator[History]:
    """The history of an installation, beside whatever else has it open."""
    database = Database(settings.database)
    try:
        yield History(database, settings.recordings)
    finally:
        database.close()


def queue(
    history: History, source: Path, name: str = "", *, origin: str = "file", batch_id: str = ""
) -> Job:
    """A recording whose job waits."""
    recording_id = history.add_recording(
        source, name=name or source.name, origin=origin, keep="copy"
    )
    return history.add_job(recording_id, TranscribeOptions(), batch_id=batch_id)


def finish(history: History, job_id: str, result: Transcript | None = None) -> None:
    """Run a waiting job to its end; the meeting if no other result is given."""
    result = result or transcript()
    history.set_state(job_id, JobState.RUNNING)
    history.save_transcript(job_id, result, JobState.PARTIAL if result.partial else JobState.DONE)


def fail(history: History, job_id: str, error: AsrError) -> None:
    """Let a waiting job fail once it runs."""
    history.set_state(job_id, JobState.RUNNING)
    history.set_state(job_id, JobState.FAILED, error=error)
