"""A loaded OM file with everything that a run of it needs; for the thread of its device only."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from asr_core.errors import AsrError, DeviceError, DeviceLostError, ModelIntegrityError
from asr_core.runtime.ascend_device import Equipment
from asr_core.runtime.ascend_handles import (
    KNOWN_DTYPES,
    DataBuffer,
    Dataset,
    Description,
    Model,
    TensorDescription,
    set_gear,
)
from asr_core.runtime.ascend_manifest import (
    DYNAMIC,
    GEARS,
    OmFile,
    OmGraph,
    OmTensor,
    Sizes,
    unusable,
)
from asr_core.runtime.ascend_shapes import fill, largest, spans
from asr_core.runtime.session import Array

_LAST_WAIT_MS = 1000


@dataclass(frozen=True, slots=True)
class _Port:
    """One input or output.

    Attributes:
        tensor: what the manifest says.
        dtype: as the file has it.
        size: bytes of the largest size.
        buffer: what the model is told about its memory.
        place: in the memory of the device.
    """

    tensor: OmTensor
    dtype: str
    size: int
    buffer: DataBuffer
    place: int


class LoadedOm:
    """One OM file on a device.

    Args:
        equipment: of the device.
        graph: what the file belongs to.
        file: the file.
        stack: takes everything that is to be given back.

    Raises:
        ModelIntegrityError: the file is not what the manifest says.
        DeviceError: it cannot be loaded.
    """

    def __init__(
        self, equipment: Equipment, graph: OmGraph, file: OmFile, stack: contextlib.ExitStack
    ) -> None:
        self._equipment = equipment
        self._graph = graph
        self._file = file
        acl = equipment.acl
        self._model = Model(acl, graph.folder / file.file)
        stack.callback(self._model.close)
        self._description = Description(acl, self._model)
        stack.callback(self._description.close)
        self._order = self._check()
        tensors = [graph.inputs[place] for place in self._order]
        sizes = self._sizes(tensors)
        equipment.memory.reserve(sorted(sizes, reverse=True))
        self._generation = equipment.memory.generation
        places = {index: place for place, index in enumerate(_by_size(sizes))}
        # Made first, so that they are given back after the buffers that they name.
        self._taken, self._given = self._dataset(stack), self._dataset(stack)
        buffers = []
        for index, size in enumerate(sizes):
            buffers.append(DataBuffer(acl, equipment.memory.device(places[index]), size))
            stack.callback(buffers[-1].close)
        described = [*tensors, *self._added(), *graph.outputs]
        ports = [
            _Port(tensor, dtype, size, buffer, places[index])
            for index, (tensor, dtype, size, buffer) in enumerate(
                zip(described, self._dtypes(), sizes, buffers, strict=True)
            )
        ]
        count = self._description.input_count()
        self._all = ports
        self._inputs, self._outputs = ports[: len(tensors)], ports[count:]
        for dataset, named in ((self._taken, ports[:count]), (self._given, ports[count:])):
            for port in named:
                dataset.add(port.buffer)

    def run(self, inputs: Mapping[str, Array], sizes: Sizes, bucket: Sizes) -> dict[str, Array]:
        """Execute the file once.

        Args:
            inputs: arrays by name.
            sizes: of their free axes.
            bucket: what the file is asked to compute; not smaller.

        Raises:
            DeviceError: the device failed.
        """
        self._follow_memory()
        stream, timeout_ms = self._equipment.stream, self._equipment.timeout_ms
        bucket = sizes if self._graph.mode == DYNAMIC else bucket
        with contextlib.ExitStack() as shapes:
            try:
                self._execute(inputs, bucket, shapes)
                for index, port in enumerate(self._outputs):
                    self._fetch(port, sizes, self._shape_of(index, port, bucket))
                stream.wait(timeout_ms)
            except AsrError as exc:
                self._drain(exc)
                raise
        return {port.tensor.name: self._read(port, sizes) for port in self._outputs}

    def _execute(
        self, inputs: Mapping[str, Array], bucket: Sizes, shapes: contextlib.ExitStack
    ) -> None:
        """Everything up to the run itself, which goes on when this returns.

        Args:
            inputs: arrays by name.
            bucket: what the file is asked to compute.
            shapes: takes what has to live until the run has ended.
        """
        self._send(inputs, bucket)
        if self._graph.mode == DYNAMIC:
            self._set_shapes(bucket, shapes)
        elif self._graph.mode == GEARS:
            self._set_gear(bucket)
        acl, stream = self._equipment.acl, self._equipment.stream
        given = (self._model.number, self._taken.number, self._given.number, stream.number)
        acl.do("acl.mdl.execute_async", *given)
        if self._graph.mode == DYNAMIC:
            # What it gave is known only when it has ended.
            stream.wait(self._equipment.timeout_ms)

    def _drain(self, error: AsrError) -> None:
        """Nothing may still copy when the next run uses the same memory, or when it is freed."""
        lost = isinstance(error, DeviceLostError)
        if lost and error.details.get("reason") == "hang":
            return
        with contextlib.suppress(DeviceError):
            limit_ms = self._equipment.timeout_ms
            self._equipment.stream.wait(min(limit_ms, _LAST_WAIT_MS) if lost else limit_ms)

    def _send(self, inputs: Mapping[str, Array], bucket: Sizes) -> None:
        memory = self._equipment.memory
        for port in self._inputs:
            shape = port.tensor.shape(bucket)
            host = memory.host(port.place)
            view = host.view(port.dtype, shape)
            axes = port.tensor.axes
            batch = axes.index(self._graph.batch) if self._graph.batch in axes else None
            fill(view, inputs[port.tensor.name], batch)
            host.send(memory.device(port.place), view.nbytes, self._equipment.stream)

    def _set_shapes(self, sizes: Sizes, stack: contextlib.ExitStack) -> None:
        """Say the shapes; their descriptions live until the run has ended."""
        for index, port in enumerate(self._inputs):
            shape = port.tensor.shape(sizes)
            description = TensorDescription(self._equipment.acl, port.dtype, shape)
            stack.callback(description.close)
            self._taken.set_shape(index, description)

    def _set_gear(self, bucket: Sizes) -> None:
        gear = [size for port in self._inputs for size in port.tensor.shape(bucket)]
        index = len(self._inputs)
        set_gear(self._equipment.acl, self._model, self._taken, index, gear)

    def _shape_of(self, index: int, port: _Port, bucket: Sizes) -> tuple[int, ...]:
        """How an output lies in its memory."""
        expected = found = port.tensor.shape(bucket)
        if self._graph.mode == DYNAMIC:
            found = self._given.shape(index) or expected
        elif self._graph.mode == GEARS:
            found = self._description.current_output_shape(index)
        if found != expected:
            raise self._wrong(f"gave {port.tensor.name} as {found}, not {expected}")
        return expected

    def _fetch(self, port: _Port, sizes: Sizes, full: tuple[int, ...]) -> None:
        memory = self._equipment.memory
        valid = port.tensor.shape(sizes)
        for span in spans(valid, full, np.dtype(port.dtype).itemsize):
            memory.host(port.place).fetch(memory.device(port.place), span, self._equipment.stream)

    def _read(self, port: _Port, sizes: Sizes) -> Array:
        """A copy: the memory belongs to the next run."""
        host = self._equipment.memory.host(port.place)
        view = host.view(port.dtype, port.tensor.shape(sizes))
        return view.astype(port.tensor.dtype, copy=True)

    def _follow_memory(self) -> None:
        """A model that was loaded later may have moved the memory."""
        memory = self._equipment.memory
        if self._generation == memory.generation:
            return
        for port in self._all:
            port.buffer.move(memory.device(port.place), port.size)
        self._generation = memory.generation

    def _dataset(self, stack: contextlib.ExitStack) -> Dataset:
        dataset = Dataset(self._equipment.acl)
        stack.callback(dataset.close)
        return dataset

    def _check(self) -> list[int]:
        """Compare the file with the manifest.

        Returns:
            Where the manifest has each input of the file.
        """
        description, graph = self._description, self._graph
        gears = graph.mode == GEARS
        counts = (description.input_count() - gears, description.output_count())
        if counts != (len(graph.inputs), len(graph.outputs)):
            raise self._wrong(f"has {counts} inputs and outputs")
        known = [tensor.name for tensor in graph.inputs]
        names = [description.input_name(index) for index in range(counts[0])]
        # A converter may have renamed the inputs; then the order of the manifest is theirs.
        order = [known.index(name) for name in names] if set(names) == set(known) else None
        order = order or list(range(counts[0]))
        for index, place in enumerate(order):
            self._check_input(index, graph.inputs[place])
        for index, tensor in enumerate(graph.outputs):
            self._check_output(index, tensor)
        if gears:
            self._check_gears([graph.inputs[place] for place in order])
        return order

    def _check_input(self, index: int, tensor: OmTensor) -> None:
        found = self._description.input_shape(index)
        fixed = self._graph.mode not in (GEARS, DYNAMIC)
        wanted = tuple(
            axis if isinstance(axis, int) else self._file.sizes[0][axis] if fixed else -1
            for axis in tensor.axes
        )
        if found != wanted:
            raise self._wrong(f"takes {tensor.name} as {found}, not {wanted}")
        self._check_dtype(tensor, self._description.input_dtype(index))

    def _check_output(self, index: int, tensor: OmTensor) -> None:
        found = self._description.output_shape(index)
        fixed = self._graph.mode not in (GEARS, DYNAMIC)
        wanted = tensor.shape(self._file.sizes[0]) if fixed else tensor.axes
        fits = len(found) == len(wanted) and all(
            isinstance(size, str) or size == other
            for size, other in zip(wanted, found, strict=True)
        )
        if not fits:
            raise self._wrong(f"gives {tensor.name} as {found}, not {wanted}")
        self._check_dtype(tensor, self._description.output_dtype(index))

    def _check_dtype(self, tensor: OmTensor, found: str) -> None:
        """NumPy knows not all types of a device."""
        if found not in KNOWN_DTYPES:
            raise self._wrong(f"has {tensor.name} in a type that is not read ({found})")

    def _check_gears(self, tensors: list[OmTensor]) -> None:
        if self._description.gear_index() != len(tensors):
            raise self._wrong("has the input for gears in the middle")
        found = set(self._description.gears())
        wanted = {
            tuple(size for tensor in tensors for size in tensor.shape(sizes))
            for sizes in self._file.sizes
        }
        if not wanted <= found:
            raise self._wrong(f"has the gears {sorted(found)}, not {sorted(wanted)}")

    def _sizes(self, tensors: list[OmTensor]) -> list[int]:
        """Bytes of every buffer: of inputs, of the input for gears, of outputs."""
        description, most = self._description, largest(self._file.sizes)
        dtypes = self._dtypes()
        inputs = [description.input_bytes(index) for index in range(description.input_count())]
        outputs = [description.output_bytes(index) for index in range(description.output_count())]
        expected = [tensor.shape(most) for tensor in tensors]
        expected += [() for _ in self._added()]
        expected += [tensor.shape(most) for tensor in self._graph.outputs]
        # A file of any size says 0 where it does not know.
        return [
            found or int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            for found, shape, dtype in zip([*inputs, *outputs], expected, dtypes, strict=True)
        ]

    def _dtypes(self) -> list[str]:
        description = self._description
        return [
            *[description.input_dtype(index) for index in range(description.input_count())],
            *[description.output_dtype(index) for index in range(description.output_count())],
        ]

    def _added(self) -> list[OmTensor]:
        return [OmTensor("", "int32", ())] if self._graph.mode == GEARS else []

    def _wrong(self, problem: str) -> ModelIntegrityError:
        return unusable(self._graph.folder / self._file.file, self._graph.graph, problem)


def _by_size(sizes: list[int]) -> list[int]:
    """Places of the sizes, the largest first."""
    return sorted(range(len(sizes)), key=lambda index: -sizes[index])
