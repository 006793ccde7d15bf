"""Recordings on their way out: the bin, and what has become too old."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import sqlite_utils

from asr_core.jobs.model import NEXT_STATES
from asr_core.store import job_rows, recording_rows
from asr_core.store.entries import KEEP_TAGS
from asr_core.store.recordings import peaks_name
from asr_core.store.rows import to_json
from asr_core.store.search import fold

CHUNK = 50
"""Recordings that are removed in one transaction; others wait for it."""

Done = tuple[int, list[str]]
"""To how many recordings something was done, and names of files that nobody needs any more."""

Step = Callable[[sqlite_utils.Database], Done]

_OPEN_STATES = [state.value for state, following in NEXT_STATES.items() if following]

_IDLE = """
    NOT EXISTS (
        SELECT 1 FROM jobs j JOIN recordings o ON o.id = j.recording_id
        WHERE (o.id = r.id OR o.part_of = r.id)
          AND j.state IN (SELECT value FROM json_each(:open))
    )
"""
"""Nothing works on the recording ``r`` or on a part of it."""

_NOT_KEPT = """
    NOT EXISTS (
        SELECT 1 FROM recording_tags m JOIN tags t ON t.id = m.tag_id
        WHERE m.number = r.number AND t.key IN (SELECT value FROM json_each(:keep))
    )
"""


def reject_busy(db: sqlite_utils.Database, ids: Collection[str]) -> None:
    """Raises JobStateError when one of some recordings has a job that waits or runs."""
    values = {"ids": to_json([*ids])}
    chosen = "IN (SELECT value FROM json_each(:ids))"
    where = f"(j.recording_id {chosen} OR r.part_of {chosen})"
    for job in job_rows.find_jobs(db, where, values):
        if not job.state.is_final:
            raise job_rows.wrong_state(job, "its recording cannot be deleted")


def put(db: sqlite_utils.Database, ids: Collection[str]) -> tuple[str, ...]:
    """Put recordings into the bin; returns ids of those that were not in it.

    Raises:
        JobStateError: one of them has a job that waits or runs.
    """
    reject_busy(db, ids)
    found = _those(db, ids, "deleted_ms IS NULL")
    sql = "UPDATE recordings SET deleted_ms = ? WHERE id = ?"
    db.conn.executemany(sql, [(job_rows.now_ms(), recording_id) for recording_id in found])
    return found


def take_out(db: sqlite_utils.Database, ids: Collection[str]) -> tuple[str, ...]:
    """Take recordings out of the bin; returns ids of those that were in it."""
    found = _those(db, ids, "deleted_ms IS NOT NULL")
    sql = "UPDATE recordings SET deleted_ms = NULL WHERE id = ?"
    db.conn.executemany(sql, [(recording_id,) for recording_id in found])
    return found


def purge_some(
    db: sqlite_utils.Database, ids: Collection[str] | None = None, before_ms: int | None = None
) -> Done:
    """Remove up to ``CHUNK`` recordings of the bin for good.

    Args:
        db: inside a write transaction.
        ids: of these; ``None``: of all.
        before_ms: those that were put there before; ``None``: whenever.
    """
    values = {
        "ids": None if ids is None else to_json([*ids]),
        "before": before_ms,
        "open": to_json(_OPEN_STATES),
        "chunk": CHUNK,
    }
    sql = f"""
        SELECT r.number FROM recordings r
        WHERE r.deleted_ms IS NOT NULL AND (:before IS NULL OR r.deleted_ms <= :before)
          AND (:ids IS NULL OR r.id IN (SELECT value FROM json_each(:ids))) AND {_IDLE}
        LIMIT :chunk
    """  # noqa: S608 - our words
    numbers = [row[0] for row in db.execute(sql, values)]
    return len(numbers), _remove(db, numbers)


def purge_old(db: sqlite_utils.Database, before_ms: int) -> Done:
    """Remove some of what was put into the bin by then."""
    return purge_some(db, before_ms=before_ms)


def bin_old(db: sqlite_utils.Database, before_ms: int) -> Done:
    """Put some recordings into the bin that were added before; a tag to keep them protects."""
    sql = f"""
        SELECT r.id FROM recordings r
        WHERE r.part_of IS NULL AND r.state <> '' AND r.deleted_ms IS NULL
          AND r.created_ms < :before AND {_IDLE} AND {_NOT_KEPT}
        LIMIT :chunk
    """  # noqa: S608 - our words
    found = [row[0] for row in db.execute(sql, _old(before_ms))]
    return len(put(db, found)), []


def remove_old_audio(db: sqlite_utils.Database, before_ms: int) -> Done:
    """Let go of some kept sound that was added before; a tag to keep it protects."""
    sql = f"""
        SELECT r.number, r.id, r.stored_name FROM recordings r
        WHERE r.part_of IS NULL AND r.state <> '' AND r.stored_name IS NOT NULL
          AND r.created_ms < :before AND {_IDLE} AND {_NOT_KEPT}
        LIMIT :chunk
    """  # noqa: S608 - our words
    names: list[str] = []
    found = db.execute(sql, _old(before_ms)).fetchall()
    for number, recording_id, stored in found:
        db.execute(
            "UPDATE recordings SET stored_name = NULL, audio_removed_ms = ? WHERE number = ?",
            [job_rows.now_ms(), number],
        )
        names += [stored, peaks_name(recording_id)]
    return len(found), names


def _old(before_ms: int) -> dict[str, object]:
    return {
        "before": before_ms,
        "open": to_json(_OPEN_STATES),
        "keep": to_json([fold(tag) for tag in KEEP_TAGS]),
        "chunk": CHUNK,
    }


def _those(db: sqlite_utils.Database, ids: Collection[str], where: str) -> tuple[str, ...]:
    sql = (
        "SELECT id FROM recordings WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
        f" AND part_of IS NULL AND state <> '' AND {where}"
    )
    known = {row[0] for row in db.execute(sql, [to_json([*ids])])}
    return tuple(recording_id for recording_id in dict.fromkeys(ids) if recording_id in known)


def _remove(db: sqlite_utils.Database, numbers: Sequence[int]) -> list[str]:
    values = {"numbers": to_json([*numbers])}
    chosen = "number IN (SELECT value FROM json_each(:numbers))"
    parts = f"part_of IN (SELECT id FROM recordings WHERE {chosen})"  # noqa: S608 - our words
    names = recording_rows.delete(db, parts, values)
    return names + recording_rows.delete(db, chosen, values)
