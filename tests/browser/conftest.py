"""A real Chromium, and the application with its real engine, for the page's tests."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import soundfile

from asr_core.settings import Settings
from tests.application import Application, unused_port
from tests.browser import seeded
from tests.browser.chromium import chromium_path, playwright_api

HARMLESS = ("Method not implemented.",)
"""What Gradio's own scripts say in the console whenever an answer stream ends."""

START_MS = 240_000


@dataclass
class Watched:
    """A browser page and everything it complained about."""

    page: Any
    problems: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._asked)

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and message.text not in HARMLESS:
            self.problems.append(message.text)

    def _asked(self, request: Any) -> None:
        inside = ("http://127.0.0.1", "data:", "blob:")
        if not request.url.startswith(inside):
            self.foreign.append(request.url)


@pytest.fixture(scope="package")
def playwright() -> Iterator[Any]:
    """Ends with this package: while it runs, no other test can run an event loop of its own."""
    chromium_path()
    with playwright_api().sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: Any) -> Iterator[Any]:
    running = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
    yield running
    running.close()


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[Application]:
    """One application for all tests that leave it running; its history is the seeded one.

    Tests may add recordings and must end the jobs they start; ``培训.mp3`` alone may be deleted.
    """
    folder = tmp_path_factory.mktemp("served")
    application = Application(folder / "home", model_folder, unused_port())
    seeded.fill(Settings(home=application.home), folder)
    application.start()
    yield application
    application.stop()


@pytest.fixture
def application(tmp_path: Path, model_folder: Path) -> Iterator[Application]:
    """An application that the test may stop or kill."""
    running = Application(tmp_path / "home", model_folder, unused_port())
    running.start()
    yield running
    running.stop(signal.SIGKILL)


@pytest.fixture
def folder_application(tmp_path: Path, model_folder: Path) -> Iterator[Application]:
    """An application of the test's own that offers a folder of the server, ``root``."""
    root = tmp_path / "录音"
    root.mkdir()
    running = Application(tmp_path / "home", model_folder, unused_port(), root)
    running.start()
    yield running
    running.stop(signal.SIGKILL)


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Watched]]:
    """Open an address in a context of its own: ``visit(url, locale=, size=, scheme=, script=)``.

    ``script`` runs before the page's own.
    """
    contexts = []

    def open_page(
        url: str,
        *,
        locale: str = "zh-CN",
        size: tuple[int, int] = (1440, 900),
        scheme: str = "light",
        script: str = "",
    ) -> Watched:
        context = browser.new_context(
            locale=locale,
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            accept_downloads=True,
        )
        contexts.append(context)
        context.add_init_script(script)
        watched = Watched(context.new_page())
        watched.listen()
        watched.page.goto(url)
        loaded = watched.page.locator("#header .tl-dot-ready, #header .tl-dot-busy")
        loaded.wait_for(timeout=START_MS)
        watched.page.locator("#file-start").wait_for()
        return watched

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def short_recording(sample: Path, tmp_path: Path) -> Path:
    """The first sentence of the sample."""
    waveform, rate_hz = soundfile.read(sample, dtype="int16")
    path = tmp_path / "例会 第一场.wav"
    soundfile.write(path, waveform[: 4 * rate_hz], rate_hz)
    return path
