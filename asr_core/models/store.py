"""The models on this machine: find, put together, download and verify their files.

Owns the models folder. A model's files come from a folder that the user names, from installed
data packages, or from a model hub. They are checked against the catalogue's hashes, or against
those that the hub stated when they were fetched. Knows nothing of the libraries that execute a
model.
"""

from __future__ import annotations

import functools
import importlib
import logging
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from asr_core.errors import ModelError, ModelFileMissingError, ModelIntegrityError
from asr_core.models.catalog import (
    CATALOGUE,
    PARAFORMER,
    SEACO_PARAFORMER,
    WHISPER_BASE,
    ModelEntry,
    ModelFile,
    find_entry,
)
from asr_core.models.download import Download, fetch
from asr_core.models.files import locked, sha256_of, size_of, sync_folder
from asr_core.models.graph_folder import is_graph_folder
from asr_core.models.inspection import Finding, Inspector, ModelState, known_bytes
from asr_core.models.manifest import (
    MANIFEST_FILE,
    Manifest,
    ManifestError,
    read_manifest,
    write_manifest,
)
from asr_core.models.packages import join_layout, package_folder
from asr_core.models.shipment import Hubs, pack
from asr_core.models.stamp import StampBook
from asr_core.settings import Settings

SPARE_BYTES = 64 << 20
"""Disk space that stays free beside a model being written."""

ProgressSink = Callable[[int, int], None]
"""Called with the bytes that are done and the bytes in total."""

_log = logging.getLogger(__name__)
_NO_FOLDERS: Mapping[str, Path] = MappingProxyType({})


class GraphMaker(Protocol):
    """Makes graphs of a checkpoint that was fetched."""

    def check(self) -> None:
        """Whether it can.

        Raises:
            ConvertError: packages are missing.
        """
        ...

    def add_graphs(self, folder: Path) -> Sequence[Path]:
        """Put graphs beside a checkpoint.

        Returns:
            The files that were added.

        Raises:
            ConvertError, ModelError: it is not possible.
        """
        ...


