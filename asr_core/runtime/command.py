"""Short commands of the system whose answer is text; one that hangs is given up."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

TIMEOUT_S = 10.0

_KILLED_S = 1.0  # a process in the kernel's hands does not end when it is killed


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said.

    Attributes:
        state: ``done``, ``failed`` (exit code other than 0), ``absent`` (no such command, or it
            cannot be executed) or ``timeout``.
        text: standard output, and standard error of a command that failed.
    """

    state: str
    text: str = ""

    @property
    def done(self) -> bool:
        return self.state == "done"


Run = Callable[[Sequence[str], float], Answer]
"""Runs a command for at most that many seconds."""


def run_command(arguments: Sequence[str], timeout_s: float = TIMEOUT_S) -> Answer:
    """Run a command in the C locale, with nothing to read.

    It never raises for what the command does: every fault is a state of the answer.
    """
    try:
        process = subprocess.Popen(
            list(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C", "LANG": "C"},
            start_new_session=True,
        )
    except OSError as exc:
        return Answer("absent", str(exc))
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill(process)
        return Answer("timeout")
    text = output.decode("utf-8", errors="replace")
    if process.returncode != 0:
        return Answer("failed", text + errors.decode("utf-8", errors="replace"))
    return Answer("done", text)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the command with everything that it started, and wait for it only a moment."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=_KILLED_S)
    except (ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
