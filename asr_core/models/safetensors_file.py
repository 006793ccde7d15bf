"""Read safetensors files: a table in JSON, then the bytes of all tensors."""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asr_core.models.torch_file import Array, TensorFileError, float32_of_bfloat16, vast

_KINDS = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
}
_LENGTH_BYTES = 8
_LARGEST_TABLE_BYTES = 100 << 20


def read_safetensors_file(path: Path) -> dict[str, Array]:
    """Read all tensors; the file is mapped into memory.

    Args:
        path: the file.

    Returns:
        Read-only arrays by name; bfloat16 becomes float32, all else keeps its type.

    Raises:
        OSError: the file cannot be read.
        TensorFileError: its table is damaged, or does not fit its content.
    """
    if path.stat().st_size < _LENGTH_BYTES:
        raise TensorFileError("it is too short for a table")
    with path.open("rb") as file:
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    table_bytes = int.from_bytes(content[:_LENGTH_BYTES], "little")
    data = content[_LENGTH_BYTES + table_bytes :]
    if table_bytes > min(_LARGEST_TABLE_BYTES, len(content) - _LENGTH_BYTES):
        raise TensorFileError("its table is longer than the file")
    table = _table(bytes(content[_LENGTH_BYTES : _LENGTH_BYTES + table_bytes]))
    entries = [(name, *_checked(name, entry)) for name, entry in table.items()]
    _check_cover([(first, end) for _, _, _, first, end in entries], len(data))
    return {name: _array(kind, shape, data[first:end]) for name, kind, shape, first, end in entries}


def _table(content: bytes) -> dict[str, Any]:
    try:
        table = json.loads(content.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as exc:
        raise TensorFileError(f"its table cannot be read: {exc}") from exc
    if not isinstance(table, dict):
        raise TensorFileError("its table is no mapping")
    table.pop("__metadata__", None)
    return table


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise ValueError("a name stands twice")
    return names


def _checked(name: str, entry: Any) -> tuple[str, list[int], int, int]:
    """Kind, shape, first byte and end of a tensor."""
    kind = entry.get("dtype") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise TensorFileError(f"{name} has an unknown type")
    shape: Any = entry.get("shape")
    bounds: Any = entry.get("data_offsets")
    if not _are_counts(shape) or not _are_counts(bounds) or len(bounds) != 2 or vast(shape):
        raise TensorFileError(f"{name} has an impossible shape or place")
    size = math.prod(shape) * np.dtype(_KINDS[kind]).itemsize
    if bounds[1] - bounds[0] != size:
        raise TensorFileError(f"{name} has not as many bytes as its shape says")
    return kind, shape, bounds[0], bounds[1]


def _check_cover(bounds: Sequence[tuple[int, int]], size: int) -> None:
    """Tensors lie one after another and fill the file."""
    reached = 0
    for first, end in sorted(bounds):
        if first != reached:
            raise TensorFileError("tensors overlap, or leave bytes unused")
        reached = end
    if reached != size:
        raise TensorFileError("tensors do not fill the file")


def _array(kind: str, shape: list[int], content: memoryview) -> Array:
    values: Array = np.frombuffer(content, _KINDS[kind]).reshape(shape)
    return float32_of_bfloat16(values) if kind == "BF16" else values


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in values
    )
