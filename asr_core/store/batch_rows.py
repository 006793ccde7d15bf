"""Batches, their items and their results as rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlite_utils

from asr_core.jobs.batch_model import BatchItem, BatchState, ItemState
from asr_core.jobs.model import JobState
from asr_core.store.job_rows import options_from_json, options_to_json
from asr_core.store.process import own_tag, runs_elsewhere
from asr_core.store.rows import to_json
from asr_core.transcription.options import TranscribeOptions

ITEMS = """
    SELECT i.number, i.path, i.source_key, i.stamp, i.state, i.settled_job,
           coalesce(i.recording_id, '') AS recording_id, i.sha256, i.duration_ms, i.outputs,
           i.note, i.error_code, i.error_details, i.revision, coalesce(j.id, '') AS job_id,
           coalesce(j.state, '') AS job_state, coalesce(j.paused, 0) AS paused,
           coalesce(j.processing_ms, 0) AS processing_ms, coalesce(r.duration_ms, 0) AS decoded_ms,
           CASE WHEN j.state IN ('queued', 'running', 'interrupted')
                THEN coalesce((SELECT max(end_ms) FROM checkpoints c WHERE c.job_id = j.id), 0)
                ELSE 0 END AS recognized_ms
    FROM batch_items i
    LEFT JOIN recordings r ON r.id = i.recording_id
    LEFT JOIN jobs j ON j.number = (
        SELECT max(number) FROM jobs WHERE recording_id = i.recording_id AND +batch_id = i.batch_id
    )
"""
"""Every item with the newest job that its batch gave its recording. The plus keeps SQLite from
going through all jobs of the batch for each item."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One batch as it is stored.

    Attributes:
        id: 32 hexadecimal digits.
        name: as the user knows it.
        source: ``None`` for files that were sent.
        boundary: links must not lead out of it; ``None`` follows them.
        output: ``None`` when results are only downloaded.
        formats: names of export formats.
        on_existing: ``skip``, ``overwrite`` or ``rename``.
        recursive: folders of the source are gone into.
        patterns: of file names.
        watch: new files are taken.
        options: for every recording.
        queue: of its jobs.
        state: ``running``, ``paused``, ``done`` or ``cancelled``.
        planned: every file was found.
        owner: tag of the process that works on it, empty for none.
        created_ms: Unix time in milliseconds.
        error_code: why the source could not be read to its end.
        error_details: to format the user's sentence.
    """

    id: str
    name: str
    source: Path | None
    boundary: Path | None
    output: Path | None
    formats: tuple[str, ...]
    on_existing: str
    recursive: bool
    patterns: tuple[str, ...]
    watch: bool
    options: TranscribeOptions
    queue: str
    state: BatchState = BatchState.RUNNING
    planned: bool = False
    owner: str = ""
    created_ms: int = 0
    error_code: str = ""
    error_details: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_abandoned(self) -> bool:
        """No living process works on it, nor does this one."""
        return self.owner != own_tag() and not runs_elsewhere(self.owner)


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item as it is stored, with its newest job.

    Attributes:
        item: as it is shown.
        source_key: what tells files of one batch apart.
        stamp: size and time of change of the file when it was found.
        sha256: of the content.
        is_settled: its end is stored; false while it is where its job is.
        job_state: ``None`` without a job.
    """

    item: BatchItem
    source_key: bytes
    stamp: str
    sha256: str
    is_settled: bool
    job_state: JobState | None


@dataclass(frozen=True, slots=True)
class NewItem:
    """What is stored of a file when it was found; fields as in :class:`ItemRow`.

    ``state`` ``None`` leaves the item to its job.
    """

    path: str
    source_key: bytes
    stamp: str
    state: ItemState | None = None
    recording_id: str = ""
    sha256: str = ""
    duration_ms: int = 0
    outputs: tuple[str, ...] = ()
    note: str = ""
    error_code: str = ""
    error_details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """A file in an output folder that is ours.

    Attributes:
        path: below the output folder.
        input: whose text it is.
        format: name of the export format.
        number: in its name, 1 without one.
        sha256: of the recording's content.
        settings: fingerprint of options and model.
        hashes: SHA-256 of what it may hold unless somebody has changed it.
        batch_id: which batch wrote it.
        item: for which of its items.
    """

    path: Path
    input: bytes
    format: str
    number: int
    sha256: str
    settings: str
    hashes: tuple[str, ...]
    batch_id: str
    item: int


