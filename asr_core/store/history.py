"""Recordings, jobs and transcripts of this installation.

Owns what one request to the history means and which of its steps belong together in one
transaction. The schema is in ``migrations``, the row formats in ``rows``, the files in
``recordings``.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlite_utils

from asr_core.errors import AsrError
from asr_core.jobs.model import Job, JobState
from asr_core.results import Transcript
from asr_core.store import job_rows, recording_rows, recordings, rows, search
from asr_core.store.checkpoints import JobCheckpoints
from asr_core.store.database import Database
from asr_core.store.entries import HistoryEntry
from asr_core.store.listing import entries
from asr_core.store.names import name_key
from asr_core.store.recordings import Keep
from asr_core.store.transcript_rows import insert_transcript, load_transcript
from asr_core.transcription.options import TranscribeOptions


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


class History:
    """Everything that was ever transcribed here; usable from any thread.

    Args:
        database: stays owned by the caller.
        recordings: folder of the kept copies, created when needed.

    Every method raises StoreError when the database cannot be used.
    """

    def __init__(self, database: Database, recordings: Path) -> None:
        self._database = database
        self._folder = recordings

    def add_recording(self, source: Path, *, name: str, origin: str, keep: Keep) -> str:
        """Register a file; it is listed once it has a job.

        Args:
            source: only read.
            name: as the user knows it; separators and control characters are removed.
            origin: ``file``, ``dictation``, ``batch`` or ``cli``.
            keep: ``copy`` keeps the content, whatever becomes of ``source``; ``link`` does so
                where that takes no space, and else refers to the file; ``none`` refers to it.

        Returns:
            The recording's id.

        Raises:
            AudioDecodeError: the file is ``missing`` or ``unreadable``.
            StoreError: the copy cannot be written.
        """
        recording_id = uuid.uuid4().hex
        shown = recordings.clean_name(name)
        content = recordings.take(source, self._folder, recording_id, keep=keep)
        is_kept = content.temporary is not None
        stored = recordings.stored_name(source, recording_id) if is_kept else None
        values = {
            "id": recording_id,
            "name": shown,
            "name_key": name_key(shown),
            "stored_name": stored,
            "original_path": None if is_kept else rows.encodable(str(source.absolute())),
            "origin": origin,
            "size_bytes": content.size_bytes,
            "sha256": content.sha256,
            "created_ms": job_rows.now_ms(),
        }

        def insert(db: sqlite_utils.Database) -> None:
            rows.insert(db, "recordings", values)
            if content.temporary is not None and stored is not None:
                content.temporary.replace(self._folder / stored)

        try:
            self._database.write(insert)
        finally:
            if content.temporary is not None:
                recordings.remove(content.temporary)
        return recording_id

    def add_job(
        self,
        recording_id: str,
        options: TranscribeOptions,
        *,
        batch_id: str = "",
        running: bool = False,
        queue: str = "files",
        priority: int = 0,
    ) -> Job:
        """Queue a transcription of a recording.

        Args:
            recording_id: from :meth:`add_recording`.
            options: the choices it runs with.
            batch_id: jobs submitted together share it.
            running: the caller transcribes it itself, now; no runner takes it up.
            queue: ``files``, ``dictation`` or ``cli``.
            priority: a higher one runs earlier.

        Raises:
            RecordNotFoundError: no recording has that id.
        """
        job_id = uuid.uuid4().hex
        values = {
            "id": job_id,
            "recording_id": recording_id,
            "batch_id": batch_id,
            "state": JobState.QUEUED.value,
            "options": job_rows.options_to_json(options),
            "created_ms": job_rows.now_ms(),
            "queue": queue,
            "priority": priority,
        }

        def insert(db: sqlite_utils.Database) -> Job:
            recording = recording_rows.get(db, recording_id)
            rows.insert(db, "jobs", values)
            if recording["part_of"] is None:
                search.put_name(db, recording["number"], recording["name"])
            if running:
                job_rows.advance(db, job_id, JobState.RUNNING)
            return job_rows.get_job(db, job_id)

        return self._database.write(insert)

    def job(self, job_id: str) -> Job:
        """Raises JobNotFoundError when no job has that id."""
        return self._database.read(lambda db: job_rows.get_job(db, job_id))

    def jobs(
        self, *, batch_id: str | None = None, states: Collection[JobState] | None = None
    ) -> list[Job]:
        """Jobs of a batch, in some states, or all; oldest first."""
        wanted = None if states is None else rows.to_json([state.value for state in states])
        where = (
            "(:batch_id IS NULL OR j.batch_id = :batch_id)"
            " AND (:states IS NULL OR j.state IN (SELECT value FROM json_each(:states)))"
        )
        values = {"batch_id": batch_id, "states": wanted}
        return self._database.read(lambda db: job_rows.find_jobs(db, where, values))

    def job_counts(self) -> dict[str, int]:
        """How many jobs are in each state; states without jobs are left out."""
        sql = "SELECT state, count(*) FROM jobs GROUP BY state"
        return self._database.read(lambda db: dict(db.execute(sql).fetchall()))

    def queue_position(self, job_id: str) -> int:
        """1 for the job that runs next in its queue; 0 when it does not wait or is unknown."""
        return self._database.read(lambda db: job_rows.position(db, job_id))

    def claim_next(self, queue: str, *, batch_id: str | None = None) -> Job | None:
        """Set the next waiting job running and return it; ``None`` when none waits.

        Args:
            queue: ``files``, ``dictation`` or ``cli``.
            batch_id: only of this batch.
        """

        def claim(db: sqlite_utils.Database) -> Job | None:
            job_id = job_rows.next_waiting(db, queue, batch_id)
            return None if job_id is None else job_rows.advance(db, job_id, JobState.RUNNING)

        return self._database.write(claim)

    def set_paused(self, job_id: str, paused: bool) -> Job:
        """Pause or resume a job that waits.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: it does not wait.
        """
        return self._database.write(lambda db: job_rows.set_paused(db, job_id, paused))

    def set_priority(self, job_id: str, priority: int) -> Job:
        """Change the place of a job in its queue.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: it has ended.
        """
        return self._database.write(lambda db: job_rows.set_priority(db, job_id, priority))

    def retry(self, job_id: str, *, queue: str | None = None) -> Job:
        """A new job for the recording of one that failed, was cancelled or was interrupted.

        It takes over what the old one had recognized.

        Args:
            job_id: the newest job of its recording.
            queue: another queue than the old one's.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: it cannot be tried again.
        """
        new_id = uuid.uuid4().hex
        return self._database.write(lambda db: job_rows.try_again(db, job_id, new_id, queue))

    def checkpoints(self, job_id: str, fingerprint: str) -> JobCheckpoints:
        """What a job has recognized so far; see :class:`JobCheckpoints`."""
        return JobCheckpoints(self._database, job_id, fingerprint)

    def find_done(self, sha256: str, options: TranscribeOptions, model: str) -> str | None:
        """The newest recording of this content with a whole transcript made in the same way.

        The model that the options name does not count; ``model`` made the transcript.
        """
        sql = """
            SELECT r.id, j.options FROM recordings r
            JOIN jobs j ON j.recording_id = r.id AND j.state = 'done'
            JOIN transcripts t ON t.job_id = j.id
            WHERE r.sha256 = ? AND t.model_name = ? AND r.deleted_ms IS NULL
            ORDER BY t.id DESC
        """
        rows = self._database.read(lambda db: db.execute(sql, [sha256, model]).fetchall())
        wanted = replace(options, model="")
        made = ((row[0], job_rows.options_from_json(row[1])) for row in rows)
        return next((str(found) for found, o in made if replace(o, model="") == wanted), None)

    def set_state(self, job_id: str, state: JobState, *, error: AsrError | None = None) -> Job:
        """Move a job to its next state.

        Args:
            job_id: which job.
            state: where it goes.
            error: why it failed.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: the job cannot go there from where it is.
        """
        return self._database.write(lambda db: job_rows.advance(db, job_id, state, error))

    def requeue(self, job_id: str, *, paused: bool = False) -> Job:
        """Put a running job back into its place in the queue; ``paused`` keeps it there.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: the job does not run.
        """

        def requeue(db: sqlite_utils.Database) -> Job:
            job_rows.advance(db, job_id, JobState.INTERRUPTED)
            job = job_rows.advance(db, job_id, JobState.QUEUED)
            return job_rows.set_paused(db, job_id, paused=True) if paused else job

        return self._database.write(requeue)

    def save_transcript(self, job_id: str, transcript: Transcript, state: JobState) -> None:
        """Store what a running job produced and end it.

        Args:
            job_id: which job.
            transcript: stored whole.
            state: ``DONE`` or ``PARTIAL``.

        Raises:
            JobNotFoundError: no job has that id.
            JobStateError: the job does not run.
        """

        def save(db: sqlite_utils.Database) -> None:
            job = job_rows.advance(db, job_id, state)
            insert_transcript(db, job, transcript, job_rows.now_ms())
            if state is JobState.DONE:
                db.execute("DELETE FROM checkpoints WHERE job_id = ?", [job_id])
            db.execute(
                "UPDATE jobs SET processing_ms = ? WHERE id = ?", [transcript.processing_ms, job_id]
            )
            db.execute(
                "UPDATE recordings SET duration_ms = ? WHERE id = ?",
                [transcript.duration_ms, job.recording_id],
            )
            recording = recording_rows.get(db, job.recording_id)
            if recording["part_of"] is None:
                search.put(db, recording["number"], recording["name"], transcript.text)

        self._database.write(save)

    def record(self, recording_id: str) -> HistoryRecord:
        """Raises RecordNotFoundError when no listed recording has that id."""

        def load(db: sqlite_utils.Database) -> HistoryRecord:
            recording = recording_rows.get(db, recording_id)
            entry = next(iter(entries(db, [recording["number"]])), None)
            if entry is None:
                raise recording_rows.not_found(recording_id)
            return HistoryRecord(
                entry=entry,
                job=job_rows.find_jobs(db, "j.recording_id = :id", {"id": recording_id})[-1],
                path=self._kept(recording),
                transcript=load_transcript(db, recording_id),
            )

        return self._database.read(load)

    def name(self, recording_id: str) -> str:
        """Raises RecordNotFoundError when no recording has that id."""
        row = self._database.read(lambda db: recording_rows.get(db, recording_id))
        return str(row["name"])

    def recording_path(self, recording_id: str) -> Path | None:
        """The kept copy; ``None`` when none is kept or it is gone.

        Raises:
            RecordNotFoundError: no recording has that id.
        """
        return self._kept(self._database.read(lambda db: recording_rows.get(db, recording_id)))

    def peaks_path(self, recording_id: str) -> Path | None:
        """Where the peaks of a recording lie or belong; ``None`` when it is not kept.

        Raises:
            RecordNotFoundError: no recording has that id.
        """
        stored = self._database.read(lambda db: recording_rows.get(db, recording_id))["stored_name"]
        name = recordings.peaks_name(recording_id)
        # A recording of that very name is not overwritten.
        return None if stored in (None, name) else self._folder / name

    def delete(self, ids: Collection[str]) -> None:
        """Remove recordings with everything that belongs to them; unknown ids are passed over.

        Raises:
            JobStateError: one of them has a job that waits or runs; nothing is removed.
        """
        values = {"ids": rows.to_json([*ids])}
        chosen = "IN (SELECT value FROM json_each(:ids))"

        def delete(db: sqlite_utils.Database) -> list[str]:
            for job in job_rows.find_jobs(db, f"j.recording_id {chosen}", values):
                if not job.state.is_final:
                    raise job_rows.wrong_state(job, "its recording cannot be deleted")
            return recording_rows.delete(db, f"id {chosen}", values)

        self._remove_files(self._database.write(delete))

    def recover_interrupted(self, queues: Collection[str] = ("files", "dictation")) -> list[Job]:
        """Queue again what a dead process left running, and clear away its unfinished files.

        A job that keeps ending its process without any progress fails instead, as does one whose
        recording is gone. Called before anything else uses this history.

        Args:
            queues: those that this process works through.

        Returns:
            The jobs that wait again, oldest first.
        """

        def recover(db: sqlite_utils.Database) -> list[Job]:
            def can_run(recording_id: str) -> bool:
                return self._kept(recording_rows.get(db, recording_id)) is not None

            waiting = job_rows.recover(db, queues, can_run)
            recording_rows.delete_abandoned(db)
            recordings.sweep(self._folder, recording_rows.file_names(db))
            return waiting

        return self._database.write(recover)

    def _kept(self, recording: Mapping[str, Any]) -> Path | None:
        """The kept copy, or the file that a batch or a part of a recording refers to."""
        stored, original = recording["stored_name"], recording["original_path"]
        if stored is not None:
            path = self._folder / stored
        elif recording["origin"] in ("batch", "part") and original is not None:
            path = Path(original)
        else:
            return None
        return path if path.is_file() else None

    def _remove_files(self, names: Sequence[str]) -> None:
        for name in names:
            recordings.remove(self._folder / name)
