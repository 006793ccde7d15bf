"""SIMULATION: a converted folder whose OM files only simulated devices can execute."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from asr_core.models.funasr_folder import open_folder
from asr_core.models.graph_folder import graph_file, read_graph_folder, write_graph_manifest
from asr_core.networks.config import read_paraformer_config
from asr_core.networks.graph_axes import paraformer_axes
from asr_core.runtime.ascend_manifest import DYNAMIC
from asr_core.runtime.funasr import CONFIG_FILE
from tests.fakes.simulation import convert

SIZES = {
    "batch": (1, 4),
    "frames": (16, 32, 64),
    "tokens": (16, 64),
    "words": (8, 64),
    "word_tokens": (10,),
}


LARGE_SIZES = {**SIZES, "frames": (64, 128, 512), "tokens": (32, 128, 256), "words": (64,)}
"""What takes any segment of a recording whole."""


def ascend_folder(
    source: Path,
    target: Path,
    mode: str,
    on_cpu: Sequence[str] = (),
    sizes: Mapping[str, Sequence[int]] = SIZES,
) -> Path:
    """A converted folder for simulated devices.

    Args:
        source: converted for ONNX Runtime in single precision.
        target: does not exist.
        mode: ``static``, ``gears`` or ``dynamic``.
        on_cpu: graphs that stay ONNX files.
        sizes: of the free axes.
    """
    shutil.copytree(source, target)
    graphs = read_graph_folder(target, "seaco")
    vocabulary = len(open_folder(target, name="seaco", graphs=False).tokens)
    config = read_paraformer_config(target / CONFIG_FILE, vocabulary)
    entries, weights = {}, []
    for name, axes in paraformer_axes(config).items():
        path = graphs.file(name)
        if name in on_cpu:
            entries[name] = graph_file(path)
            continue
        grid = [sizes[axis] for axis in axes.free]
        buckets = [dict(zip(axes.free, one, strict=True)) for one in itertools.product(*grid)]
        if mode == DYNAMIC:
            buckets = buckets[-1:]
        onnx = path.rename(target / f"{name}.onnx")
        made = convert(onnx, target, (axes.inputs, axes.outputs), mode, buckets, batch=axes.batch)
        onnx.unlink()
        entries[name] = graph_file(target / f"{name}.om.json")
        weights += [graph_file(target / file.file) for file in made.files]
    write_graph_manifest(replace(graphs, runtime="ascend", graphs=entries, weights=tuple(weights)))
    return target
