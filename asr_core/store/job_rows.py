"""Jobs as rows, and the only place where a job changes its state."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, fields
from typing import Any

import sqlite_utils

from asr_core.errors import AsrError, JobError, JobNotFoundError, JobStateError
from asr_core.jobs.model import NEXT_STATES, RETRIABLE_STATES, Job, JobState
from asr_core.store.process import own_tag, runs_elsewhere
from asr_core.store.rows import insert, to_json
from asr_core.transcription.options import TranscribeOptions

MAX_INTERRUPTIONS = 10
"""A job whose process ended this often under it, without any progress in between, is given up."""

_SUSPECT_INTERRUPTIONS = 2  # from here on others run first: it may be what ends the process

_ORDER = f"(j.interruptions >= {_SUSPECT_INTERRUPTIONS}), j.priority DESC, j.number"

_QUERY = """
    SELECT j.id, j.recording_id, r.name, r.origin, j.batch_id, j.state, j.created_ms, j.options,
           coalesce(r.duration_ms, 0) AS duration_ms, coalesce(j.processing_ms, 0) AS processing_ms,
           j.error_code, j.error_details, j.queue, j.priority, j.paused,
           coalesce((SELECT max(end_ms) FROM checkpoints c WHERE c.job_id = j.id), 0)
               AS recognized_ms
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


def next_waiting(db: sqlite_utils.Database, queue: str, batch_id: str | None) -> str | None:
    """Id of the job that runs next."""
    sql = f"""
        SELECT id FROM jobs j
        WHERE queue = :queue AND state = 'queued' AND paused = 0
          AND (:batch_id IS NULL OR batch_id = :batch_id)
        ORDER BY {_ORDER} LIMIT 1
    """  # noqa: S608 - our words
    row = db.execute(sql, {"queue": queue, "batch_id": batch_id}).fetchone()
    return None if row is None else str(row[0])


def position(db: sqlite_utils.Database, job_id: str) -> int:
    """1 for the job that runs next in its queue; 0 for one that does not wait."""
    sql = f"""
        SELECT place FROM (
            SELECT id, row_number() OVER (ORDER BY {_ORDER}) AS place FROM jobs j
            WHERE state = 'queued' AND paused = 0
              AND queue = (SELECT queue FROM jobs WHERE id = :id)
        ) WHERE id = :id
    """  # noqa: S608 - our words
    row = db.execute(sql, {"id": job_id}).fetchone()
    return 0 if row is None else int(row[0])


def set_paused(db: sqlite_utils.Database, job_id: str, paused: bool) -> Job:
    """Pause or resume a job that waits.

    Raises:
        JobNotFoundError: no job has that id.
        JobStateError: it does not wait.
    """
    job = get_job(db, job_id)
    if job.state is not JobState.QUEUED:
        raise wrong_state(job, "it does not wait")
    db.execute("UPDATE jobs SET paused = ? WHERE id = ?", [int(paused), job_id])
    return get_job(db, job_id)


def set_priority(db: sqlite_utils.Database, job_id: str, priority: int) -> Job:
    """Change the place of a job in its queue.

    Raises:
        JobNotFoundError: no job has that id.
        JobStateError: it has ended.
    """
    job = get_job(db, job_id)
    if job.state.is_final:
        raise wrong_state(job, "it has ended")
    db.execute("UPDATE jobs SET priority = ? WHERE id = ?", [priority, job_id])
    return get_job(db, job_id)


def try_again(db: sqlite_utils.Database, job_id: str, new_id: str, queue: str | None) -> Job:
    """Queue a new job for the same recording; it takes over what the old one had recognized.

    Raises:
        JobNotFoundError: no job has that id.
        JobStateError: it is not one that can be tried again, or the recording has a newer job.
    """
    job = get_job(db, job_id)
    newest = find_jobs(db, "j.recording_id = :id", {"id": job.recording_id})[-1]
    if job.state not in RETRIABLE_STATES or newest.id != job_id:
        raise wrong_state(job, "it cannot be tried again")
    if job.state is JobState.INTERRUPTED:
        advance(db, job_id, JobState.CANCELLED)
    insert(
        db,
        "jobs",
        {
            "id": new_id,
            "recording_id": job.recording_id,
            "batch_id": job.batch_id,
            "state": JobState.QUEUED.value,
            "options": options_to_json(job.options),
            "created_ms": now_ms(),
            "queue": queue or job.queue,
            "priority": job.priority,
        },
    )
    db.execute("UPDATE checkpoints SET job_id = ? WHERE job_id = ?", [new_id, job_id])
    return get_job(db, new_id)


def recover(
    db: sqlite_utils.Database, queues: Collection[str], can_run: Callable[[str], bool]
) -> list[Job]:
    """Queue again what runs in no living process.

    A job whose file is gone cannot run, and one that was interrupted ``MAX_INTERRUPTIONS`` times
    without progress presumably kills its process: both fail.

    Args:
        db: inside a write transaction.
        queues: those that the caller works through; jobs of others stay ``interrupted``.
        can_run: whether the file of a recording is there.

    Returns:
        The jobs that wait again, oldest first.
    """
    sql = """
        SELECT id, recording_id, state, coalesce(owner, ''), interruptions, queue, batch_id
        FROM jobs WHERE state IN ('running', 'interrupted') ORDER BY number
    """
    waiting: list[Job] = []
    for job_id, recording_id, state, owner, interruptions, queue, batch_id in db.execute(
        sql
    ).fetchall():
        if runs_elsewhere(owner):
            continue
        if state == JobState.RUNNING:
            db.execute("UPDATE jobs SET interruptions = interruptions + 1 WHERE id = ?", [job_id])
            interruptions += 1
            advance(db, job_id, JobState.INTERRUPTED)
        # A single call of the command line has ended; nobody waits for its result.
        is_lost = queue == "cli" and not batch_id
        if queue not in queues and not is_lost:
            continue
        if is_lost or interruptions >= MAX_INTERRUPTIONS or not can_run(recording_id):
            gave_up = JobError(f"job {job_id} was interrupted", reason="interrupted")
            advance(db, job_id, JobState.FAILED, gave_up)
        else:
            waiting.append(advance(db, job_id, JobState.QUEUED))
    return waiting


def options_to_json(options: TranscribeOptions) -> str:
    return to_json(asdict(options))


def options_from_json(text: str) -> TranscribeOptions:
    """Choices that this version does not know are left out."""
    known = {field.name for field in fields(TranscribeOptions)}
    values = {name: value for name, value in json.loads(text).items() if name in known}
    lists = {name: tuple(values.get(name, ())) for name in ("hotwords", "polish")}
    return TranscribeOptions(**{**values, **lists})


def _job(row: Mapping[str, Any]) -> Job:
    decoded = {
        "state": JobState(row["state"]),
        "options": options_from_json(row["options"]),
        "error_details": json.loads(row["error_details"]),
        "paused": bool(row["paused"]),
    }
    return Job(**{**row, **decoded})
