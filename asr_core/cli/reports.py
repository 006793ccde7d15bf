"""Files that commands write for people."""

from __future__ import annotations

import os
from pathlib import Path

from asr_core.errors import ExportError


def write_report(path: Path, text: str) -> None:
    """Write a report, whole or not at all; without a text only try it, before the work begins.

    Raises:
        ExportError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8", errors="replace")
        if text:
            part.replace(path)
        else:
            part.unlink()
    except OSError as exc:
        raise ExportError(
            f"{path} cannot be written: {exc}", path=str(path), reason=str(exc)
        ) from exc
