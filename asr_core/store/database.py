"""The one SQLite file of an installation: its connections, its writer thread, its faults.

Owns how connections are opened and closed and how ``sqlite3`` errors become StoreError. Knows
nothing of what the tables hold.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import sqlite_utils

from asr_core.errors import StoreError, UsageError
from asr_core.store.migrations import migrate

T = TypeVar("T")

_BUSY_TIMEOUT_S = 10.0
"""How long a connection waits for the lock of another process before it gives up."""

_REASONS = {
    "database is locked": "busy",
    "database table is locked": "busy",
    "attempt to write a readonly database": "read_only",
    "database or disk is full": "disk_full",
    "database disk image is malformed": "damaged",
    "file is not a database": "damaged",
    "unable to open database file": "cannot_open",
}


class Database:
    """One writer thread, one read connection for each reading thread; write-ahead logging.

    Other processes may use the same file at the same time.

    Args:
        path: the file; it and its folder are created when missing.

    Raises:
        StoreError: the file cannot be opened, is damaged, or belongs to a newer program.
        MigrationError: it could not be brought to this program's version; it is unchanged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = threading.Condition()
        self._readers: dict[threading.Thread, sqlite_utils.Database] = {}
        self._active_reads = 0
        self._closed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise StoreError(
                f"{path.parent} cannot be created: {exc}", path=str(path), reason="cannot_open"
            ) from exc
        self._writer = _open(path)
        try:
            with _mapped_errors(path):
                _enable_wal(self._writer)
                migrate(self._writer, path)
        except BaseException:
            self._writer.close()
            raise
        # The pool of one is the writer thread and its queue.
        self._queue = ThreadPoolExecutor(1, thread_name_prefix="history-writer")

    def write(self, fn: Callable[[sqlite_utils.Database], T]) -> T:
        """Run ``fn`` on the writer thread inside one transaction and return its result.

        What ``fn`` raises rolls the transaction back and reaches the caller.

        Raises:
            StoreError: SQLite refused (``reason`` ``busy``, ``read_only``, ``disk_full``,
                ``damaged`` or its own words) or the database is closed.
            UsageError: called from inside another ``write``.
        """
        if threading.current_thread().name.startswith("history-writer"):
            raise UsageError("Database.write must not be called from inside a write")
        with self._state:
            if self._closed:
                raise self._closed_error()
            future = self._queue.submit(self._transact, fn)
        return future.result()

    def read(self, fn: Callable[[sqlite_utils.Database], T]) -> T:
        """Run ``fn`` on this thread's read connection; all its queries see one snapshot.

        Raises:
            StoreError: as for :meth:`write`; also when ``fn`` tries to change something.
        """
        db = self._enter_read()
        try:
            with _mapped_errors(self.path), _transaction(db, "BEGIN"):
                return fn(db)
        finally:
            with self._state:
                self._active_reads -= 1
                self._state.notify_all()

    def close(self) -> None:
        """Finish the queued writes and running reads, then close every connection."""
        with self._state:
            if self._closed:
                return
            self._closed = True
            # A connection must not be closed while another thread steps through its rows.
            self._state.wait_for(lambda: self._active_reads == 0)
        self._queue.shutdown(wait=True)
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()
        self._writer.close()

    def _transact(self, fn: Callable[[sqlite_utils.Database], T]) -> T:
        # IMMEDIATE takes the write lock at once: a transaction that reads first and writes later
        # could otherwise fail against another process without waiting.
        with _mapped_errors(self.path), _transaction(self._writer, "BEGIN IMMEDIATE"):
            return fn(self._writer)

    def _enter_read(self) -> sqlite_utils.Database:
        thread = threading.current_thread()
        with self._state:
            if self._closed:
                raise self._closed_error()
            if thread not in self._readers:
                self._drop_dead_readers()
                self._readers[thread] = _open(self.path)
                self._readers[thread].execute("PRAGMA query_only = ON")
            self._active_reads += 1
            return self._readers[thread]

    def _drop_dead_readers(self) -> None:
        for thread in [thread for thread in self._readers if not thread.is_alive()]:
            self._readers.pop(thread).close()

    def _closed_error(self) -> StoreError:
        return StoreError(f"{self.path} is closed", path=str(self.path), reason="closed")


def _open(path: Path) -> sqlite_utils.Database:
    """A connection without implicit transactions, usable and closable from any thread."""
    with _mapped_errors(path):
        conn = sqlite3.connect(
            path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            conn.execute("PRAGMA foreign_keys = ON")
            # In WAL mode NORMAL loses at most the last commits on power loss, never consistency.
            conn.execute("PRAGMA synchronous = NORMAL")
            return sqlite_utils.Database(conn, execute_plugins=False)
        except BaseException:
            conn.close()
            raise


def _enable_wal(db: sqlite_utils.Database) -> None:
    """Switch to write-ahead logging.

    SQLite does not wait by itself while another connection switches the same file.
    """
    deadline_s = time.monotonic() + _BUSY_TIMEOUT_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as exc:
            if _REASONS.get(str(exc)) != "busy" or time.monotonic() > deadline_s:
                raise
        time.sleep(0.02)


@contextmanager
def _transaction(db: sqlite_utils.Database, begin: str) -> Iterator[None]:
    db.conn.execute(begin)
    try:
        yield
        db.commit()
    except BaseException:
        db.rollback()
        raise


@contextmanager
def _mapped_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as exc:
        words = str(exc)
        known = (reason for text, reason in _REASONS.items() if words.startswith(text))
        raise StoreError(f"{path}: {words}", path=str(path), reason=next(known, words)) from exc
