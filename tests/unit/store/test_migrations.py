import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlite_utils

from asr_core.errors import MigrationError, StoreError
from asr_core.store.database import Database
from asr_core.store.migrations import migrate

Step = Callable[[sqlite_utils.Database], None]


def m001_notes(db: sqlite_utils.Database) -> None:
    db.execute("CREATE TABLE note (text)")


def m002_author(db: sqlite_utils.Database) -> None:
    db.execute("ALTER TABLE note ADD COLUMN author")


def m003_faulty(db: sqlite_utils.Database) -> None:
    db.execute("UPDATE note SET text = 'lost'")
    db.execute("ALTER TABLE nothing ADD COLUMN author")


def _migrations(*steps: Step) -> sqlite_utils.Migrations:
    migrations = sqlite_utils.Migrations("tinglu")
    for step in steps:
        migrations()(step)
    return migrations


def _migrate(path: Path, *steps: Step) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        migrate(sqlite_utils.Database(conn), path, _migrations(*steps))


def _query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        return conn.execute(sql).fetchall()


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file that has seen one step and holds one note."""
    path = tmp_path / "history.db"
    _migrate(path, m001_notes)
    _query(path, "INSERT INTO note VALUES ('会议')")
    return path


def test_a_new_file_needs_no_backup(tmp_path: Path) -> None:
    Database(tmp_path / "history.db").close()
    assert _names(tmp_path) == ["history.db"]


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    Database(path).close()
    content = path.read_bytes()
    Database(path).close()
    assert path.read_bytes() == content
    assert _names(tmp_path) == ["history.db"]


def test_an_upgrade_keeps_a_copy_of_what_was_there(old: Path) -> None:
    _migrate(old, m001_notes, m002_author)
    assert _query(old, "SELECT text, author FROM note") == [("会议", None)]
    assert _names(old.parent) == ["history.db", "history.db.backup-1"]
    backup = old.with_name("history.db.backup-1")
    assert _query(backup, "SELECT * FROM note") == [("会议",)]


def test_the_copy_holds_what_another_connection_has_just_written(old: Path) -> None:
    with closing(sqlite3.connect(old, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("INSERT INTO note VALUES ('访谈')")
        _migrate(old, m001_notes, m002_author)
    backup = old.with_name("history.db.backup-1")
    assert _query(backup, "SELECT * FROM note") == [("会议",), ("访谈",)]


def test_a_failing_step_undoes_all_and_names_the_copy(old: Path) -> None:
    with pytest.raises(MigrationError) as caught:
        _migrate(old, m001_notes, m002_author, m003_faulty)
    backup = old.with_name("history.db.backup-1")
    assert caught.value.details["path"] == str(old)
    assert caught.value.details["backup"] == str(backup)
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    assert _query(old, "SELECT * FROM note") == [("会议",)]
    assert _query(backup, "SELECT * FROM note") == [("会议",)]


def test_trying_a_failing_upgrade_again_does_not_pile_up_copies(old: Path) -> None:
    for _ in range(3):
        with pytest.raises(MigrationError):
            _migrate(old, m001_notes, m003_faulty)
    assert _names(old.parent) == ["history.db", "history.db.backup-1"]


def test_a_copy_that_a_crash_left_unfinished_is_replaced(old: Path) -> None:
    old.with_name("history.db.backup-1.part").write_bytes(b"half")
    _migrate(old, m001_notes, m002_author)
    assert _names(old.parent) == ["history.db", "history.db.backup-1"]


def test_without_a_copy_nothing_is_changed(old: Path) -> None:
    old.with_name("history.db.backup-1").mkdir()
    with pytest.raises(StoreError, match="cannot be copied"):
        _migrate(old, m001_notes, m002_author)
    assert _query(old, "SELECT * FROM note") == [("会议",)]


def test_a_file_of_a_newer_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    Database(path).close()
    _query(path, "INSERT INTO _sqlite_migrations VALUES (99, 'tinglu', 'm999_future', '')")
    content = path.read_bytes()
    with pytest.raises(StoreError, match="m999_future") as caught:
        Database(path)
    assert caught.value.details == {"path": str(path), "reason": "newer"}
    assert path.read_bytes() == content
