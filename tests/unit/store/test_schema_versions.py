"""A history of every earlier version opens with this one, after a copy, and loses nothing."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from asr_core.jobs.model import JobState
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.history import History
from tests.data.schema.make import FOLDER, RECORDINGS, recording_id, steps

STORED = [FOLDER / f"{name}.db.gz" for name in steps()[:-1]]
"""All but this version's own."""


def _unpack(stored: Path, folder: Path) -> Path:
    path = folder / "history.db"
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    return path


def _rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as conn:
        return conn.execute(sql).fetchall()


def test_every_earlier_version_is_stored() -> None:
    assert [path.name for path in STORED if not path.is_file()] == []


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.name)
def test_an_earlier_history_is_copied_upgraded_and_complete(stored: Path, tmp_path: Path) -> None:
    path = _unpack(stored, tmp_path)
    before = _rows(path, "SELECT id, name, size_bytes FROM recordings")
    count = STORED.index(stored) + 1
    database = Database(path)
    try:
        backup = path.with_name(f"history.db.backup-{count}")
        assert _rows(backup, "SELECT id, name, size_bytes FROM recordings") == before
        assert len(_rows(backup, "SELECT * FROM _sqlite_migrations")) == count
        assert _rows(path, "PRAGMA integrity_check") == [("ok",)]
        assert _rows(path, "PRAGMA foreign_key_check") == []
        history, archive = History(database, tmp_path), Archive(database, tmp_path)
        _check_searches(archive, has_uses=count >= 4)
        _check_records(history)
        _check_changes(archive)
        database.write(
            lambda db: db.execute(
                "INSERT INTO search_grams(search_grams) VALUES('integrity-check')"
            )
        )
    finally:
        database.close()


def _found(archive: Archive, query: str) -> list[str]:
    return [entry.id for entry in archive.find(query).entries]


def _check_searches(archive: Archive, *, has_uses: bool) -> None:
    """Every piece of every name and text is found, and what this version finds besides."""
    for number, (name, (_, text, _)) in enumerate(RECORDINGS.items(), 1):
        for whole in (name, text):
            pieces = [whole[at : at + size] for size in (1, 2, 3, 4, 9) for at in range(len(whole))]
            for piece in filter(str.strip, pieces):
                assert recording_id(number) in _found(archive, piece), piece
    assert len(_found(archive, "热词库")) == 3
    assert _found(archive, "说话人1") == [recording_id(2), recording_id(1)]
    assert bool(_found(archive, "昇腾")) == has_uses
    states = [entry.state for entry in archive.find().entries]
    assert states == [JobState.FAILED, JobState.PARTIAL, JobState.DONE]
    assert archive.facets().models == (("whisper-base", 2),)


def _check_records(history: History) -> None:
    for number, (name, (state, text, _)) in enumerate(RECORDINGS.items(), 1):
        record = history.record(recording_id(number))
        assert (record.entry.name, record.job.state.value) == (name, state)
        assert (record.transcript.text if record.transcript else "") == text


def _check_changes(archive: Archive) -> None:
    """The index still knows exactly what it holds."""
    first, second = recording_id(1), recording_id(2)
    archive.rename(first, "季度会.m4a")
    assert (_found(archive, "产品例会"), _found(archive, "季度会")) == ([], [first])
    archive.tag([first], ["例会"])
    assert _found(archive, "例会") == [first]
    archive.delete([second])
    assert archive.purge() == 1
    assert _found(archive, "客户说") == _found(archive, "访谈") == []
    assert len(_found(archive, "m")) == 2
