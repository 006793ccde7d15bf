"""Small file operations under the model store: hashing, writing that reaches the disk, locking."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

BLOCK_BYTES = 1 << 20
"""Model files are read and written in blocks of 1 MiB."""


def size_of(path: Path) -> int | None:
    """Length of a regular file, ``None`` if there is none."""
    try:
        return path.stat().st_size if path.is_file() else None
    except FileNotFoundError:
        return None


def sha256_of(path: Path) -> str:
    """Hash of a whole file as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while block := source.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def join_files(parts: Sequence[Path], target: Path) -> str:
    """Write the parts one after the other into ``target`` and return the hash of the whole."""
    digest = hashlib.sha256()
    with synced(target, "wb") as out:
        for part in parts:
            with part.open("rb") as source:
                while block := source.read(BLOCK_BYTES):
                    digest.update(block)
                    out.write(block)
    return digest.hexdigest()


@contextlib.contextmanager
def synced(path: Path, mode: str) -> Iterator[BinaryIO]:
    """An open binary file whose content is on the disk when the block ends, also by an error."""
    with path.open(mode) as out:
        try:
            yield cast(BinaryIO, out)
        finally:
            out.flush()
            os.fsync(out.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names inside a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock against other processes and threads; waits for its turn."""
    with path.open("ab") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
