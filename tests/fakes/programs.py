"""SIMULATION: programs in the place of those of Ascend, as files that can be started."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def simulated_atc(folder: Path) -> Path:
    """A program ``atc`` that runs :mod:`tests.fakes.atc`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "atc"
    path.write_text(
        f"#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} "
        '-m tests.fakes.atc "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path
