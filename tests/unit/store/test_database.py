import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlite_utils

from asr_core.errors import StoreError, UsageError
from asr_core.store.database import Database


def _create(db: sqlite_utils.Database) -> None:
    db.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, parent REFERENCES note(id), text)")


def _count(db: sqlite_utils.Database) -> int:
    return db.execute("SELECT count(*) FROM note").fetchone()[0]


@pytest.fixture
def notes(database: Database) -> Database:
    database.write(_create)
    return database


@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("foreign_keys", 1), ("synchronous", 1), ("busy_timeout", 10_000)],
)
def test_every_connection_is_set_up_alike(database: Database, pragma: str, value: object) -> None:
    def ask(db: sqlite_utils.Database) -> object:
        return db.execute(f"PRAGMA {pragma}").fetchone()[0]

    assert database.read(ask) == value
    assert database.write(ask) == value


def test_a_write_returns_what_its_function_returns(notes: Database) -> None:
    sql = "INSERT INTO note (text) VALUES ('一')"
    assert notes.write(lambda db: db.execute(sql).lastrowid) == 1
    assert notes.read(_count) == 1


def test_a_write_that_raises_leaves_nothing_behind(notes: Database) -> None:
    def fail(db: sqlite_utils.Database) -> None:
        db.execute("INSERT INTO note (text) VALUES ('一')")
        db.table("note").insert({"text": "二"})
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        notes.write(fail)
    assert notes.read(_count) == 0
    notes.write(lambda db: db.execute("INSERT INTO note (text) VALUES ('三')"))
    assert notes.read(_count) == 1


def test_a_broken_reference_is_refused(notes: Database) -> None:
    with pytest.raises(StoreError, match="FOREIGN KEY") as caught:
        notes.write(lambda db: db.execute("INSERT INTO note (parent) VALUES (7)"))
    assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)
    assert caught.value.details["path"] == str(notes.path)


def test_a_write_inside_a_write_is_refused_instead_of_waiting_for_itself(notes: Database) -> None:
    with pytest.raises(UsageError):
        notes.write(lambda db: notes.write(_count))


def test_reading_cannot_change_anything(notes: Database) -> None:
    with pytest.raises(StoreError) as caught:
        notes.read(lambda db: db.execute("DELETE FROM note"))
    assert caught.value.details["reason"] == "read_only"


def test_the_queries_of_one_read_see_the_same_state(notes: Database) -> None:
    def look_twice(db: sqlite_utils.Database) -> tuple[int, int]:
        before = _count(db)
        notes.write(lambda db: db.execute("INSERT INTO note (text) VALUES ('一')"))
        return before, _count(db)

    assert notes.read(look_twice) == (0, 0)
    assert notes.read(_count) == 1


def test_a_full_disk_is_named(notes: Database) -> None:
    def fill(db: sqlite_utils.Database) -> None:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages}")
        db.execute("INSERT INTO note (text) VALUES (zeroblob(1000000))")

    with pytest.raises(StoreError) as caught:
        notes.write(fill)
    assert caught.value.details["reason"] == "disk_full"
    assert notes.read(_count) == 0


def test_a_lock_that_is_never_released_is_named(notes: Database) -> None:
    notes.write(lambda db: db.execute("PRAGMA busy_timeout = 1"))
    other = sqlite3.connect(notes.path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as caught:
            notes.write(_count)
        assert notes.read(_count) == 0
    finally:
        other.close()
    assert caught.value.details["reason"] == "busy"
    assert notes.write(_count) == 0


@pytest.mark.parametrize("content", [b"not a database at all " * 100, b"SQLite format 3\0" * 100])
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        Database(path)
    assert caught.value.details == {"path": str(path), "reason": "damaged"}
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(StoreError) as caught:
        Database(tmp_path / "home" / "history.db")
    assert caught.value.details["reason"] == "cannot_open"


def test_a_path_that_is_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Database(tmp_path)
    assert caught.value.details["reason"] == "cannot_open"


def test_after_closing_every_use_says_so(notes: Database) -> None:
    notes.read(_count)
    notes.close()
    notes.close()
    for use in (notes.read, notes.write):
        with pytest.raises(StoreError) as caught:
            use(_count)
        assert caught.value.details["reason"] == "closed"


def test_closing_waits_for_a_read_and_a_write_in_progress(notes: Database) -> None:
    reading, writing, go_on = threading.Event(), threading.Event(), threading.Event()

    def read(db: sqlite_utils.Database) -> int:
        reading.set()
        go_on.wait()
        return _count(db)

    def write(db: sqlite_utils.Database) -> int:
        writing.set()
        go_on.wait()
        return _count(db)

    with ThreadPoolExecutor(3) as pool:
        results = [pool.submit(notes.read, read), pool.submit(notes.write, write)]
        reading.wait()
        writing.wait()
        closing = pool.submit(notes.close)
        assert not closing.done()
        go_on.set()
        assert [result.result() for result in results] == [0, 0]
        closing.result()


def test_threads_that_ended_leave_no_connection_open(notes: Database) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("open files are counted through /proc")

    def count_after_one_more_thread() -> int:
        thread = threading.Thread(target=notes.read, args=(_count,))
        thread.start()
        thread.join()
        return len(list(descriptors.iterdir()))

    count_after_one_more_thread()
    first = count_after_one_more_thread()
    assert [count_after_one_more_thread() for _ in range(20)][-1] == first


def test_twenty_threads_read_and_write_at_once(notes: Database) -> None:
    start = threading.Barrier(20)

    def work(number: int) -> list[int]:
        start.wait()
        seen = []
        for step in range(10):
            text = f"{number}-{step}"
            notes.write(lambda db, t=text: db.execute("INSERT INTO note (text) VALUES (?)", [t]))
            seen.append(notes.read(_count))
        return seen

    with ThreadPoolExecutor(20) as pool:
        seen = list(pool.map(work, range(20)))
    assert notes.read(_count) == 200
    assert all(counts == sorted(counts) and counts[0] >= 1 for counts in seen)


def test_several_openers_of_a_new_file_agree(tmp_path: Path) -> None:
    start = threading.Barrier(6)

    def open_and_count() -> int:
        start.wait()
        database = Database(tmp_path / "history.db")
        try:
            return database.read(lambda db: db.table("recordings").count)
        finally:
            database.close()

    with ThreadPoolExecutor(6) as pool:
        opened = [pool.submit(open_and_count) for _ in range(6)]
    assert [result.result() for result in opened] == [0] * 6
    assert [path.name for path in tmp_path.iterdir()] == ["history.db"]
