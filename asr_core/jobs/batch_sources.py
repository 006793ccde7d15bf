"""Where the files of a batch come from: a folder of the server, or what a browser sent.

What was sent is linked or copied into the inbox at once and stays there until every file of it
has become a recording; nothing depends on the sender's temporary files.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from asr_core.errors import AsrError, BatchError, StoreError
from asr_core.jobs.archives import Archive, is_archive, open_archive
from asr_core.jobs.batch_model import Upload
from asr_core.jobs.folders import Selection, natural_key, walk
from asr_core.store.batch_rows import BatchRow, ItemRow
from asr_core.store.recordings import Keep, link_or_copy

_MANIFEST = "names.json"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may become an item.

    Attributes:
        path: as it is shown, with ``/``.
        key: what tells files of the batch apart.
        stamp: size and time of change; empty for what was sent.
        file: where it is; with an error, nothing can be read there.
        keep: what is kept of it as a recording.
        size_bytes: of the file.
        error: why it must not or cannot be read.
    """

    path: str
    key: bytes
    stamp: str
    file: Path
    keep: Keep
    size_bytes: int = 0
    error: AsrError | None = None


class Inbox:
    """The files that were sent, one folder for each batch.

    Args:
        folder: made when needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def accept(self, batch_id: str, uploads: Sequence[Upload]) -> None:
        """Keep what was sent, after a look into every archive.

        Raises:
            BatchError: an archive is damaged or unsafe, or a file is ``missing``.
            StoreError: there is no room.
        """
        target = self._folder / batch_id
        for upload in uploads:
            if not upload.path.is_file():
                raise BatchError(f"{upload.name} is gone", path=upload.name, reason="missing")
            if is_archive(upload.path, upload.name):
                with open_archive(upload.path, upload.name):
                    pass
        try:
            target.mkdir(parents=True)
            for number, upload in enumerate(uploads):
                link_or_copy(upload.path, target / f"{number:05}")
            names = json.dumps([upload.name for upload in uploads])
            (target / _MANIFEST).write_text(names, encoding="utf-8")
        except OSError as exc:
            shutil.rmtree(target, ignore_errors=True)
            reason = exc.strerror or str(exc)
            raise StoreError(f"{target}: {exc}", path=str(target), reason=reason) from exc

    def files(self, batch_id: str) -> list[tuple[Path, str]]:
        """Path and name of what was sent with a batch, in order; none when it is gone."""
        folder = self._folder / batch_id
        try:
            names = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        return [(folder / f"{number:05}", name) for number, name in enumerate(names)]

    def unpacked(self, batch_id: str) -> Path:
        """A folder for members of archives, made anew."""
        folder = self._folder / batch_id / "unpacked"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def remove(self, batch_id: str) -> None:
        """What was sent with a batch is not needed any more."""
        shutil.rmtree(self._folder / batch_id, ignore_errors=True)

    def sweep(self, wanted: Collection[str]) -> None:
        """Remove what belongs to no batch of these ids."""
        with contextlib.suppress(OSError):
            for folder in self._folder.iterdir():
                if folder.name not in wanted:
                    shutil.rmtree(folder, ignore_errors=True)


def candidates(batch: BatchRow, inbox: Inbox, known: Collection[bytes]) -> Iterator[Candidate]:
    """Files of a batch in order, those known already left out where that saves work.

    A file lasts until the next one is asked for.

    Raises:
        BatchError: the source is ``missing`` or ``unreadable``.
    """
    if batch.source is None:
        return _sent(batch, inbox, known)
    return _in_folder(batch, batch.source)


def selection_of(batch: BatchRow) -> Selection:
    """Which files of its source a batch takes."""
    return Selection(
        recursive=batch.recursive,
        patterns=batch.patterns,
        raw=bool(batch.options.raw),
        exclude=batch.output,
        boundary=batch.boundary,
    )


def safe_relative(name: str) -> str:
    """A name as a sender gives it, as a relative path inside nothing but itself."""
    kept = "".join(char for char in name.replace("\\", "/") if unicodedata.category(char) != "Cc")
    parts = [part for part in kept.split("/") if part not in ("", ".", "..")]
    return "/".join(parts) or "recording"


def newer(batch: BatchRow, row: ItemRow) -> Candidate | None:
    """The file of an item, if it has changed since it was found; ``None`` for what was sent."""
    if batch.source is None or not row.stamp:
        return None
    try:
        file = (batch.source / os.fsdecode(row.source_key)).resolve(strict=True)
        stat = file.stat()
    except (OSError, RuntimeError):
        return None
    stamp = _stamp(stat.st_size, stat.st_mtime_ns)
    is_outside = batch.boundary is not None and not file.is_relative_to(batch.boundary)
    if stamp == row.stamp or is_outside:
        return None
    return Candidate(row.item.path, row.source_key, stamp, file, "link", stat.st_size)


def _in_folder(batch: BatchRow, source: Path) -> Iterator[Candidate]:
    for found in walk(source, selection_of(batch)):
        error = None
        if found.refusal:
            error = BatchError(
                f"{found.relative} is {found.refusal}", path=found.relative, reason=found.refusal
            )
        yield Candidate(
            path=found.relative,
            key=os.fsencode(found.relative),
            stamp=_stamp(found.size_bytes, found.modified_ns),
            file=found.path,
            keep="link",
            size_bytes=found.size_bytes,
            error=error,
        )


def _sent(batch: BatchRow, inbox: Inbox, known: Collection[bytes]) -> Iterator[Candidate]:
    for path, name in inbox.files(batch.id):
        relative = safe_relative(name)
        key = path.name.encode()
        if not is_archive(path, name):
            yield Candidate(relative, key, "", path, "copy")
            continue
        try:
            with open_archive(path, relative) as archive:
                yield from _members(batch, archive, relative, key, known, inbox)
        except BatchError as exc:
            yield Candidate(relative, key, "", path, "copy", error=exc)


def _members(
    batch: BatchRow,
    archive: Archive,
    relative: str,
    key: bytes,
    known: Collection[bytes],
    inbox: Inbox,
) -> Iterator[Candidate]:
    """Recordings in an archive, each unpacked when its turn comes."""
    folder = inbox.unpacked(batch.id)
    selection = selection_of(batch)
    prefix = relative[:-4] if relative.lower().endswith(".zip") else relative
    numbered = sorted(enumerate(archive.members), key=lambda one: natural_key(one[1].name))
    for number, member in numbered:
        member_key = key + b"/%d" % number
        hidden = any(part.startswith((".", "__MACOSX")) for part in member.name.split("/"))
        if hidden or not selection.takes(member.name) or member_key in known:
            continue
        path = f"{prefix}/{member.name}"
        try:
            file = archive.extract(member, folder)
        except BatchError as exc:
            yield Candidate(path, member_key, "", folder, "copy", error=exc)
            if exc.details["reason"] == "archive_too_large":
                return
            continue
        except OSError as exc:
            reason = exc.strerror or str(exc)
            error = StoreError(f"{folder}: {exc}", path=str(folder), reason=reason)
            yield Candidate(path, member_key, "", folder, "copy", error=error)
            continue
        yield Candidate(path, member_key, "", file, "copy", size_bytes=member.size_bytes)
        file.unlink(missing_ok=True)


def _stamp(size_bytes: int, modified_ns: int) -> str:
    return f"{size_bytes} {modified_ns}"
