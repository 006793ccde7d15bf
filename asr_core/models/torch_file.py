"""Read the tensors of a file that PyTorch wrote, without PyTorch and without executing the file.

Such a file is a zip archive: ``NAME/data.pkl`` is a pickle that describes objects,
``NAME/data/KEY`` the bytes of one storage. The pickle may build tensors and dictionaries, nothing
else. Storages are mapped into memory; nothing is unpacked.
"""

from __future__ import annotations

import io
import math
import mmap
import pickle
import struct
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_STORAGES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "BFloat16Storage": "bf2",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "b1",
}
"""Names in module ``torch`` and the NumPy kind of their elements; ``bf2`` is bfloat16."""

_STATE_NAMES = ("state_dict", "model_state_dict", "model")
"""Where training checkpoints keep the tensors of the network."""

_LARGEST_PICKLE_BYTES = 64 << 20
_LARGEST_RANK = 8
_LARGEST_COUNT = 2**48
_LOCAL_HEADER = struct.Struct("<4s22xHH")


class TensorFileError(ValueError):
    """A file of tensors is damaged or holds something else; the message says what."""


class _StorageKind(NamedTuple):
    elements: str


class _Storage(NamedTuple):
    elements: str
    key: str
    size: int


class _Tensor(NamedTuple):
    """What the pickle says of a tensor; checked when its values are taken."""

    storage: Any
    offset: Any
    shape: Any
    strides: Any


def read_torch_file(path: Path) -> dict[str, Array]:
    """Read all tensors of a network's state.

    Args:
        path: a file that ``torch.save`` wrote, of a state or of a dictionary that holds one.

    Returns:
        Read-only arrays by name; bfloat16 becomes float32, all else keeps its type.

    Raises:
        OSError: the file cannot be read.
        TensorFileError: it is damaged, or holds anything but tensors.
    """
    entries = _entries_of(path)
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return _Reader(entries, content).tensors()


def _entries_of(path: Path) -> dict[str, zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(path) as archive:
            listed = archive.infolist()
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        OverflowError,
        ValueError,
        struct.error,
    ) as exc:
        raise TensorFileError(f"no zip archive of PyTorch: {exc}") from exc
    entries = {entry.filename: entry for entry in listed}
    if len(entries) != len(listed):
        raise TensorFileError("two entries of the archive have one name")
    return entries


