"""SIMULATION: ``acl.mdl``: models, datasets, gears, dynamic shapes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import om
from .data import ITEM_BYTES, DataBuffer, TensorDesc
from .machine import (
    AICORE_EXCEPTION,
    INVALID_PARAM,
    MODEL_CONTEXT,
    STREAM_CONTEXT,
    CallError,
    Context,
    Machine,
    Stream,
    call,
    getter,
)

GEAR_INPUT = "ascend_mbatch_shape_data"

NOT_SUPPORTED = 200001
UNKNOWN_MODEL = 145003
PARAM_INVALID = 145000
NO_ADDRESS = 145011
WRONG_LENGTH = 145012
NO_GEAR = 145013
STILL_RUNNING = 107037

_FIXED_ONLY = ("Ascend310",)
"""Chips without true dynamic shapes, with ``Ascend310B`` and its kin."""

_sessions: dict[str, Any] = {}


@dataclass(eq=False)
class Model:
    """A loaded OM."""

    om: om.Header
    session: Any
    context: Context
    weights: int
    family: str = ""
    running: int = 0
    gear: int | None = None


@dataclass(eq=False)
class Desc:
    model: Model | None = None
    number: int = 0


@dataclass(eq=False)
class Dataset:
    buffers: list[int] = field(default_factory=list)
    descs: dict[int, int] = field(default_factory=dict)
    gears: dict[int, int] = field(default_factory=dict)
    """Gears that were set, by the number of the model."""


@dataclass(eq=False)
class ExecConfig:
    pass


# Models


@call("acl.mdl.load_from_file", 0)
def load_from_file(here: Machine, path: str) -> int:
    context = here.working()
    header, graph = om.read(Path(path))
    if header.soc != here.soc:
        raise CallError(
            here.mismatch_code,
            "EE1001: The argument is invalid. Reason: ModelCheckCompatibility failed, supported "
            f"socVersion={here.soc}, but the model socVersion={header.soc} (0x7BC80)",
        )
    weights = here.allocate(len(graph), context.device)
    return here.add(Model(header, _session(graph), context, weights.address))


@call("acl.mdl.unload")
def unload(here: Machine, number: int) -> None:
    context = here.here()
    model = here.get(number, Model, UNKNOWN_MODEL)
    _same_context(model, context)
    device = here.devices[context.device]
    stuck = model.running and (device.lost or device.hung)
    if model.running and not stuck:
        raise CallError(STILL_RUNNING, f"model {number} still runs")
    here.drop(number, Model)
    here.release(model.weights, host=False)
    here.check_device(context.device)
    if stuck:
        # It goes with the device when that is reset; more cannot be asked of a program.
        raise CallError(STILL_RUNNING, f"model {number} hangs")


@call("acl.mdl.query_size", 0, 0)
def query_size(here: Machine, path: str) -> tuple[int, int]:
    return 0, len(om.read(Path(path))[1])


# Descriptions


@getter("acl.mdl.create_desc", 0)
def create_desc(here: Machine) -> int:
    return here.add(Desc())


@call("acl.mdl.get_desc")
def get_desc(here: Machine, desc: int, number: int) -> None:
    model = here.get(number, Model, UNKNOWN_MODEL)
    found = here.get(desc, Desc)
    found.model, found.number = model, number


@call("acl.mdl.destroy_desc")
def destroy_desc(here: Machine, desc: int) -> None:
    here.drop(desc, Desc)


@getter("acl.mdl.get_num_inputs", 0)
def get_num_inputs(here: Machine, desc: int) -> int:
    header = _model(here, desc).om
    return len(header.inputs) + (header.mode == "gears")


@getter("acl.mdl.get_num_outputs", 0)
def get_num_outputs(here: Machine, desc: int) -> int:
    return len(_model(here, desc).om.outputs)


@getter("acl.mdl.get_input_size_by_index", 0)
def get_input_size_by_index(here: Machine, desc: int, index: int) -> int:
    header = _model(here, desc).om
    if header.mode == "gears" and index == len(header.inputs):
        return 4 * _free_count(header)
    tensor = _tensor(header.inputs, index)
    if header.mode == "dynamic" and -1 in _dims(header, tensor):
        return 0
    return _bytes(tensor, _largest(header, tensor))


@getter("acl.mdl.get_output_size_by_index", 0)
def get_output_size_by_index(here: Machine, desc: int, index: int) -> int:
    header = _model(here, desc).om
    tensor = _tensor(header.outputs, index)
    if header.mode == "dynamic" and -1 in _dims(header, tensor):
        return 0
    return _bytes(tensor, _largest(header, tensor))


@getter("acl.mdl.get_input_name_by_index", "")
def get_input_name_by_index(here: Machine, desc: int, index: int) -> str:
    header = _model(here, desc).om
    if header.mode == "gears" and index == len(header.inputs):
        return GEAR_INPUT
    return _tensor(header.inputs, index).name


@getter("acl.mdl.get_output_name_by_index", "")
def get_output_name_by_index(here: Machine, desc: int, index: int) -> str:
    """As the converter of the devices names outputs: node, place, name."""
    return f"node_{index}:0:{_tensor(_model(here, desc).om.outputs, index).name}"


@call("acl.mdl.get_input_index_by_name", 0)
def get_input_index_by_name(here: Machine, desc: int, name: str) -> int:
    header = _model(here, desc).om
    names = [tensor.name for tensor in header.inputs]
    if header.mode == "gears":
        names.append(GEAR_INPUT)
    if name not in names:
        raise CallError(INVALID_PARAM, f"no input {name}")
    return names.index(name)


@call("acl.mdl.get_input_dims", None)
def get_input_dims(here: Machine, desc: int, index: int) -> dict[str, Any]:
    header = _model(here, desc).om
    if header.mode == "gears" and index == len(header.inputs):
        return _described(GEAR_INPUT, [_free_count(header)])
    tensor = _tensor(header.inputs, index)
    return _described(tensor.name, _dims(header, tensor))


@call("acl.mdl.get_output_dims", None)
def get_output_dims(here: Machine, desc: int, index: int) -> dict[str, Any]:
    header = _model(here, desc).om
    tensor = _tensor(header.outputs, index)
    dims = _dims(header, tensor) if header.mode == "dynamic" else _largest(header, tensor)
    return _described(tensor.name, dims)


@call("acl.mdl.get_cur_output_dims", None)
def get_cur_output_dims(here: Machine, desc: int, index: int) -> dict[str, Any]:
    """Shape for the gear that was set last; the largest before any was."""
    model = _model(here, desc)
    tensor = _tensor(model.om.outputs, index)
    if model.om.mode == "dynamic":
        raise CallError(NOT_SUPPORTED, "not for models of dynamic shape")
    gear = model.gear
    if gear is None:
        return _described(tensor.name, _largest(model.om, tensor))
    sizes = model.om.sizes[gear]
    return _described(tensor.name, [om.size_of(axis, sizes) for axis in tensor.axes])


@getter("acl.mdl.get_input_data_type", -1)
def get_input_data_type(here: Machine, desc: int, index: int) -> int:
    header = _model(here, desc).om
    if header.mode == "gears" and index == len(header.inputs):
        return 3
    return om.DTYPES[_tensor(header.inputs, index).dtype]


@getter("acl.mdl.get_output_data_type", -1)
def get_output_data_type(here: Machine, desc: int, index: int) -> int:
    return om.DTYPES[_tensor(_model(here, desc).om.outputs, index).dtype]


@getter("acl.mdl.get_input_format", -1)
def get_input_format(here: Machine, desc: int, index: int) -> int:
    _tensor(_model(here, desc).om.inputs, index)
    return 2


@getter("acl.mdl.get_output_format", -1)
def get_output_format(here: Machine, desc: int, index: int) -> int:
    _tensor(_model(here, desc).om.outputs, index)
    return 2


# Datasets


@getter("acl.mdl.create_dataset", 0)
def create_dataset(here: Machine) -> int:
    return here.add(Dataset())


@call("acl.mdl.destroy_dataset")
def destroy_dataset(here: Machine, dataset: int) -> None:
    found = here.drop(dataset, Dataset)
    for handle, desc in here.things(TensorDesc):
        if desc.default and handle in found.descs.values():
            desc.default = False
            here.drop(handle, TensorDesc)


@call("acl.mdl.add_dataset_buffer", 0)
def add_dataset_buffer(here: Machine, dataset: int, buffer: int) -> int:
    here.get(buffer, DataBuffer)
    here.get(dataset, Dataset).buffers.append(buffer)
    return dataset


@getter("acl.mdl.get_dataset_num_buffers", 0)
def get_dataset_num_buffers(here: Machine, dataset: int) -> int:
    return len(here.get(dataset, Dataset).buffers)


@getter("acl.mdl.get_dataset_buffer", 0)
def get_dataset_buffer(here: Machine, dataset: int, index: int) -> int:
    buffers = here.get(dataset, Dataset).buffers
    return int(buffers[index]) if 0 <= index < len(buffers) else 0


@call("acl.mdl.set_dataset_tensor_desc", 0)
def set_dataset_tensor_desc(here: Machine, dataset: int, desc: int, index: int) -> int:
    if here.soc.startswith(_FIXED_ONLY) and not here.soc.startswith("Ascend310P"):
        raise CallError(NOT_SUPPORTED, f"not on {here.soc}")
    found = here.get(dataset, Dataset)
    here.get(desc, TensorDesc)
    if not 0 <= index < len(found.buffers):
        raise CallError(INVALID_PARAM, f"the dataset has no buffer {index}")
    found.descs[index] = desc
    return dataset


@getter("acl.mdl.get_dataset_tensor_desc", 0)
def get_dataset_tensor_desc(here: Machine, dataset: int, index: int) -> int:
    """Of an output: only after the model ran."""
    found = here.get(dataset, Dataset)
    if index not in found.descs:
        raise CallError(INVALID_PARAM, "the dataset has no description there yet")
    return int(found.descs[index])


# Gears


@call("acl.mdl.get_dynamic_batch", None)
def get_dynamic_batch(here: Machine, desc: int) -> dict[str, Any]:
    """These OMs have gears of all dimensions, never of the batch alone."""
    _model(here, desc)
    return {"batchCount": 0, "batch": []}


@call("acl.mdl.get_dynamic_hw", None)
def get_dynamic_hw(here: Machine, desc: int, _index: int) -> dict[str, Any]:
    _model(here, desc)
    return {"hwCount": 0, "hw": []}


@call("acl.mdl.set_dynamic_batch_size")
def set_dynamic_batch_size(
    here: Machine, number: int, dataset: int, index: int, batch: int
) -> None:
    model = _settable(here, number, dataset, "batch")
    if batch == 0:
        raise CallError(INVALID_PARAM, "batch 0")
    _gear_buffer(here, model, dataset, index)
    raise CallError(NO_GEAR, "the model has no gears of the batch")


@call("acl.mdl.set_dynamic_hw_size")
def set_dynamic_hw_size(
    here: Machine, number: int, dataset: int, index: int, height: int, width: int
) -> None:
    model = _settable(here, number, dataset, "hw")
    if height == 0 or width == 0:
        raise CallError(INVALID_PARAM, "size 0")
    _gear_buffer(here, model, dataset, index)
    raise CallError(NO_GEAR, "the model has no gears of images")


@call("acl.mdl.get_input_dynamic_gear_count", 0)
def get_input_dynamic_gear_count(here: Machine, desc: int, index: int) -> int:
    if index != -1:
        raise CallError(INVALID_PARAM, "the index has to be -1")
    header = _model(here, desc).om
    return len(header.sizes) if header.mode == "gears" else 0


@call("acl.mdl.get_input_dynamic_dims", None)
def get_input_dynamic_dims(here: Machine, desc: int, index: int, count: int) -> list[Any]:
    if index != -1:
        raise CallError(INVALID_PARAM, "the index has to be -1")
    header = _model(here, desc).om
    if header.mode != "gears" or count < len(header.sizes):
        raise CallError(INVALID_PARAM, f"not {count} gears")
    return [_described("", _joined(header, gear)) for gear in range(len(header.sizes))]


@call("acl.mdl.set_input_dynamic_dims")
def set_input_dynamic_dims(
    here: Machine, number: int, dataset: int, index: int, dims: dict[str, Any]
) -> None:
    model = _settable(here, number, dataset, "dims")
    if dims["dimCount"] == 0:
        raise CallError(INVALID_PARAM, "dimCount 0")
    if model.om.mode != "gears":
        raise CallError(INVALID_PARAM, "the model has no gears")
    buffer = _gear_buffer(here, model, dataset, index)
    total = sum(len(tensor.axes) for tensor in model.om.inputs)
    if dims["dimCount"] != total:
        raise CallError(WRONG_LENGTH, f"dimCount {dims['dimCount']} instead of {total}")
    wanted = list(dims["dims"])[: dims["dimCount"]]
    gears = [_joined(model.om, gear) for gear in range(len(model.om.sizes))]
    if wanted not in gears:
        raise CallError(NO_GEAR, f"no gear is {wanted}")
    gear = gears.index(wanted)
    values = _free_values(model.om, gear)
    kind = np.int64 if buffer.size >= 8 * len(values) else np.int32
    content = np.array(values, kind).view(np.uint8)
    here.device_bytes(buffer.address, content.size, model.context.device)[:] = content
    here.get(dataset, Dataset).gears[number] = gear
    model.gear = gear


# Execution


@call("acl.mdl.execute")
def execute(here: Machine, number: int, inputs: int, outputs: int) -> None:
    work = _prepared(here, number, inputs, outputs)
    device = here.devices[here.working().device]
    if device.hung:
        here.released.wait()
        raise CallError(507046, "the run was aborted")
    work()


@call("acl.mdl.execute_async")
def execute_async(here: Machine, number: int, inputs: int, outputs: int, stream: int) -> None:
    """The result is there when the stream was synchronized, not before."""
    context = here.working()
    found = here.get(stream, Stream)
    if found.context is not context:
        raise CallError(STREAM_CONTEXT, "the stream belongs to another context")
    for _, other in here.things(Stream):
        if other is not found and any(owner == number for owner, _ in other.queue):
            here.violate("a model runs on two streams at once")
            raise CallError(INVALID_PARAM, "the model runs on another stream")
    work = _prepared(here, number, inputs, outputs)
    model = here.get(number, Model)
    model.running += 1

    def run() -> None:
        try:
            work()
        finally:
            model.running -= 1

    found.queue.append((number, run))


@getter("acl.mdl.create_exec_config_handle", 0)
def create_exec_config_handle(here: Machine) -> int:
    return here.add(ExecConfig())


@call("acl.mdl.destroy_exec_config_handle")
def destroy_exec_config_handle(here: Machine, handle: int) -> None:
    here.drop(handle, ExecConfig)


@call("acl.mdl.execute_v2")
def execute_v2(
    here: Machine, number: int, inputs: int, outputs: int, stream: int, handle: int
) -> None:
    here.get(handle, ExecConfig)
    if here.devices[here.working().device].hung:
        raise CallError(507046, "the stream did not end in time")
    here.get(stream, Stream)
    _prepared(here, number, inputs, outputs)()


def _prepared(here: Machine, number: int, inputs: int, outputs: int) -> Callable[[], None]:
    """Check everything that can be checked before a run; the run itself comes back."""
    context = here.working()
    model: Model = here.get(number, Model, UNKNOWN_MODEL)
    _same_context(model, context)
    taken = [here.get(one, DataBuffer) for one in here.get(inputs, Dataset).buffers]
    given = [here.get(one, DataBuffer) for one in here.get(outputs, Dataset).buffers]
    wanted = len(model.om.inputs) + (model.om.mode == "gears")
    if len(taken) != wanted or len(given) != len(model.om.outputs):
        raise CallError(INVALID_PARAM, f"{len(taken)} inputs and {len(given)} outputs")
    if model.om.mode == "static":
        _check_sizes(here, model, taken, given)
    if here.get(inputs, Dataset).descs and model.om.mode != "dynamic":
        raise CallError(INVALID_PARAM, "the dataset has shapes, the model is not dynamic")
    shapes = _asked_shapes(here, model, inputs) if model.om.mode == "dynamic" else None

    def run() -> None:
        device = here.devices[context.device]
        for dataset in (inputs, outputs):
            here.get(dataset, Dataset)
        with device.turn:
            here.check_device(context.device)
            _run(here, model, number, (inputs, outputs), shapes)
            device.runs += 1

    return run


def _run(
    here: Machine,
    model: Model,
    number: int,
    datasets: tuple[int, int],
    shapes: list[list[int]] | None,
) -> None:
    header = model.om
    taken = [here.get(one, DataBuffer) for one in here.get(datasets[0], Dataset).buffers]
    if shapes is None:
        sizes = header.sizes[_gear(here, model, number, datasets[0], taken)]
        shapes = [[om.size_of(axis, sizes) for axis in tensor.axes] for tensor in header.inputs]
    feed = {}
    kinds = {argument.name: argument.type for argument in model.session.get_inputs()}
    for tensor, shape, buffer in zip(header.inputs, shapes, taken, strict=False):
        size = _bytes(tensor, shape)
        content = _memory(here, model, buffer.address, size)
        array = content.view(tensor.dtype).reshape(shape)
        feed[tensor.name] = array.astype(_graph_dtype(kinds[tensor.name]))
    results = model.session.run([tensor.name for tensor in header.outputs], feed)
    for index, result in enumerate(results):
        _give(here, model, datasets[1], index, result)


def _give(here: Machine, model: Model, dataset: int, index: int, result: np.ndarray) -> None:
    """Put one result into its buffer; what lies behind it becomes noise."""
    tensor = model.om.outputs[index]
    found = here.get(dataset, Dataset)
    buffer = here.get(found.buffers[index], DataBuffer)
    content = np.ascontiguousarray(result.astype(tensor.dtype)).reshape(-1).view(np.uint8)
    if model.om.mode == "dynamic":
        if buffer.address == 0 and buffer.size == 0:
            block = here.allocate(max(content.size, 1), model.context.device)
            buffer.address, buffer.size = block.address, block.size
        elif buffer.size < content.size:
            raise CallError(PARAM_INVALID, f"output {index} needs {content.size} bytes")
        old = found.descs.pop(index, None)
        if old is not None and here.get(old, TensorDesc).default:
            here.get(old, TensorDesc).default = False
            here.drop(old, TensorDesc)
        desc = TensorDesc(om.DTYPES[tensor.dtype], list(result.shape), default=True)
        found.descs[index] = here.add(desc)
    memory = _memory(here, model, buffer.address, max(buffer.size, content.size))
    memory[: content.size] = content
    memory[content.size :] = here.noise(memory.size - content.size)


def _memory(here: Machine, model: Model, address: int, size: int) -> np.ndarray:
    """Memory that the device reads or writes; leaving it is an exception of the core."""
    try:
        return here.device_bytes(address, size, model.context.device)
    except CallError as fault:
        raise CallError(AICORE_EXCEPTION, f"E19999: {fault.text}") from fault


def _gear(here: Machine, model: Model, number: int, dataset: int, taken: list[DataBuffer]) -> int:
    """The gear in the buffer of the added input; without a setter the largest one."""
    header = model.om
    if header.mode == "static":
        return 0
    gear = here.get(dataset, Dataset).gears.get(number)
    if gear is None:
        here.warnings.append(f"model {number} ran its largest gear: no setter was called")
        return _largest_gear(header)
    values = _free_values(header, gear)
    kind = np.int64 if taken[-1].size >= 8 * len(values) else np.int32
    size = len(values) * np.dtype(kind).itemsize
    found = _memory(here, model, taken[-1].address, size).view(kind).tolist()
    if found != values:
        here.violate("the added input of a model with gears was overwritten")
        raise CallError(AICORE_EXCEPTION, f"no gear is {found}")
    return gear


def _asked_shapes(here: Machine, model: Model, dataset: int) -> list[list[int]]:
    """Shapes of the inputs of a dynamic model, from the descriptions."""
    found = here.get(dataset, Dataset)
    header, largest = model.om, model.om.sizes[0]
    shapes = []
    for index, tensor in enumerate(header.inputs):
        if index not in found.descs:
            if -1 in _dims(header, tensor):
                raise CallError(INVALID_PARAM, f"input {tensor.name} has no shape")
            shapes.append([om.size_of(axis, largest) for axis in tensor.axes])
            continue
        asked = here.get(found.descs[index], TensorDesc).dims
        most = [om.size_of(axis, largest) for axis in tensor.axes]
        fits = len(asked) == len(most) and all(
            1 <= size <= limit and (isinstance(axis, str) or size == axis)
            for size, limit, axis in zip(asked, most, tensor.axes, strict=True)
        )
        if not fits:
            raise CallError(INVALID_PARAM, f"shape out of shape range: {asked} of {most}")
        size = _bytes(tensor, asked)
        buffer = here.get(found.buffers[index], DataBuffer)
        if buffer.size < size:
            raise CallError(PARAM_INVALID, f"E13025: input {index} needs {size} bytes")
        shapes.append(list(asked))
    return shapes


def _check_sizes(
    here: Machine, model: Model, taken: list[DataBuffer], given: list[DataBuffer]
) -> None:
    header = model.om
    tensors = (*header.inputs, *header.outputs)
    for index, (tensor, buffer) in enumerate(zip(tensors, [*taken, *given], strict=True)):
        size = _bytes(tensor, _largest(header, tensor))
        if -(-buffer.size // 64) * 64 < size:
            raise CallError(
                PARAM_INVALID,
                f"E13025: buffer {index} has {buffer.size} bytes, the tensor {size}",
            )
        if buffer.size > size:
            here.warnings.append(f"buffer {index} is larger than its tensor")


def _settable(here: Machine, number: int, dataset: int, family: str) -> Model:
    here.working()
    if dataset == 0:
        raise CallError(INVALID_PARAM, "no dataset")
    here.get(dataset, Dataset)
    model: Model = here.get(number, Model, UNKNOWN_MODEL)
    if model.family not in ("", family):
        raise CallError(INVALID_PARAM, f"{model.family} and {family}: only one of them")
    model.family = family
    return model


def _gear_buffer(here: Machine, model: Model, dataset: int, index: int) -> DataBuffer:
    buffers = here.get(dataset, Dataset).buffers
    if model.om.mode != "gears" or index != len(model.om.inputs) or index >= len(buffers):
        raise CallError(INVALID_PARAM, f"input {index} is not {GEAR_INPUT}")
    buffer: DataBuffer = here.get(buffers[index], DataBuffer)
    if buffer.address == 0:
        raise CallError(NO_ADDRESS, f"{GEAR_INPUT} has no memory")
    if buffer.size < 4 * _free_count(model.om):
        raise CallError(WRONG_LENGTH, f"{GEAR_INPUT} has {buffer.size} bytes")
    return buffer


def _same_context(model: Model, context: Context) -> None:
    if model.context is not context:
        raise CallError(MODEL_CONTEXT, "EE1010: the model was loaded in another context")


def _model(here: Machine, desc: int) -> Model:
    found = here.get(desc, Desc)
    if found.model is None:
        raise CallError(INVALID_PARAM, "the description is empty")
    here.get(found.number, Model)
    model: Model = found.model
    return model


def _tensor(tensors: tuple[om.Tensor, ...], index: int) -> om.Tensor:
    if not 0 <= index < len(tensors):
        raise CallError(INVALID_PARAM, f"no tensor {index}")
    return tensors[index]


def _dims(header: om.Header, tensor: om.Tensor) -> list[int]:
    """Sizes with -1 where they are free."""
    if header.mode == "static":
        return _largest(header, tensor)
    return [axis if isinstance(axis, int) else -1 for axis in tensor.axes]


def _largest_gear(header: om.Header) -> int:
    return max(
        range(len(header.sizes)),
        key=lambda gear: math.prod(_joined(header, gear)),
    )


def _largest(header: om.Header, tensor: om.Tensor) -> list[int]:
    """The largest size of each axis; root inputs carry these."""
    return [max(om.size_of(axis, sizes) for sizes in header.sizes) for axis in tensor.axes]


def _joined(header: om.Header, gear: int) -> list[int]:
    sizes = header.sizes[gear]
    return [om.size_of(axis, sizes) for tensor in header.inputs for axis in tensor.axes]


def _free_values(header: om.Header, gear: int) -> list[int]:
    sizes = header.sizes[gear]
    return [
        om.size_of(axis, sizes)
        for tensor in header.inputs
        for axis in tensor.axes
        if isinstance(axis, str)
    ]


def _free_count(header: om.Header) -> int:
    return len(_free_values(header, 0))


def _bytes(tensor: om.Tensor, shape: list[int]) -> int:
    return math.prod(shape) * ITEM_BYTES[om.DTYPES[tensor.dtype]]


def _described(name: str, dims: list[int]) -> dict[str, Any]:
    return {"name": name, "dimCount": len(dims), "dims": dims}


def _graph_dtype(kind: str) -> str:
    name = kind.removeprefix("tensor(").removesuffix(")")
    return {"float": "float32", "double": "float64"}.get(name, name)


def _session(graph: bytes) -> Any:
    import onnxruntime

    key = hashlib.sha256(graph).hexdigest()
    if key not in _sessions:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        _sessions[key] = onnxruntime.InferenceSession(
            graph, sess_options=options, providers=["CPUExecutionProvider"]
        )
    return _sessions[key]
