"""The seam to the machine: every check reads through it, so a recorded machine can be examined."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from asr_core.runtime.command import Run, run_command

_LONGEST_BYTES = 1 << 20


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _free_bytes(folder: Path) -> int:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


@dataclass(frozen=True)
class Host:
    """One machine.

    Attributes:
        root: folder that holds its ``/proc``, ``/sys``, ``/dev`` and ``/etc``.
        environ: variables of the environment.
        run: runs a command of the system.
        machine: processor architecture, ``x86_64`` or ``aarch64``.
        python: version of the interpreter.
        package: version of an installed package, empty where it is not installed.
        now_s: seconds since 1970.
        free_bytes: space left on the disk of a folder.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    run: Run = run_command
    machine: str = field(default_factory=platform.machine)
    python: tuple[int, int, int] = field(default_factory=lambda: sys.version_info[:3])
    package: Callable[[str], str] = _installed
    now_s: Callable[[], float] = time.time
    free_bytes: Callable[[Path], int] = _free_bytes

    def path(self, absolute: str | Path) -> Path:
        """Where a path of that machine lies here."""
        return self.root / str(absolute).lstrip("/")

    def text(self, absolute: str | Path) -> str:
        """Content of a small file without blanks around it; empty where it cannot be read."""
        try:
            with self.path(absolute).open("rb") as file:
                return file.read(_LONGEST_BYTES).decode("utf-8", errors="replace").strip()
        except OSError:
            return ""

    def number(self, absolute: str | Path) -> int | None:
        """A whole number in a file; ``None`` where there is none."""
        text = self.text(absolute)
        return int(text) if text.lstrip("-").isdecimal() else None

    def names(self, absolute: str | Path, pattern: str = "*") -> list[str]:
        """Sorted names in a folder; empty where it cannot be read."""
        try:
            return sorted(path.name for path in self.path(absolute).glob(pattern))
        except OSError:
            return []

    def exists(self, absolute: str | Path) -> bool:
        try:
            return self.path(absolute).exists()
        except OSError:
            return False

    def usable(self, absolute: str | Path) -> bool:
        """Whether this process may read and write a file."""
        return os.access(self.path(absolute), os.R_OK | os.W_OK)

    def fields(self, absolute: str | Path, separator: str = ":") -> dict[str, str]:
        """Lines ``name: value`` of a file; the first of a name counts."""
        found: dict[str, str] = {}
        for line in self.text(absolute).splitlines():
            name, between, value = line.partition(separator)
            if between:
                found.setdefault(name.strip(), value.strip())
        return found