class _Reader:
    def __init__(self, entries: Mapping[str, zipfile.ZipInfo], content: mmap.mmap) -> None:
        self._entries = entries
        self._content = memoryview(content)
        pickles = [name for name in self._entries if name.split("/")[1:] == ["data.pkl"]]
        if len(pickles) != 1:
            raise TensorFileError("the archive has no data.pkl, or several")
        self._pickle = pickles[0]
        self._root = self._pickle.removesuffix("data.pkl")
        order = self._root + "byteorder"
        big = order in self._entries and bytes(self._bytes_of(order)) == b"big"
        self._byte_order = ">" if big else "<"
        self._storages: dict[_Storage, Array] = {}

    def tensors(self) -> dict[str, Array]:
        described = self._bytes_of(self._pickle)
        if len(described) > _LARGEST_PICKLE_BYTES:
            raise TensorFileError("data.pkl is too large to describe tensors")
        state = _state_of(_unpickle(bytes(described)))
        unusable = [str(name) for name, value in state.items() if not _is_tensor(name, value)]
        if unusable:
            raise TensorFileError(f"these entries are no tensors: {', '.join(sorted(unusable))}")
        return {name: self._array(name, value) for name, value in state.items()}

    def _bytes_of(self, name: str) -> memoryview:
        """The bytes of an entry, in place, after their checksum was compared."""
        entry = self._entries.get(name)
        if entry is None:
            raise TensorFileError(f"the archive has no {name}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise TensorFileError(f"{name} is compressed or encrypted")
        start = entry.header_offset
        header = bytes(self._content[start : start + 30])
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise TensorFileError(f"{name} has no header")
        _, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
        first = start + 30 + name_bytes + extra_bytes
        found = self._content[first : first + entry.file_size]
        if len(found) != entry.file_size or zlib.crc32(found) != entry.CRC:
            raise TensorFileError(f"{name} is damaged")
        return found

    def _array(self, name: str, tensor: _Tensor) -> Array:
        if not isinstance(tensor.storage, _Storage):
            raise TensorFileError(f"{name} has no storage")
        values = self._values(tensor.storage)
        shape, strides = tensor.shape, tensor.strides
        whole = _are_counts(shape) and _are_counts(strides) and _are_counts((tensor.offset,))
        if not whole or len(shape) != len(strides) or vast(shape):
            raise TensorFileError(f"{name} has an impossible shape")
        if 0 in shape:
            return np.empty(shape, values.dtype)
        steps = zip(shape, strides, strict=True)
        last = tensor.offset + sum((size - 1) * stride for size, stride in steps)
        if last >= len(values) or math.prod(shape) > len(values):
            raise TensorFileError(f"{name} is larger than its storage")
        width = values.itemsize
        view = np.lib.stride_tricks.as_strided(
            values[tensor.offset :], shape, [stride * width for stride in strides], writeable=False
        )
        return np.ascontiguousarray(view).reshape(shape)

    def _values(self, storage: _Storage) -> Array:
        """One storage as a flat array."""
        if storage not in self._storages:
            brain = storage.elements == "bf2"
            kind = np.dtype(self._byte_order + ("u2" if brain else storage.elements))
            content = self._bytes_of(f"{self._root}data/{storage.key}")
            if len(content) != storage.size * kind.itemsize:
                raise TensorFileError(f"storage {storage.key} has not the size that it should have")
            values: Array = np.frombuffer(content, kind)
            self._storages[storage] = float32_of_bfloat16(values) if brain else values
        return self._storages[storage]


def vast(shape: Sequence[int]) -> bool:
    """Whether no array can have that shape, were it empty or not."""
    return len(shape) > _LARGEST_RANK or math.prod(size or 1 for size in shape) >= _LARGEST_COUNT


def float32_of_bfloat16(bits: Array) -> npt.NDArray[np.float32]:
    """Values of bfloat16 numbers whose bits are given as uint16."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _unpickle(content: bytes) -> object:
    try:
        return _TensorUnpickler(io.BytesIO(content)).load()
    except TensorFileError:
        raise
    except (
        pickle.UnpicklingError,
        ArithmeticError,
        AttributeError,
        EOFError,
        ImportError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as exc:
        raise TensorFileError(f"data.pkl cannot be read: {exc}") from exc


class _TensorUnpickler(pickle.Unpickler):
    """Builds descriptions of tensors and dictionaries; every other name is refused.

    Whatever a pickle may do with an object that it was given concerns that object alone: functions
    are made anew for each use, descriptions are tuples.
    """

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and name in _STORAGES:
            return _StorageKind(_STORAGES[name])
        made = _builder(module, name)
        if made is None:
            raise TensorFileError(f"it holds {module}.{name}, which is no tensor")
        return made

    def persistent_load(self, pid: Any) -> _Storage:
        if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage":
            raise TensorFileError("it refers to something that is no storage")
        _, kind, key, _device, count = pid
        known = isinstance(kind, _StorageKind) and kind.elements in _STORAGES.values()
        if not known or not isinstance(key, str) or not key.isalnum() or not _are_counts((count,)):
            raise TensorFileError("it describes an impossible storage")
        return _Storage(kind.elements, key, count)


def _builder(module: str, name: str) -> Callable[..., object] | None:
    if (module, name) == ("collections", "OrderedDict"):
        return OrderedDict
    if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
        return lambda storage, offset, shape, strides, *_: _Tensor(storage, offset, shape, strides)
    if (module, name) == ("torch._utils", "_rebuild_parameter"):
        return lambda tensor, *_: tensor
    return None


def _state_of(loaded: object) -> Mapping[Any, Any]:
    if not isinstance(loaded, dict):
        raise TensorFileError("it holds no dictionary of tensors")
    for name in _STATE_NAMES:
        if isinstance(loaded.get(name), dict):
            return cast("Mapping[Any, Any]", loaded[name])
    return loaded


def _is_tensor(name: object, value: object) -> bool:
    return isinstance(name, str) and isinstance(value, _Tensor)


def _are_counts(values: object) -> bool:
    return isinstance(values, tuple) and all(
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_COUNT
        for value in values
    )