class ModelStore:
    """Models of one installation; every method may be called from any thread or process."""

    def __init__(
        self,
        models_dir: Path,
        *,
        folders: Mapping[str, Path] = _NO_FOLDERS,
        hubs: Hubs | None = None,
        catalogue: Mapping[str, ModelEntry] = CATALOGUE,
    ) -> None:
        """Nothing is read or written here.

        Args:
            models_dir: folder of the installation's own copies, created when needed.
            folders: by model, folders of the user that hold its files; they are used in place,
                never written to, and win over every other source.
            hubs: where models are fetched.
            catalogue: the known models.
        """
        self._models_dir = models_dir
        self._folders = folders
        self._hubs = hubs or Hubs()
        self._catalogue = catalogue
        self._stamps = StampBook(models_dir)
        self._inspector = Inspector(self._stamps)

    @classmethod
    def of(cls, settings: Settings) -> ModelStore:
        """The store of an installation; the folders that its settings name are the user's."""
        named = {
            recognizer_of_folder(settings): settings.model_dir,
            "fsmn-vad": settings.fsmn_dir,
            "ct-punc": settings.ct_punc_dir,
        }
        return cls(
            settings.models,
            folders={name: folder for name, folder in named.items() if folder is not None},
            hubs=Hubs(settings.hub_url, settings.modelscope_url),
        )

    def folder(self, name: str) -> Path:
        """Where a model's files are or will be.

        Raises:
            UnknownModelError: no model has that name.
        """
        entry = find_entry(name, self._catalogue)
        return self._folders.get(entry.name) or self._models_dir / entry.name

    def size_bytes(self, name: str) -> int | None:
        """Disk space that a model takes, or will take; ``None`` while only its hub knows.

        Raises:
            UnknownModelError: no model has that name.
            ModelError: ``reason`` is ``storage``; the folder cannot be read.
        """
        entry = find_entry(name, self._catalogue)
        with self._storage_errors(entry):
            return known_bytes(entry, self.folder(name))

    def source(self, name: str) -> str:
        """Repository that an installed model was fetched from; empty where nothing tells.

        Raises:
            UnknownModelError: no model has that name.
        """
        try:
            manifest = read_manifest(self.folder(name))
        except (ManifestError, OSError):
            return ""
        return manifest.repo if manifest else ""

    def state(self, name: str) -> ModelState:
        """What is there. Hashes only files that changed since they were last hashed.

        Raises:
            UnknownModelError: no model has that name.
            ModelError: ``reason`` is ``storage``; a file cannot be read.
        """
        return self._state(name, full=False)

    def verify(self, name: str) -> ModelState:
        """What is there, with every file hashed.

        Raises:
            UnknownModelError: no model has that name.
            ModelError: ``reason`` is ``storage``; a file cannot be read.
        """
        return self._state(name, full=True)

    def ensure(self, name: str) -> Path:
        """The folder with a model's files, put together from data packages if needed.

        They are verified wherever it is known what they should be: always, but for files that the
        user brought without the manifest that :meth:`install` writes.

        Raises:
            UnknownModelError: no model has that name.
            ModelFileMissingError: nothing on this machine holds the files; names every one that
                is missing.
            ModelIntegrityError: the files found do not have their published content.
            ModelError: ``reason`` is ``disk_full`` or ``storage``.
        """
        entry = find_entry(name, self._catalogue)
        with self._storage_errors(entry):
            return self._ensure(entry)

    def install(
        self,
        name: str,
        on_progress: ProgressSink | None = None,
        graphs: GraphMaker | None = None,
    ) -> Path:
        """As :meth:`ensure`, and as a last resort the files are fetched from the hub.

        An interrupted download continues where it stopped when called again. A checkpoint that was
        fetched without ``graphs`` gets them when it is called with them.

        Args:
            name: the model.
            on_progress: told the bytes done and in total while files are fetched.
            graphs: where the hub has a checkpoint only, makes graphs of it.

        Raises:
            UnknownModelError: no model has that name.
            ConvertError: graphs cannot be made.
            ModelFileMissingError: the folder named by the user lacks the files.
            ModelIntegrityError: that folder or the hub holds other content.
            ModelError: ``reason`` is ``network``, ``listing`` (the hub does not offer the files),
                ``disk_full`` or ``storage``.
            SettingsError: the hub's address is not usable.
        """
        entry = find_entry(name, self._catalogue)
        with self._storage_errors(entry):
            try:
                folder = self._ensure(entry)
                if graphs is None or self._bare_checkpoint(entry) is None:
                    return folder
            except (ModelFileMissingError, ModelIntegrityError):
                if name in self._folders:
                    raise
            with self._lock():
                if not self._find(entry).state.usable:
                    self._download(entry, on_progress or _ignore, graphs)
                elif graphs is not None:
                    self._add_graphs(entry, graphs)
                return self.folder(name)

    def _state(self, name: str, *, full: bool) -> ModelState:
        entry = find_entry(name, self._catalogue)
        with self._storage_errors(entry):
            return self._find(entry, full=full).state

    def _ensure(self, entry: ModelEntry) -> Path:
        finding = self._find(entry)
        if finding.state.usable:
            return self.folder(entry.name)
        if entry.name in self._folders or not entry.layouts:
            raise self._fault(entry, finding)
        with self._lock():
            finding = self._find(entry)
            if not finding.state.usable:
                self._join_from_packages(entry, finding)
            return self.folder(entry.name)

    def _lock(self) -> AbstractContextManager[None]:
        self._models_dir.mkdir(parents=True, exist_ok=True)
        return locked(self._models_dir / ".lock")

    def _storage_errors(self, entry: ModelEntry) -> AbstractContextManager[None]:
        return _StorageErrors(entry, self._models_dir)

    def _find(self, entry: ModelEntry, *, full: bool = False) -> Finding:
        return self._inspector.inspect(entry, self.folder(entry.name), full=full)

    def _fault(self, entry: ModelEntry, finding: Finding) -> ModelError:
        return _fault(entry, finding, own=entry.name in self._folders)

    def _join_from_packages(self, entry: ModelEntry, finding: Finding) -> None:
        """Build the folder from the first pair of packages that yields the published content."""
        fault: ModelError = self._fault(entry, finding)
        importlib.invalidate_caches()
        for layout in entry.layouts:
            folders = {package: package_folder(package) for package in layout.packages}
            located = {package: path for package, path in folders.items() if path is not None}
            if not layout.packages or len(located) < len(folders):
                continue
            self._require_space(entry, layout.size_bytes)
            work = self._fresh_folder(f".{entry.name}.joining")
            broken = join_layout(layout, located, work)
            if broken is None:
                self._publish(entry, work, layout.files)
                _log.info("model joined from packages name=%s", entry.name)
                return
            shutil.rmtree(work)
            fault = ModelIntegrityError(
                f"{broken.name} from the installed packages {', '.join(located)} does not have "
                "the published content; install them again",
                name=entry.name,
                path=str(broken),
            )
            _log.warning("model package damaged name=%s package=%s", entry.name, broken.parent)
        raise fault

    def _download(
        self, entry: ModelEntry, on_progress: ProgressSink, graphs: GraphMaker | None
    ) -> None:
        shipment = pack(entry, self._hubs)
        if graphs and shipment.converts:
            graphs.check()
        work = self._models_dir / f".{entry.name}.download"
        work.mkdir(exist_ok=True)
        _clear(work, keep={file.name for file, _ in shipment.files})
        total = shipment.size_bytes
        present = sum(path.stat().st_size for path in work.iterdir())
        self._require_space(entry, total - min(present, total))
        done = 0
        for file, url in shipment.files:
            report = functools.partial(_report, on_progress, done, total)
            download = Download(entry.name, url, file, shipment.setting, self._hubs.pauses)
            fetch(download, work / file.name, report)
            done += file.size_bytes
        files = [file for file, _ in shipment.files]
        if graphs and shipment.converts:
            files += [_file_at(path) for path in graphs.add_graphs(work)]
        if shipment.manifest:
            write_manifest(work, replace(shipment.manifest, files=tuple(files)))
        self._publish(entry, work, files)
        _log.info("model downloaded name=%s bytes=%d", entry.name, done)

    def _bare_checkpoint(self, entry: ModelEntry) -> Manifest | None:
        """What was installed, where that is a checkpoint that needs graphs and has none."""
        listed = entry.listed
        folder = self.folder(entry.name)
        if entry.name in self._folders or listed is None or is_graph_folder(folder):
            return None
        try:
            manifest = read_manifest(folder)
        except ManifestError:
            return None
        if manifest is None or listed.checkpoint is None:
            return None
        is_fetched = manifest.repo in listed.checkpoint.repos
        lacks = listed.missing({file.name for file in manifest.files})
        return manifest if is_fetched and lacks else None

    def _add_graphs(self, entry: ModelEntry, graphs: GraphMaker) -> None:
        """Put graphs into the folder of an installed checkpoint that has none."""
        manifest = self._bare_checkpoint(entry)
        if manifest is None:
            return
        graphs.check()
        folder = self.folder(entry.name)
        files = {file.name: file for file in manifest.files}
        for path in graphs.add_graphs(folder):
            stamp = self._stamps.take(path)
            files[path.name] = file = _file_at(path)
            self._stamps.record(path, stamp, file.sha256)
        # The graphs have a manifest of their own until this one vouches for them too.
        write_manifest(folder, replace(manifest, files=tuple(files.values())))
        sync_folder(folder)
        _log.info("model converted name=%s", entry.name)

    def _fresh_folder(self, name: str) -> Path:
        """An empty work folder beside the models; what an interrupted process left is removed."""
        work = self._models_dir / name
        if work.exists():
            shutil.rmtree(work)
        work.mkdir()
        return work

    def _publish(self, entry: ModelEntry, work: Path, files: Sequence[ModelFile]) -> None:
        """Give a verified work folder the model's name in one step."""
        target = self._models_dir / entry.name
        for file in files:
            self._stamps.record(
                target / file.name, self._stamps.take(work / file.name), file.sha256
            )
        sync_folder(work)
        if not target.exists() and not target.is_symlink():
            work.replace(target)
        elif entry.listed and size_of(target / MANIFEST_FILE) is None:
            # Somebody else put that folder there: it may hold more than the model's files.
            target.replace(self._free_name(entry.name))
            work.replace(target)
        else:
            retired = self._fresh_folder(f".{entry.name}.retired")
            target.replace(retired / target.name)
            work.replace(target)
            shutil.rmtree(retired)
        sync_folder(self._models_dir)

    def _free_name(self, name: str) -> Path:
        """A name beside a model's that nothing has."""
        number = 1
        while (path := self._models_dir / f"{name}.old-{number}").exists() or path.is_symlink():
            number += 1
        return path

    def _require_space(self, entry: ModelEntry, needed_bytes: int) -> None:
        free_mb = shutil.disk_usage(self._models_dir).free >> 20
        needed_mb = (needed_bytes + SPARE_BYTES) >> 20
        if free_mb < needed_mb:
            raise ModelError(
                f"{self._models_dir} has {free_mb} MB free, the model {entry.name} needs "
                f"{needed_mb} MB; free some space or set ASR_HOME to another disk",
                name=entry.name,
                reason="disk_full",
                path=str(self._models_dir),
                needed_mb=needed_mb,
                free_mb=free_mb,
            )


