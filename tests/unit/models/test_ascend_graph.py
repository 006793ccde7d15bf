"""What ``atc`` gets of a graph: one set of operators, names, limits, and what stays precise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asr_core.errors import ConvertError
from asr_core.models.ascend_graph import prepare
from asr_core.models.funasr_folder import open_folder
from asr_core.networks.config import read_paraformer_config
from asr_core.networks.graph_axes import GraphAxes, paraformer_axes

pytest.importorskip("mindspore", reason="MindSpore is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed")

NORM = ["ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div"]
SIZES = {"batch": 2, "frames": 9, "tokens": 5, "words": 4, "word_tokens": 3}


@pytest.fixture(scope="module")
def graphs(seaco_fp32: Path) -> Path:
    return seaco_fp32


@pytest.fixture(scope="module")
def axes(graphs: Path) -> Mapping[str, GraphAxes]:
    tokens = open_folder(graphs, name="m", graphs=False).tokens
    return paraformer_axes(read_paraformer_config(graphs / "config.yaml", len(tokens)))


def loaded(graphs: Path, name: str) -> Any:
    return onnx.load(graphs / f"{name}.onnx")


def run(model: Any, axes: GraphAxes, factor: float = 1.0) -> list[Any]:
    import onnxruntime

    random = np.random.default_rng(1)
    feeds = {}
    for tensor in axes.inputs:
        shape = tensor.shape(SIZES)
        is_mask = tensor.name.endswith("mask")
        values = np.ones(shape) if is_mask else random.normal(size=shape) * factor
        feeds[tensor.name] = values.astype(tensor.dtype)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return list(session.run(None, feeds))


@pytest.mark.parametrize("graph", ["encode", "decode", "bias", "filter"])
def test_norms_and_softmaxes_stay_in_single_precision(
    graphs: Path, axes: Mapping[str, GraphAxes], graph: str
) -> None:
    model = loaded(graphs, graph)
    kept = prepare(model, graph, axes[graph], half=True)
    kinds = {node.name: node.op_type for node in model.graph.node}
    assert len(set(kept)) == len(kept)
    found = Counter(kinds[name] for name in kept)
    every = Counter(kinds.values())
    norms = every["Sqrt"]
    assert norms > 4
    softmaxes = {kind: every[kind] for kind in ("Softmax", "LogSoftmax") if every[kind]}
    expected = Counter({kind: norms * count for kind, count in Counter(NORM).items()})
    assert found == expected + Counter(softmaxes)


@pytest.mark.parametrize("graph", ["encode", "decode", "bias", "filter"])
def test_the_results_stay_the_same(graphs: Path, axes: Mapping[str, GraphAxes], graph: str) -> None:
    model = loaded(graphs, graph)
    expected = run(model, axes[graph])
    prepare(model, graph, axes[graph], half=True)
    onnx.checker.check_model(model, full_check=True)
    for before, after in zip(expected, run(model, axes[graph]), strict=True):
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)


def test_what_half_precision_cannot_hold_is_limited_before_it_goes_on(
    graphs: Path, axes: Mapping[str, GraphAxes]
) -> None:
    model = loaded(graphs, "encode")
    before = len(model.graph.node)
    prepare(model, "encode", axes["encode"], half=True)
    limits = [node for node in model.graph.node if node.op_type == "Clip"]
    norms = sum(node.op_type == "Sqrt" for node in model.graph.node)
    assert len(model.graph.node) - before == len(limits) == norms
    for node in limits:
        model.graph.output.append(
            onnx.helper.make_tensor_value_info(node.output[0], onnx.TensorProto.FLOAT, None)
        )
    shown = run(model, axes["encode"], factor=1e7)[2:]
    assert [float(np.abs(values).max()) for values in shown[:1]] == [60000.0]
    assert all(np.abs(values).max() <= 60000.0 for values in shown)


def test_single_precision_gets_no_limits(graphs: Path, axes: Mapping[str, GraphAxes]) -> None:
    model = loaded(graphs, "encode")
    prepare(model, "encode", axes["encode"], half=False)
    assert "Clip" not in {node.op_type for node in model.graph.node}


def test_one_set_of_operators_and_a_name_for_every_node(
    graphs: Path, axes: Mapping[str, GraphAxes]
) -> None:
    model = loaded(graphs, "encode")
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    model.graph.node[3].name = model.graph.node[4].name = ""
    model.graph.node[5].name = model.graph.node[6].name = "twice"
    inputs = list(model.graph.input)
    del model.graph.input[:]
    model.graph.input.extend(reversed(inputs))
    prepare(model, "encode", axes["encode"], half=False)
    assert [(one.domain, one.version) for one in model.opset_import] == [("", 11)]
    names = [node.name for node in model.graph.node]
    assert all(names)
    assert len(set(names)) == len(names)
    assert [value.name for value in model.graph.input] == ["features", "positions", "mask"]


def change_opset(model: Any) -> None:
    model.opset_import[0].version = 20


def change_domain(model: Any) -> None:
    model.graph.node[0].domain = "com.microsoft"


def change_kind(model: Any) -> None:
    model.graph.node[0].op_type = "MatMulInteger"


def change_input(model: Any) -> None:
    model.graph.input[0].name = "speech"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (change_opset, "om_opset"),
        (change_domain, "om_domain"),
        (change_kind, "om_quantized"),
        (change_input, "om_inputs"),
    ],
)
def test_other_graphs_are_refused(
    graphs: Path, axes: Mapping[str, GraphAxes], change: Any, reason: str
) -> None:
    model = loaded(graphs, "encode")
    change(model)
    with pytest.raises(ConvertError) as caught:
        prepare(model, "encode", axes["encode"], half=True)
    assert (caught.value.details["reason"], caught.value.details["graph"]) == (reason, "encode")
