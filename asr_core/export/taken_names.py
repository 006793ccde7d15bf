"""Which names an archive has given to its members already."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Collection

_CACHE_KIB = 1024


class TakenNames:
    """Keys of names, of any number of them in a few megabytes: the rest waits on the disk.

    Names that only differ in case or in the form of letters are the same: so they are on the disks
    of Windows and macOS. Used by one thread; :meth:`close` lets go of the disk.
    """

    def __init__(self) -> None:
        # The empty path is a database of this connection alone, in a temporary file.
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._db.execute("CREATE TABLE names (key INTEGER PRIMARY KEY, last INTEGER NOT NULL)")
        self._db.execute("BEGIN")

    def last(self, name: str) -> int:
        """The last number that :meth:`take` told of a name; 0 for others."""
        sql = "SELECT last FROM names WHERE key = ?"
        row = self._db.execute(sql, (_key(name),)).fetchone()
        return int(row[0]) if row else 0

    def any_taken(self, names: Collection[str]) -> bool:
        """Whether one of some names is taken."""
        sql = "SELECT 1 FROM names WHERE key = ?"
        return any(self._db.execute(sql, (_key(name),)).fetchone() for name in names)

    def take(self, names: Collection[str], first: str, number: int) -> None:
        """Take names.

        Args:
            names: that are given away.
            first: the name without a number of which they are variants.
            number: that they have.
        """
        sql = "INSERT OR IGNORE INTO names VALUES (?, 0)"
        self._db.executemany(sql, [(_key(name),) for name in names])
        self._db.execute("INSERT OR REPLACE INTO names VALUES (?, ?)", (_key(first), number))

    def close(self) -> None:
        """Forget all names; a second call does nothing."""
        self._db.close()


def _key(name: str) -> int:
    """Two names of one key would only cost one of them its place: it gets the next number."""
    return hash(unicodedata.normalize("NFKC", name).casefold())
