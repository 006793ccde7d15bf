"""Stretches of recordings that are recognized once more, until somebody takes or leaves the text.

A stretch is a recording of its own that is never listed: it refers to the file of the whole one,
has one job, and goes when its text was taken or left, or with the whole recording.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from pathlib import Path

import sqlite_utils

from asr_core.errors import EditError
from asr_core.jobs.model import Job, JobState
from asr_core.results import Sentence
from asr_core.store import edit_rows, job_rows, recording_rows, rows
from asr_core.store.database import Database
from asr_core.transcription.options import TranscribeOptions

QUEUE = "dictation"
"""A stretch is short and somebody waits for it: it does not stand behind long files."""

_LEFT_MS = 24 * 3_600_000
"""What nobody took or left for this long is removed."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Which part of which recording a job is about.

    Attributes:
        recording_id: of the whole recording.
        start_ms: in the whole recording.
        end_ms: one past its end.
    """

    recording_id: str
    start_ms: int
    end_ms: int


class Proposals:
    """Stretches and their jobs; usable from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, stretch: Stretch, path: Path, options: TranscribeOptions) -> Job:
        """Queue the recognition of a stretch.

        Args:
            stretch: of a recording that has a transcript.
            path: the whole recording.
            options: the choices it runs with.

        Raises:
            RecordNotFoundError: no recording has that id.
            EditError: the recording has no text (``no_text``), or the stretch lies outside of it
                (``range``).
        """
        recording_id, job_id = uuid.uuid4().hex, uuid.uuid4().hex

        def add(db: sqlite_utils.Database) -> Job:
            whole = recording_rows.get(db, stretch.recording_id)
            at = edit_rows.head(db, stretch.recording_id)
            if not 0 <= stretch.start_ms < min(stretch.end_ms, at.duration_ms):
                raise EditError("no such part of the recording", reason="range")
            values = {
                "id": recording_id,
                "name": whole["name"],
                "original_path": rows.encodable(str(path.absolute())),
                "origin": "part",
                "size_bytes": 0,  # the file is counted with the whole recording
                "created_ms": job_rows.now_ms(),
                "part_of": stretch.recording_id,
                "part_start_ms": stretch.start_ms,
                "part_end_ms": min(stretch.end_ms, at.duration_ms),
            }
            rows.insert(db, "recordings", values)
            job = {
                "id": job_id,
                "recording_id": recording_id,
                "batch_id": "",
                "state": JobState.QUEUED.value,
                "options": job_rows.options_to_json(options),
                "created_ms": job_rows.now_ms(),
                "queue": QUEUE,
            }
            rows.insert(db, "jobs", job)
            return job_rows.get_job(db, job_id)

        return self._database.write(add)

    def stretch(self, recording_id: str) -> Stretch | None:
        """What a recording is a stretch of; ``None`` where it is a whole one."""

        def load(db: sqlite_utils.Database) -> Stretch | None:
            row = recording_rows.get(db, recording_id)
            if row["part_of"] is None:
                return None
            return Stretch(row["part_of"], row["part_start_ms"], row["part_end_ms"])

        return self._database.read(load)

    def remove(self, recording_id: str) -> None:
        """Forget a stretch with its job; nothing happens to a whole recording."""
        where, values = "id = :id AND part_of IS NOT NULL", {"id": recording_id}
        self._database.write(lambda db: recording_rows.delete(db, where, values))

    def sweep(self) -> None:
        """Forget what nobody took or left."""
        where = """
            part_of IS NOT NULL AND created_ms < :before AND NOT EXISTS (
                SELECT 1 FROM jobs WHERE jobs.recording_id = recordings.id
                    AND jobs.state IN ('queued', 'running', 'interrupted'))
        """
        before = job_rows.now_ms() - _LEFT_MS
        self._database.write(lambda db: recording_rows.delete(db, where, {"before": before}))


def moved(sentences: tuple[Sentence, ...], shift_ms: int) -> tuple[Sentence, ...]:
    """Sentences of a stretch with times in the whole recording."""
    return tuple(
        replace(
            sentence,
            tokens=tuple(
                replace(token, start_ms=token.start_ms + shift_ms, end_ms=token.end_ms + shift_ms)
                for token in sentence.tokens
            ),
        )
        for sentence in sentences
    )
