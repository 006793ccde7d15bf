"""The folder of kept recordings: how a file gets in, and what a crash leaves behind.

A copy is written under a temporary name and renamed inside the database transaction that makes
it known. Whoever holds the write lock therefore sees either both or neither. The peaks of a
recording lie beside it.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import shutil
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from asr_core.errors import AudioDecodeError, StoreError
from asr_core.store.process import own_tag, runs_elsewhere

logger = logging.getLogger(__name__)

_BLOCK_BYTES = 1 << 20
_LONGEST_NAME = 255
_TEMPORARY = re.compile(r"[0-9a-f]{32}\.(?:([0-9-]*)|peaks\.[0-9a-f]{32})\.part")
_REASONS = {errno.ENOSPC: "disk_full", errno.EDQUOT: "disk_full", errno.EROFS: "read_only"}
_KEPT = re.compile(r"[0-9a-f]{32}(\.[A-Za-z0-9]{1,8})?")
PEAKS_SUFFIX = ".peaks"


@dataclass(frozen=True, slots=True)
class Content:
    """What was read from a source file; ``temporary`` is its copy, ``None`` when none is kept."""

    size_bytes: int
    sha256: str
    temporary: Path | None


Keep = Literal["copy", "link", "none"]
"""What is kept of a file: a copy (a hard link where possible), a hard link or nothing, nothing."""


def take(source: Path, folder: Path, recording_id: str, *, keep: Keep) -> Content:
    """Read a file and, if asked, put a copy or a link into the folder.

    Raises:
        AudioDecodeError: the source is ``missing`` or ``unreadable``.
        StoreError: the copy cannot be written.
    """
    temporary = folder / f"{recording_id}.{own_tag()}.part" if keep != "none" else None
    try:
        if temporary is not None:
            folder.mkdir(parents=True, exist_ok=True)
            if keep == "copy":
                link_or_copy(source, temporary)
            elif not _link(source, temporary):
                temporary = None
        return _read(source if temporary is None else temporary, temporary)
    except OSError as exc:
        if temporary is not None:
            remove(temporary)
        raise _explained(exc, source, folder) from exc


def stored_name(source: Path, recording_id: str) -> str:
    """The file name of a kept copy: the id, with the suffix when that is plain and short."""
    suffix = source.suffix.lower()
    plain = _KEPT.fullmatch(recording_id + suffix) and suffix != PEAKS_SUFFIX
    return recording_id + (suffix if plain else "")


def peaks_name(recording_id: str) -> str:
    """The file name of a kept recording's peaks, whether they exist or not."""
    return recording_id + PEAKS_SUFFIX


def clean_name(name: str) -> str:
    """A name fit to be shown and to name exports: no separators, no control characters."""
    kept = "".join("" if _is_unfit(char) else char for char in name).strip()[:_LONGEST_NAME]
    return kept if kept.strip(". ") else "recording"


def sweep(folder: Path, known: Collection[str]) -> None:
    """Remove files that a dead process left unfinished or that no recording knows.

    Unfinished peaks go whoever writes them: they are made anew when somebody wants to see them.

    Args:
        folder: the recordings folder.
        known: names of files that belong to a recording, read under the database's write lock.
    """
    for path in folder.iterdir() if folder.is_dir() else ():
        unfinished = _TEMPORARY.fullmatch(path.name)
        if unfinished and runs_elsewhere(unfinished[1] or ""):
            continue
        if unfinished or (_KEPT.fullmatch(path.name) and path.name not in known):
            remove(path)


def remove(path: Path) -> None:
    """Delete a file; one that cannot be deleted is left to the next sweep."""
    try:
        path.unlink(missing_ok=True)
    except OSError as exc:
        logger.warning("recording not removed file=%s reason=%s", path.name, exc.strerror)


def link_or_copy(source: Path, target: Path) -> None:
    """Keep the content of a file under another name, whatever becomes of the first.

    Raises:
        OSError: the source cannot be read or the target cannot be written.
    """
    if not _link(source, target):
        _copy(source, target)


def _link(source: Path, target: Path) -> bool:
    """Make a hard link; false where the file systems do not allow it."""
    target.unlink(missing_ok=True)
    # A link to a link would follow later changes of it.
    real = source.resolve(strict=True)
    try:
        os.link(real, target)
    except OSError:
        return False
    return True


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("wb") as writer:
        shutil.copyfileobj(reader, writer, _BLOCK_BYTES)
        writer.flush()
        os.fsync(writer.fileno())


def _read(path: Path, temporary: Path | None) -> Content:
    digest = hashlib.sha256()
    size_bytes = 0
    with path.open("rb") as reader:
        while block := reader.read(_BLOCK_BYTES):
            digest.update(block)
            size_bytes += len(block)
    return Content(size_bytes, digest.hexdigest(), temporary)


def _explained(exc: OSError, source: Path, folder: Path) -> AudioDecodeError | StoreError:
    try:
        with source.open("rb"):
            pass
    except FileNotFoundError:
        return AudioDecodeError(f"{source} is missing", path=source.name, reason="missing")
    except OSError:
        return AudioDecodeError(f"{source}: {exc}", path=source.name, reason="unreadable")
    reason = _REASONS.get(exc.errno or 0, exc.strerror or str(exc))
    return StoreError(f"{folder}: {exc}", path=str(folder), reason=reason)


def _is_unfit(char: str) -> bool:
    return char in "/\\" or unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
