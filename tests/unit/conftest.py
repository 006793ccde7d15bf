from collections.abc import Iterator
from pathlib import Path

import pytest

from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.history import History


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "home" / "history.db")
    yield database
    database.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "recordings"


@pytest.fixture
def history(database: Database, folder: Path) -> History:
    return History(database, folder)


@pytest.fixture
def archive(database: Database, folder: Path) -> Archive:
    return Archive(database, folder)
