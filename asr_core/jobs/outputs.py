"""Files in an output folder: what they are called, whose they are, how they get there.

A file is written beside its place under a temporary name and gets its own in one step. A file
that somebody else made or changed is replaced only where the user asked for that.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from asr_core.errors import BatchError
from asr_core.export.registry import file_name
from asr_core.store.batch_rows import Result
from asr_core.store.process import own_tag, runs_elsewhere

logger = logging.getLogger(__name__)

_PART = re.compile(r"\.[0-9a-f]{32}\.([0-9-]*)\.part")
_MOST_NUMBERS = 10_000  # of one name
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


@dataclass(frozen=True, slots=True)
class Claim:
    """Who wants a place in an output folder.

    Attributes:
        input: whose text it is.
        batch_id: which batch.
        item: which of its items.
        on_existing: ``skip``, ``overwrite`` or ``rename``.
    """

    input: bytes
    batch_id: str
    item: int
    on_existing: str


def may_take(place: Path, known: Result | None, claim: Claim, content: str = "") -> bool:
    """Whether a file may be written to a place that no other item of the batch has.

    Args:
        place: where.
        known: the entry of the file that lies or lay there, if it is one of ours.
        claim: who asks.
        content: SHA-256 of what would be written, if it is known already.
    """
    if not os.path.lexists(place):
        return True
    if place.is_symlink() or not place.is_file():
        return False
    if known is not None and known.input != claim.input:
        return False
    if claim.on_existing == "overwrite":
        return True
    is_own = known is not None and (known.batch_id, known.item) == (claim.batch_id, claim.item)
    if claim.on_existing == "rename" and not is_own:
        return False
    # Of the same item it is what was written before the process ended.
    held = hash_file(place)
    return held == content or (known is not None and held in known.hashes)


def place_of(relative: str, format_name: str, number: int) -> Path:
    """Where the text of a recording goes, below the output folder: the tree is kept.

    Args:
        relative: path of the recording below the source, with ``/``.
        format_name: name of an export format.
        number: 1 for the usual name.
    """
    path = PurePosixPath(relative)
    return Path(*path.parent.parts, file_name(path.name, format_name, number))


def numbers(first: int = 1) -> Iterable[int]:
    """Numbers to try for a name: the given one, then from 1."""
    yield first
    yield from (number for number in range(1, _MOST_NUMBERS) if number != first)


def prepare(folder: Path) -> None:
    """Make an output folder and find out that it can be written to, before hours of work.

    Raises:
        BatchError: ``not_writable`` or ``disk_full``.
    """
    probe = part_beside(folder / "probe")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with probe.open("xb") as file:
                file.write(b"\0" * 4096)
                file.flush()
                os.fsync(file.fileno())
        finally:
            probe.unlink(missing_ok=True)
    except OSError as exc:
        raise write_error(folder, exc) from exc


def part_beside(place: Path) -> Path:
    """The temporary name under which this process writes a file."""
    return place.with_name(f".{uuid.uuid4().hex}.{own_tag()}.part")


def stage(folder: Path, place: Path, content: bytes) -> Path:
    """Write a file under a temporary name beside its place.

    Folders below ``folder`` are made; it is made itself only where its parent still exists: a
    disk that is gone is not replaced by a folder on another one.

    Raises:
        BatchError: ``missing``, ``not_writable`` or ``disk_full``.
    """
    part = part_beside(place)
    try:
        if not folder.is_dir():
            folder.mkdir()
        place.parent.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        discard(part)
        raise write_error(folder, exc) from exc
    return part


def publish(part: Path, place: Path, *, replace: bool) -> bool:
    """Give a staged file its name.

    Args:
        part: from :func:`stage`.
        place: where it goes.
        replace: whatever lies there is replaced.

    Returns:
        False when something lies there and is not to be replaced; the part stays.

    Raises:
        BatchError: ``not_writable`` or ``disk_full``.
    """
    try:
        if replace:
            part.replace(place)
            return True
        try:
            os.link(part, place)
        except FileExistsError:
            return False
        except OSError as exc:
            if exc.errno not in _NO_LINKS:
                raise
            if os.path.lexists(place):
                return False
            part.replace(place)
            return True
        part.unlink()
    except OSError as exc:
        raise write_error(place.parent, exc) from exc
    return True


def discard(part: Path) -> None:
    """Remove a part; one that cannot be removed is left to the next sweep."""
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove parts below a folder that dead processes left."""
    for parent, _, names in os.walk(folder):
        for name in names:
            part = _PART.fullmatch(name)
            if part and part[1] != own_tag() and not runs_elsewhere(part[1]):
                discard(Path(parent, name))


def hash_file(path: Path) -> str:
    """SHA-256 of a result; empty when it cannot be read."""
    try:
        return hash_content(path.read_bytes())
    except OSError:
        return ""


def hash_content(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_error(folder: Path, exc: OSError) -> BatchError:
    """The error of a folder that cannot be written to."""
    reason = "disk_full" if exc.errno in _FULL else "not_writable"
    if isinstance(exc, FileNotFoundError):
        reason = "missing"
    cause = exc.strerror or str(exc)
    return BatchError(f"{folder}: {cause}", path=str(folder), reason=reason, cause=cause)
