"""Networks executed by an Ascend device, from OM files."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from asr_core.errors import (
    DeviceMemoryError,
    DeviceMismatchError,
    SessionClosedError,
)
from asr_core.runtime.ascend_acl import ACL, AclRuntime
from asr_core.runtime.ascend_device import LOAD_TIMEOUT_S, AscendDevice, Equipment
from asr_core.runtime.ascend_manifest import DYNAMIC, GEARS, OmFile, OmGraph, OmTensor, Sizes
from asr_core.runtime.ascend_model import LoadedOm
from asr_core.runtime.ascend_shapes import choose, largest, measure, most_rows
from asr_core.runtime.session import Array, TensorSpec, check_inputs

logger = logging.getLogger(__name__)

_UNKNOWN = "?"
_VERSION_WORDS = {"alpha": 0, "beta": 1, "rc": 2}
_RELEASE, _NUMBER = 3, 4


class AscendSession:
    """One graph on a device; implements :class:`asr_core.runtime.session.Session`.

    Inputs of any size up to the largest of the files are padded to the smallest one that takes
    them, and outputs are cut; more rows than a file takes are run in turns. Where the device has
    no memory to load a model or to run it, the rows are halved once.

    Args:
        device: where it runs; several sessions share it.
        graph: the manifest of its files.
        cann: version of this machine; "?" where it is unknown.
        closed: called when the session was closed.

    Raises:
        DeviceMismatchError: the files are made for another chip or a later CANN.
        ModelIntegrityError: a file is not what the manifest says.
        DeviceError: a file cannot be loaded.
    """

    def __init__(
        self,
        device: AscendDevice,
        graph: OmGraph,
        *,
        cann: str = _UNKNOWN,
        closed: Callable[[], None] | None = None,
    ) -> None:
        self._device = device
        self._tell_closed = closed
        self._graph = graph
        self._cann = cann
        self._stack = contextlib.ExitStack()
        self._loaded: list[LoadedOm] = []
        self._closed = False
        self._check_fit()
        try:
            self._load_files()
        except DeviceMismatchError as exc:
            raise self._mismatch("soc", graph.files[0], exc) from exc
        used = self._graph.files
        self._buckets: list[Sizes] = [sizes for file in used for sizes in file.sizes]
        self._files = [number for number, file in enumerate(used) for _ in file.sizes]
        name, mode = graph.graph, graph.mode
        logger.info("model loaded graph=%s device=%s mode=%s", name, device.name, mode)

    @property
    def input_specs(self) -> tuple[TensorSpec, ...]:
        return tuple(_spec(tensor) for tensor in self._graph.inputs)

    @property
    def output_specs(self) -> tuple[TensorSpec, ...]:
        return tuple(_spec(tensor) for tensor in self._graph.outputs)

    @property
    def limits(self) -> Mapping[str, int]:
        """The largest size of each free axis; that of the batch is no limit."""
        return {
            axis: size for axis, size in largest(self._buckets).items() if axis != self._graph.batch
        }

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Execute the graph; see :meth:`asr_core.runtime.session.Session.run`.

        Raises:
            DeviceInputError: an axis is longer than the files take.
            DeviceMemoryError: there is no memory, not even for half the rows.
            DeviceLostError: the device answers no more.
        """
        if self._closed:
            raise SessionClosedError(f"The session of {self._graph.graph} is closed")
        check_inputs(self.input_specs, inputs)
        sizes = measure(self._graph.inputs, inputs)
        place = choose(self._buckets, sizes, self._graph.batch)
        if place is None:
            return self._in_turns(inputs, sizes)
        try:
            return self._run(inputs, sizes, place)
        except DeviceMemoryError as exc:
            if sizes.get(self._graph.batch, 1) == 1:
                raise
            logger.warning("no memory for a run, half the rows device=%s", self._device.name)
            half = -(-sizes[self._graph.batch] // 2)
            return self._halved(inputs, half, exc)

    def close(self) -> None:
        """Unload the files; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._device.unload(self._stack)
            if self._tell_closed is not None:
                self._tell_closed()

    def _run(self, inputs: Mapping[str, Array], sizes: Sizes, place: int) -> dict[str, Array]:
        loaded = self._loaded[self._files[place]]
        bucket = self._buckets[place]

        def run(_equipment: Equipment) -> dict[str, Array]:
            # Its turn comes after that of whoever closed the session meanwhile.
            if self._closed:
                raise SessionClosedError(f"The session of {self._graph.graph} is closed")
            return loaded.run(inputs, sizes, bucket)

        return self._device.call(run)

    def _in_turns(self, inputs: Mapping[str, Array], sizes: Sizes) -> dict[str, Array]:
        """More rows than any file takes."""
        rows = most_rows(self._buckets, sizes, self._graph.batch)
        return self._joined(
            [self.run(part) for part in self._parts(inputs, sizes[self._graph.batch], rows)]
        )

    def _halved(
        self, inputs: Mapping[str, Array], rows: int, cause: DeviceMemoryError
    ) -> dict[str, Array]:
        """The same in two parts; a second lack of memory is final."""
        total = measure(self._graph.inputs, inputs)[self._graph.batch]
        done = []
        for part in self._parts(inputs, total, rows):
            sizes = measure(self._graph.inputs, part)
            place = choose(self._buckets, sizes, self._graph.batch)
            if place is None:
                raise cause
            done.append(self._run(part, sizes, place))
        return self._joined(done)

    def _parts(self, inputs: Mapping[str, Array], total: int, rows: int) -> list[dict[str, Array]]:
        """Inputs cut along the batch; what has no such axis goes whole to each part."""
        axes = {
            tensor.name: tensor.axes.index(self._graph.batch)
            for tensor in self._graph.inputs
            if self._graph.batch in tensor.axes
        }
        return [
            {
                name: (
                    array[(slice(None),) * axes[name] + (slice(first, first + rows),)]
                    if name in axes
                    else array
                )
                for name, array in inputs.items()
            }
            for first in range(0, total, rows)
        ]

    def _joined(self, parts: list[dict[str, Array]]) -> dict[str, Array]:
        joined: dict[str, Array] = {}
        for tensor in self._graph.outputs:
            arrays = [part[tensor.name] for part in parts]
            if self._graph.batch in tensor.axes:
                axis = tensor.axes.index(self._graph.batch)
                joined[tensor.name] = np.concatenate(arrays, axis=axis)
            else:
                joined[tensor.name] = arrays[0]
        return joined

    def _load_files(self) -> None:
        """Load all files; where there is no memory for them, those of half the rows, once."""
        try:
            self._device.call(self._load, timeout_s=LOAD_TIMEOUT_S)
        except DeviceMemoryError:
            smaller = with_half_the_rows(self._graph)
            if smaller is None:
                raise
            logger.warning("no memory to load a model, half the rows device=%s", self._device.name)
            self._graph = smaller
            self._device.call(self._load, timeout_s=LOAD_TIMEOUT_S)

    def _load(self, equipment: Equipment) -> None:
        try:
            for file in self._graph.files:
                self._loaded.append(LoadedOm(equipment, self._graph, file, self._stack))
        except BaseException:
            self._loaded.clear()
            self._stack.close()
            raise
        equipment.loaded.append(self._stack)

    def _check_fit(self) -> None:
        """The runtime's own words about a file of another kind are hard to understand."""
        graph = self._graph
        if graph.soc != self._device.soc:
            raise self._mismatch("soc", graph.files[0])
        if _UNKNOWN not in (graph.cann, self._cann) and newer(graph.cann, self._cann):
            raise self._mismatch("cann", graph.files[0])

    def _mismatch(
        self, reason: str, file: OmFile, found: DeviceMismatchError | None = None
    ) -> DeviceMismatchError:
        graph, device = self._graph, self._device
        details: dict[str, Any] = {
            "reason": reason,
            "path": file.file,
            "device": device.name,
            "soc": device.soc,
            "model_soc": graph.soc,
            "cann": self._cann,
            "model_cann": graph.cann,
        }
        if found is not None:
            told = {key: found.details[key] for key in ("soc", "model_soc")}
            details |= {key: value for key, value in told.items() if value != _UNKNOWN}
        return DeviceMismatchError(
            f"{file.file} is made for {details['model_soc']} and CANN {graph.cann}; "
            f"{device.name} is {details['soc']} with CANN {self._cann}",
            **details,
        )


def open_sessions(
    index: int,
    graphs: Mapping[str, OmGraph],
    *,
    runtime: AclRuntime = ACL,
    cann: str = _UNKNOWN,
    cores: Collection[int] = (),
) -> dict[str, AscendSession]:
    """Graphs that work together on one device; the last one that is closed closes it.

    Args:
        index: of the device.
        graphs: manifests by the names of the graphs.
        runtime: pyACL of the process.
        cann: version of this machine; "?" where it is unknown.
        cores: processor cores that the device's thread stays on; empty: any.

    Raises:
        As :class:`AscendDevice` and :class:`AscendSession`; nothing stays open then.
    """
    device = AscendDevice(index, runtime=runtime, cores=cores)
    sessions: dict[str, AscendSession] = {}
    opened: set[str] = set(graphs)

    def tell_closed(name: str) -> None:
        opened.discard(name)
        if not opened:
            device.close()

    try:
        for name, graph in graphs.items():
            closed = functools.partial(tell_closed, name)
            sessions[name] = AscendSession(device, graph, cann=cann, closed=closed)
    except BaseException:
        for session in sessions.values():
            session.close()
        device.close()
        raise
    return sessions


def with_half_the_rows(graph: OmGraph) -> OmGraph | None:
    """The same graph without its largest batches.

    Returns:
        ``None`` where it cannot be made smaller: a file with gears takes the memory of its largest
        gear, whichever runs.
    """
    if graph.mode == GEARS or not graph.batch:
        return None
    most = max(sizes[graph.batch] for file in graph.files for sizes in file.sizes)
    rows = most // 2
    files: tuple[OmFile, ...] = ()
    if graph.mode == DYNAMIC:
        [file] = graph.files
        sizes = {**file.sizes[0], graph.batch: rows}
        if rows:
            files = (dataclasses.replace(file, sizes=(sizes,)),)
    else:
        files = tuple(file for file in graph.files if file.sizes[0][graph.batch] <= rows)
    return dataclasses.replace(graph, files=files) if files else None


def newer(version: str, than: str) -> bool:
    """Whether a version of CANN is later: 8.0.RC1.alpha003 < 8.0.RC1 < 8.0.0 < 8.1."""
    return _order(version) > _order(than)


def _order(version: str) -> list[tuple[int, int]]:
    order = []
    for word, number in re.findall(r"([A-Za-z]*)\.?(\d+)", version):
        order.append((_VERSION_WORDS.get(word.lower(), _NUMBER), int(number)))
    return [*order, (_RELEASE, 0)]


def _spec(tensor: OmTensor) -> TensorSpec:
    shape = tuple(axis if isinstance(axis, int) else None for axis in tensor.axes)
    return TensorSpec(tensor.name, shape, tensor.dtype)
