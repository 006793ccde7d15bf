"""Models that lie cut into parts inside installed Python packages."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from asr_core.models.catalog import ModelLayout
from asr_core.models.files import join_files, size_of


def package_folder(package: str) -> Path | None:
    """Folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    locations = list(spec.submodule_search_locations or ()) if spec else []
    return Path(locations[0]) if locations else None


def join_layout(layout: ModelLayout, located: Mapping[str, Path], work: Path) -> Path | None:
    """Write every file of a layout; the first part at fault if the content is not as published."""
    for file in layout.files:
        parts = [located[part.package] / part.path for part in file.parts]
        absent = [part for part in parts if size_of(part) is None]
        if absent or not parts:
            return absent[0] if absent else work / file.name
        if join_files(parts, work / file.name) != file.sha256:
            return parts[0]
    return None
