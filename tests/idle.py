"""Fixtures of an engine that serves a history but runs nothing by itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from asr_core.engine import Engine
from asr_core.settings import Settings
from asr_core.store.history import History
from tests.seeding import open_history


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", threads=2)


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    """Not started: what is submitted waits, and nothing is loaded."""
    with Engine(settings) as opened:
        yield opened


@pytest.fixture
def history(settings: Settings) -> Iterator[History]:
    """The same history by the door of the process that runs the jobs."""
    with open_history(settings) as opened:
        yield opened
