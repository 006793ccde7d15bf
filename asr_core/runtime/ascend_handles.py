"""One class for each native handle of pyACL; each releases what it holds, once.

Everything here is called on the thread that owns the device. A release that fails is logged and
never raised, so that the ones after it happen too.
"""

from __future__ import annotations

import ctypes
import functools
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asr_core.errors import AsrError, DeviceLostError
from asr_core.runtime.ascend_acl import ON_DEVICE, Acl
from asr_core.runtime.ascend_codes import SYNC_TIMEOUT
from asr_core.runtime.session import Array

logger = logging.getLogger(__name__)

GEAR_INPUT = "ascend_mbatch_shape_data"
"""The input that a model with gears has in addition, always the last one."""

_HUGE_FIRST = 0
_TO_DEVICE, _TO_HOST, _INSIDE = 1, 2, 3
_ND = 2
_ALL_GEARS = -1
_DTYPES = {
    0: "float32",
    1: "float16",
    2: "int8",
    3: "int32",
    4: "uint8",
    6: "int16",
    7: "uint16",
    8: "uint32",
    9: "int64",
    10: "uint64",
    11: "float64",
    12: "bool",
}
KNOWN_DTYPES = frozenset(_DTYPES.values())
"""Types of tensors that NumPy has too."""


class Handle:
    """Something that has to be given back.

    Args:
        acl: functions.
        number: the native handle.
        release: name of the function that gives it back.
    """

    def __init__(self, acl: Acl, number: int, release: str) -> None:
        self.acl = acl
        self.number = number
        self._release = release
        self._open = True

    def close(self) -> None:
        """Give it back; a second call does nothing."""
        if not self._open:
            return
        self._open = False
        try:
            self.acl.do(self._release, self.number)
        except AsrError as exc:
            logger.warning("release failed call=%s error=%s", self._release, exc)


class Device(Handle):
    """A device that this thread has set.

    Args:
        acl: functions.
        index: of the device.
    """

    def __init__(self, acl: Acl, index: int) -> None:
        acl.do("acl.rt.set_device", index)
        super().__init__(acl, index, "acl.rt.reset_device")


class Context(Handle):
    """A context of a device, current on the thread that makes it."""

    def __init__(self, acl: Acl, device: Device) -> None:
        number = acl.ask("acl.rt.create_context", device.number)
        super().__init__(acl, number, "acl.rt.destroy_context")


