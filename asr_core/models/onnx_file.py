"""Write ONNX files: checked, and with their weights beside them where one file cannot hold them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LARGEST_BYTES = (2 << 30) - (16 << 20)
"""Weights that a file can hold; Protocol Buffers end at 2 GB."""

WEIGHTS_SUFFIX = ".weights"
_SMALL_BYTES = 1024
"""Smaller constants stay in the file: shapes are read from them."""

_GRAPH_KEY, _TENSOR_KEY = b"\x3a", b"\x2a"
"""Of ``ModelProto.graph`` and ``GraphProto.initializer`` in the encoding of Protocol Buffers."""


def write_onnx(
    model: Any, path: Path, *, apart: bool = False, largest_bytes: int = LARGEST_BYTES
) -> Path | None:
    """Check a model and write it.

    Args:
        model: an ``onnx.ModelProto`` with its weights, which are taken out of it.
        path: the file, which is replaced.
        apart: whether the weights get a file of their own in any case; then the model refers to
            that file afterwards, else it is of no use any more.
        largest_bytes: of weights that stay in the file.

    Returns:
        The file with the weights, beside ``path``; ``None`` where there is none.

    Raises:
        OSError: a file cannot be written.
        onnx.checker.ValidationError: the model is none.
    """
    import onnx

    weights = path.with_suffix(WEIGHTS_SUFFIX)
    weights.unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    if not apart and weights_bytes(model) <= largest_bytes:
        _write_whole(model, path)
        return None
    onnx.save_model(
        model,
        str(path),
        save_as_external_data=True,
        location=weights.name,
        size_threshold=_SMALL_BYTES,
    )
    onnx.checker.check_model(str(path))
    return weights if weights.is_file() else None


def weights_bytes(model: Any) -> int:
    """Bytes of all constants of a model."""
    import onnx

    return sum(
        math.prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        for tensor in model.graph.initializer
    )


def _write_whole(model: Any, path: Path) -> None:
    """Write one constant after the other: the package would copy all of them three times."""
    tensors = list(model.graph.initializer)
    del model.graph.initializer[:]
    _check(model, tensors)
    graph = model.graph.SerializeToString()
    model.ClearField("graph")
    sizes = [tensor.ByteSize() for tensor in tensors]
    heads = [_TENSOR_KEY + _varint(size) for size in sizes]
    whole = len(graph) + sum(map(len, heads)) + sum(sizes)
    with path.open("wb") as file:
        file.write(model.SerializeToString())
        file.write(_GRAPH_KEY + _varint(whole))
        file.write(graph)
        for head, tensor in zip(heads, tensors, strict=True):
            file.write(head)
            file.write(tensor.SerializeToString())


def _check(model: Any, tensors: Sequence[Any]) -> None:
    """Check a model whose constants are named and described, but not in it."""
    import onnx

    described = type(model)()
    described.CopyFrom(model)
    described.graph.input.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        for tensor in tensors
    )
    onnx.checker.check_model(described)


def _varint(number: int) -> bytes:
    """A number in the encoding of Protocol Buffers."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
