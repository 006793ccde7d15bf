"""A database from before there were edits: nothing of it changes, and it can be edited."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlite_utils

from asr_core.jobs.model import JobState
from asr_core.store import migrations
from asr_core.store.database import Database
from asr_core.store.edits import Edits
from asr_core.store.history import History
from asr_core.text.editing import Splice, retext
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import apply, recording, transcript

EARLIER = (
    migrations.m001_initial,
    migrations.m002_checkpoints,
    migrations.m003_batches,
    migrations.m004_text,
    migrations.m005_models,
)


def _columns(conn: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in conn.execute(f"PRAGMA table_info({table})")]


def _index_terms(*parts: str) -> str:
    """What the index of that version holds: runs of one to three characters, in hexadecimal."""
    grams = {
        part[start : start + size]
        for part in parts
        for size in (1, 2, 3)
        for start in range(len(part) - size + 1)
    }
    return " ".join(sorted("x".join(f"{ord(char):x}" for char in gram) for gram in grams))


@pytest.fixture
def old(tmp_path: Path) -> tuple[Path, str]:
    """A file of the last version without edits that holds one transcript; and its recording."""
    new_path, old_path = tmp_path / "new.db", tmp_path / "history.db"
    with closing(Database(new_path)) as database:
        history = History(database, tmp_path / "recordings")
        recording_id = recording(history, tmp_path / "a.wav")
        job = history.add_job(recording_id, TranscribeOptions(), running=True)
        history.save_transcript(job.id, transcript("今天开会", "讨论预算"), JobState.DONE)
    steps = sqlite_utils.Migrations("tinglu")
    for step in EARLIER:
        steps()(step)
    with closing(sqlite3.connect(old_path, isolation_level=None)) as conn:
        migrations.migrate(sqlite_utils.Database(conn), old_path, steps)
        conn.execute("ATTACH ? AS new", [str(new_path)])
        for table in ("recordings", "jobs", "transcripts", "sentences"):
            names = ", ".join(_columns(conn, table))
            conn.execute(f"INSERT INTO main.{table} SELECT {names} FROM new.{table}")  # noqa: S608
        texts = conn.execute("SELECT number, name, text FROM new.search_texts").fetchall()
        conn.executemany("INSERT INTO search_texts VALUES (?, ?, ?)", texts)
        conn.executemany(
            "INSERT INTO search_grams (rowid, grams) VALUES (?, ?)",
            [(number, _index_terms(name, text)) for number, name, text in texts],
        )
    return old_path, recording_id


def _stored(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as conn:
        return conn.execute("SELECT * FROM sentences ORDER BY position").fetchall()


def test_a_database_without_edits_is_brought_up_to_date(
    old: tuple[Path, str], tmp_path: Path
) -> None:
    path, recording_id = old
    before = _stored(path)
    with closing(Database(path)) as database:
        history, edits = History(database, tmp_path / "recordings"), Edits(database)
        assert _stored(path) == before
        assert history.record(recording_id).transcript == transcript("今天开会", "讨论预算")
        lines = edits.lines(recording_id)
        assert (lines.revision, lines.can_undo, lines.can_redo) == (0, False, False)
        new = retext(lines.sentences[1], "讨论决算")
        result = apply(edits, recording_id, lines.stamp, [Splice(1, 1, (new,))], "text")
        assert history.record(recording_id).transcript.text == "今天开会讨论决算"
        edits.undo(recording_id, result.stamp)
    assert _stored(path) == before


def test_a_copy_of_the_earlier_file_is_kept(old: tuple[Path, str]) -> None:
    path, _recording_id = old
    before = _stored(path)
    Database(path).close()
    backup = path.with_name(f"{path.name}.backup-{len(EARLIER)}")
    assert _stored(backup) == before
    with closing(sqlite3.connect(backup)) as conn:
        assert "revision" not in _columns(conn, "transcripts")
