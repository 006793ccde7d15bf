"""The graphs of a Paraformer as ONNX files: batches, times and lists of any size.

MindSpore exports what has no LSTM; graphs with one are written node by node from the same
parameters, because an exported LSTM knows only the length of the example.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import numpy.typing as npt
from mindspore import nn

from asr_core.models.onnx_file import write_onnx
from asr_core.networks.cif import TimestampHead
from asr_core.networks.layers import for_export
from asr_core.networks.seaco import HotwordEmbedder
from asr_core.runtime.session import Array

Float32 = npt.NDArray[np.float32]

_OPSET = 17
_IR_VERSION = 8
_GATES = (0, 3, 1, 2)
"""Where ONNX's gates (input, output, forget, cell) stand among MindSpore's."""


def export_graph(
    cell: nn.Cell, example: Mapping[str, Array], outputs: Sequence[str], path: Path
) -> None:
    """Write a cell without LSTM.

    Args:
        cell: a filled graph that has not run; afterwards it serves exports only.
        example: an input for each name, (batch, 1, time[, width]). The first axis is free where it
            is not 1, the third always.
        outputs: names of the results, which are of the same form.
        path: the file, which is replaced.
    """
    import onnx

    for_export(cell)
    axes = {
        name: ({} if array.shape[0] == 1 else {0: "batch"}) | {2: f"{name}_time"}
        for name, array in example.items()
    }
    tensors = [ms.Tensor(array) for array in example.values()]
    # Weights are added here: MindSpore would copy all of them three times.
    with _plain_name(path) as name:
        ms.onnx.export(
            cell,
            *tensors,
            file_name=name,
            input_names=list(example),
            export_params=False,
            dynamic_axes=axes,
        )
    model = onnx.load(path)
    _add_weights(model, cell, example)
    # MindSpore declares the sizes of the example, and a name given to an output is lost to the
    # parts of the graph that use it too.
    found = [value.name for value in model.graph.output]
    del model.graph.output[:]
    for name, value in zip(outputs, found, strict=True):
        model.graph.node.append(onnx.helper.make_node("Identity", [value], [name]))
        model.graph.output.append(_value(name, "FLOAT", [f"{name}_{axis}" for axis in range(4)]))
    write_onnx(model, path)


@contextmanager
def _plain_name(path: Path) -> Iterator[str]:
    """What MindSpore calls a file: it refuses names with spaces or Chinese characters."""
    if re.fullmatch(r"[0-9a-zA-Z@_.:/\\-]+", str(path)):
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _add_weights(model: Any, cell: nn.Cell, inputs: Container[str]) -> None:
    """Make constants of the inputs that are the cell's parameters."""
    from onnx import numpy_helper

    parameters = {parameter.name: parameter for parameter in cell.get_parameters()}
    own = [value for value in model.graph.input if value.name in inputs]
    names = [value.name for value in model.graph.input if value.name not in inputs]
    del model.graph.input[:]
    model.graph.input.extend(own)
    for name in names:
        values = np.ascontiguousarray(parameters[name].asnumpy())
        model.graph.initializer.append(numpy_helper.from_array(values, name))


def write_timestamp_head(cell: TimestampHead, path: Path) -> None:
    """Write the head for times.

    Inputs ``encoded``, ``mask`` and ``part_counts`` (int64) and the output ``us_alphas`` are those
    of the cell.

    Args:
        cell: a filled head.
        path: the file, which is replaced.
    """
    width, times = cell.width, cell.copies
    values = _values_of(cell)
    graph = _Graph()
    frames = graph.node("Squeeze", ["encoded", graph.constant("plane", [1])], "frames")
    cut = graph.node("MatMul", [frames, graph.constant("cut_w", values["upsample_cnn.weight"])])
    rows = graph.node("Reshape", [cut, graph.constant("rows_shape", [0, -1, width])])
    parts = graph.node("Add", [rows, graph.constant("cut_b", values["upsample_cnn.bias"])])
    first = graph.node("Transpose", [parts], perm=[1, 0, 2])
    counts = graph.node("Cast", ["part_counts"], to=_kind("INT32"))
    layers = [_lstm_layer(values, name, 0) for name in ("forwards", "backwards")]
    both = graph.lstm(first, layers, counts)
    ordered = graph.node("Transpose", [both], perm=[2, 0, 1, 3])
    joined = graph.node("Reshape", [ordered, graph.constant("joined_shape", [0, 0, 2 * width])])
    scored = graph.node("MatMul", [joined, graph.constant("out_w", values["cif_output2.weight"])])
    biased = graph.node("Add", [scored, graph.constant("out_b", values["cif_output2.bias"])])
    raw = graph.node("Sigmoid", [biased])
    scaled = graph.node("Mul", [raw, graph.constant("factor", np.float32(cell.factor))])
    lowered = graph.node("Sub", [scaled, graph.constant("noise", np.float32(cell.noise))])
    weights = graph.node("Relu", [lowered])
    flat = graph.constant("flat_shape", [0, -1])
    copies = graph.node("Concat", ["mask"] * times, axis=3)
    masks = graph.node("Reshape", [copies, flat])
    graph.node("Mul", [graph.node("Reshape", [weights, flat]), masks], "us_alphas")
    graph.write(
        path,
        [
            _value("encoded", "FLOAT", ["batch", 1, "frames", width]),
            _value("mask", "FLOAT", ["batch", 1, "frames", 1]),
            _value("part_counts", "INT64", ["batch"]),
        ],
        _value("us_alphas", "FLOAT", ["batch", "parts"]),
    )


