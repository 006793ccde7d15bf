"""Blocks are found in graphs as exporters, optimizers and quantizers leave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from asr_core.models.graph_taps import tap_funasr_graph, tap_graph
from asr_core.parity.graphs import fits, rows_of, run_fitted
from asr_core.parity.onnx import tapped_session
from asr_core.parity.probe import Call
from asr_core.runtime.session import Array, TensorSpec, check_inputs
from tests.golden.paraformer_files import PLAIN

WIDTH = 4
DECODER = ("decoders.0", "decoders2.0", "decoders2.1", "decoders3.0", "hidden")
NORMS = ("encode.encoder.encoders0.0.norm1", "encode.encoder.encoders.0.norm1", "x.after_norm")


def steps(x: str, name: str) -> list[Any]:
    """A normalization in the operators that exporters write."""
    return [
        helper.make_node("ReduceMean", [x], [f"{name}.mean"], axes=[-1]),
        helper.make_node("Sub", [x, f"{name}.mean"], [f"{name}.centred"]),
        helper.make_node("Mul", [f"{name}.centred", f"{name}.centred"], [f"{name}.squared"]),
        helper.make_node("ReduceMean", [f"{name}.squared"], [f"{name}.variance"], axes=[-1]),
        helper.make_node("Sqrt", [f"{name}.variance"], [f"{name}.deviation"]),
        helper.make_node("Div", [f"{name}.centred", f"{name}.deviation"], [f"{name}.unit"]),
        helper.make_node("Mul", [f"{name}.weight", f"{name}.unit"], [f"{name}.scaled"]),
    ]


def whole(x: str, name: str) -> list[Any]:
    """The same as one operator."""
    return [helper.make_node("LayerNormalization", [x, f"{name}.weight"], [f"{name}.scaled"])]


def joined(x: str, name: str) -> list[Any]:
    """The same joined with the sum before it, as ONNX Runtime's optimizer writes it."""
    return [
        helper.make_node("Sub", [x, x], [f"{name}.nothing"]),
        helper.make_node(
            "SkipLayerNormalization",
            [x, f"{name}.nothing", f"{name}.weight"],
            [f"{name}.scaled"],
            domain="com.microsoft",
        ),
    ]


def network(normalize: Any) -> Any:
    """Blocks that double what they normalize."""
    nodes, x = [], "features"
    for number, name in enumerate(NORMS):
        nodes += normalize(x, name)
        x = f"block{number}"
        nodes.append(helper.make_node("Add", [f"{name}.scaled", f"{name}.scaled"], [x]))
    weights = [numpy_helper.from_array(np.ones(WIDTH, np.float32), f"{n}.weight") for n in NORMS]
    given = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", WIDTH])
    found = helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", WIDTH])
    graph = helper.make_graph(nodes, "network", [given], [found], weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("normalize", [steps, whole, joined])
def test_own_blocks(normalize: Any, tmp_path: Path) -> None:
    path = tmp_path / "graph.onnx"
    onnx.save(network(normalize), path)
    before = path.read_bytes()
    session, layers = tapped_session(
        path, partial(tap_graph, graph="encode"), name="model", threads=1
    )
    assert list(layers.values()) == ["encoders0.0", "encoders.0"]
    features = np.random.default_rng(0).normal(size=(3, WIDTH)).astype(np.float32)
    found = session.run({"features": features})
    expected = features
    for tensor in layers:
        centred = expected - expected.mean(axis=-1, keepdims=True)
        expected = 2 * centred / centred.std(axis=-1, keepdims=True)
        assert (
            np.abs(found[tensor] - expected).max() < 1e-3
        )  # operators add an epsilon of their own
    assert path.read_bytes() == before


def test_funasr_blocks() -> None:
    model = onnx.load(PLAIN / "model.onnx")
    count = len(model.graph.output)
    stages = tap_funasr_graph(model)
    assert set(stages.values()) == {
        *(f"encode.{name}" for name in ("encoders0.0", "encoders.0", "encoded", "alphas")),
        *(f"decode.{name}" for name in DECODER),
        "run.embeds",
    }
    assert len(model.graph.output) == count + len(stages)


def test_another_graph_has_none() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], "relu")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    model = helper.make_model(helper.make_graph([node], "other", values[:1], values[1:]))
    assert tap_graph(model, "times") == tap_funasr_graph(model) == {}
    assert [value.name for value in model.graph.output] == ["y"]


class Fixed:
    """A graph of one size that adds one."""

    input_specs = (TensorSpec("features", (2, 1, 5, 1), "float32"),)
    output_specs = (TensorSpec("encoded", (2, 1, 5, 1), "float32"),)

    def __init__(self) -> None:
        self.runs = 0

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        check_inputs(self.input_specs, inputs)
        self.runs += 1
        return {"encoded": inputs["features"] + 1}

    def close(self) -> None:
        self.runs = 0


def test_graphs_of_one_size_take_shorter_inputs() -> None:
    session = Fixed()
    features = np.arange(9, dtype=np.float64).reshape(3, 1, 3, 1)
    found = run_fitted(session, {"features": features})["encoded"]
    assert session.runs == 2
    assert found.shape == (3, 1, 5, 1)
    assert (found[:, :, :3] == features + 1).all()
    assert fits(session, {"features": features})
    assert not fits(session, {"features": np.zeros((1, 1, 6, 1))})


@pytest.mark.parametrize(
    ("graph", "name", "inputs", "shape", "expected"),
    [
        ("encode", "encoded", {"mask": [[1, 1, 0], [1, 0, 0]]}, (2, 1, 4, 1), [[0, 1], [4]]),
        ("decode", "hidden", {"token_mask": [[1, 0], [0, 0]]}, (2, 1, 2, 1), [[0]]),
        ("embed", "embedded", {}, (2, 2, 1), [[0, 1, 2, 3]]),
    ],
)
def test_only_what_was_said_is_compared(
    graph: str,
    name: str,
    inputs: Mapping[str, Sequence[Sequence[int]]],
    shape: tuple[int, ...],
    expected: Sequence[Sequence[int]],
) -> None:
    planes = {
        key: np.array(mask, np.float32)[:, np.newaxis, :, np.newaxis]
        for key, mask in inputs.items()
    }
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    rows = list(rows_of(Call(graph, planes, {}), name, array))
    assert [row.reshape(-1).tolist() for row in rows] == expected


def test_weights_of_parts_and_attention() -> None:
    array = np.arange(8, dtype=np.float32)
    times = Call("times", {"part_counts": np.array([3, 0], np.int64)}, {})
    assert [row.tolist() for row in rows_of(times, "us_alphas", array.reshape(2, 4))] == [[0, 1, 2]]
    masks = {
        "token_mask": np.array([1, 0], np.float32).reshape(2, 1, 1, 1),
        "word_mask": np.array([[1, 0, 1], [1, 1, 1]], np.float32).reshape(2, 1, 3, 1),
    }
    found = rows_of(Call("filter", masks, {}), "attention", array.reshape(2, 1, 1, 4))
    assert [row.tolist() for row in found] == [[0, 2]]
