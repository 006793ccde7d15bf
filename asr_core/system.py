"""Facts about the machine and the installation, for the system page."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from asr_core import __version__
from asr_core.runtime.npu_smi import NpuReport
from asr_core.settings import Settings
from asr_core.store.tmp_files import folder_bytes

_COMPONENTS = (
    "gradio",
    "faster-whisper",
    "ctranslate2",
    "onnxruntime",
    "mindspore",
    "av",
    "numpy",
    "sqlite-utils",
)


@dataclass(frozen=True, slots=True)
class SystemInfo:
    """What the system page shows.

    Attributes:
        versions: component to version, application and Python first; absent ones are left out.
        cpu_cores: cores that this process may use.
        machine: processor architecture and system.
        rss_bytes: memory of this process.
        paths: ``home``, ``database``, ``recordings``, ``models``, ``tmp``.
        sizes_bytes: disk space of all paths but ``home``.
        mindspore_note: empty, ``python_too_new`` or ``missing``: why MindSpore networks cannot
            run.
        npus: the Ascend devices, as they were a moment ago.
    """

    versions: dict[str, str]
    cpu_cores: int
    machine: str
    rss_bytes: int
    memory_total_bytes: int
    memory_available_bytes: int
    disk_total_bytes: int
    disk_free_bytes: int
    paths: dict[str, Path]
    sizes_bytes: dict[str, int]
    mindspore_note: str
    npus: NpuReport


def read_system(settings: Settings, npus: NpuReport) -> SystemInfo:
    """Read everything afresh; takes as long as listing the data folders takes.

    Args:
        npus: what ``npu-smi`` says.
    """
    import psutil

    memory = psutil.virtual_memory()
    disk = shutil.disk_usage(_existing(settings.home))
    versions = _versions()
    return SystemInfo(
        versions=versions,
        cpu_cores=len(os.sched_getaffinity(0)),
        machine=f"{platform.machine()} {platform.system()}",
        rss_bytes=psutil.Process().memory_info().rss,
        memory_total_bytes=memory.total,
        memory_available_bytes=memory.available,
        disk_total_bytes=disk.total,
        disk_free_bytes=disk.free,
        paths={
            "home": settings.home,
            "database": settings.database,
            "recordings": settings.recordings,
            "models": settings.models,
            "tmp": settings.tmp,
        },
        sizes_bytes={
            "database": _database_bytes(settings.database),
            "recordings": folder_bytes(settings.recordings),
            "models": folder_bytes(settings.models),
            "tmp": folder_bytes(settings.tmp),
        },
        mindspore_note=_mindspore_note(versions),
        npus=npus,
    )


def _versions() -> dict[str, str]:
    versions = {"tinglu": __version__, "python": platform.python_version()}
    for name in _COMPONENTS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _mindspore_note(versions: dict[str, str]) -> str:
    if "mindspore" in versions:
        return ""
    return "python_too_new" if sys.version_info >= (3, 13) else "missing"


def _database_bytes(path: Path) -> int:
    """The database with its write-ahead log."""
    files = (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"))
    return sum(file.stat().st_size for file in files if file.is_file())


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
