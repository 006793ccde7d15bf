"""Fixtures of the page's tests: an engine that serves a history but runs no job by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.engine import Engine
from asr_core.settings import Settings
from tests.idle import engine, history, settings
from tests.seeding import write_tone
from ui.guard import Page

__all__ = ["engine", "history", "page", "recording", "settings"]


@pytest.fixture
def page(engine: Engine, settings: Settings) -> Page:
    return Page(engine, settings)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_tone(tmp_path / "例会.wav", seconds=2.0)
