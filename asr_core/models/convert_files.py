"""The files of a converted folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from asr_core import __version__
from asr_core.models.catalog import ModelFile
from asr_core.models.files import sha256_of
from asr_core.models.graph_folder import GraphFile, graph_file
from asr_core.models.manifest import Manifest, write_manifest
from asr_core.networks.graphs import GraphShape
from asr_core.runtime.session import Array, TensorSpec

MADE_BY = f"tinglu {__version__}"

FRAMES, TOKENS, WORDS, BATCH = "frames", "tokens", "words", "batch"

_AXES: Mapping[str, str] = {
    "features": FRAMES,
    "positions": FRAMES,
    "mask": FRAMES,
    "encoded": FRAMES,
    "memory": FRAMES,
    "memory_mask": FRAMES,
    "embeds": TOKENS,
    "hidden": TOKENS,
    "token_mask": TOKENS,
    "words": WORDS,
    "word_mask": WORDS,
}
"""What the third axis of an input counts."""

_EXAMPLE = {BATCH: 2, FRAMES: 13, TOKENS: 7, WORDS: 11}
"""Sizes that an export sees. They differ, so that no axis is taken for another one."""

LISTENED_WORDS = 64
"""Hotwords, with the one that means none, that a graph of one size looks at."""

FILTERED_WORDS = 512
"""Hotwords, with the one that means none, that a graph of one size chooses from."""

Sizes = Mapping[str, int]


def example_inputs(shape: GraphShape) -> dict[str, Array]:
    """Inputs for an export, by name."""
    random = np.random.default_rng(0)
    return {
        spec.name: random.normal(size=sized(spec, _EXAMPLE)).astype(spec.dtype)
        for spec in shape.inputs
    }


def bucket_sizes(buckets: Sequence[int], graph: str) -> dict[str, Sizes]:
    """Sizes of the graphs of one size, by what stands behind their names.

    A bucket of frames has half as many tokens, the largest one more than it has frames: weights of
    frames are at most 1, and fast speech has one token in two frames. A recording with more tokens
    than its bucket goes to the next one. The choice of hotwords has ``FILTERED_WORDS`` of them.

    Args:
        buckets: frames of each.
        graph: name of the graph.
    """
    words = FILTERED_WORDS if graph == "filter" else LISTENED_WORDS
    largest = max(buckets, default=0)
    return {
        str(frames): {
            BATCH: 1,
            FRAMES: frames,
            TOKENS: frames + 1 if frames == largest else -(-frames // 2),
            WORDS: words,
        }
        for frames in buckets
    }


def sized(spec: TensorSpec, sizes: Sizes) -> tuple[int, ...]:
    """The shape of an input where its free axes have these sizes."""
    free = {0: sizes[BATCH], 2: sizes[_AXES.get(spec.name, FRAMES)]}
    return tuple(free[axis] if length is None else length for axis, length in enumerate(spec.shape))


def write_sized(model: Any, shape: GraphShape, sizes: Sizes, path: Path) -> GraphFile:
    """Write a graph for one size; its weights are those of a file beside it.

    Args:
        model: an ``onnx.ModelProto`` without its weights; its inputs are changed.
        shape: what the graph takes.
        sizes: of the axes.
        path: the file.
    """
    import onnx

    shapes = {spec.name: sized(spec, sizes) for spec in shape.inputs}
    for value in model.graph.input:
        axes = value.type.tensor_type.shape.dim
        for axis, length in zip(axes, shapes[value.name], strict=True):
            axis.dim_value = length
    path.write_bytes(model.SerializeToString())
    onnx.checker.check_model(str(path))
    return graph_file(path, shapes=shapes)


def copy_small_files(source: Path, target: Path, names: Sequence[str]) -> None:
    """Copy those of the files that exist."""
    for name in names:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)


def write_own_manifest(folder: Path, model: str, source: Path) -> None:
    """Vouch for all files of a folder that has no ``graphs.json``."""
    files = tuple(
        ModelFile(path.name, path.stat().st_size, sha256_of(path))
        for path in sorted(folder.iterdir())
    )
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    made_from = f"{source.name} {sha256_of(source)}"
    write_manifest(folder, Manifest(model, MADE_BY, "", made_from, now, files))
