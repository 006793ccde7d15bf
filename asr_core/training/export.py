"""The trained network as an ONNX graph, with its weights in eight bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Weights = Mapping[str, npt.NDArray[np.float32]]

_OPSET = 17
_IR_VERSION = 8
_TO_THE_END = 2**31 - 1


def write_onnx(
    weights: Weights, steps: Sequence[int], path: Path, *, eight_bits: bool = True
) -> None:
    """Write the network as an ONNX file.

    Inputs ``units``, ``pairs`` and ``pauses`` are int32 (length, texts), the output ``scores`` is
    float32 (length, texts, marks): log-probabilities.

    Args:
        weights: of :class:`asr_core.networks.punctuation.PunctuationNetwork`, by name.
        steps: of its layers.
        path: the file, which is replaced.
        eight_bits: whether matrices are stored as int8 with a scale for each row.
    """
    import onnx
    from onnx import TensorProto, helper

    graph = _Graph(eight_bits)
    scores = _network(graph, weights, steps)
    graph.node("LogSoftmax", [scores], "scores", axis=-1)
    ids = [
        helper.make_tensor_value_info(name, TensorProto.INT32, ["length", "texts"])
        for name in ("units", "pairs", "pauses")
    ]
    marks = weights["head_bias"].shape[0]
    output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["length", "texts", marks])
    model = helper.make_model(
        helper.make_graph(graph.nodes, "punctuation", ids, [output], graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="tinglu",
    )
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def _network(graph: _Graph, weights: Weights, steps: Sequence[int]) -> str:
    words = graph.node(
        "Concat",
        [graph.lookup("units", weights["units"]), graph.lookup("pairs", weights["pairs"])],
        "words",
        axis=-1,
    )
    seen = graph.node("Add", [words, graph.lookup("pauses", weights["pauses"])], "timed_words")
    for number, step in enumerate(steps):
        seen = _layer(graph, weights, number, step, seen)
    product = graph.node("MatMul", [seen, graph.matrix("head", weights["head"])], "marked")
    return graph.node("Add", [product, graph.constant("head_bias", weights["head_bias"])], "raw")


def _layer(graph: _Graph, weights: Weights, number: int, step: int, seen: str) -> str:
    """One gated convolution; gives the name of its output (length, texts, width)."""
    prefix = f"layers.{number}"
    pads = graph.constant(f"{prefix}.pads", np.array([step, 0, 0, step, 0, 0], dtype=np.int64))
    wide = graph.node("Pad", [seen, pads], f"{prefix}.wide")
    before = graph.slice(wide, f"{prefix}.before", 0, -2 * step)
    after = graph.slice(wide, f"{prefix}.after", 2 * step, _TO_THE_END)
    around = graph.node("Concat", [before, seen, after], f"{prefix}.around", axis=-1)
    matrix = graph.matrix(f"{prefix}.matrix", weights[f"{prefix}.matrix"])
    product = graph.node("MatMul", [around, matrix], f"{prefix}.product")
    bias = graph.constant(f"{prefix}.bias", weights[f"{prefix}.bias"])
    both = graph.node("Add", [product, bias], f"{prefix}.both")
    value, gate = graph.halves(both, prefix)
    passed = graph.node("Sigmoid", [gate], f"{prefix}.passed")
    gated = graph.node("Mul", [value, passed], f"{prefix}.gated")
    return graph.node("Add", [seen, gated], f"{prefix}.seen")


class _Graph:
    """Nodes and constants of a graph that is being written."""

    def __init__(self, eight_bits: bool) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._eight_bits = eight_bits

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name: str, array: npt.NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def lookup(self, name: str, table: npt.NDArray[np.float32]) -> str:
        """Rows of a table by the numbers in the input ``name``."""
        if not self._eight_bits:
            rows = self.constant(f"{name}_table", table)
            return self.node("Gather", [rows, name], f"{name}_rows", axis=0)
        small, scales = eight_bit_rows(table)
        rows = self.node(
            "Gather", [self.constant(f"{name}_table", small), name], f"{name}_small", axis=0
        )
        factors = self.node(
            "Gather", [self.constant(f"{name}_scales", scales), name], f"{name}_factors", axis=0
        )
        whole = self.node("Cast", [rows], f"{name}_cast", to=_float())
        return self.node("Mul", [whole, factors], f"{name}_rows")

    def matrix(self, name: str, array: npt.NDArray[np.float32]) -> str:
        """A matrix that is multiplied from the right: one scale for each of its columns."""
        if not self._eight_bits:
            return self.constant(name, array)
        small, scales = eight_bit_rows(array.T)
        whole = self.node(
            "Cast", [self.constant(f"{name}_small", small.T)], f"{name}_cast", to=_float()
        )
        return self.node("Mul", [whole, self.constant(f"{name}_scales", scales.T)], name)

    def slice(self, source: str, output: str, first: int, last: int) -> str:
        """A part of the first axis."""
        bounds = [
            self.constant(f"{output}.{name}", np.array([value], dtype=np.int64))
            for name, value in (("first", first), ("last", last), ("axis", 0))
        ]
        return self.node("Slice", [source, *bounds], output)

    def halves(self, source: str, prefix: str) -> tuple[str, str]:
        """Both halves of the last axis."""
        from onnx import helper

        names = (f"{prefix}.value", f"{prefix}.gate")
        self.nodes.append(helper.make_node("Split", [source], list(names), axis=-1))
        return names


def eight_bit_rows(
    array: npt.NDArray[np.float32],
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Int8 values and the float32 scale of each row (the last axis), which keeps its place."""
    scales = np.abs(array).max(axis=-1, keepdims=True) / 127.0
    scales = np.where(scales > 0, scales, 1.0).astype(np.float32)
    return np.rint(array / scales).astype(np.int8), scales


def _float() -> int:
    from onnx import TensorProto

    return int(TensorProto.FLOAT)