def recognizer_of_folder(settings: Settings) -> str:
    """Whose folder ``ASR_MODEL_DIR`` is: of the catalogue's model that the settings name, else of
    what it holds. A folder that a user brought has its own path."""
    known = settings.model in CATALOGUE
    return settings.model if known and settings.model else recognizer_in(settings.model_dir)


def recognizer_in(folder: Path | None) -> str:
    """The catalogue's recognizer that a folder is meant to hold, by its configuration alone."""
    try:
        if folder is None or size_of(folder / "config.yaml") is None:
            return WHISPER_BASE.name
    except OSError:
        # Whoever needs its files tells why they cannot be read.
        return WHISPER_BASE.name
    # Installing and checking models works without the libraries that run them.
    from asr_core.models.funasr_folder import HOTWORD_MODELS
    from asr_core.models.identify import funasr_kind

    try:
        kind = funasr_kind(folder, folder.name)
    except ModelError:
        kind = ""
    return (SEACO_PARAFORMER if kind in HOTWORD_MODELS else PARAFORMER).name


class _StorageErrors(AbstractContextManager[None]):
    """Turns a refusal of the file system into a ModelError."""

    def __init__(self, entry: ModelEntry, models_dir: Path) -> None:
        self._entry = entry
        self._models_dir = models_dir

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise ModelError(
                f"{error.filename or self._models_dir} cannot be used: {error.strerror}; "
                "check its permissions and the disk",
                name=self._entry.name,
                reason="storage",
                path=str(error.filename or self._models_dir),
                cause=str(error.strerror or error),
            ) from error


