"""``app.py`` as users start it, in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from asr_core.settings import Settings

ROOT = Path(__file__).resolve().parents[1]


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Application:
    """May be stopped, killed and started again.

    Attributes:
        home: data folder.
        model: folder with the model's files; an empty one leaves the page without a model.
        port: of the page, on this machine only.
        root: folder of the server that the page offers.
    """

    home: Path
    model: Path
    port: int
    root: Path | None = None
    process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> Settings:
        return Settings(home=self.home, model_dir=self.model, port=self.port)

    def start(self) -> None:
        """Returns once the page is served. Small passes, so that words appear and cancels act
        soon; two threads wherever it runs."""
        environ = {
            **os.environ,
            "ASR_HOME": str(self.home),
            "ASR_MODEL_DIR": str(self.model),
            "ASR_THREADS": "2",
            "ASR_BATCH_WINDOWS": "1",
        }
        if self.root is not None:
            environ["ASR_BATCH_ROOTS"] = str(self.root)
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "log").open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [sys.executable, "app.py", "--port", str(self.port)],
                cwd=ROOT,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        if self.url not in self.process.stdout.readline():
            pytest.fail((self.home / "log").read_text(encoding="utf-8"))

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Returns the exit status; 0 when it was not running."""
        if self.process is None:
            return 0
        self.process.send_signal(number)
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.process = None
        return status
