"""A real Chromium for the page's tests. Without one they are skipped with the way to get it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scripted_engine import write_tone

NAMES = ("chromium", "chromium-browser", "google-chrome")
HARMLESS = ("Method not implemented.",)
"""What Gradio's own scripts say in the console whenever an answer stream ends."""


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


def chromium_path() -> str:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium here; apt-get install -y chromium fonts-noto-cjk")
    return path


@pytest.fixture(scope="session")
def playwright() -> Iterator[Any]:
    chromium_path()
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with sync_api.sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browser(playwright: Any) -> Iterator[Any]:
    running = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
    yield running
    running.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Watched]]:
    """Open an address in a context of its own: ``visit(url, locale=, width=, scheme=)``."""
    contexts = []

    def open_page(
        url: str, *, locale: str = "zh-CN", width: int = 1440, scheme: str = "light"
    ) -> Watched:
        context = browser.new_context(
            locale=locale,
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            accept_downloads=True,
        )
        contexts.append(context)
        watched = Watched(context.new_page())
        watched.listen()
        watched.page.goto(url)
        watched.page.locator("#header .tl-dot-ready").wait_for()
        watched.page.locator("#file-start").wait_for()
        return watched

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_tone(tmp_path / "例会 第一场.wav")
