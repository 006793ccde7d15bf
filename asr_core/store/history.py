"""Recordings, jobs and transcripts of this installation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from asr_core.jobs.model import Job, JobState
from asr_core.results import Transcript


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One recording in a list, with the state of its newest job.

    Attributes:
        id: recording id, 32 hexadecimal digits.
        name: as the user knows it.
        origin: ``file``, ``dictation``, ``batch`` or ``cli``.
        created_ms: Unix time in milliseconds.
        duration_ms: 0 while unknown.
        state: of the newest job.
        model: that produced the text, empty without a transcript.
        preview: up to 120 characters of text around the hit of a search, else of the start.
    """

    id: str
    name: str
    origin: str
    created_ms: int
    duration_ms: int
    state: JobState
    model: str
    preview: str


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Entries, newest first, and how many match in all."""

    entries: tuple[HistoryEntry, ...]
    total: int


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """One recording with its newest job and transcript.

    Attributes:
        path: the stored recording; ``None`` when it is not kept or gone.
        transcript: ``None`` while there is none.
    """

    entry: HistoryEntry
    job: Job
    path: Path | None
    transcript: Transcript | None
