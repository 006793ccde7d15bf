"""What was installed into a model's folder, written beside the files.

It stands in for pinned contents: the hub stated them when the files were fetched.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asr_core.models.catalog import ModelFile
from asr_core.models.files import synced
from asr_core.models.listing import ListingError, read_file_entry

MANIFEST_FILE = "tinglu-manifest.json"
_SCHEMA = 1


class ManifestError(ValueError):
    """The manifest of a folder cannot be read."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Where the files of a folder come from.

    Attributes:
        model: name of the model.
        hub: address of the hub.
        repo: ``owner/name`` on the hub.
        revision: of the repository.
        installed_at: UTC, ISO 8601.
        files: with their contents.
    """

    model: str
    hub: str
    repo: str
    revision: str
    installed_at: str
    files: tuple[ModelFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder; it is on the disk, whole, when this returns."""
    document = {"schema": _SCHEMA, **asdict(manifest)}
    document["files"] = [
        {"path": file.name, "size": file.size_bytes, "sha256": file.sha256}
        for file in manifest.files
    ]
    draft = folder / f".{MANIFEST_FILE}.part"
    with synced(draft, "wb") as out:
        out.write(json.dumps(document, ensure_ascii=False, indent=1).encode())
    draft.replace(folder / MANIFEST_FILE)


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder, ``None`` where there is none.

    Raises:
        ManifestError: it is damaged or was written by a newer version.
    """
    try:
        document: Any = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        if document["schema"] != _SCHEMA:
            raise ManifestError(f"schema {document['schema']} is not known")
        texts = {
            key: str(document[key]) for key in ("model", "hub", "repo", "revision", "installed_at")
        }
        entries = [(item["path"], item["size"], item["sha256"]) for item in document["files"]]
        files = tuple(read_file_entry(*entry) for entry in entries)
        if not files:
            raise ManifestError("it names no files")
        return Manifest(**texts, files=files)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, LookupError, ListingError) as exc:
        raise ManifestError(f"{folder / MANIFEST_FILE}: {exc}") from exc
