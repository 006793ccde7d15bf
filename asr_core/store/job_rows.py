"""Jobs as rows, and the only place where a job changes its state."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import sqlite_utils

from asr_core.errors import AsrError, JobError, JobNotFoundError, JobStateError
from asr_core.jobs.model import NEXT_STATES, Job, JobState
from asr_core.store.process import own_tag, runs_elsewhere
from asr_core.store.rows import to_json
from asr_core.transcription.options import TranscribeOptions

MAX_INTERRUPTIONS = 3
"""A job whose process ended this often under it is given up."""

_QUERY = """
    SELECT j.id, j.recording_id, r.name, r.origin, j.batch_id, j.state, j.created_ms, j.options,
           coalesce(r.duration_ms, 0) AS duration_ms, coalesce(j.processing_ms, 0) AS processing_ms,
           j.error_code, j.error_details
    FROM jobs j JOIN recordings r ON r.id = j.recording_id
"""


def now_ms() -> int:
    """Unix time."""
    return time.time_ns() // 1_000_000


def find_jobs(db: sqlite_utils.Database, where: str, values: Mapping[str, object]) -> list[Job]:
    """Jobs that meet a condition on ``j`` (jobs) and ``r`` (recordings), oldest first."""
    return [
        _job(row) for row in db.query(f"{_QUERY} WHERE {where} ORDER BY j.number", dict(values))
    ]


def get_job(db: sqlite_utils.Database, job_id: str) -> Job:
    """Raises JobNotFoundError when no job has that id."""
    found = find_jobs(db, "j.id = :id", {"id": job_id})
    if not found:
        raise JobNotFoundError(f"no job has the id {job_id}", id=job_id)
    return found[0]


def wrong_state(job: Job, request: str) -> JobStateError:
    return JobStateError(
        f"job {job.id} is {job.state.value}: {request}", id=job.id, state=job.state.value
    )


def advance(
    db: sqlite_utils.Database, job_id: str, state: JobState, error: AsrError | None = None
) -> Job:
    """Move a job to its next state and stamp the times that go with it.

    Raises:
        JobNotFoundError: no job has that id.
        JobStateError: the job cannot go there from where it is.
    """
    job = get_job(db, job_id)
    if state not in NEXT_STATES[job.state]:
        raise wrong_state(job, f"it cannot become {state.value}")
    values = {"id": job_id, "state": state.value, "now": now_ms(), "owner": None}
    times = ""
    if state is JobState.RUNNING:
        values["owner"] = own_tag() or None
        times = ", started_ms = :now"
    elif state is JobState.QUEUED:
        times = ", started_ms = NULL"
    elif state.is_final:
        times = ", finished_ms = :now, processing_ms = :now - coalesce(started_ms, :now)"
    if error is not None:
        details = {name: str(value) for name, value in error.details.items()}
        values |= {"code": error.code, "details": to_json(details)}
        times += ", error_code = :code, error_details = :details"
    sql = f"UPDATE jobs SET state = :state, owner = :owner{times} WHERE id = :id"  # noqa: S608
    db.execute(sql, values)
    return get_job(db, job_id)


def recover(db: sqlite_utils.Database) -> list[Job]:
    """Queue again what runs in no living process.

    A job whose file is not kept belonged to a caller who is gone, and one that was interrupted
    ``MAX_INTERRUPTIONS`` times presumably kills its process: both fail.

    Returns:
        The jobs that wait again, oldest first.
    """
    sql = """
        SELECT j.id, j.state, coalesce(j.owner, ''), j.interruptions, r.stored_name
        FROM jobs j JOIN recordings r ON r.id = j.recording_id
        WHERE j.state IN ('running', 'interrupted') ORDER BY j.number
    """
    waiting: list[Job] = []
    for job_id, state, owner, interruptions, stored_name in db.execute(sql).fetchall():
        if runs_elsewhere(owner):
            continue
        db.execute("UPDATE jobs SET interruptions = interruptions + 1 WHERE id = ?", [job_id])
        hopeless = stored_name is None or interruptions + 1 >= MAX_INTERRUPTIONS
        if hopeless and state == JobState.RUNNING:
            gave_up = JobError(f"job {job_id} was interrupted", reason="interrupted")
            advance(db, job_id, JobState.FAILED, gave_up)
            continue
        if state == JobState.RUNNING:
            advance(db, job_id, JobState.INTERRUPTED)
        waiting.append(advance(db, job_id, JobState.QUEUED))
    return waiting


def options_to_json(options: TranscribeOptions) -> str:
    return to_json(asdict(options))


def _options_from_json(text: str) -> TranscribeOptions:
    """Choices that this version does not know are left out."""
    known = {field.name for field in fields(TranscribeOptions)}
    values = {name: value for name, value in json.loads(text).items() if name in known}
    return TranscribeOptions(**{**values, "hotwords": tuple(values.get("hotwords", ()))})


def _job(row: Mapping[str, Any]) -> Job:
    decoded = {
        "state": JobState(row["state"]),
        "options": _options_from_json(row["options"]),
        "error_details": json.loads(row["error_details"]),
    }
    return Job(**{**row, **decoded})
