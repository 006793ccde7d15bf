"""CT-Transformer and FSMN-VAD as ONNX files with the inputs and outputs that FunASR's files have.

The networks stand in frames of a few nodes, which make planes of what comes and the reverse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asr_core.models.onnx_file import write_onnx
from asr_core.networks.ct_transformer import CtTransformerNetwork
from asr_core.networks.export import export_graph
from asr_core.networks.fsmn_vad import FsmnVadNetwork
from asr_core.networks.graphs import position_encoding, position_rates
from asr_core.runtime.session import Array

_BATCH, _TIME = 2, 7
"""Sizes of the example that the export sees."""

_BEFORE_WORDS = """before (int32[n, t] inputs, int32[n] text_lengths) => (float[n, 1, t, 1] mask) {
    plane = Constant <value = int64[3] {0, 1, -1}> ()
    words = Reshape (inputs, plane)
    sizes = Shape (inputs)
    second = Constant <value = int64 {1}> ()
    count = Gather (sizes, second)
    none = Constant <value = int64 {0}> ()
    places = Range (none, count, second)
    numbers = Add (places, second)
    column = Constant <value = int64[2] {-1, 1}> ()
    rows = Reshape (numbers, column)
    times = Cast <to = 1> (rows)
    angles = Mul (times, position_rates)
    sines = Sin (angles)
    cosines = Cos (angles)
    waves = Concat <axis = 1> (sines, cosines)
    waves_shape = Constant <value = int64[4] {1, 1, -1, WIDTH}> ()
    positions = Reshape (waves, waves_shape)
    lengths = Cast <to = 7> (text_lengths)
    ends = Reshape (lengths, column)
    inside = Less (places, ends)
    ones = Cast <to = 1> (inside)
    mask_shape = Constant <value = int64[4] {0, 1, -1, 1}> ()
    mask = Reshape (ones, mask_shape)
}"""

_BEFORE_FRAMES = """before (float[n, t, WIDTH] speech) => (float[n, 1, t, WIDTH] frames) {
    frames_shape = Constant <value = int64[4] {0, 1, -1, WIDTH}> ()
    frames = Reshape (speech, frames_shape)
}"""

_AFTER = """after (float[n, 1, t, WIDTH] scores) => (float[n, t, WIDTH] logits) {
    logits_shape = Constant <value = int64[3] {0, -1, WIDTH}> ()
    logits = Reshape (scores, logits_shape)
}"""


def write_ct_transformer(cell: CtTransformerNetwork, path: Path) -> None:
    """Write a CT-Transformer.

    Inputs ``inputs`` (int32 (batch, words)) and ``text_lengths`` (int32 (batch,)), output
    ``logits`` (float32 (batch, words, classes)).

    Args:
        cell: filled; it has not run and afterwards serves exports only.
        path: the file, which is replaced.
    """
    width = cell.shape.encoder.inputs
    example: dict[str, Array] = {
        "words": np.zeros((_BATCH, 1, _TIME), np.int32),
        "positions": position_encoding(_TIME, width),
        "mask": np.ones((_BATCH, 1, _TIME, 1), np.float32),
    }
    export_graph(cell, example, ["scores"], path)
    _frame(
        path,
        before=_BEFORE_WORDS.replace("WIDTH", str(width)),
        after=_AFTER.replace("WIDTH", str(cell.shape.classes)),
        inputs=[
            _value("inputs", np.int32, ["batch_size", "feats_length"]),
            _value("text_lengths", np.int32, ["batch_size"]),
        ],
        outputs=[_value("logits", np.float32, ["batch_size", "logits_length", cell.shape.classes])],
        constants={"position_rates": position_rates(width).astype(np.float32)},
    )


def write_fsmn_vad(cell: FsmnVadNetwork, path: Path) -> None:
    """Write an FSMN-VAD.

    Inputs ``speech`` (float32 (batch, frames, inputs)) and ``in_cache0`` and so on (float32 (batch,
    memory_width, taps - 1, 1)), outputs ``logits`` (float32 (batch, frames, units),
    probabilities) and ``out_cache0`` and so on.

    Args:
        cell: filled; it has not run and afterwards serves exports only.
        path: the file, which is replaced.
    """
    shape = cell.shape
    caches = [f"in_cache{layer}" for layer in range(shape.layers)]
    kept = [f"out_cache{layer}" for layer in range(shape.layers)]
    example: dict[str, Array] = {"frames": np.zeros((_BATCH, 1, _TIME, shape.inputs), np.float32)}
    example |= {name: np.zeros(shape.cache_shape(_BATCH), np.float32) for name in caches}
    export_graph(cell, example, ["scores", *kept], path)
    cache_sizes: list[int | str] = ["batch_size", *shape.cache_shape(_BATCH)[1:]]
    _frame(
        path,
        before=_BEFORE_FRAMES.replace("WIDTH", str(shape.inputs)),
        after=_AFTER.replace("WIDTH", str(shape.units)),
        inputs=[
            _value("speech", np.float32, ["batch_size", "feats_length", shape.inputs]),
            *(_value(name, np.float32, cache_sizes) for name in caches),
        ],
        outputs=[
            _value("logits", np.float32, ["batch_size", "logits_length", shape.units]),
            *(_value(name, np.float32, cache_sizes) for name in kept),
        ],
        constants={},
    )


def _frame(
    path: Path,
    *,
    before: str,
    after: str,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    constants: Mapping[str, Array],
) -> None:
    """Put nodes around the graph of a file."""
    import onnx
    from onnx import numpy_helper, parser

    model = onnx.load(path)
    graph = model.graph
    nodes = [*parser.parse_graph(before).node, *graph.node, *parser.parse_graph(after).node]
    for old, new in ((graph.node, nodes), (graph.input, inputs), (graph.output, outputs)):
        del old[:]
        old.extend(new)
    graph.initializer.extend(
        numpy_helper.from_array(values, name) for name, values in constants.items()
    )
    write_onnx(model, path)


def _value(name: str, kind: type[np.generic], shape: Sequence[int | str]) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), list(shape)
    )
