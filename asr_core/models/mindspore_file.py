"""Read the checkpoints that MindSpore writes, without MindSpore.

Source of the format: ``checkpoint.proto`` of MindSpore 2.10. A file is a Protocol Buffers message
with one entry for each tensor; a large tensor is cut into several entries that follow each other.
"""

from __future__ import annotations

import binascii
import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from asr_core.models.torch_file import Array, TensorFileError, float32_of_bfloat16, vast

_KINDS = {
    "Float64": "<f8",
    "Float32": "<f4",
    "Float16": "<f2",
    "BFloat16": "<u2",
    "Int64": "<i8",
    "Int32": "<i4",
    "Int16": "<i2",
    "Int8": "i1",
    "UInt8": "u1",
    "Bool": "?",
}
_VARINT, _BYTES = 0, 2  # kinds of fields
_VALUE = _TAG = 1
_TENSOR = 2
_DIMS, _TYPE, _CONTENT = 1, 2, 3
_LONGEST_VARINT = 10
_CHECKSUM = b"crc_num"
_CHECKSUM_BYTES = len(_CHECKSUM) + 10

_Field = tuple[int, int, "int | memoryview"]


@dataclass(slots=True)
class _Tensor:
    kind: str
    shape: tuple[int, ...]
    parts: list[memoryview] = field(default_factory=list)


def read_mindspore_file(path: Path) -> dict[str, Array]:
    """Read all tensors; the file is mapped into memory.

    Args:
        path: a file that ``mindspore.save_checkpoint`` wrote.

    Returns:
        Read-only arrays by name; bfloat16 becomes float32, all else keeps its type.

    Raises:
        OSError: the file cannot be read.
        TensorFileError: it is damaged, encrypted, or holds something else.
    """
    if not path.stat().st_size:
        raise TensorFileError("it is empty")
    with path.open("rb") as file:
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    tensors: dict[str, _Tensor] = {}
    last = ""
    for entry in _messages(_checked(content), _VALUE):
        name, tensor = _entry(entry)
        if name not in tensors:
            tensors[name] = tensor
        elif name != last or (tensor.kind, tensor.shape) != (
            tensors[name].kind,
            tensors[name].shape,
        ):
            raise TensorFileError(f"{name} stands twice")
        else:
            tensors[name].parts += tensor.parts
        last = name
    return {name: _array(name, tensor) for name, tensor in tensors.items()}


def _checked(content: memoryview) -> memoryview:
    """What stands before the checksum, where there is one."""
    end = content[-_CHECKSUM_BYTES:]
    if bytes(end[: len(_CHECKSUM)]) != _CHECKSUM:
        return content
    body = content[:-_CHECKSUM_BYTES]
    if binascii.crc32(body) != int.from_bytes(end[len(_CHECKSUM) :], "big"):
        raise TensorFileError("its checksum is another one")
    return body


def _entry(content: memoryview) -> tuple[str, _Tensor]:
    """Name and tensor of one entry."""
    names = list(_messages(content, _TAG))
    tensors = [value for number, _, value in _fields(content) if number == _TENSOR]
    if len(names) != 1 or len(tensors) != 1 or isinstance(tensors[0], int):
        raise TensorFileError("it holds an entry that is no tensor")
    kinds = list(_messages(tensors[0], _TYPE))
    parts = list(_messages(tensors[0], _CONTENT))
    if len(kinds) != 1 or len(parts) != 1:
        raise TensorFileError("it holds a tensor without a type or values")
    return _text(names[0]), _Tensor(_text(kinds[0]), _shape(tensors[0]), parts)


def _shape(tensor: memoryview) -> tuple[int, ...]:
    """Its axes: each a field, or several packed into one."""
    axes: list[int] = []
    for number, _, value in _fields(tensor):
        if number != _DIMS:
            continue
        if isinstance(value, int):
            axes.append(value)
            continue
        place = 0
        while place < len(value):
            axis, place = _varint(value, place)
            axes.append(axis)
    return tuple(axes)


def _array(name: str, tensor: _Tensor) -> Array:
    if tensor.kind not in _KINDS:
        raise TensorFileError(f"{name} has the unknown type {tensor.kind!r}")
    kind = np.dtype(_KINDS[tensor.kind])
    # MindSpore gives a single number no axis, or one of length 0.
    shape = () if tensor.shape == (0,) and any(len(part) for part in tensor.parts) else tensor.shape
    size = sum(len(part) for part in tensor.parts)
    if vast(shape) or math.prod(shape) * kind.itemsize != size:
        raise TensorFileError(f"{name} has not as many bytes as its shape says")
    if len(tensor.parts) == 1:
        values: Array = np.frombuffer(tensor.parts[0], kind)
    else:
        values = np.frombuffer(b"".join(tensor.parts), kind)
    values = values.reshape(shape)
    return float32_of_bfloat16(values) if tensor.kind == "BFloat16" else values


def _messages(content: memoryview, wanted: int) -> Iterator[memoryview]:
    """Texts, bytes and messages in the fields of that number."""
    for number, _, value in _fields(content):
        if number == wanted:
            if isinstance(value, int):
                raise TensorFileError("it is no checkpoint of MindSpore")
            yield value


def _fields(content: memoryview) -> Iterator[_Field]:
    place = 0
    while place < len(content):
        key, place = _varint(content, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = _varint(content, place)
            yield number, kind, value
        elif kind == _BYTES:
            size, place = _varint(content, place)
            if place + size > len(content):
                raise TensorFileError("it ends early")
            yield number, kind, content[place : place + size]
            place += size
        else:
            raise TensorFileError("it is no checkpoint of MindSpore")


def _varint(content: memoryview, place: int) -> tuple[int, int]:
    """A number and the place behind it."""
    number = 0
    for index in range(_LONGEST_VARINT):
        if place + index >= len(content):
            raise TensorFileError("it ends early")
        byte = content[place + index]
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number, place + index + 1
    raise TensorFileError("it is no checkpoint of MindSpore")


def _text(content: memoryview) -> str:
    try:
        return str(content, "utf-8")
    except UnicodeDecodeError as exc:
        raise TensorFileError("it holds a name that is no text") from exc
