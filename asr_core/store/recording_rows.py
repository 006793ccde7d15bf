"""Recordings as rows, and what goes with them when they are deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sqlite_utils

from asr_core.errors import RecordNotFoundError
from asr_core.store import search
from asr_core.store.job_rows import now_ms
from asr_core.store.recordings import peaks_name

_UNLISTED_AGE_MS = 3_600_000
"""A recording that has had no job for this long was left behind by a process that died."""


def get(db: sqlite_utils.Database, recording_id: str) -> dict[str, Any]:
    """The row; raises RecordNotFoundError when no recording has that id."""
    found = db.query("SELECT * FROM recordings WHERE id = ?", [recording_id])
    row = next(iter(found), None)
    if row is None:
        raise not_found(recording_id)
    return row


def not_found(recording_id: str) -> RecordNotFoundError:
    return RecordNotFoundError(f"no recording has the id {recording_id}", id=recording_id)


def delete(db: sqlite_utils.Database, where: str, values: Mapping[str, Any]) -> list[str]:
    """Delete recordings with all that refers to them; returns the names of their files."""
    names = list(_files(db, where, values))
    sql = f"SELECT number FROM recordings WHERE {where}"  # noqa: S608 - our words
    for (number,) in db.execute(sql, dict(values)).fetchall():
        search.remove(db, number)
        db.execute("DELETE FROM recordings WHERE number = ?", [number])
    return names


def delete_abandoned(db: sqlite_utils.Database) -> None:
    """Delete recordings that never got a job; their files go with the next sweep."""
    no_job = "NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.recording_id = recordings.id)"
    before = now_ms() - _UNLISTED_AGE_MS
    delete(db, f"created_ms < :before AND {no_job}", {"before": before})


def file_names(db: sqlite_utils.Database) -> set[str]:
    """The files in the recordings folder that belong to a recording: copies and their peaks."""
    return set(_files(db, "true", {}))


def _files(db: sqlite_utils.Database, where: str, values: Mapping[str, Any]) -> Iterator[str]:
    sql = (
        "SELECT id, stored_name FROM recordings"  # noqa: S608 - our words
        f" WHERE stored_name IS NOT NULL AND ({where})"
    )
    for recording_id, stored in db.execute(sql, dict(values)).fetchall():
        yield stored
        yield peaks_name(recording_id)
