"""The engine at rest, and the command line inside the process of the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from asr_core.cli.main import main
from tests.idle import engine, history, settings

__all__ = ["engine", "history", "settings"]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A command that ends before any work, where it needs no process of its own."""
    for name in [name for name in os.environ if name.startswith("ASR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ASR_HOME", str(tmp_path / "home"))

    def here(*arguments: object) -> subprocess.CompletedProcess[str]:
        argv = list(map(str, arguments))
        capsys.readouterr()
        try:
            code = main(argv)
        except SystemExit as ended:
            code = int(ended.code or 0)
        told = capsys.readouterr()
        return subprocess.CompletedProcess(argv, code, told.out, told.err)

    return here
