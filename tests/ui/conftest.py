"""Fixtures of the page's tests: settings in a temporary folder, the scripted engine, handlers."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
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


@pytest.fixture(autouse=True)
def close_event_loop() -> Iterator[None]:
    """Building a page makes Gradio open an event loop for this thread, which it leaves open."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        policy = asyncio.get_event_loop_policy()
        loop = getattr(policy._local, "_loop", None)
    if loop is not None and not loop.is_running():
        loop.close()
        policy.set_event_loop(None)
