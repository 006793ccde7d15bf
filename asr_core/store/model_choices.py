"""Which recognizer is the default, and the model folders that the user brought."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlite_utils

from asr_core.store.database import Database

_DEFAULT = "model"


@dataclass(frozen=True, slots=True)
class KnownFolder:
    """A folder of the user.

    Attributes:
        name: what jobs call the model.
        path: the folder.
        family: as in the catalogue.
    """

    name: str
    path: Path
    family: str


class ModelChoices:
    """What was chosen about models; every process sees at once what another one stores.

    Every method raises StoreError when the database cannot be used.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def folders(self) -> tuple[KnownFolder, ...]:
        """In the order of their names."""
        sql = "SELECT name, folder, family FROM model_folders ORDER BY name"
        rows = self._database.read(lambda db: db.execute(sql).fetchall())
        return tuple(KnownFolder(name, Path(os.fsdecode(path)), kind) for name, path, kind in rows)

    def remember(self, folder: KnownFolder) -> None:
        """Store a folder; it takes the place of another one of that name."""
        row = [folder.name, os.fsencode(folder.path), folder.family]
        sql = "INSERT OR REPLACE INTO model_folders VALUES (?, ?, ?)"
        self._database.write(lambda db: _run(db, sql, row))

    def forget(self, name: str) -> None:
        """Remove a folder, and the choice of its model."""

        def remove(db: sqlite_utils.Database) -> None:
            _run(db, "DELETE FROM model_folders WHERE name = ?", [name])
            _run(db, "DELETE FROM choices WHERE name = ? AND value = ?", [_DEFAULT, name])

        self._database.write(remove)

    def default(self) -> str:
        """The chosen recognizer; empty while none was chosen."""
        sql = "SELECT value FROM choices WHERE name = ?"
        row = self._database.read(lambda db: db.execute(sql, [_DEFAULT]).fetchone())
        return str(row[0]) if row else ""

    def choose(self, name: str) -> None:
        """Make a recognizer the default."""
        sql = "INSERT OR REPLACE INTO choices VALUES (?, ?)"
        self._database.write(lambda db: _run(db, sql, [_DEFAULT, name]))


def _run(db: sqlite_utils.Database, sql: str, values: Sequence[object]) -> None:
    db.execute(sql, list(values))
