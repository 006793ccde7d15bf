"""Fixtures of the page's tests: settings in a temporary folder, the scripted engine, handlers."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.settings import Settings
from tests.fakes.scripted_engine import ScriptedEngine, write_tone
from ui.guard import Page


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def engine(settings: Settings) -> ScriptedEngine:
    scripted = ScriptedEngine(settings)
    scripted.start()
    return scripted


@pytest.fixture
def page(engine: ScriptedEngine, settings: Settings) -> Page:
    return Page(engine, settings)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_tone(tmp_path / "例会.wav")
