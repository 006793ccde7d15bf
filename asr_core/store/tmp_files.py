"""Keeps the folder of temporary files inside its age and size limits."""

from __future__ import annotations

import logging
import time
from pathlib import Path

logger = logging.getLogger(__name__)


def prune(folder: Path, *, max_age_s: float, max_bytes: int) -> int:
    """Delete files that are too old, then the oldest ones above the size limit.

    Empty folders go too. A file that cannot be deleted is left for the next time.

    Returns:
        Bytes that were freed.
    """
    files = []
    for path in folder.rglob("*"):
        try:
            if path.is_file() or path.is_symlink():
                stat = path.lstat()
                files.append((stat.st_mtime, stat.st_size, path))
        except OSError:
            continue
    files.sort()
    total = sum(size for _, size, _ in files)
    oldest_kept = time.time() - max_age_s
    freed = 0
    for modified, size, path in files:
        if modified >= oldest_kept and total - freed <= max_bytes:
            break
        try:
            path.unlink()
        except OSError:
            logger.warning("temporary file cannot be deleted name=%s", path.name)
            continue
        freed += size
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            _remove_empty(path, oldest_kept)
    return freed


def folder_bytes(folder: Path) -> int:
    """Size of all files below a folder; 0 when it does not exist."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _remove_empty(path: Path, oldest_kept: float) -> None:
    """A young empty folder stays: somebody is about to write into it."""
    try:
        if path.stat().st_mtime < oldest_kept:
            path.rmdir()
    except OSError:
        return
