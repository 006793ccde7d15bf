"""Fixtures that several folders of tests share."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from asr_core.settings import Settings

ROOT = Path(__file__).resolve().parents[1]


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class ServedPage:
    """The page over the scripted engine, in a process of its own."""

    url: str
    settings: Settings

    def start_over(self) -> None:
        """Forget all jobs when the next visitor comes."""
        (self.settings.home / "start-over").touch()

    def next_recording(self, scenario: str) -> None:
        """What the next submitted recording does, by its name in ``serve_page.SCENARIOS``."""
        (self.settings.home / "scenario").write_text(scenario, encoding="utf-8")


@pytest.fixture(scope="session")
def page_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    folder = tmp_path_factory.mktemp("page")
    home = folder / "home"
    home.mkdir()
    port = unused_port()
    command = [sys.executable, "-m", "tests.fakes.serve_page", str(home), str(port)]
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        if process.stdout.readline() != "ready\n":
            pytest.fail((folder / "log").read_text(encoding="utf-8"))
        yield ServedPage(f"http://127.0.0.1:{port}", Settings(home=home, port=port))
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


@pytest.fixture
def served_page(page_process: ServedPage) -> ServedPage:
    """The page as at its start: five recordings in the history, nothing running."""
    page_process.next_recording("meeting")
    page_process.start_over()
    return page_process
