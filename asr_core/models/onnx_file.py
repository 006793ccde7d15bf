"""Write ONNX files: checked, and with their weights beside them where one file cannot hold them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

LARGEST_BYTES = (2 << 30) - (16 << 20)
"""Weights that a file can hold; Protocol Buffers end at 2 GB."""

WEIGHTS_SUFFIX = ".weights"
_SMALL_BYTES = 1024
"""Smaller constants stay in the file: shapes are read from them."""


def write_onnx(
    model: Any, path: Path, *, apart: bool = False, largest_bytes: int = LARGEST_BYTES
) -> Path | None:
    """Write a model and check the file.

    Args:
        model: an ``onnx.ModelProto`` with its weights; they are taken out of it where they get a
            file of their own.
        path: the file, which is replaced.
        apart: whether the weights get a file of their own in any case.
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
    apart = apart or weights_bytes(model) > largest_bytes
    if apart:
        onnx.save_model(
            model,
            str(path),
            save_as_external_data=True,
            location=weights.name,
            size_threshold=_SMALL_BYTES,
        )
    else:
        onnx.save_model(model, str(path))
    onnx.checker.check_model(str(path))
    return weights if weights.is_file() else None


def weights_bytes(model: Any) -> int:
    """Bytes of all constants of a model."""
    import onnx

    return sum(
        math.prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        for tensor in model.graph.initializer
    )
