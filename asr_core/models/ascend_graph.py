"""ONNX graphs as ``atc`` takes them, and what of them may not be computed in half precision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from asr_core.errors import ConvertError
from asr_core.networks.graph_axes import GraphAxes

MIXED_KEPT = ("Add", "LayerNorm", "LogSoftmaxV2", "ReduceMean", "ReduceSum", "SoftmaxV2")
"""Kinds of operators, as Ascend calls them, that mixed precision leaves in single precision."""

_OPSETS = range(11, 19)
_OWN_DOMAINS = ("", "ai.onnx")
_QUANTIZED = ("DynamicQuantizeLinear", "MatMulInteger", "MatMulNBits", "QLinearMatMul")
_KEPT = ("Softmax", "LogSoftmax", "LayerNormalization")
_PASSED = ("Identity", "Cast")
_LIMIT = 60000.0
"""What half precision holds, with some room: 65504 is its largest number."""

_LEAST, _MOST = "half_least", "half_most"


def prepare(model: Any, graph: str, axes: GraphAxes, *, half: bool) -> tuple[str, ...]:
    """Change a graph in place so that ``atc`` takes it.

    One set of operators is declared, every node has a name of its own, and inputs stand in the
    order in which sizes are told. For half precision what goes into a norm, which is what blocks
    add up, is limited to what such a number holds: the sums of the last blocks may exceed it.

    Args:
        model: an ``onnx.ModelProto`` of single precision with its weights.
        graph: its name.
        axes: what it takes.
        half: whether it is computed in half precision.

    Returns:
        Names of the nodes that have to stay in single precision: norms, softmaxes.

    Raises:
        ConvertError: ``opset``, ``quantized`` or ``domain``: it cannot be made such a graph;
            ``inputs``: it is another graph.
    """
    _declare_one_opset(model, graph)
    _order_inputs(model, graph, axes)
    del model.graph.value_info[:]
    _name_nodes(model)
    norms = list(_norms(model))
    kept = {node.name for nodes in norms for node in nodes}
    kept |= {node.name for node in model.graph.node if node.op_type in _KEPT}
    if half:
        entering = {nodes[0].input[0] for nodes in norms}
        entering |= {
            node.input[0] for node in model.graph.node if node.op_type == "LayerNormalization"
        }
        _limit(model, entering & {name for node in model.graph.node for name in node.output})
    return tuple(node.name for node in model.graph.node if node.name in kept)


def _declare_one_opset(model: Any, graph: str) -> None:
    """ATC refuses several domains, also unused ones (E16005)."""
    from onnx import helper

    kinds = sorted({node.op_type for node in model.graph.node if node.op_type in _QUANTIZED})
    if kinds:
        raise _unfit("quantized", graph, f"has operators of eight bits: {', '.join(kinds)}")
    foreign = sorted(
        {
            f"{node.domain}.{node.op_type}"
            for node in model.graph.node
            if node.domain not in _OWN_DOMAINS
        }
    )
    if foreign or len(model.functions):
        raise _unfit("domain", graph, f"has operators that are not ONNX's: {', '.join(foreign)}")
    versions = [one.version for one in model.opset_import if one.domain in _OWN_DOMAINS]
    if len(versions) != 1 or versions[0] not in _OPSETS:
        raise _unfit("opset", graph, f"has the opset {', '.join(map(str, versions)) or '?'}")
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", versions[0]))
    for node in model.graph.node:
        node.domain = ""


def _order_inputs(model: Any, graph: str, axes: GraphAxes) -> None:
    found = {value.name: value for value in model.graph.input}
    wanted = [tensor.name for tensor in axes.inputs]
    outputs = [value.name for value in model.graph.output]
    if set(found) != set(wanted) or outputs != [tensor.name for tensor in axes.outputs]:
        raise _unfit("inputs", graph, f"takes {', '.join(found)} and gives {', '.join(outputs)}")
    ordered = type(model.graph)()
    ordered.input.extend(found[name] for name in wanted)
    del model.graph.input[:]
    model.graph.input.extend(ordered.input)


def _name_nodes(model: Any) -> None:
    """Names are what the list of operators in single precision is made of."""
    counts = Counter(node.name for node in model.graph.node)
    taken = {name for name, count in counts.items() if name and count == 1}
    for number, node in enumerate(model.graph.node):
        if node.name in taken:
            continue
        name = f"{node.op_type}_{number}"
        while name in taken:
            name += "_"
        node.name = name
        taken.add(name)


def _norms(model: Any) -> Iterator[list[Any]]:
    """The nodes of each norm that is written as steps, from the mean to the quotient."""
    made = {name: node for node in model.graph.node for name in node.output}
    used: dict[str, list[Any]] = {}
    for node in model.graph.node:
        for name in node.input:
            used.setdefault(name, []).append(node)
    for node in model.graph.node:
        if node.op_type != "Sub":
            continue
        mean = _source(node.input[1], made)
        if mean is not None and mean.op_type == "ReduceMean" and mean.input[0] == node.input[0]:
            steps = list(_until_quotient(node, used))
            if steps:
                yield [mean, node, *steps]


def _source(name: str, made: Mapping[str, Any]) -> Any:
    """What computes a value, behind nodes that only hand it on."""
    node = made.get(name)
    while node is not None and node.op_type in _PASSED:
        node = made.get(node.input[0])
    return node


def _until_quotient(difference: Any, used: Mapping[str, list[Any]]) -> Iterator[Any]:
    """Square, mean, small number, root and quotient of a difference; nothing if it is no norm."""
    wanted = ["ReduceMean", "Add", "Sqrt", "Div"]
    square = [one for one in used.get(difference.output[0], []) if one.op_type in ("Pow", "Mul")]
    steps = square[:1]
    while steps and wanted:
        following = used.get(steps[-1].output[0], [])
        step = next((one for one in following if one.op_type in (wanted[0], *_PASSED)), None)
        if step is None:
            return
        if step.op_type == wanted[0]:
            wanted.pop(0)
        steps.append(step)
    yield from (step for step in steps if step.op_type not in _PASSED)


def _limit(model: Any, values: set[str]) -> None:
    """Put a limit behind whatever computes these values."""
    import numpy as np
    from onnx import helper, numpy_helper

    if not values:
        return
    nodes = []
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            if name in values:
                node.input[place] = f"{name}_limited"
    for node in model.graph.node:
        nodes.append(node)
        for name in node.output:
            if name in values:
                limited = f"{name}_limited"
                nodes.append(
                    helper.make_node("Clip", [name, _LEAST, _MOST], [limited], f"{name}_Clip")
                )
    changed = type(model.graph)()
    changed.node.extend(nodes)
    del model.graph.node[:]
    model.graph.node.extend(changed.node)
    for name, limit in ((_LEAST, -_LIMIT), (_MOST, _LIMIT)):
        model.graph.initializer.append(numpy_helper.from_array(np.array(limit, np.float32), name))


def _unfit(reason: str, graph: str, problem: str) -> ConvertError:
    return ConvertError(
        f"The graph {graph} {problem}; it cannot become an OM",
        reason=f"om_{reason}",
        graph=graph,
        cause=problem,
    )