def batch_to_row(batch: BatchRow) -> dict[str, object]:
    return {
        "id": batch.id,
        "name": batch.name,
        "source": to_bytes(batch.source),
        "boundary": to_bytes(batch.boundary),
        "output": to_bytes(batch.output),
        "formats": to_json(batch.formats),
        "on_existing": batch.on_existing,
        "recursive": batch.recursive,
        "patterns": to_json(batch.patterns),
        "watch": batch.watch,
        "options": options_to_json(batch.options),
        "queue": batch.queue,
        "state": batch.state.value,
        "planned": batch.planned,
        "owner": batch.owner or None,
        "created_ms": batch.created_ms,
    }


def find_batches(
    db: sqlite_utils.Database, where: str, values: Mapping[str, object]
) -> list[BatchRow]:
    """Batches that meet a condition, newest first."""
    sql = f"SELECT * FROM batches WHERE {where} ORDER BY number DESC"  # noqa: S608 - our words
    return [_batch(row) for row in db.query(sql, dict(values))]


def find_items(
    db: sqlite_utils.Database, where: str, values: Mapping[str, object]
) -> list[ItemRow]:
    """Items that meet a condition on ``i`` and ``j`` (their newest job), in order."""
    return [
        _item(row) for row in db.query(f"{ITEMS} WHERE {where} ORDER BY i.number", dict(values))
    ]


def result(row: Mapping[str, Any]) -> Result:
    return Result(
        path=Path(os.fsdecode(row["path"])),
        input=row["input"],
        format=row["format"],
        number=row["number"],
        sha256=row["sha256"],
        settings=row["settings"],
        hashes=tuple(json.loads(row["hashes"])),
        batch_id=row["batch_id"],
        item=row["item"],
    )


def to_bytes(path: Path | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


def _path(value: bytes | None) -> Path | None:
    return None if value is None else Path(os.fsdecode(value))


def _batch(row: Mapping[str, Any]) -> BatchRow:
    return BatchRow(
        id=row["id"],
        name=row["name"],
        source=_path(row["source"]),
        boundary=_path(row["boundary"]),
        output=_path(row["output"]),
        formats=tuple(json.loads(row["formats"])),
        on_existing=row["on_existing"],
        recursive=bool(row["recursive"]),
        patterns=tuple(json.loads(row["patterns"])),
        watch=bool(row["watch"]),
        options=options_from_json(row["options"]),
        queue=row["queue"],
        state=BatchState(row["state"]),
        planned=bool(row["planned"]),
        owner=row["owner"] or "",
        created_ms=row["created_ms"],
        error_code=row["error_code"],
        error_details=json.loads(row["error_details"]),
    )


def _item(row: Mapping[str, Any]) -> ItemRow:
    job_state = JobState(row["job_state"]) if row["job_state"] else None
    is_settled = bool(row["state"]) and row["job_id"] in ("", row["settled_job"])
    state = _shown_state(row["state"] if is_settled else "", job_state, bool(row["paused"]))
    duration_ms = row["decoded_ms"] or row["duration_ms"]
    processing_ms = row["processing_ms"]
    is_whole = state is ItemState.DONE
    item = BatchItem(
        number=row["number"],
        path=row["path"],
        state=state,
        job_id=row["job_id"],
        recording_id=row["recording_id"],
        duration_ms=duration_ms,
        done_ms=duration_ms if is_whole else row["recognized_ms"],
        speed=duration_ms / processing_ms if is_whole and processing_ms else 0.0,
        outputs=tuple(json.loads(row["outputs"])),
        note=row["note"],
        error_code=row["error_code"],
        error_details=json.loads(row["error_details"]),
        revision=row["revision"],
        processing_ms=processing_ms,
    )
    return ItemRow(
        item=item,
        source_key=row["source_key"],
        stamp=row["stamp"],
        sha256=row["sha256"],
        is_settled=is_settled,
        job_state=job_state,
    )


def _shown_state(stored: str, job_state: JobState | None, paused: bool) -> ItemState:
    if job_state is not None and not job_state.is_final:
        waits = job_state is not JobState.RUNNING
        return ItemState.PAUSED if paused and waits else ItemState(job_state.value)
    if stored:
        return ItemState(stored)
    # Its job has ended and its results are being written, or it has not been queued yet.
    return ItemState.QUEUED if job_state is None else ItemState.RUNNING