class Stream(Handle):
    """A queue of copies and runs."""

    def __init__(self, acl: Acl) -> None:
        super().__init__(acl, acl.ask("acl.rt.create_stream"), "acl.rt.destroy_stream")
        self._limited = acl.has("acl.rt.synchronize_stream_with_timeout")

    def wait(self, timeout_ms: int) -> None:
        """Wait until all is done; older versions of pyACL know no limit.

        Raises:
            DeviceLostError: it takes longer, or the device is lost.
            DeviceError: something on the stream failed.
        """
        if not self._limited:
            self.acl.do("acl.rt.synchronize_stream", self.number)
            return
        try:
            self.acl.do("acl.rt.synchronize_stream_with_timeout", self.number, timeout_ms)
        except DeviceLostError as exc:
            if exc.details["number"] != SYNC_TIMEOUT:
                raise
            details = exc.details | {"reason": "hang", "seconds": timeout_ms // 1000}
            raise DeviceLostError(exc.message, **details) from exc


class DeviceBuffer(Handle):
    """Memory of the device, not initialized.

    Args:
        acl: functions.
        size: bytes, at least 1.
    """

    def __init__(self, acl: Acl, size: int) -> None:
        super().__init__(acl, acl.ask("acl.rt.malloc", size, _HUGE_FIRST), "acl.rt.free")
        self.size = size


class HostBuffer(Handle):
    """Memory of the host that the device copies from and to, not initialized.

    Args:
        acl: functions.
        size: bytes, at least 1.
        run_mode: of the process.
    """

    def __init__(self, acl: Acl, size: int, run_mode: int) -> None:
        self._shared = run_mode == ON_DEVICE
        if self._shared:
            number, release = acl.ask("acl.rt.malloc", size, _HUGE_FIRST), "acl.rt.free"
        else:
            number, release = acl.ask("acl.rt.malloc_host", size), "acl.rt.free_host"
        super().__init__(acl, number, release)
        self.size = size
        memory = (ctypes.c_ubyte * size).from_address(number)
        self._bytes: Array = np.frombuffer(memoryview(memory), np.uint8)

    def view(self, dtype: str, shape: Sequence[int]) -> Array:
        """The begin of the memory as an array; it is valid until :meth:`close`."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        values: Array = self._bytes[:size].view(dtype).reshape(shape)
        return values

    def send(self, target: DeviceBuffer, count: int, stream: Stream) -> None:
        """Copy the first bytes to a device, when the stream comes to it."""
        kind = _INSIDE if self._shared else _TO_DEVICE
        copy = (target.number, target.size, self.number, count, kind, stream.number)
        self.acl.do("acl.rt.memcpy_async", *copy)

    def fetch(self, source: DeviceBuffer, span: tuple[int, int, int], stream: Stream) -> None:
        """Copy bytes from a device, when the stream comes to it.

        Args:
            source: there.
            span: where they begin here, where there, and how many they are.
            stream: the queue.
        """
        here, there, count = span
        kind = _INSIDE if self._shared else _TO_HOST
        self.acl.do(
            "acl.rt.memcpy_async",
            self.number + here,
            self.size - here,
            source.number + there,
            count,
            kind,
            stream.number,
        )


class Model(Handle):
    """A loaded OM file."""

    def __init__(self, acl: Acl, path: Path) -> None:
        super().__init__(acl, acl.ask("acl.mdl.load_from_file", str(path)), "acl.mdl.unload")


class Description(Handle):
    """What a model takes and gives."""

    def __init__(self, acl: Acl, model: Model) -> None:
        super().__init__(acl, acl.make("acl.mdl.create_desc"), "acl.mdl.destroy_desc")
        try:
            acl.do("acl.mdl.get_desc", self.number, model.number)
        except AsrError:
            self.close()
            raise

    def input_count(self) -> int:
        """Inputs, the one for gears included."""
        return int(self.acl.get("acl.mdl.get_num_inputs", self.number))

    def output_count(self) -> int:
        return int(self.acl.get("acl.mdl.get_num_outputs", self.number))

    def input_name(self, index: int) -> str:
        return str(self.acl.get("acl.mdl.get_input_name_by_index", self.number, index))

    def input_bytes(self, index: int) -> int:
        """Size of an input; of the largest gear; 0 where it is not fixed."""
        return int(self.acl.get("acl.mdl.get_input_size_by_index", self.number, index))

    def output_bytes(self, index: int) -> int:
        """Size of an output, as :meth:`input_bytes`."""
        return int(self.acl.get("acl.mdl.get_output_size_by_index", self.number, index))

    def input_dtype(self, index: int) -> str:
        return _dtype(self.acl.get("acl.mdl.get_input_data_type", self.number, index))

    def output_dtype(self, index: int) -> str:
        return _dtype(self.acl.get("acl.mdl.get_output_data_type", self.number, index))

    def input_shape(self, index: int) -> tuple[int, ...]:
        """Sizes, -1 where they are free."""
        return _shape(self.acl.ask("acl.mdl.get_input_dims", self.number, index))

    def output_shape(self, index: int) -> tuple[int, ...]:
        """Sizes, of the largest gear; -1 where they are free."""
        return _shape(self.acl.ask("acl.mdl.get_output_dims", self.number, index))

    def current_output_shape(self, index: int) -> tuple[int, ...]:
        """Sizes for the gear that is set."""
        return _shape(self.acl.ask("acl.mdl.get_cur_output_dims", self.number, index))

    def gear_index(self) -> int:
        """Where the input for gears stands."""
        asked = (self.number, GEAR_INPUT)
        return int(self.acl.ask("acl.mdl.get_input_index_by_name", *asked))

    def gears(self) -> tuple[tuple[int, ...], ...]:
        """All sizes of all inputs, one after the other, of each gear."""
        count = self.acl.ask("acl.mdl.get_input_dynamic_gear_count", self.number, _ALL_GEARS)
        if not count:
            return ()
        asked = (self.number, _ALL_GEARS, count)
        return tuple(_shape(one) for one in self.acl.ask("acl.mdl.get_input_dynamic_dims", *asked))


class DataBuffer(Handle):
    """What a model is told about memory; the memory is not its own."""

    def __init__(self, acl: Acl, memory: DeviceBuffer, size: int) -> None:
        number = acl.make("acl.create_data_buffer", memory.number, size)
        super().__init__(acl, number, "acl.destroy_data_buffer")

    def move(self, memory: DeviceBuffer, size: int) -> None:
        """Describe other memory."""
        self.acl.do("acl.update_data_buffer", self.number, memory.number, size)


class Dataset(Handle):
    """The buffers of all inputs or of all outputs, in their order."""

    def __init__(self, acl: Acl) -> None:
        super().__init__(acl, acl.make("acl.mdl.create_dataset"), "acl.mdl.destroy_dataset")

    def add(self, buffer: DataBuffer) -> None:
        self.acl.do("acl.mdl.add_dataset_buffer", self.number, buffer.number)

    def set_shape(self, index: int, description: TensorDescription) -> None:
        """Say what shape an input has this time; for models of any shape."""
        given = (self.number, description.number, index)
        self.acl.do("acl.mdl.set_dataset_tensor_desc", *given)

    def shape(self, index: int) -> tuple[int, ...] | None:
        """The shape that an output got, after the run; ``None`` where the version does not tell."""
        desc = int(self.acl.get("acl.mdl.get_dataset_tensor_desc", self.number, index))
        if desc == 0:
            return None
        count = int(self.acl.get("acl.get_tensor_desc_num_dims", desc))
        if self.acl.has("acl.get_tensor_desc_dim_v2"):
            read = functools.partial(self.acl.ask, "acl.get_tensor_desc_dim_v2", desc)
        else:  # the older one returns no code
            read = functools.partial(self.acl.get, "acl.get_tensor_desc_dim", desc)
        return tuple(int(read(axis)) for axis in range(count))


class TensorDescription(Handle):
    """The shape of an input; alive until the run that uses it has ended."""

    def __init__(self, acl: Acl, dtype: str, shape: Sequence[int]) -> None:
        kind = next(number for number, name in _DTYPES.items() if name == dtype)
        number = acl.make("acl.create_tensor_desc", kind, [int(size) for size in shape], _ND)
        super().__init__(acl, number, "acl.destroy_tensor_desc")


def set_gear(acl: Acl, model: Model, inputs: Dataset, index: int, gear: Sequence[int]) -> None:
    """Choose the gear of the next run.

    Args:
        acl: functions.
        model: with gears.
        inputs: its inputs.
        index: of the input for gears.
        gear: all sizes of all inputs, one after the other.
    """
    dims = {"dimCount": len(gear), "name": "", "dims": list(gear)}
    acl.do("acl.mdl.set_input_dynamic_dims", model.number, inputs.number, index, dims)


def _dtype(number: int) -> str:
    return _DTYPES.get(int(number), f"acl {number}")


def _shape(described: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in described["dims"][: described["dimCount"]])
