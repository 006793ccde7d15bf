"""Eight-bit weights for the matrix products of an ONNX graph.

An operator is a product with a matrix of the checkpoint, and is called as that matrix is, without
``.weight``: ``encode.encoder.encoders.3.feed_forward.w_1``. Products of two computed values, as in
attention, stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from asr_core.errors import UsageError

Float32 = npt.NDArray[np.float32]

DEFAULT_KEPT = ("encode.predictor", "decode.output_layer", "bias.hotword_output_layer")
"""Beginnings of names that stay in single precision: they decide how many tokens there are, and
which."""

_WEIGHT = ".weight"
_DOMAIN = "com.microsoft"
_BLOCK = 32
_BLOCK_ZERO = 128


class Method(str, Enum):
    """How weights and values become eight-bit numbers.

    ``pairs``: weights as numbers with a sign and a scale for each output, such that those of two
    inputs side by side never come to more than 128: x86-64 processors without VNNI add the
    products of two inputs in 16 bits, where more would overflow. The values have one scale for the
    whole input of a run, so that a run ought to hold one recording.
    ``columns``: the same with unsigned weights and a zero for each output, as FunASR exports them;
    such products take longer.
    ``blocks``: weights with a scale for 32 inputs of each output, values for 32 of each place:
    places do not depend on each other. ONNX Runtime alone knows this operator.
    """

    PAIRS = "pairs"
    COLUMNS = "columns"
    BLOCKS = "blocks"


@dataclass(frozen=True, slots=True)
class Operator:
    """A product with a matrix of the checkpoint.

    Attributes:
        name: that of the matrix.
        inputs: rows of the matrix.
        outputs: its columns.
    """

    name: str
    inputs: int
    outputs: int


def operators_of(model: Any) -> tuple[Operator, ...]:
    """The products of a graph that can be quantized, in their order, each matrix once.

    Args:
        model: an ``onnx.ModelProto``.
    """
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    found = {}
    for node in _products(model, shapes):
        name = node.input[1].removesuffix(_WEIGHT)
        found[name] = Operator(name, *shapes[node.input[1]])
    return tuple(found.values())


def is_kept(name: str, kept: Collection[str]) -> bool:
    """Whether an operator is one of ``kept``, or inside a part that is."""
    return any(name == one or name.startswith(f"{one}.") for one in kept)


def unknown_names(operators: Collection[Operator], kept: Collection[str]) -> tuple[str, ...]:
    """Those of ``kept`` that name no operator and no part with one."""
    return tuple(one for one in kept if not any(is_kept(each.name, (one,)) for each in operators))


def quantize(
    model: Any, kept: Collection[str] = DEFAULT_KEPT, method: Method = Method.PAIRS
) -> tuple[str, ...]:
    """Give all operators of a graph eight-bit weights, in place.

    Args:
        model: an ``onnx.ModelProto`` of single precision whose weights lie in it.
        kept: operators, or parts, that stay as they are.
        method: how.

    Returns:
        The operators that stayed as they are.
    """
    graph = model.graph
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    shapes = {name: tuple(tensor.dims) for name, tensor in tensors.items()}
    chosen = [
        node
        for node in _products(model, shapes)
        if not is_kept(node.input[1].removesuffix(_WEIGHT), kept)
    ]
    left = [each.name for each in operators_of(model) if is_kept(each.name, kept)]
    maker = _BlockMaker() if method is Method.BLOCKS else _ColumnMaker(method)
    made: dict[str, list[Any]] = {}
    replaced: dict[str, Sequence[Any]] = {}
    for node in chosen:
        matrix = node.input[1]
        if matrix not in replaced:
            replaced[matrix] = maker.weights(matrix, _values(tensors[matrix]))
            # The matrix is done with: two copies of all weights would be too many.
            tensors[matrix].ClearField("raw_data")
            tensors[matrix].ClearField("float_data")
        made[node.output[0]] = maker.nodes(node, shapes[matrix])
    _replace_nodes(graph, made)
    _replace_tensors(graph, replaced)
    if method is Method.BLOCKS and made:
        _declare(model, _DOMAIN)
    return tuple(left)


def weight_error(matrix: Float32, method: Method) -> float:
    """How far quantized weights are from the true ones: root of the mean squared relative error."""
    if method is Method.BLOCKS:
        packed, scales = _blocks(matrix)
        restored = (packed.astype(np.float32) - _BLOCK_ZERO) * scales[..., np.newaxis]
        restored = restored.reshape(matrix.shape[1], -1)[:, : matrix.shape[0]].T
    else:
        numbers, scale, zero = _columns(matrix, method)
        restored = (numbers.astype(np.float32) - zero.astype(np.float32)) * scale
    energy = float(np.square(matrix, dtype=np.float64).sum())
    error = float(np.square(restored - matrix, dtype=np.float64).sum())
    return (error / energy) ** 0.5 if energy else 0.0


def _products(model: Any, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[Any]:
    for node in model.graph.node:
        is_dense = node.op_type == "MatMul" and node.input[1].endswith(_WEIGHT)
        if is_dense and len(shapes.get(node.input[1], ())) == 2:
            yield node


def _values(tensor: Any) -> Float32:
    from onnx import TensorProto, numpy_helper

    if tensor.data_location == TensorProto.EXTERNAL or tensor.data_type != TensorProto.FLOAT:
        raise UsageError(f"{tensor.name} is not there in single precision")
    values: Float32 = numpy_helper.to_array(tensor)
    return values


def _columns(matrix: Float32, method: Method) -> tuple[Any, Float32, Any]:
    """Numbers, scales and zeros of a matrix (inputs, outputs), by its columns."""
    if method is Method.PAIRS:
        return _pairs(matrix)
    low = np.minimum(matrix.min(axis=0), np.float32(0))
    high = np.maximum(matrix.max(axis=0), np.float32(0))
    scale = ((high - low) / np.float32(255)).astype(np.float32)
    scale = np.where(scale > 0, scale, np.float32(1)).astype(np.float32)
    zero = np.clip(np.rint(-low / scale), 0, 255)
    numbers = np.clip(np.rint(matrix / scale) + zero, 0, 255).astype(np.uint8)
    return numbers, scale, zero.astype(np.uint8)


def _pairs(matrix: Float32) -> tuple[npt.NDArray[np.int8], Float32, npt.NDArray[np.int8]]:
    """As :func:`_columns`, with signs.

    Rounding adds at most 1 to the sum of two numbers, so the scale leaves 127 for them.
    """
    sizes = np.abs(matrix)
    even = len(sizes) - len(sizes) % 2
    sums = sizes[:even:2] + sizes[1:even:2]
    largest = np.maximum(sums.max(axis=0, initial=0.0), sizes.max(axis=0, initial=0.0))
    scale = (largest / np.float32(127)).astype(np.float32)
    scale = np.where(scale > 0, scale, np.float32(1)).astype(np.float32)
    numbers = np.clip(np.rint(matrix / scale), -127, 127).astype(np.int8)
    return numbers, scale, np.zeros(matrix.shape[1], np.int8)


def _blocks(matrix: Float32) -> tuple[npt.NDArray[np.uint8], Float32]:
    """Numbers (outputs, blocks, 32) around 128 and scales (outputs, blocks)."""
    inputs, outputs = matrix.shape
    count = -(-inputs // _BLOCK)
    rows = np.zeros((outputs, count * _BLOCK), np.float32)
    rows[:, :inputs] = matrix.T
    cut = rows.reshape(outputs, count, _BLOCK)
    scales = np.abs(cut).max(axis=2) / np.float32(127)
    scales = np.where(scales > 0, scales, np.float32(1)).astype(np.float32)
    numbers = np.rint(cut / scales[..., np.newaxis]) + np.float32(_BLOCK_ZERO)
    return np.clip(numbers, 1, 255).astype(np.uint8), scales


class _ColumnMaker:
    """Weights by columns, and ONNX's own operators around them."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._quantized: set[str] = set()

    def weights(self, name: str, matrix: Float32) -> Sequence[Any]:
        from onnx import numpy_helper

        numbers, scale, zero = _columns(matrix, self._method)
        return [
            numpy_helper.from_array(numbers, f"{name}_quantized"),
            numpy_helper.from_array(scale, f"{name}_scale"),
            numpy_helper.from_array(zero, f"{name}_zero"),
        ]

    def nodes(self, node: Any, _shape: tuple[int, ...]) -> list[Any]:
        from onnx import TensorProto, helper

        x, matrix, result = node.input[0], node.input[1], node.output[0]
        made = []
        numbers, scale, zero = f"{x}_quantized", f"{x}_scale", f"{x}_zero"
        if x not in self._quantized:
            # Products of one input share its numbers.
            self._quantized.add(x)
            kind = "DynamicQuantizeLinear"
            made.append(helper.make_node(kind, [x], [numbers, scale, zero], f"{x}_{kind}"))
        given = [numbers, f"{matrix}_quantized", zero, f"{matrix}_zero"]
        whole, real, both = (f"{result}_{part}" for part in ("whole", "real", "both_scales"))
        made += [
            helper.make_node("MatMulInteger", given, [whole], whole),
            helper.make_node("Cast", [whole], [real], real, to=TensorProto.FLOAT),
            helper.make_node("Mul", [scale, f"{matrix}_scale"], [both], both),
            helper.make_node("Mul", [real, both], [result], f"{result}_scaled"),
        ]
        return made


