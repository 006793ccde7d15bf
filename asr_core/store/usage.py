"""What there is to filter by, and what it takes on the disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import sqlite_utils

from asr_core.jobs.model import JobState
from asr_core.store import tags
from asr_core.store.entries import HistoryFacets, OwnerUse
from asr_core.store.recordings import PEAKS_SUFFIX
from asr_core.store.schema_history import LISTED


def facets(db: sqlite_utils.Database, owner: str | None) -> HistoryFacets:
    """Counts by model, state, origin, owner and tag."""
    values = {"owner": owner}
    mine = "(:owner IS NULL OR owner IN ('', :owner))"
    sql = f"""
        SELECT model, state, origin, owner, count(*) FROM recordings INDEXED BY recordings_facets
        WHERE {LISTED} AND {mine} GROUP BY model, state, origin, owner
    """  # noqa: S608 - our words
    counts: tuple[dict[str, int], ...] = ({}, {}, {}, {})
    total = 0
    for *named, count in db.execute(sql, values):
        total += count
        for by_name, name in zip(counts, named, strict=True):
            by_name[name] = by_name.get(name, 0) + count
    models, states, origins, owners = (sorted(by_name.items()) for by_name in counts)
    sql = f"SELECT count(*) FROM recordings WHERE deleted_ms IS NOT NULL AND {mine}"  # noqa: S608
    return HistoryFacets(
        models=tuple((name, count) for name, count in models if name),
        states=tuple((JobState(name), count) for name, count in states),
        origins=tuple(origins),
        owners=tuple(owners),
        tags=tags.counts(db, owner),
        total=total,
        deleted=int(db.execute(sql, values).fetchone()[0]),
    )


def owner_uses(db: sqlite_utils.Database, folder: Path) -> tuple[OwnerUse, ...]:
    """What the recordings of each owner take, the largest first."""
    peaks = _peaks_bytes(folder)
    uses: dict[str, list[int]] = {}
    sql = """
        SELECT id, owner, deleted_ms IS NOT NULL,
               CASE WHEN stored_name IS NULL THEN 0 ELSE size_bytes END
        FROM recordings WHERE part_of IS NULL AND state <> ''
    """
    for recording_id, owner, is_deleted, audio_bytes in db.execute(sql):
        use = uses.setdefault(owner, [0] * 5)
        peaks_bytes = peaks.get(recording_id, 0)
        gone = (1, audio_bytes + peaks_bytes) if is_deleted else (0, 0)
        for place, value in enumerate((1, audio_bytes, peaks_bytes, *gone)):
            use[place] += value
    found = [OwnerUse(owner, *use) for owner, use in uses.items()]
    return tuple(sorted(found, key=lambda use: (-use.audio_bytes - use.peaks_bytes, use.owner)))


def database_bytes(path: Path) -> int:
    """The database with what is not merged into it yet."""
    files = [path, path.with_name(f"{path.name}-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


def free_bytes(path: Path) -> int:
    """What is left on the disk of an existing file."""
    return shutil.disk_usage(path.parent).free


def _peaks_bytes(folder: Path) -> dict[str, int]:
    """Sizes of outlines by recording."""
    if not folder.is_dir():
        return {}
    with os.scandir(folder) as files:
        return {
            file.name.removesuffix(PEAKS_SUFFIX): file.stat().st_size
            for file in files
            if file.name.endswith(PEAKS_SUFFIX)
        }
