"""Which process runs a job, told apart from a later process with the same number."""

from __future__ import annotations

import os
from pathlib import Path


def own_tag() -> str:
    """The tag of this process; empty where the system has no ``/proc``."""
    return _tag(os.getpid())


def runs_elsewhere(tag: str) -> bool:
    """Whether a tag names another process that is still alive."""
    pid, _, _ = tag.partition("-")
    return pid.isdigit() and tag != own_tag() and tag == _tag(int(pid))


def _tag(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # Fields after the parenthesized program name: state is the first, start time the twentieth.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else f"{pid}-{fields[19]}"