def write_hotword_embedder(cell: HotwordEmbedder, path: Path) -> None:
    """Write the embedder of hotwords.

    The input ``tokens`` (int32) and the output ``embedded`` are those of the cell.

    Args:
        cell: a filled embedder.
        path: the file, which is replaced.
    """
    values = _values_of(cell)
    graph = _Graph()
    rows = graph.node("Gather", [graph.constant("table", values["words.weight"]), "tokens"])
    hidden = graph.node("Transpose", [rows], perm=[1, 0, 2])
    axis = graph.constant("direction", [1])
    for layer in range(cell.layers):
        both = graph.lstm(hidden, [_lstm_layer(values, "bias_encoder", layer)])
        hidden = graph.node("Squeeze", [both, axis])
    graph.node("Transpose", [hidden], "embedded", perm=[1, 0, 2])
    graph.write(
        path,
        [_value("tokens", "INT32", ["words", "tokens"])],
        _value("embedded", "FLOAT", ["words", "tokens", values["words.weight"].shape[1]]),
    )


class _Graph:
    """Nodes and constants of a graph that is being written."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def node(self, kind: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = output or f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, name: str, values: Any) -> str:
        """A constant; whole numbers in a list are a shape or axes."""
        from onnx import numpy_helper

        array = np.array(values, np.int64 if isinstance(values, list) else np.float32)
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def lstm(self, x: str, layers: Sequence[tuple[Float32, ...]], counts: str = "") -> str:
        """One LSTM, or one for each direction: (time, batch, width) to (time, dirs, batch, width).

        Args:
            x: what it reads.
            layers: input matrix, state matrix and biases of each direction.
            counts: lengths, int32 (batch,).
        """
        prefix = f"lstm_{len(self._nodes)}"
        given = [
            self.constant(f"{prefix}_{part}", np.stack([layer[index] for layer in layers]))
            for index, part in enumerate("wrb")
        ]
        return self.node(
            "LSTM",
            [x, *given, counts] if counts else [x, *given],
            hidden_size=layers[0][1].shape[1],
            direction="bidirectional" if len(layers) > 1 else "forward",
        )

    def write(self, path: Path, inputs: Sequence[Any], output: Any) -> None:
        import onnx
        from onnx import helper

        graph = helper.make_graph(self._nodes, path.stem, list(inputs), [output], self._constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
            producer_name="tinglu",
        )
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString())


def _values_of(cell: nn.Cell) -> dict[str, Float32]:
    """Parameters by their names inside the cell."""
    return {
        f"{path}.{parameter.name.rpartition('.')[2]}".removeprefix("."): parameter.asnumpy()
        for path, part in cell.cells_and_names()
        for parameter in part.get_parameters(expand=False)
    }


def _lstm_layer(values: Mapping[str, Float32], name: str, layer: int) -> tuple[Float32, ...]:
    """Input matrix, state matrix and biases in the order that ONNX gives to gates."""
    ordered = []
    for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        gates = np.split(values[f"{name}.{kind}_l{layer}"], 4)
        ordered.append(np.concatenate([gates[gate] for gate in _GATES]))
    return ordered[0], ordered[1], np.concatenate(ordered[2:])


def _value(name: str, kind: str, shape: Sequence[int | str]) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, _kind(kind), list(shape))


def _kind(name: str) -> int:
    from onnx import TensorProto

    return int(getattr(TensorProto, name))
