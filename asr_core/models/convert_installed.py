"""Graphs beside a checkpoint that was fetched."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Sequence
from pathlib import Path

from asr_core.models.convert import OnnxOptions, StepSink, convert_to_onnx, require_packages
from asr_core.models.graph_folder import GRAPHS_FILE
from asr_core.models.manifest import MANIFEST_FILE


class InstalledGraphs:
    """Makes graphs for ONNX Runtime; implements :class:`asr_core.models.store.GraphMaker`.

    Args:
        on_step: told what a conversion does.
    """

    def __init__(self, on_step: StepSink) -> None:
        self._on_step = on_step

    def check(self) -> None:
        """See the protocol."""
        require_packages()

    def add_graphs(self, folder: Path) -> Sequence[Path]:
        """See the protocol. A folder is never taken for one with graphs before all are there."""
        made = folder.with_name(f".{folder.name.lstrip('.')}.graphs")
        convert_to_onnx(folder, made, OnnxOptions(replace=True), self._on_step)
        new = [path for path in made.iterdir() if not _holds(folder, path)]
        new = [path for path in new if path.name != MANIFEST_FILE]
        new.sort(key=lambda path: (path.name == GRAPHS_FILE, path.name))
        for path in new:
            path.replace(folder / path.name)
        shutil.rmtree(made)
        return [folder / path.name for path in new]


def _holds(folder: Path, file: Path) -> bool:
    """Whether the folder has a file of that name and content; an earlier attempt left others."""
    own = folder / file.name
    return own.is_file() and filecmp.cmp(own, file, shallow=False)
