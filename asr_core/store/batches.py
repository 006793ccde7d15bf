"""The batches of this installation: what was asked for, what became of each file, what is ours.

Owns which of these changes belong together in one transaction. Jobs and recordings are the
business of ``history``.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import sqlite_utils

from asr_core.errors import AsrError, BatchError
from asr_core.jobs.batch_model import BatchState, ItemState
from asr_core.store.batch_rows import (
    BatchRow,
    ItemRow,
    NewItem,
    Result,
    batch_to_row,
    find_batches,
    find_items,
    result,
    to_bytes,
)
from asr_core.store.database import Database
from asr_core.store.job_rows import now_ms
from asr_core.store.process import own_tag, runs_elsewhere
from asr_core.store.rows import encodable, insert, to_json

_UNFINISHED = "state IN ('running', 'paused')"
_NEXT_REVISION = "(SELECT coalesce(max(revision), 0) + 1 FROM batch_items WHERE batch_id = :batch)"


class BatchStore:
    """Batches, items and results; usable from any thread.

    Args:
        database: stays owned by the caller.

    Every method raises StoreError when the database cannot be used.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, batch: BatchRow) -> BatchRow:
        """Register a batch of this process.

        Args:
            batch: ``id``, ``owner`` and ``created_ms`` are set here unless given.

        Raises:
            BatchError: ``busy``: another unfinished batch has this output folder.
        """
        new = replace(
            batch,
            id=batch.id or uuid.uuid4().hex,
            name=encodable(batch.name),
            owner=own_tag(),
            created_ms=now_ms(),
        )

        def add(db: sqlite_utils.Database) -> BatchRow:
            _check_alone(db, new)
            insert(db, "batches", batch_to_row(new))
            return new

        return self._database.write(add)

    def get(self, batch_id: str) -> BatchRow:
        """Raises BatchError ``not_found`` when no batch has that id."""
        found = self._database.read(lambda db: find_batches(db, "id = :id", {"id": batch_id}))
        if not found:
            raise BatchError(f"no batch has the id {batch_id}", path=batch_id, reason="not_found")
        return found[0]

    def recent(self, limit: int) -> list[BatchRow]:
        """Newest first."""
        values = {"limit": limit}
        where = "number IN (SELECT number FROM batches ORDER BY number DESC LIMIT :limit)"
        return self._database.read(lambda db: find_batches(db, where, values))

    def unfinished(self, *, owner: str | None = None) -> list[BatchRow]:
        """Batches that are neither done nor cancelled, oldest first.

        Args:
            owner: only those of the process with this tag.
        """
        where = f"{_UNFINISHED} AND (:owner IS NULL OR coalesce(owner, '') = :owner)"
        found = self._database.read(lambda db: find_batches(db, where, {"owner": owner}))
        return found[::-1]

    def take_over(self, queue: str) -> None:
        """Become the owner of all unfinished batches of a queue that nobody alive works on."""

        def take(db: sqlite_utils.Database) -> None:
            for batch in find_batches(db, f"{_UNFINISHED} AND queue = :queue", {"queue": queue}):
                if not runs_elsewhere(batch.owner):
                    _set(db, batch.id, {"owner": own_tag() or None})

        self._database.write(take)

    def adopt(self, batch_id: str, queue: str) -> None:
        """Become the owner of one batch and move what waits of it to a queue."""
        self._database.write(lambda db: _adopt(db, batch_id, queue))

    def revive(self, batch_id: str, queue: str) -> None:
        """Let a batch that has ended, or that a dead process left, go on in this one.

        Raises:
            BatchError: ``not_found``, or ``busy``: another living process works on it, or another
                unfinished batch has its output folder.
        """
        row = self.get(batch_id)
        if row.is_abandoned:
            self._database.write(lambda db: _adopt(db, batch_id, queue))
        elif runs_elsewhere(row.owner):
            raise _busy(row)

        def revive(db: sqlite_utils.Database) -> None:
            if row.state.is_final:
                _check_alone(db, row)
                _set(db, batch_id, {"state": BatchState.RUNNING.value})

        self._database.write(revive)

    def set_state(self, batch_id: str, state: BatchState) -> None:
        """Store ``RUNNING``, ``PAUSED``, ``DONE`` or ``CANCELLED``."""
        self._update(batch_id, {"state": state.value})

    def set_planned(self, batch_id: str, planned: bool, error: AsrError | None = None) -> None:
        """Whether every file has been found, and why no more could be."""
        values: dict[str, object] = {"planned": planned, "error_code": "", "error_details": "{}"}
        if error is not None:
            values |= {"error_code": error.code, "error_details": to_json(_texts(error))}
        self._update(batch_id, values)

    def add_item(self, batch_id: str, new: NewItem) -> int:
        """Enter a file; returns its number."""
        values = {
            "batch_id": batch_id,
            "path": encodable(new.path),
            "source_key": new.source_key,
            "stamp": new.stamp,
            "state": "" if new.state is None else new.state.value,
            "recording_id": new.recording_id or None,
            "sha256": new.sha256,
            "duration_ms": new.duration_ms,
            "outputs": to_json([encodable(path) for path in new.outputs]),
            "note": new.note,
            "error_code": new.error_code,
            "error_details": to_json(dict(new.error_details)),
        }

        def add(db: sqlite_utils.Database) -> int:
            sql = (
                "SELECT coalesce(max(number), 0) + 1, coalesce(max(revision), 0) + 1"
                " FROM batch_items WHERE batch_id = ?"
            )
            number, revision = db.execute(sql, [batch_id]).fetchone()
            insert(db, "batch_items", {**values, "number": number, "revision": revision})
            return int(number)

        return self._database.write(add)

    def remove_item(self, batch_id: str, number: int) -> None:
        """Forget a file, so that it is found again."""
        sql = "DELETE FROM batch_items WHERE batch_id = ? AND number = ?"
        self._database.write(lambda db: db.execute(sql, [batch_id, number]))

    def settle(
        self,
        batch_id: str,
        number: int,
        state: ItemState,
        *,
        job_id: str = "",
        outputs: Sequence[str] | None = None,
        note: str | None = None,
        error: tuple[str, Mapping[str, str]] = ("", {}),
    ) -> None:
        """Store what became of a file.

        Args:
            batch_id: which batch.
            number: which item.
            state: final.
            job_id: whose end this is; empty without a job.
            outputs: its files below the output folder; ``None`` leaves them.
            note: code of a remark; ``None`` leaves it.
            error: code and details.
        """
        code, details = error
        values = {
            "batch": batch_id,
            "number": number,
            "state": state.value,
            "job": job_id,
            "outputs": None if outputs is None else to_json([encodable(o) for o in outputs]),
            "note": note,
            "code": code,
            "details": to_json(dict(details)),
        }
        sql = f"""
            UPDATE batch_items SET state = :state, settled_job = :job,
                   outputs = coalesce(:outputs, outputs), note = coalesce(:note, note),
                   error_code = :code, error_details = :details, revision = {_NEXT_REVISION}
            WHERE batch_id = :batch AND number = :number
        """  # noqa: S608 - our words
        self._database.write(lambda db: db.execute(sql, values))

    def reopen(self, batch_id: str, number: int) -> None:
        """Let an item be where its newest job is again."""
        sql = f"""
            UPDATE batch_items SET state = '', settled_job = '', error_code = '',
                   error_details = '{{}}', revision = {_NEXT_REVISION}
            WHERE batch_id = :batch AND number = :number
        """  # noqa: S608 - our words
        values = {"batch": batch_id, "number": number}
        self._database.write(lambda db: db.execute(sql, values))

    def set_recording(self, batch_id: str, number: int, recording_id: str) -> None:
        """Let an item have another recording of the same content."""
        sql = "UPDATE batch_items SET recording_id = ? WHERE batch_id = ? AND number = ?"
        values = [recording_id, batch_id, number]
        self._database.write(lambda db: db.execute(sql, values))

    def renew(
        self, batch_id: str, number: int, recording_id: str, *, sha256: str, stamp: str
    ) -> None:
        """Let an item start again with another content."""
        values = {
            "batch": batch_id,
            "number": number,
            "recording": recording_id,
            "sha256": sha256,
            "stamp": stamp,
        }
        sql = f"""
            UPDATE batch_items SET recording_id = :recording, sha256 = :sha256, stamp = :stamp,
                   state = '', settled_job = '', error_code = '', error_details = '{{}}',
                   revision = {_NEXT_REVISION}
            WHERE batch_id = :batch AND number = :number
        """  # noqa: S608 - our words
        self._database.write(lambda db: db.execute(sql, values))

    def half_done(self) -> list[BatchRow]:
        """Batches in which a job has ended whose end is not written down; oldest first."""
        where = """
            id IN (
                SELECT i.batch_id FROM batch_items i JOIN jobs j ON j.number = (
                    SELECT max(number) FROM jobs
                    WHERE recording_id = i.recording_id AND +batch_id = i.batch_id
                )
                WHERE j.state IN ('done', 'partial', 'failed', 'cancelled')
                  AND (i.state = '' OR i.settled_job != j.id)
            )
        """
        return self._database.read(lambda db: find_batches(db, where, {}))[::-1]

    def items(self, batch_id: str, *, since: int = 0) -> list[ItemRow]:
        """Items that changed after a revision, and all that are not settled; in order."""
        where = (
            "i.batch_id = :batch AND (i.revision > :since OR i.state = ''"
            " OR (j.id IS NOT NULL AND j.id != i.settled_job))"
        )
        values = {"batch": batch_id, "since": since}
        return self._database.read(lambda db: find_items(db, where, values))

    def has_open(self, batch_id: str) -> bool:
        """Whether an item waits, runs or has an end that is not written down."""
        sql = """
            SELECT EXISTS (SELECT 1 FROM batch_items WHERE batch_id = :batch AND state = '')
                OR EXISTS (SELECT 1 FROM jobs WHERE batch_id = :batch
                           AND state IN ('queued', 'running', 'interrupted'))
        """
        found = self._database.read(lambda db: db.execute(sql, {"batch": batch_id}).fetchone())
        return bool(found[0])

    def has_twin(self, batch_id: str, number: int, sha256: str) -> bool:
        """Whether another item of the same content has a job that waits or runs."""
        sql = """
            SELECT EXISTS (
                SELECT 1 FROM batch_items i
                JOIN jobs j ON j.recording_id = i.recording_id AND +j.batch_id = i.batch_id
                WHERE i.batch_id = :batch AND i.sha256 = :sha256 AND i.number != :number
                  AND j.state IN ('queued', 'running', 'interrupted')
            )
        """
        values = {"batch": batch_id, "number": number, "sha256": sha256}
        return bool(self._database.read(lambda db: db.execute(sql, values).fetchone()[0]))

    def waiting_twins(self, batch_id: str, sha256: str) -> list[ItemRow]:
        """Items of this content that have neither a job nor an end."""
        where = "i.batch_id = :batch AND i.sha256 = :sha256 AND i.state = '' AND j.id IS NULL"
        values = {"batch": batch_id, "sha256": sha256}
        return self._database.read(lambda db: find_items(db, where, values))

    def item(self, batch_id: str, number: int) -> ItemRow:
        """Raises BatchError ``not_found`` when the batch has no such item."""
        values = {"batch": batch_id, "number": number}
        where = "i.batch_id = :batch AND i.number = :number"
        return self._one(where, values, f"{batch_id}/{number}")

    def item_of_job(self, batch_id: str, recording_id: str) -> ItemRow:
        """The item that a job of this batch and recording belongs to.

        Raises:
            BatchError: ``not_found``: the job was not queued for an item.
        """
        values = {"batch": batch_id, "recording": recording_id}
        where = "i.batch_id = :batch AND i.recording_id = :recording AND j.id IS NOT NULL"
        found = self._database.read(lambda db: find_items(db, where, values))
        if not found:
            raise BatchError("no such item", path=recording_id, reason="not_found")
        # Copies of one content share a recording; the job belongs to the one without an end.
        return next((row for row in found if not row.is_settled), found[0])

    def keys(self, batch_id: str) -> dict[bytes, str]:
        """What has been found already: ``source_key`` to the newest stamp."""
        sql = "SELECT source_key, stamp FROM batch_items WHERE batch_id = ? ORDER BY number"
        return self._database.read(lambda db: dict(db.execute(sql, [batch_id]).fetchall()))

    def content(self, recording_id: str) -> str:
        """SHA-256 of a recording; empty when it is unknown."""
        sql = "SELECT coalesce(sha256, '') FROM recordings WHERE id = ?"

        def load(db: sqlite_utils.Database) -> str:
            row = db.execute(sql, [recording_id]).fetchone()
            return "" if row is None else str(row[0])

        return self._database.read(load)

    def results(self, output: Path, *, input_key: bytes) -> list[Result]:
        """Files in an output folder that hold the text of one recording."""
        sql = "SELECT * FROM batch_results WHERE output = ? AND input = ?"
        values = [to_bytes(output), input_key]
        return self._database.read(lambda db: [result(row) for row in db.query(sql, values)])

    def result_at(self, output: Path, path: Path) -> Result | None:
        """Whose file this is; ``None`` when it is not ours."""
        sql = "SELECT * FROM batch_results WHERE output = ? AND path = ?"
        values = [to_bytes(output), to_bytes(path)]
        found = self._database.read(lambda db: [result(row) for row in db.query(sql, values)])
        return found[0] if found else None

    def claim(self, output: Path, results: Collection[Result]) -> None:
        """Enter files as ours, before they are written."""
        sql = "INSERT OR REPLACE INTO batch_results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        values = [
            [
                *(to_bytes(output), to_bytes(r.path), r.input, r.format, r.number),
                *(r.sha256, r.settings, to_json(r.hashes), r.batch_id, r.item),
            ]
            for r in results
        ]

        def claim(db: sqlite_utils.Database) -> None:
            for row in values:
                db.execute(sql, row)

        self._database.write(claim)

    def disclaim(self, output: Path, path: Path) -> None:
        """Forget that a file is ours: it is not."""
        sql = "DELETE FROM batch_results WHERE output = ? AND path = ?"
        values = [to_bytes(output), to_bytes(path)]
        self._database.write(lambda db: db.execute(sql, values))

    def _one(self, where: str, values: Mapping[str, object], what: str) -> ItemRow:
        found = self._database.read(lambda db: find_items(db, where, values))
        if not found:
            raise BatchError(f"no item {what}", path=what, reason="not_found")
        return found[-1]

    def _update(self, batch_id: str, values: Mapping[str, object]) -> None:
        self._database.write(lambda db: _set(db, batch_id, values))


