"""Outputs of blocks inside ONNX graphs, found by the structure of the graph.

A block begins with a normalization, so what that one reads is what the block before it gave,
whatever optimizers and quantizers do in between.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from asr_core.networks.graphs import BIAS
from asr_core.runtime.ascend_manifest import OmTensor

_BLOCK = r"(?P<block>(?:encoders0|encoders|decoders|decoders2|decoders3)\.\d+)"
_OWN_NORM = re.compile(rf"(?:^|\.)(?:{_BLOCK}\.norm1|(?P<last>after_norm))\.weight$")
_FUNASR_NORM = re.compile(
    rf"^/(?P<part>encoder|decoder)/(?:\w+/{_BLOCK}/norm1|(?P<last>after_norm))/"
    r"(?:ReduceMean|LayerNormalization)$"
)
_FUNASR_GRAPHS = {"encoder": "encode", "decoder": "decode"}
_FUNASR_VALUES = {
    "/encoder/after_norm/Add_1": "encode.encoded",
    "/predictor/Relu_1": "encode.alphas",
    "/decoder/after_norm/Add_1": "decode.hidden",
}
"""Nodes that PyTorch's exporter names after FunASR's modules, and the stages that they give."""

_RUNS = {BIAS: ("embeds", "hidden")}
"""Graphs whose blocks run once for each of these inputs."""

_NORMALIZED_SUM = 3
"""Which output of SkipLayerNormalization is the sum that it normalizes."""


def tap_graph(model: Any, graph: str) -> dict[str, str]:
    """Give a graph of ours outputs for its blocks, in place.

    Args:
        model: an ``onnx.ModelProto``.
        graph: its name.

    Returns:
        Layers by the names of their outputs, in the order of the blocks.
    """
    runs = _RUNS.get(graph, ())
    producers = _producers(model)
    origins = _origins(model, runs) if runs else {}
    sites: dict[str, list[tuple[str, str]]] = {run: [] for run in (runs or ("",))}
    for node in model.graph.node:
        found = next(filter(None, map(_OWN_NORM.search, node.input)), None)
        tensor = _normalized(node, producers) if found else None
        if found is None or tensor is None:
            continue
        for run in sites.keys() & origins.get(tensor, frozenset({""})):
            sites[run].append((found["block"] or found["last"], tensor))
    taps: dict[str, str] = {}
    for run, ordered in sites.items():
        for (block, _), (_, tensor) in itertools.pairwise(ordered):
            taps[tensor] = f"{run}.{block}" if run else block
    _add_outputs(model, taps)
    return taps


def describe_taps(model: Any, taps: Mapping[str, OmTensor]) -> None:
    """Give outputs the names and shapes of the layers that they show, in place.

    Args:
        model: an ``onnx.ModelProto``.
        taps: layers by the names of outputs.
    """
    from onnx import TensorProto, helper

    for value in model.graph.output:
        if value.name in taps:
            layer = taps[value.name]
            shown = helper.make_tensor_value_info(layer.name, TensorProto.FLOAT, layer.axes)
            value.CopyFrom(shown)
    for node in model.graph.node:
        for names in (node.input, node.output):
            for place, name in enumerate(names):
                names[place] = taps[name].name if name in taps else name


def tap_funasr_graph(model: Any) -> dict[str, str]:
    """Give FunASR's exported graph outputs for the blocks of encoder and decoder, in place.

    Args:
        model: an ``onnx.ModelProto``.

    Returns:
        Stages by the names of their outputs.
    """
    sites: dict[str, list[tuple[str, str]]] = {name: [] for name in _FUNASR_GRAPHS}
    taps: dict[str, str] = {}
    for node in model.graph.node:
        if found := _FUNASR_NORM.match(node.name):
            sites[found["part"]].append((found["block"] or found["last"], node.input[0]))
        elif node.name in _FUNASR_VALUES:
            taps[node.output[0]] = _FUNASR_VALUES[node.name]
    for part, ordered in sites.items():
        for (block, _), (_, tensor) in itertools.pairwise(ordered):
            taps[tensor] = f"{_FUNASR_GRAPHS[part]}.{block}"
    if sites["decoder"]:
        taps[sites["decoder"][0][1]] = "run.embeds"
    _add_outputs(model, taps)
    return taps


def _producers(model: Any) -> dict[str, Any]:
    return {name: node for node in model.graph.node for name in node.output}


def _normalized(node: Any, producers: Mapping[str, Any]) -> str | None:
    """The tensor that a normalization reads, from the node that has its weights."""
    if node.op_type == "LayerNormalization":
        return str(node.input[0])
    if node.op_type == "SkipLayerNormalization":
        while len(node.output) <= _NORMALIZED_SUM:
            node.output.append("")
        node.output[_NORMALIZED_SUM] = node.output[_NORMALIZED_SUM] or f"{node.output[0]}_sum"
        return str(node.output[_NORMALIZED_SUM])
    if node.op_type != "Mul":
        return None
    for name in node.input:
        divided = producers.get(name)
        if divided is None or divided.op_type not in ("Div", "Mul"):
            continue
        for part in divided.input:
            centred = producers.get(part)
            if centred is not None and centred.op_type == "Sub":
                return str(centred.input[0])
    return None


def _origins(model: Any, names: Sequence[str]) -> dict[str, frozenset[str]]:
    """Which of these inputs each tensor depends on."""
    origins = {name: frozenset({name}) for name in names}
    for node in model.graph.node:
        own = frozenset().union(*(origins.get(name, frozenset()) for name in node.input))
        origins |= dict.fromkeys(node.output, own)
    return origins


def _add_outputs(model: Any, taps: Mapping[str, str]) -> None:
    from onnx import TensorProto, helper

    present = {value.name for value in model.graph.output}
    for name in taps:
        if name not in present:
            model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
