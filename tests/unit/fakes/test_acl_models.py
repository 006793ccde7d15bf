"""The simulated acl keeps the documented rules of pyACL: models, gears, any shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes import acl
from tests.fakes.acl import om
from tests.fakes.acl.machine import Machine, start
from tests.fakes.simulation import INPUTS, OUTPUTS, attention_graph, attention_inputs

pytest.importorskip("onnx", reason="onnx is not installed")

GEARS = [{"batch": 1, "frames": 4}, {"batch": 1, "frames": 8}]
TO_DEVICE, TO_HOST = 1, 2


@pytest.fixture
def machine() -> Machine:
    machine = start(soc="Ascend310P3")
    acl.init()
    acl.rt.set_device(0)
    return machine


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return attention_graph(tmp_path_factory.mktemp("graph") / "attention.onnx")


def make(
    graph: Path, folder: Path, mode: str, sizes: Sequence[dict[str, int]], soc: str = "Ascend310P3"
) -> str:
    inputs, outputs = (
        tuple(om.Tensor(one.name, one.dtype, one.axes) for one in side)
        for side in (INPUTS, OUTPUTS)
    )
    header = om.Header(soc, mode, inputs, outputs, tuple(sizes))
    return str(om.build(graph, folder / f"{mode}.om", header))


class Loaded:
    """An OM with memory for everything, as a program would have it."""

    def __init__(self, path: str, sizes: dict[str, int]) -> None:
        self.model, ret = acl.mdl.load_from_file(path)
        assert ret == 0
        self.desc = acl.mdl.create_desc()
        assert acl.mdl.get_desc(self.desc, self.model) == 0
        self.sizes = sizes
        self.inputs, self.input_memory = self._dataset(INPUTS)
        if acl.mdl.get_num_inputs(self.desc) > len(INPUTS):
            size = acl.mdl.get_input_size_by_index(self.desc, len(INPUTS))
            self.gear_memory = self._add(self.inputs, size)
        self.outputs, self.output_memory = self._dataset(OUTPUTS)

    def _add(self, dataset: int, size: int) -> tuple[int, int]:
        pointer, ret = acl.rt.malloc(size, 0)
        assert ret == 0
        acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(pointer, size))
        return pointer, size

    def _dataset(self, tensors: Any) -> tuple[int, list[tuple[int, int]]]:
        dataset = acl.mdl.create_dataset()
        memory = []
        for tensor in tensors:
            shape = [om.size_of(axis, self.sizes) for axis in tensor.axes]
            memory.append(self._add(dataset, 4 * math.prod(shape)))
        return dataset, memory

    def feed(self, arrays: dict[str, np.ndarray]) -> None:
        for tensor, (pointer, size) in zip(INPUTS, self.input_memory, strict=True):
            content = arrays[tensor.name].tobytes()
            copy = (pointer, size, acl.util.bytes_to_ptr(content), len(content), TO_DEVICE)
            assert acl.rt.memcpy(*copy) == 0

    def output(self, count: int) -> np.ndarray:
        pointer, _ = self.output_memory[0]
        host, _ = acl.rt.malloc_host(4 * count)
        assert acl.rt.memcpy(host, 4 * count, pointer, 4 * count, TO_HOST) == 0
        return np.frombuffer(acl.util.ptr_to_bytes(host, 4 * count), np.float32)

    def set_gear(self, frames: int, batch: int = 1) -> int:
        index, ret = acl.mdl.get_input_index_by_name(self.desc, "ascend_mbatch_shape_data")
        assert ret == 0
        sizes = {"batch": batch, "frames": frames}
        dims = [om.size_of(axis, sizes) for tensor in INPUTS for axis in tensor.axes]
        given = {"dimCount": len(dims), "name": "", "dims": dims}
        return int(acl.mdl.set_input_dynamic_dims(self.model, self.inputs, index, given))

    def execute(self) -> int:
        return int(acl.mdl.execute(self.model, self.inputs, self.outputs))


def test_loading(machine: Machine, graph: Path, tmp_path: Path) -> None:
    assert acl.mdl.load_from_file(str(tmp_path / "none.om")) == (0, 145002)
    (tmp_path / "other.om").write_bytes(b"no OM")
    assert acl.mdl.load_from_file(str(tmp_path / "other.om")) == (0, 545001)
    path = make(graph, tmp_path, "static", GEARS[:1], soc="Ascend910B2")
    assert acl.mdl.load_from_file(path) == (0, 507008)
    text = acl.get_recent_err_msg() or ""
    assert "socVersion=Ascend310P3, but the model socVersion=Ascend910B2" in text


def test_models_belong_to_contexts(machine: Machine, graph: Path, tmp_path: Path) -> None:
    loaded = Loaded(make(graph, tmp_path, "static", GEARS[:1]), GEARS[0])
    first, _ = acl.rt.get_context()
    acl.rt.create_context(0)
    assert loaded.execute() == 107004
    assert "EE1010" in (acl.get_recent_err_msg() or "")
    assert acl.mdl.unload(loaded.model) == 107004
    acl.rt.set_context(first)
    assert acl.mdl.unload(loaded.model) == 0
    assert loaded.execute() == 145003
    assert acl.mdl.get_desc(loaded.desc, loaded.model) == 145003


def test_static_models_check_their_buffers(machine: Machine, graph: Path, tmp_path: Path) -> None:
    path = make(graph, tmp_path, "static", [{"batch": 1, "frames": 8}])
    loaded = Loaded(path, {"batch": 1, "frames": 16})
    loaded.feed(attention_inputs(1, 16))
    assert loaded.execute() == 0
    assert "larger" in machine.warnings[0]
    loaded = Loaded(path, {"batch": 1, "frames": 4})
    assert loaded.execute() == 145000
    assert "E13025" in (acl.get_recent_err_msg() or "")
    assert acl.mdl.execute(loaded.model, loaded.inputs, acl.mdl.create_dataset()) == 100000


def test_results_are_there_after_the_stream_is_synchronized(
    machine: Machine, graph: Path, tmp_path: Path
) -> None:
    loaded = Loaded(make(graph, tmp_path, "static", GEARS[:1]), GEARS[0])
    loaded.feed(attention_inputs(1, 4))
    stream, _ = acl.rt.create_stream()
    before = loaded.output(24).tobytes()
    given = (loaded.model, loaded.inputs, loaded.outputs, stream)
    assert acl.mdl.execute_async(*given) == 0
    assert loaded.output(24).tobytes() == before
    assert acl.mdl.unload(loaded.model) == 107037
    other, _ = acl.rt.create_stream()
    assert acl.mdl.execute_async(*given[:3], other) == 100000
    assert acl.rt.synchronize_stream(stream) == 0
    assert loaded.output(24).tobytes() != before


def test_gears_are_described(machine: Machine, graph: Path, tmp_path: Path) -> None:
    loaded = Loaded(make(graph, tmp_path, "gears", GEARS), GEARS[1])
    desc = loaded.desc
    assert acl.mdl.get_num_inputs(desc) == 4
    assert acl.mdl.get_input_name_by_index(desc, 3) == "ascend_mbatch_shape_data"
    assert acl.mdl.get_input_dims(desc, 0)[0]["dims"] == [-1, 1, -1, 6]
    assert acl.mdl.get_input_size_by_index(desc, 0) == 4 * 8 * 6
    assert acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"] == [1, 1, 8, 6]
    assert acl.mdl.get_input_dynamic_gear_count(desc, -1) == (2, 0)
    gears, ret = acl.mdl.get_input_dynamic_dims(desc, -1, 2)
    assert ret == 0
    assert gears[0]["dims"] == [1, 1, 4, 6, 1, 1, 4, 6, 1, 1, 4, 1]
    assert acl.mdl.get_dynamic_batch(desc) == ({"batchCount": 0, "batch": []}, 0)


def test_gears_are_set_exactly_or_not(machine: Machine, graph: Path, tmp_path: Path) -> None:
    loaded = Loaded(make(graph, tmp_path, "gears", GEARS), GEARS[1])
    assert loaded.set_gear(5) == 145013
    given = {"dimCount": 3, "name": "", "dims": [1, 1, 4]}
    assert acl.mdl.set_input_dynamic_dims(loaded.model, loaded.inputs, 3, given) == 145012
    given = {"dimCount": 0, "name": "", "dims": []}
    assert acl.mdl.set_input_dynamic_dims(loaded.model, loaded.inputs, 3, given) == 100000
    buffer = acl.mdl.get_dataset_buffer(loaded.inputs, 3)
    pointer, size = loaded.gear_memory
    acl.update_data_buffer(buffer, 0, size)
    assert loaded.set_gear(4) == 145011
    acl.update_data_buffer(buffer, pointer, size)
    assert loaded.set_gear(4) == 0
    assert acl.mdl.get_cur_output_dims(loaded.desc, 0)[0]["dims"] == [1, 1, 4, 6]
    again = acl.mdl.set_dynamic_batch_size(loaded.model, loaded.inputs, 3, 1)
    assert again == 100000
    assert "only one of them" in (acl.get_recent_err_msg() or "")


def test_without_a_gear_the_largest_runs(machine: Machine, graph: Path, tmp_path: Path) -> None:
    loaded = Loaded(make(graph, tmp_path, "gears", GEARS), GEARS[1])
    loaded.feed(attention_inputs(1, 8))
    assert loaded.execute() == 0
    assert "largest gear" in machine.warnings[0]


def test_behind_a_small_gear_lies_noise(machine: Machine, graph: Path, tmp_path: Path) -> None:
    loaded = Loaded(make(graph, tmp_path, "gears", GEARS), GEARS[1])
    loaded.feed(attention_inputs(1, 8))
    loaded.set_gear(8)
    assert loaded.execute() == 0
    whole = loaded.output(48)
    loaded.set_gear(4)
    assert loaded.execute() == 0
    assert not np.array_equal(loaded.output(48)[24:], whole[24:])


def test_any_shape(machine: Machine, graph: Path, tmp_path: Path) -> None:
    largest = {"batch": 2, "frames": 8}
    loaded = Loaded(make(graph, tmp_path, "dynamic", [largest]), largest)
    desc = loaded.desc
    assert acl.mdl.get_input_size_by_index(desc, 0) == 0
    assert acl.mdl.get_output_size_by_index(desc, 0) == 0
    assert acl.mdl.get_cur_output_dims(desc, 0) == (None, 200001)
    assert loaded.execute() == 100000
    assert acl.mdl.get_dataset_tensor_desc(loaded.outputs, 0) == 0

    def shapes(frames: int) -> None:
        for index, tensor in enumerate(INPUTS):
            dims = [om.size_of(axis, {"batch": 1, "frames": frames}) for axis in tensor.axes]
            made = acl.create_tensor_desc(0, dims, 2)
            given = acl.mdl.set_dataset_tensor_desc(loaded.inputs, made, index)
            assert given == (loaded.inputs, 0)

    shapes(9)
    assert loaded.execute() == 100000
    assert "shape out of shape range" in (acl.get_recent_err_msg() or "")
    shapes(5)
    loaded.feed(attention_inputs(1, 5))
    assert loaded.execute() == 0
    found = acl.mdl.get_dataset_tensor_desc(loaded.outputs, 0)
    count = acl.get_tensor_desc_num_dims(found)
    dims = [acl.get_tensor_desc_dim_v2(found, axis)[0] for axis in range(count)]
    assert dims == [1, 1, 5, 6]
    assert acl.get_tensor_desc_size(found) == 120


def test_outputs_of_unknown_size_are_allocated(
    machine: Machine, graph: Path, tmp_path: Path
) -> None:
    largest = {"batch": 1, "frames": 8}
    loaded = Loaded(make(graph, tmp_path, "dynamic", [largest]), largest)
    for index, tensor in enumerate(INPUTS):
        made = acl.create_tensor_desc(0, [om.size_of(axis, largest) for axis in tensor.axes], 2)
        acl.mdl.set_dataset_tensor_desc(loaded.inputs, made, index)
    loaded.feed(attention_inputs(1, 8))
    buffer = acl.mdl.get_dataset_buffer(loaded.outputs, 0)
    acl.update_data_buffer(buffer, loaded.output_memory[0][0], 100)
    assert loaded.execute() == 145000
    assert "needs 192 bytes" in (acl.get_recent_err_msg() or "")
    acl.update_data_buffer(buffer, 0, 0)
    assert loaded.execute() == 0
    assert acl.get_data_buffer_size_v2(buffer) == 192
    assert acl.rt.free(acl.get_data_buffer_addr(buffer)) == 0


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310B1"])
def test_some_chips_have_fixed_shapes_only(soc: str, graph: Path, tmp_path: Path) -> None:
    start(soc=soc)
    acl.init()
    acl.rt.set_device(0)
    largest = {"batch": 1, "frames": 8}
    loaded = Loaded(make(graph, tmp_path, "dynamic", [largest], soc=soc), largest)
    desc = acl.create_tensor_desc(0, [1, 1, 4, 6], 2)
    assert acl.mdl.set_dataset_tensor_desc(loaded.inputs, desc, 0) == (0, 200001)


def test_a_description_of_a_dataset_is_not_destroyed(
    machine: Machine, graph: Path, tmp_path: Path
) -> None:
    largest = {"batch": 1, "frames": 8}
    loaded = Loaded(make(graph, tmp_path, "dynamic", [largest]), largest)
    for index, tensor in enumerate(INPUTS):
        made = acl.create_tensor_desc(0, [om.size_of(axis, largest) for axis in tensor.axes], 2)
        acl.mdl.set_dataset_tensor_desc(loaded.inputs, made, index)
    loaded.feed(attention_inputs(1, 8))
    loaded.execute()
    acl.destroy_tensor_desc(acl.mdl.get_dataset_tensor_desc(loaded.outputs, 0))
    assert machine.violations == ["a tensor description that belongs to a dataset was destroyed"]


@pytest.mark.parametrize("mode", ["static", "gears"])
def test_shapes_are_set_for_dynamic_models_only(
    machine: Machine, graph: Path, tmp_path: Path, mode: str
) -> None:
    sizes = GEARS[1:] if mode == "static" else GEARS
    loaded = Loaded(make(graph, tmp_path, mode, sizes), GEARS[1])
    if mode == "gears":
        assert loaded.set_gear(8) == 0
    loaded.feed(attention_inputs(1, 8))
    assert loaded.execute() == 0
    made = acl.create_tensor_desc(0, [1, 1, 8, 6], 2)
    acl.mdl.set_dataset_tensor_desc(loaded.inputs, made, 0)
    assert loaded.execute() == 100000
    assert "not dynamic" in (acl.get_recent_err_msg() or "")


def test_nobody_writes_into_the_input_for_gears(
    machine: Machine, graph: Path, tmp_path: Path
) -> None:
    loaded = Loaded(make(graph, tmp_path, "gears", GEARS), GEARS[1])
    loaded.feed(attention_inputs(1, 8))
    assert loaded.set_gear(4) == 0
    pointer, size = loaded.gear_memory
    noise = acl.util.bytes_to_ptr(b"\x07" * size)
    assert acl.rt.memcpy(pointer, size, noise, size, TO_DEVICE) == 0
    assert loaded.execute() == 507015
    assert machine.violations == ["the added input of a model with gears was overwritten"]


def test_the_deprecated_question_for_a_size_has_no_code(machine: Machine) -> None:
    made = acl.create_tensor_desc(0, [3, 5], 2)
    assert acl.get_tensor_desc_dim_v2(made, 1) == (5, 0)
    assert acl.get_tensor_desc_dim(made, 1) == 5
