"""What a model's folder holds, compared with what it ought to hold."""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from asr_core.errors import ModelIntegrityError
from asr_core.models.catalog import ListedFiles, ModelEntry, ModelFile, ModelLayout
from asr_core.models.files import sha256_of, size_of
from asr_core.models.graph_folder import GRAPHS_FILE, is_graph_folder, read_graph_manifest
from asr_core.models.manifest import MANIFEST_FILE, ManifestError, read_manifest
from asr_core.models.stamp import StampBook
from asr_core.runtime.funasr import SPEECH_FILES, first_of


class ModelState(str, enum.Enum):
    """What is there of a model.

    ``installed``: every file has its known content. ``present``: every file is there, and nothing
    tells what its content should be. ``damaged``: some files are there, but not all or not with
    their content. ``missing``: nothing is there.
    """

    INSTALLED = "installed"
    PRESENT = "present"
    MISSING = "missing"
    DAMAGED = "damaged"

    @property
    def usable(self) -> bool:
        return self in (ModelState.INSTALLED, ModelState.PRESENT)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is in a folder.

    Attributes:
        state: in a word.
        path: the first file at fault, or the folder.
        missing: every file that is not there; names that will do joined by slashes.
    """

    state: ModelState
    path: Path
    missing: tuple[str, ...] = ()


class Inspector:
    """Looks into folders; hashes only files that changed since they were last hashed."""

    def __init__(self, stamps: StampBook) -> None:
        self._stamps = stamps

    def inspect(self, entry: ModelEntry, folder: Path, *, full: bool = False) -> Finding:
        """What a folder holds of a model; ``full`` hashes every file.

        Raises:
            OSError: a file cannot be read.
        """
        if entry.listed is None:
            return self._compare(folder, layout_in(folder, entry).files, full=full)
        missing, present = _look(folder, entry.listed)
        if entry.family == "paraformer" and (missing or is_graph_folder(folder)):
            found = self._other_form(folder, full=full)
            if found is not None:
                return found
        if missing:
            state = ModelState.DAMAGED if present else ModelState.MISSING
            return Finding(state, folder / missing[0].split(" / ")[0], missing)
        return self._by_manifest(folder, entry.listed.missing, full=full)

    def _by_manifest(
        self, folder: Path, missing: Callable[[Container[str]], tuple[str, ...]], *, full: bool
    ) -> Finding:
        """Compare a folder in which nothing is missing with its manifest, if it has one."""
        try:
            manifest = read_manifest(folder)
        except ManifestError:
            return Finding(ModelState.DAMAGED, folder / MANIFEST_FILE)
        if manifest is None:
            return Finding(ModelState.PRESENT, folder)
        if missing({file.name for file in manifest.files}):
            return Finding(ModelState.DAMAGED, folder / MANIFEST_FILE)
        return self._compare(folder, manifest.files, full=full)

    def _other_form(self, folder: Path, *, full: bool) -> Finding | None:
        """What a folder holds of a Paraformer that FunASR did not export."""
        if is_graph_folder(folder):
            return self._converted(folder, full=full)
        # Looking at a folder needs none of what reads checkpoints.
        from asr_core.runtime.funasr import CHECKPOINT_FILES

        if first_of(folder, CHECKPOINT_FILES) is None:
            return None
        lacking = _lacking(folder, SPEECH_FILES)
        if lacking:
            return Finding(ModelState.DAMAGED, folder / lacking[0], lacking)
        return self._by_manifest(folder, lambda _: (), full=full)

    def _converted(self, folder: Path, *, full: bool) -> Finding:
        """Compare a folder of converted graphs with all that vouches for its files."""
        try:
            graphs = read_graph_manifest(folder, folder.name)
        except ModelIntegrityError:
            return Finding(ModelState.DAMAGED, folder / GRAPHS_FILE)
        try:
            manifest = read_manifest(folder)
        except ManifestError:
            return Finding(ModelState.DAMAGED, folder / MANIFEST_FILE)
        files = [ModelFile(one.file, one.size_bytes, one.sha256) for one in graphs.files]
        if manifest is not None:
            if not {file.name for file in manifest.files}.issuperset(SPEECH_FILES):
                return Finding(ModelState.DAMAGED, folder / MANIFEST_FILE)
            files = list(dict.fromkeys([*manifest.files, *files]))
        names = dict.fromkeys([*SPEECH_FILES, *(file.name for file in files)])
        lacking = _lacking(folder, tuple(names))
        if lacking:
            return Finding(ModelState.DAMAGED, folder / lacking[0], lacking)
        return self._compare(folder, files, full=full)

    def _compare(self, folder: Path, files: Sequence[ModelFile], *, full: bool) -> Finding:
        absent = tuple(file.name for file in files if size_of(folder / file.name) is None)
        if len(absent) == len(files):
            largest = max(files, key=lambda file: file.size_bytes)
            return Finding(ModelState.MISSING, folder / largest.name, absent)
        if absent:
            return Finding(ModelState.DAMAGED, folder / absent[0], absent)
        for file in files:
            if size_of(folder / file.name) != file.size_bytes:
                return Finding(ModelState.DAMAGED, folder / file.name)
        for file in files:
            path = folder / file.name
            known = not full and self._stamps.vouches(path, file.sha256)
            if not known and not self._hash(path, file):
                return Finding(ModelState.DAMAGED, path)
        return Finding(ModelState.INSTALLED, folder)

    def _hash(self, path: Path, file: ModelFile) -> bool:
        stamp = self._stamps.take(path)
        if sha256_of(path) != file.sha256:
            return False
        self._stamps.record(path, stamp, file.sha256)
        return True


def layout_in(folder: Path, entry: ModelEntry) -> ModelLayout:
    """The layout whose weights have the right size, the preferred one if none has."""
    for layout in entry.layouts:
        if size_of(folder / layout.main_file.name) == layout.main_file.size_bytes:
            return layout
    return entry.layouts[0]


def known_bytes(entry: ModelEntry, folder: Path) -> int | None:
    """Disk space of a model: as published, else of its files that are there."""
    if entry.listed is None:
        return entry.size_bytes
    names = set(entry.listed.names)
    if entry.listed.checkpoint:
        names |= set(entry.listed.checkpoint.names)
    try:
        manifest = read_manifest(folder)
        names |= {file.name for file in manifest.files} if manifest else set()
        if is_graph_folder(folder):
            graphs = read_graph_manifest(folder, entry.name)
            names |= {GRAPHS_FILE, *(file.file for file in graphs.files)}
    except (ManifestError, ModelIntegrityError):
        # Damage is told by the state; what is there takes space all the same.
        pass
    sizes = [size_of(folder / name) for name in sorted(names)]
    present = [size for size in sizes if size is not None]
    return sum(present) if present else None


def _lacking(folder: Path, names: Sequence[str]) -> tuple[str, ...]:
    """The files that are not there."""
    return tuple(name for name in names if size_of(folder / name) is None)


def _look(folder: Path, listed: ListedFiles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The required files that are missing, and all that are there."""
    present = tuple(name for name in listed.names if size_of(folder / name) is not None)
    return listed.missing(present), present