def _adopt(db: sqlite_utils.Database, batch_id: str, queue: str) -> None:
    _set(db, batch_id, {"owner": own_tag() or None, "queue": queue})
    sql = "UPDATE jobs SET queue = ? WHERE batch_id = ? AND state = 'queued'"
    db.execute(sql, [queue, batch_id])


def _check_alone(db: sqlite_utils.Database, batch: BatchRow) -> None:
    """Two batches never write into one folder."""
    if batch.output is None:
        return
    where = f"{_UNFINISHED} AND output = :output AND id != :id"
    if find_batches(db, where, {"output": to_bytes(batch.output), "id": batch.id}):
        raise _busy(batch)


def _busy(batch: BatchRow) -> BatchError:
    return BatchError(
        f"another batch works on {batch.output}", path=str(batch.output), reason="busy"
    )


def _set(db: sqlite_utils.Database, batch_id: str, values: Mapping[str, object]) -> None:
    columns = ", ".join(f"{name} = :{name}" for name in values)
    sql = f"UPDATE batches SET {columns} WHERE id = :id"  # noqa: S608 - our words
    db.execute(sql, {**values, "id": batch_id})


def _texts(error: AsrError) -> dict[str, str]:
    return {name: encodable(str(value)) for name, value in error.details.items()}
