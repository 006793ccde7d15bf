"""Folders of the server: which may be seen, what is in them, which files are recordings.

Links are resolved before anything is decided, so a path is judged by where it really leads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from asr_core.audio.sniff import is_named_raw, is_named_recording
from asr_core.errors import BatchError
from asr_core.jobs.batch_model import FolderView, Root

_MOST_COUNTED = 20_000  # entries that a view of one folder looks at
_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of a folder are taken.

    Attributes:
        recursive: go into folders.
        patterns: shell patterns without regard to case, of names or, with a ``/`` in them, of
            relative paths; none takes every name that a recording has.
        raw: headerless PCM is taken too.
        exclude: a folder that is passed over, without links.
        boundary: links must not lead out of this folder, which has no links itself; ``None``
            follows every link.
    """

    recursive: bool = True
    patterns: tuple[str, ...] = ()
    raw: bool = False
    exclude: Path | None = None
    boundary: Path | None = None

    def takes(self, relative: str) -> bool:
        """Whether a relative path, with ``/``, is that of a recording."""
        name = relative.rpartition("/")[2]
        if not self.patterns:
            return is_named_recording(name) or (self.raw and is_named_raw(name))
        return any(
            fnmatchcase((relative if "/" in pattern else name).casefold(), pattern.casefold())
            for pattern in self.patterns
        )


@dataclass(frozen=True, slots=True)
class Found:
    """One entry of a walk.

    Attributes:
        relative: path below the source, with ``/``.
        path: where it really is, without links.
        size_bytes: of the file.
        modified_ns: of the file.
        refusal: why it must not be read (``outside``, ``unreadable``, ``missing``); empty for a
            file to take.
    """

    relative: str
    path: Path
    size_bytes: int = 0
    modified_ns: int = 0
    refusal: str = ""


def open_roots(folders: Sequence[Path]) -> tuple[Root, ...]:
    """The configured folders that exist, links resolved, in the given order."""
    found: dict[Path, Root] = {}
    for folder in folders:
        try:
            path = folder.resolve(strict=True)
        except (OSError, RuntimeError):
            continue
        if path.is_dir():
            found.setdefault(path, Root(path, folder.name or str(path)))
    return tuple(found.values())


def permitted(path: Path, roots: Sequence[Root]) -> tuple[Path, Root]:
    """Where a path really leads, and the innermost root that it is in.

    The path itself need not exist, its root must.

    Raises:
        BatchError: ``no_roots`` or ``outside``; what lies outside is not told apart.
    """
    if not roots:
        raise BatchError("no folder is configured", path=path.name, reason="no_roots")
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError) as exc:
        raise _refused(path, "outside") from exc
    inside = [root for root in roots if real.is_relative_to(root.path)]
    if not path.is_absolute() or not inside:
        raise _refused(path, "outside")
    return real, max(inside, key=lambda root: len(root.path.parts))


def browse(path: Path, roots: Sequence[Root]) -> FolderView:
    """Look into a folder.

    Raises:
        BatchError: ``no_roots``, ``outside``, ``missing`` or ``unreadable``.
    """
    real, _ = permitted(path, roots)
    outer = [root.path for root in roots]
    folders = []
    for entry in _entries(real):
        target = Path(entry.path).resolve()
        inside = any(target.is_relative_to(root) for root in outer)
        if inside and not entry.name.startswith(".") and target.is_dir():
            folders.append(real / entry.name)
    boundary = max((r for r in outer if real.is_relative_to(r)), key=lambda r: len(r.parts))
    count, size_bytes, looked_at = 0, 0, 0
    walk = _Walk(Selection(boundary=boundary))
    for found in walk.files(real, ""):
        count += not found.refusal
        size_bytes += found.size_bytes
        looked_at = walk.looked_at
        if looked_at > _MOST_COUNTED:
            break
    parent = None if real in outer else real.parent
    complete = looked_at <= _MOST_COUNTED
    return FolderView(real, parent, tuple(folders), count, size_bytes, complete)


def walk(source: Path, selection: Selection) -> Iterator[Found]:
    """Recordings in a folder in natural order; hidden entries are passed over.

    A folder is gone into once, however many links lead to it.

    Raises:
        BatchError: the source itself is ``missing`` or ``unreadable``; folders in it that cannot
            be read are found with a refusal.
    """
    return _Walk(selection).files(source.resolve(), "")


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sorts ``2.wav`` before ``10.wav``, without regard to case."""
    parts = _NUMBERS.split(name.casefold())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]


class _Walk:
    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._seen: set[Path] = set()
        self.looked_at = 0

    def files(self, folder: Path, prefix: str) -> Iterator[Found]:
        self._seen.add(folder)
        try:
            entries = _entries(folder)
        except BatchError as exc:
            if not prefix:
                raise
            reason = str(exc.details["reason"])
            if reason != "missing":  # it vanished after it was listed
                yield Found(prefix.rstrip("/"), folder, refusal=reason)
            return
        for entry in entries:
            self.looked_at += 1
            if not entry.name.startswith("."):
                yield from self._entry(entry, f"{prefix}{entry.name}")

    def _entry(self, entry: os.DirEntry[str], relative: str) -> Iterator[Found]:
        path = Path(entry.path)
        try:
            real = path.resolve(strict=True) if entry.is_symlink() else path
            is_folder = real.is_dir()
            stat = real.stat()
        except (OSError, RuntimeError):
            # A broken link, a ring of links, or gone since it was listed.
            if entry.is_symlink() and self._selection.takes(relative):
                yield Found(relative, path, refusal="missing")
            return
        if not is_folder and not (real.is_file() and self._selection.takes(relative)):
            return
        boundary = self._selection.boundary
        if boundary is not None and not real.is_relative_to(boundary):
            yield Found(relative, path, refusal="outside")
        elif not is_folder:
            yield Found(relative, real, stat.st_size, stat.st_mtime_ns)
        elif self._selection.recursive and real not in self._seen | {self._selection.exclude}:
            yield from self.files(real, f"{relative}/")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: (natural_key(entry.name), entry.name))
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise _refused(folder, "missing") from exc
    except OSError as exc:
        raise _refused(folder, "unreadable") from exc


def _refused(path: Path, reason: str) -> BatchError:
    return BatchError(f"{path} is {reason}", path=path.name or str(path), reason=reason)
