"""The CANN that this process uses."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

UNKNOWN = "?"

_FILES = ("compiler/version.info", "runtime/version.info", "version.cfg", "version.info")
_VERSION = re.compile(r"^\s*version\s*=\s*(\S+)", re.I | re.M)


def cann_version(environ: Mapping[str, str] = os.environ) -> str:
    """The version of the CANN that the environment names; "?" where nothing tells."""
    home = environ.get("ASCEND_HOME_PATH") or environ.get("ASCEND_TOOLKIT_HOME")
    for name in _FILES if home else ():
        try:
            text = Path(str(home), name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if found := _VERSION.search(text):
            return found[1]
    return UNKNOWN