def _fault(entry: ModelEntry, finding: Finding, *, own: bool) -> ModelError:
    """The error for a folder whose files cannot be used; ``own`` if the user named the folder."""
    packages = ", install requirements-embedded.txt" if entry.layouts else ""
    remedy = (
        f"run ./run.sh models install {entry.name}{packages}, or name a folder that holds the "
        "files in the settings (ASR_MODEL_DIR for the recognizer)"
    )
    details = {"name": entry.name, "path": str(finding.path)}
    if not finding.missing:
        return ModelIntegrityError(
            f"{finding.path} does not have the published content of model {entry.name}; {remedy}",
            **details | ({"reason": "own_folder"} if own else {}),
        )
    folder, files = finding.path.parent, ", ".join(finding.missing)
    if own or finding.state is not ModelState.MISSING:
        details |= {"reason": "own_folder" if own else "files", "files": files}
        details["folder"] = str(folder)
    return ModelFileMissingError(
        f"model {entry.name} is not complete in {folder}, missing: {files}; {remedy}", **details
    )


def _file_at(path: Path) -> ModelFile:
    """A file with the content that it has."""
    return ModelFile(path.name, path.stat().st_size, sha256_of(path))


def _clear(work: Path, keep: Collection[str]) -> None:
    """Remove what an earlier attempt left for files that are not wanted any more."""
    for path in work.iterdir():
        if path.name.removesuffix(".part") not in keep:
            path.unlink()


def _report(sink: ProgressSink, before_bytes: int, total_bytes: int, file_bytes: int) -> None:
    sink(before_bytes + file_bytes, total_bytes)


def _ignore(done_bytes: int, total_bytes: int) -> None:
    """Progress that nobody watches."""