class _BlockMaker:
    """Weights by blocks, and ONNX Runtime's operator for them."""

    def weights(self, name: str, matrix: Float32) -> Sequence[Any]:
        from onnx import numpy_helper

        numbers, scales = _blocks(matrix)
        return [
            numpy_helper.from_array(numbers, f"{name}_quantized"),
            numpy_helper.from_array(scales, f"{name}_scale"),
        ]

    def nodes(self, node: Any, shape: tuple[int, ...]) -> list[Any]:
        from onnx import helper

        matrix = node.input[1]
        return [
            helper.make_node(
                "MatMulNBits",
                [node.input[0], f"{matrix}_quantized", f"{matrix}_scale"],
                [node.output[0]],
                f"{node.output[0]}_blocks",
                domain=_DOMAIN,
                K=shape[0],
                N=shape[1],
                bits=8,
                block_size=_BLOCK,
                accuracy_level=4,
            )
        ]


def _replace_nodes(graph: Any, made: Mapping[str, Sequence[Any]]) -> None:
    replacement = type(graph)()
    for node in graph.node:
        replacement.node.extend(made.get(node.output[0], [node]))
    del graph.node[:]
    graph.node.extend(replacement.node)


def _replace_tensors(graph: Any, replaced: Mapping[str, Sequence[Any]]) -> None:
    """New tensors for those that no node uses any more."""
    for place in reversed(range(len(graph.initializer))):
        if graph.initializer[place].name in replaced:
            del graph.initializer[place]
    for tensors in replaced.values():
        graph.initializer.extend(tensors)


def _declare(model: Any, domain: str) -> None:
    from onnx import helper

    if domain not in {opset.domain for opset in model.opset_import}:
        model.opset_import.append(helper.make_opsetid(domain, 1))
