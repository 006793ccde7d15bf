"""The models on this machine: find, put together, download and verify their files.

Owns the models folder. A model's files come from a folder that the user names, from installed
data packages, or from the model hub, and are always checked against the catalogue's hashes.
Knows nothing of the libraries that execute a model.
"""

from __future__ import annotations

import enum
import functools
import importlib
import importlib.util
import logging
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from asr_core.errors import ModelError, ModelFileMissingError, ModelIntegrityError, SettingsError
from asr_core.models.catalog import CATALOGUE, ModelEntry, ModelFile, ModelLayout, find_entry
from asr_core.models.download import Download, fetch
from asr_core.models.files import join_files, locked, sha256_of, size_of, sync_folder
from asr_core.models.stamp import StampBook

SPARE_BYTES = 64 << 20
"""Disk space that stays free beside a model being written."""

ProgressSink = Callable[[int, int], None]
"""Called with the bytes that are done and the bytes in total."""

_log = logging.getLogger(__name__)


class ModelState(str, enum.Enum):
    """``damaged`` means that some files are there, but not all or not with their content."""

    INSTALLED = "installed"
    MISSING = "missing"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class _Finding:
    """What is in a folder; ``path`` is the first file at fault, ``absent`` if it is not there."""

    state: ModelState
    path: Path
    absent: bool = False


class ModelStore:
    """Models of one installation; every method may be called from any thread or process."""

    def __init__(
        self,
        models_dir: Path,
        *,
        model_dir: Path | None = None,
        hub_url: str = "https://huggingface.co",
        catalogue: Mapping[str, ModelEntry] = CATALOGUE,
        retry_delay_s: float = 1.0,
    ) -> None:
        """Nothing is read or written here.

        Args:
            models_dir: folder of the installation's own copies, created when needed.
            model_dir: folder of the user that holds a model's files; it is used in place, never
                written to, and wins over every other source.
            hub_url: address of the model hub or of a mirror of it.
            catalogue: the known models.
            retry_delay_s: pause before a broken connection is tried again.
        """
        self._models_dir = models_dir
        self._model_dir = model_dir
        self._hub_url = hub_url.rstrip("/")
        self._catalogue = catalogue
        self._retry_delay_s = retry_delay_s
        self._stamps = StampBook(models_dir)

    def folder(self, name: str) -> Path:
        """Where a model's files are or will be.

        Raises:
            UnknownModelError: no model has that name.
        """
        entry = find_entry(name, self._catalogue)
        return self._model_dir or self._models_dir / entry.name

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
        """The folder with a model's verified files, put together from data packages if needed.

        Raises:
            UnknownModelError: no model has that name.
            ModelFileMissingError: nothing on this machine holds the files.
            ModelIntegrityError: the files found do not have their published content.
            ModelError: ``reason`` is ``disk_full`` or ``storage``.
        """
        entry = find_entry(name, self._catalogue)
        with self._storage_errors(entry):
            return self._ensure(entry)

    def install(self, name: str, on_progress: ProgressSink | None = None) -> Path:
        """As :meth:`ensure`, and as a last resort the files are fetched from the hub.

        An interrupted download continues where it stopped when called again.

        Args:
            name: the model.
            on_progress: told the bytes done and in total while files are fetched.

        Raises:
            UnknownModelError: no model has that name.
            ModelFileMissingError: the folder named by the user lacks the files.
            ModelIntegrityError: that folder or the hub holds other content.
            ModelError: ``reason`` is ``network``, ``disk_full`` or ``storage``.
            SettingsError: the hub's address is not usable.
        """
        entry = find_entry(name, self._catalogue)
        with self._storage_errors(entry):
            try:
                return self._ensure(entry)
            except (ModelFileMissingError, ModelIntegrityError):
                if self._model_dir is not None:
                    raise
            with self._lock():
                if self._find(entry).state is not ModelState.INSTALLED:
                    self._download(entry, on_progress or _ignore)
                return self.folder(name)

    def _state(self, name: str, *, full: bool) -> ModelState:
        entry = find_entry(name, self._catalogue)
        with self._storage_errors(entry):
            return self._find(entry, full=full).state

    def _ensure(self, entry: ModelEntry) -> Path:
        finding = self._find(entry)
        if finding.state is ModelState.INSTALLED:
            return self.folder(entry.name)
        if self._model_dir is not None:
            raise _fault(entry, finding)
        with self._lock():
            finding = self._find(entry)
            if finding.state is not ModelState.INSTALLED:
                self._join_from_packages(entry, finding)
            return self.folder(entry.name)

    def _lock(self) -> AbstractContextManager[None]:
        self._models_dir.mkdir(parents=True, exist_ok=True)
        return locked(self._models_dir / ".lock")

    def _storage_errors(self, entry: ModelEntry) -> AbstractContextManager[None]:
        return _StorageErrors(entry, self._models_dir)

    def _find(self, entry: ModelEntry, *, full: bool = False) -> _Finding:
        folder = self.folder(entry.name)
        layout = _layout_in(folder, entry)
        absent = [file for file in layout.files if size_of(folder / file.name) is None]
        if len(absent) == len(layout.files):
            return _Finding(ModelState.MISSING, folder / layout.main_file.name, absent=True)
        if absent:
            return _Finding(ModelState.DAMAGED, folder / absent[0].name, absent=True)
        for file in layout.files:
            if size_of(folder / file.name) != file.size_bytes:
                return _Finding(ModelState.DAMAGED, folder / file.name)
        for file in layout.files:
            path = folder / file.name
            if (full or not self._stamps.vouches(path, file.sha256)) and not self._hash(path, file):
                return _Finding(ModelState.DAMAGED, path)
        return _Finding(ModelState.INSTALLED, folder)

    def _hash(self, path: Path, file: ModelFile) -> bool:
        stamp = self._stamps.take(path)
        if sha256_of(path) != file.sha256:
            return False
        self._stamps.record(path, stamp, file.sha256)
        return True

    def _join_from_packages(self, entry: ModelEntry, finding: _Finding) -> None:
        """Build the folder from the first pair of packages that yields the published content."""
        fault: ModelError = _fault(entry, finding)
        importlib.invalidate_caches()
        for layout in entry.layouts:
            folders = {package: _package_folder(package) for package in layout.packages}
            located = {package: path for package, path in folders.items() if path is not None}
            if not layout.packages or len(located) < len(folders):
                continue
            self._require_space(entry, layout.size_bytes)
            work = self._fresh_folder(f".{entry.name}.joining")
            broken = _join_layout(layout, located, work)
            if broken is None:
                self._publish(entry, work)
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

    def _download(self, entry: ModelEntry, on_progress: ProgressSink) -> None:
        layout = entry.layouts[0]
        if not re.match(r"https?://[^/]", self._hub_url):
            raise SettingsError(
                f"ASR_HUB_URL={self._hub_url!r} is not usable; allowed: an http(s) address",
                name="ASR_HUB_URL",
                value=self._hub_url,
                allowed="http://… | https://…",
            )
        work = self._models_dir / f".{entry.name}.download"
        work.mkdir(exist_ok=True)
        present = sum(path.stat().st_size for path in work.iterdir())
        self._require_space(entry, layout.size_bytes - min(present, layout.size_bytes))
        done = 0
        for file in layout.files:
            url = f"{self._hub_url}/{entry.hub_path(file)}"
            report = functools.partial(_report, on_progress, done, layout.size_bytes)
            fetch(Download(entry.name, url, file, self._retry_delay_s), work / file.name, report)
            done += file.size_bytes
        self._publish(entry, work)
        _log.info("model downloaded name=%s bytes=%d", entry.name, done)

    def _fresh_folder(self, name: str) -> Path:
        """An empty work folder beside the models; what an interrupted process left is removed."""
        work = self._models_dir / name
        if work.exists():
            shutil.rmtree(work)
        work.mkdir()
        return work

    def _publish(self, entry: ModelEntry, work: Path) -> None:
        """Give a verified work folder the model's name in one step."""
        target = self._models_dir / entry.name
        for file in _layout_in(work, entry).files:
            self._stamps.record(
                target / file.name, self._stamps.take(work / file.name), file.sha256
            )
        sync_folder(work)
        if target.exists():
            retired = self._fresh_folder(f".{entry.name}.retired")
            target.replace(retired / target.name)
            work.replace(target)
            shutil.rmtree(retired)
        else:
            work.replace(target)
        sync_folder(self._models_dir)

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


