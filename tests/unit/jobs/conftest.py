from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.jobs.office import Office


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with Office(tmp_path / "home", watch_s=1) as office:
        yield office


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "录音"
    path.mkdir()
    return path
