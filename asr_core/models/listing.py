"""The file list of a ModelScope repository: which files it offers, with size and SHA-256.

Source of the interface: ``GET /api/v1/models/{owner}/{name}/repo/files`` and ``…/repo`` as the
``modelscope`` client (1.40.2) uses them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from asr_core.models.catalog import ListedFiles, ModelFile
from asr_core.models.transport import Pauses, RefusedError, read_document

REVISION = "master"

_MOST_BYTES = 8 << 20
_LINK_MODE = "120000"


class ListingError(ValueError):
    """What a hub says about its files cannot be used."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What one repository offers of a model's files."""

    repo: str
    files: tuple[ModelFile, ...]


def find_offer(hub_url: str, listed: ListedFiles, pauses: Pauses) -> Offer:
    """The first of the repositories that has all required files.

    Raises:
        ListingError: none has them, or a list is not usable; names every repository asked.
        BrokenConnectionError: the hub cannot be reached.
    """
    problems = []
    for repo in listed.repos:
        try:
            body = read_document(listing_url(hub_url, repo), most_bytes=_MOST_BYTES, pauses=pauses)
            return Offer(repo, _files(body, listed))
        except (RefusedError, ListingError) as exc:
            problems.append(f"{repo}: {exc}")
    raise ListingError("; ".join(problems))


def listing_url(hub_url: str, repo: str) -> str:
    """Address of a repository's file list."""
    return f"{hub_url}/api/v1/models/{repo}/repo/files?Recursive=True&Revision={REVISION}"


def file_url(hub_url: str, repo: str, name: str) -> str:
    """Address of a file's content."""
    path = quote(name, safe="")
    return f"{hub_url}/api/v1/models/{repo}/repo?Revision={REVISION}&FilePath={path}"


def read_file_entry(path: object, size: object, sha256: object) -> ModelFile:
    """One file as a list states it.

    Raises:
        ListingError: the path leads out of the folder, or size or hash is none.
    """
    if not isinstance(path, str) or not _is_inside(path):
        raise ListingError(f"the path {path!r} leads out of the folder")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ListingError(f"the size of {path} is {size!r}")
    if not isinstance(sha256, str) or not re.fullmatch(r"[0-9A-Fa-f]{64}", sha256):
        raise ListingError(f"the SHA-256 of {path} is {sha256!r}")
    return ModelFile(path, size, sha256.lower())


def _files(body: bytes, listed: ListedFiles) -> tuple[ModelFile, ...]:
    """The wanted files of a list."""
    found = _entries(body)
    missing = listed.missing(found)
    if missing:
        raise ListingError(f"{', '.join(missing)} missing")
    items = [(name, found[name]) for name in listed.chosen(found)]
    return tuple(
        read_file_entry(name, item.get("Size"), item.get("Sha256")) for name, item in items
    )


def _entries(body: bytes) -> Mapping[str, Mapping[str, Any]]:
    """The regular files of a list by path. Every path is checked, also of files not wanted."""
    try:
        document = json.loads(body)
        files = document["Data"]["Files"]
        items = [(item["Path"], item.get("Type", "blob"), item) for item in files]
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        raise ListingError(_complaint(body)) from exc
    found: dict[str, Mapping[str, Any]] = {}
    for path, kind, item in items:
        if not isinstance(path, str) or not _is_inside(path):
            raise ListingError(f"the path {path!r} leads out of the folder")
        if kind != "blob" or str(item.get("Mode", "")) == _LINK_MODE:
            continue
        if path in found:
            raise ListingError(f"{path} is listed twice")
        found[path] = item
    return found


def _is_inside(path: str) -> bool:
    """Whether a path names something below the folder, plainly."""
    parts = PurePosixPath(path).parts
    plain = bool(parts) and not {"..", "/"} & set(parts) and not path.startswith("/")
    return plain and "\\" not in path and "\0" not in path


def _complaint(body: bytes) -> str:
    """What the hub says instead of a list."""
    try:
        text = str(json.loads(body)["Message"])
    except (ValueError, LookupError, TypeError):
        return "the answer is no file list"
    return text[:200]