def _layout_in(folder: Path, entry: ModelEntry) -> ModelLayout:
    """The layout whose weights have the right size, the preferred one if none has."""
    for layout in entry.layouts:
        if size_of(folder / layout.main_file.name) == layout.main_file.size_bytes:
            return layout
    return entry.layouts[0]


def _package_folder(package: str) -> Path | None:
    """Folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    locations = list(spec.submodule_search_locations or ()) if spec else []
    return Path(locations[0]) if locations else None


def _join_layout(layout: ModelLayout, located: Mapping[str, Path], work: Path) -> Path | None:
    """Write every file of a layout; the first part at fault if the content is not as published."""
    for file in layout.files:
        parts = [located[part.package] / part.path for part in file.parts]
        absent = [part for part in parts if size_of(part) is None]
        if absent or not parts:
            return absent[0] if absent else work / file.name
        if join_files(parts, work / file.name) != file.sha256:
            return parts[0]
    return None


def _fault(entry: ModelEntry, finding: _Finding) -> ModelError:
    remedy = (
        f"run ./run.sh models install {entry.name}, install requirements-embedded.txt, or set "
        "ASR_MODEL_DIR to a folder that holds the files"
    )
    if finding.absent:
        return ModelFileMissingError(
            f"model {entry.name} is not installed, {finding.path} is missing; {remedy}",
            name=entry.name,
            path=str(finding.path),
        )
    return ModelIntegrityError(
        f"{finding.path} does not have the published content of model {entry.name}; {remedy}",
        name=entry.name,
        path=str(finding.path),
    )


def _report(sink: ProgressSink, before_bytes: int, total_bytes: int, file_bytes: int) -> None:
    sink(before_bytes + file_bytes, total_bytes)


def _ignore(done_bytes: int, total_bytes: int) -> None:
    """Progress that nobody watches."""
