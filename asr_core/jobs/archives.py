"""Zip files that users send: names as their makers meant them, nothing that leads out of them.

A member is written under a name of ours; its own name is only ever shown.
"""

from __future__ import annotations

import re
import stat
import struct
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from asr_core.errors import BatchError

_BLOCK_BYTES = 1 << 20
_IS_UTF8, _IS_ENCRYPTED = 0x800, 0x1
_UNICODE_PATH = 0x7075
"""Info-ZIP's extra field with the name in UTF-8."""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, struct.error)
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What one archive may hold.

    Attributes:
        members: number of files.
        total_bytes: of all files, unpacked.
        ratio: unpacked to packed size of the whole archive; sound hardly shrinks, but silence
            does, so it counts above ``harmless_bytes`` only.
        harmless_bytes: unpacked size that is accepted whatever the ratio.
    """

    members: int = 20_000
    total_bytes: int = 64 << 30
    ratio: int = 50
    harmless_bytes: int = 2 << 30


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive; ``name`` is a relative path with ``/``."""

    name: str
    size_bytes: int
    info: zipfile.ZipInfo


class Archive:
    """An open archive whose list of contents has been checked."""

    def __init__(self, bundle: zipfile.ZipFile, name: str, limits: ArchiveLimits) -> None:
        self._bundle = bundle
        self._name = name
        self._limits = limits
        self._written_bytes = 0
        self._packed_bytes = sum(info.compress_size for info in bundle.infolist())
        self.members = self._checked()

    def extract(self, member: Member, folder: Path) -> Path:
        """Write one member into a folder.

        Args:
            member: of this archive.
            folder: which exists.

        Returns:
            The new file; its name is ours, with the member's extension if that is a plain one.

        Raises:
            BatchError: ``archive`` (damaged), ``archive_too_large`` (more than it says).
            OSError: the file cannot be written.
        """
        suffix = PurePosixPath(member.name).suffix.lower()
        plain = suffix if re.fullmatch(r"\.[a-z0-9]{1,8}", suffix) else ""
        target = folder / f"{uuid.uuid4().hex}{plain}"
        try:
            with target.open("xb") as file:
                for block in self._blocks(member):
                    file.write(block)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return target

    def _blocks(self, member: Member) -> Iterator[bytes]:
        try:
            with self._bundle.open(member.info) as reader:
                while block := reader.read(_BLOCK_BYTES):
                    # What the list of contents says need not be true.
                    self._written_bytes += len(block)
                    self._check_size(self._written_bytes)
                    yield block
        except RuntimeError as exc:
            raise self._error("archive_protected") from exc
        except _DAMAGED as exc:
            raise self._error("archive") from exc

    def _checked(self) -> tuple[Member, ...]:
        infos = self._bundle.infolist()
        if len(infos) > self._limits.members:
            raise self._error("archive_too_large")
        self._check_size(sum(info.file_size for info in infos))
        return tuple(
            Member(self._safe_name(info), info.file_size, info)
            for info in infos
            if not self._is_folder(info)
        )

    def _is_folder(self, info: zipfile.ZipInfo) -> bool:
        """Folders need no handling, but theirs are names and kinds too."""
        name = self._safe_name(info)
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise self._error("archive_unsafe")
        if info.flag_bits & _IS_ENCRYPTED:
            raise self._error("archive_protected")
        return kind == stat.S_IFDIR or name.endswith("/")

    def _safe_name(self, info: zipfile.ZipInfo) -> str:
        name = member_name(info)
        parts = name.split("/")
        if "\0" in name or name.startswith("/") or _DRIVE.match(name) or ".." in parts:
            raise self._error("archive_unsafe")
        kept = "/".join(part for part in parts if part not in ("", "."))
        return f"{kept}/" if name.endswith("/") else kept

    def _check_size(self, unpacked_bytes: int) -> None:
        most = max(self._limits.harmless_bytes, self._limits.ratio * self._packed_bytes)
        if unpacked_bytes > min(most, self._limits.total_bytes):
            raise self._error("archive_too_large")

    def _error(self, reason: str) -> BatchError:
        return BatchError(f"{self._name}: {reason}", path=self._name, reason=reason)


@contextmanager
def open_archive(path: Path, name: str, limits: ArchiveLimits | None = None) -> Iterator[Archive]:
    """Open a zip file and check its list of contents.

    Args:
        path: the file.
        name: what the user calls it.
        limits: the usual ones by default.

    Raises:
        BatchError: ``archive``, ``archive_protected``, ``archive_too_large``,
            ``archive_unsafe`` or ``missing``.
    """
    try:
        bundle = zipfile.ZipFile(path)
    except _DAMAGED as exc:
        raise BatchError(f"{name}: {exc}", path=name, reason="archive") from exc
    except OSError as exc:
        raise BatchError(f"{name}: {exc}", path=name, reason="missing") from exc
    with bundle:
        yield Archive(bundle, name, limits or ArchiveLimits())


def is_archive(path: Path, name: str) -> bool:
    """Whether a file is meant as a zip archive: by its name, or by its content."""
    return name.lower().endswith(".zip") or zipfile.is_zipfile(path)


def member_name(info: zipfile.ZipInfo) -> str:
    """The name that the maker of the archive gave a member, with ``/``.

    Without the UTF-8 flag a name is bytes of the maker's code page: GBK on Chinese Windows.
    """
    if info.flag_bits & _IS_UTF8:
        name = info.orig_filename
    else:
        # zipfile has read the bytes as code page 437, in which every byte is a character.
        name = _decoded(info.orig_filename.encode("cp437"), info.extra)
    return name.replace("\\", "/")


def _decoded(raw: bytes, extra: bytes) -> str:
    stated = _unicode_path(raw, extra)
    if stated is not None:
        return stated
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("cp437")


def _unicode_path(raw: bytes, extra: bytes) -> str | None:
    """The name in the extra field, if it belongs to the name that the entry has."""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        content, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == _UNICODE_PATH and len(content) > 5:
            (checksum,) = struct.unpack_from("<L", content, 1)
            if checksum == zlib.crc32(raw):
                return content[5:].decode("utf-8", "replace")
    return None
