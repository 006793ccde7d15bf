"""A job: one transcription of one recording, and the states it goes through.

::

    queued ──► running ──► done | partial | failed | cancelled
       │          └──────► interrupted ──► queued
       └──► cancelled

A job that waits may be paused: it stays ``queued`` and is not taken up. What failed, was cancelled
or interrupted is tried again as a new job, which takes over what the old one had recognized.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from asr_core.transcription.options import TranscribeOptions


class JobState(str, enum.Enum):
    """``partial`` is a cancelled job that kept text; ``interrupted`` one whose process ended."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def is_final(self) -> bool:
        return not NEXT_STATES[self]


NEXT_STATES: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.RUNNING: frozenset(
        {
            JobState.DONE,
            JobState.PARTIAL,
            JobState.FAILED,
            JobState.CANCELLED,
            JobState.INTERRUPTED,
        }
    ),
    JobState.INTERRUPTED: frozenset({JobState.QUEUED, JobState.FAILED, JobState.CANCELLED}),
    JobState.DONE: frozenset(),
    JobState.PARTIAL: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}


RETRIABLE_STATES = frozenset(
    {JobState.FAILED, JobState.CANCELLED, JobState.PARTIAL, JobState.INTERRUPTED}
)
"""A job in one of these can be tried again."""


@dataclass(frozen=True, slots=True)
class Job:
    """One row of the job table.

    Attributes:
        id: 32 hexadecimal digits.
        recording_id: the recording it transcribes.
        name: the recording's name as the user knows it.
        origin: ``file``, ``dictation``, ``batch`` or ``cli``.
        batch_id: jobs submitted together share it; empty otherwise.
        state: where it stands.
        created_ms: Unix time in milliseconds.
        options: the choices it runs with.
        duration_ms: length of the recording, 0 while unknown.
        processing_ms: wall time it took, 0 while unfinished.
        error_code: ``AsrError.code`` of a failed job, empty otherwise.
        error_details: the error's details as text, to format the user's sentence.
        queue: ``files``, ``dictation`` or ``cli``; each has a runner of its own.
        priority: a higher one runs earlier.
        paused: it waits until it is resumed.
        recognized_ms: how far an unfinished job has come; it goes on from there.
    """

    id: str
    recording_id: str
    name: str
    origin: str
    batch_id: str
    state: JobState
    created_ms: int
    options: TranscribeOptions
    duration_ms: int = 0
    processing_ms: int = 0
    error_code: str = ""
    error_details: dict[str, str] = field(default_factory=dict)
    queue: str = "files"
    priority: int = 0
    paused: bool = False
    recognized_ms: int = 0
