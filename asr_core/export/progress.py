"""How far an export of many transcripts has come, and what came out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ManyKind = Literal["zip", "csv", "jsonl"]
"""A file for each transcript, or a row or a line for each."""


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """Transcripts that are written, of all that are selected."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ExportResult:
    """A finished export.

    Attributes:
        path: the file.
        written: transcripts in it.
        skipped: recordings of the selection that have no text.
        size_bytes: of the file.
    """

    path: Path
    written: int
    skipped: int
    size_bytes: int
