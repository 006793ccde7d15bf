"""A folder that appears whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from asr_core.errors import ConvertError
from asr_core.models.files import sync_folder
from asr_core.models.graph_folder import GRAPHS_FILE
from asr_core.models.manifest import MANIFEST_FILE

SPARE_BYTES = 64 << 20
"""Disk space that stays free beside what is written."""

UNFINISHED = ".in"
"""Ends the name of a manifest whose hashes are not known yet."""

_OURS = (GRAPHS_FILE, MANIFEST_FILE, f"{GRAPHS_FILE}{UNFINISHED}")


@contextlib.contextmanager
def new_folder(target: Path, needed_bytes: int, *, replace: bool) -> Iterator[Path]:
    """A work folder beside ``target`` that takes its name when the block ends without an error.

    A process that is killed leaves ``target`` as it was, or in the moment of a replacement under a
    hidden name beside it. The next conversion to the same place gives it its name back, and clears
    the work folder, a hidden one too.

    Args:
        target: what is made.
        needed_bytes: disk space that has to be free.
        replace: whether a folder of that name, if it is a converted one, gives way.

    Raises:
        ConvertError: ``reason`` is ``exists``, ``foreign`` (the folder holds something else),
            ``busy`` (another process writes it), ``disk_full`` or ``storage``.
    """
    hidden = target.with_name(f".{target.name}.converting")
    retired = target.with_name(f".{target.name}.replaced")
    with _storage_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        # Nothing is made beside what is refused; what is found under the claim counts.
        _check_target(target, replace=replace)
        with _claimed(hidden, target):
            try:
                if retired.is_dir() and not target.exists():
                    # The last replacement was killed between its two steps.
                    retired.replace(target)
                _check_target(target, replace=replace)
                _require_space(target, needed_bytes)
                yield hidden
                # Some packages make files for their owner alone, or that cannot be written.
                mode = hidden.stat().st_mode & 0o666
                for path in hidden.iterdir():
                    path.chmod(mode)
                    _sync_file(path)
                sync_folder(hidden)
                _publish(hidden, target, retired)
            except BaseException:
                shutil.rmtree(hidden, ignore_errors=True)
                raise


def _check_target(target: Path, *, replace: bool) -> None:
    if not target.exists() and not target.is_symlink():
        return
    empty = target.is_dir() and not any(target.iterdir())
    if empty:
        return
    if not replace:
        raise ConvertError(
            f"{target} exists already; name another folder, or replace it with --force",
            reason="exists",
            path=str(target),
        )
    if target.is_symlink() or not any((target / name).is_file() for name in _OURS):
        raise ConvertError(
            f"{target} is no converted model and is left alone; name another folder",
            reason="foreign",
            path=str(target),
        )


@contextlib.contextmanager
def _claimed(folder: Path, target: Path) -> Iterator[None]:
    """An empty folder that this process alone writes to."""
    folder.mkdir(exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise _busy(target) from exc
        if not _is_still(folder, descriptor):
            # Another conversion ended since: what is locked has another name, or none.
            raise _busy(target)
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield
    finally:
        os.close(descriptor)


def _is_still(folder: Path, descriptor: int) -> bool:
    """Whether an open folder has its name."""
    try:
        return os.path.samestat(folder.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _busy(target: Path) -> ConvertError:
    return ConvertError(
        f"another conversion writes {target}; wait for it, or name another folder",
        reason="busy",
        path=str(target),
    )


def _require_space(target: Path, needed_bytes: int) -> None:
    free_mb = shutil.disk_usage(target.parent).free >> 20
    needed_mb = (needed_bytes + SPARE_BYTES) >> 20
    if free_mb < needed_mb:
        raise ConvertError(
            f"{target.parent} has {free_mb} MB free, the conversion needs {needed_mb} MB; free "
            "some space or name a folder on another disk",
            reason="disk_full",
            path=str(target.parent),
            needed_mb=needed_mb,
            free_mb=free_mb,
        )


def _publish(work: Path, target: Path, retired: Path) -> None:
    if target.is_dir() and any(target.iterdir()):
        if retired.exists():
            shutil.rmtree(retired)
        target.replace(retired)
        work.replace(target)
        shutil.rmtree(retired)
    else:
        work.replace(target)
    sync_folder(target.parent)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _storage_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        if exc.errno in (errno.ENOSPC, errno.EDQUOT):
            free_mb = shutil.disk_usage(target.parent).free >> 20
            raise ConvertError(
                f"{target.parent} is full; free some space or name a folder on another disk",
                reason="disk_full",
                path=str(target.parent),
                needed_mb=free_mb + 1,
                free_mb=free_mb,
            ) from exc
        raise ConvertError(
            f"{exc.filename or target} cannot be used: {exc.strerror}; check its permissions and "
            "the disk",
            reason="storage",
            path=str(exc.filename or target),
            cause=str(exc.strerror or exc),
        ) from exc
