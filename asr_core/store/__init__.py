"""The database: recordings, jobs, transcripts, batches and choices.

sqlite-utils is imported here, before any module of the store, without pandas: it would load that
where it is installed, only to accept its data types, which takes a sixth of a short command.
"""

from __future__ import annotations

import importlib
import sys


def _import_sqlite_utils() -> None:
    if "pandas" in sys.modules:
        return
    sys.modules["pandas"] = None  # type: ignore[assignment] # to the import system: not installed
    try:
        importlib.import_module("sqlite_utils")
    finally:
        del sys.modules["pandas"]


_import_sqlite_utils()
