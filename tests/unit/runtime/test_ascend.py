"""Sessions on simulated devices give what ONNX Runtime gives and leave nothing behind."""

from __future__ import annotations

import dataclasses
import itertools
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from asr_core.errors import (
    DeviceError,
    DeviceInputError,
    DeviceLostError,
    DeviceMemoryError,
    DeviceMismatchError,
    ModelIntegrityError,
    SessionClosedError,
    UsageError,
)
from asr_core.messages import LOCALES, describe
from asr_core.runtime.ascend import AscendSession, newer, with_half_the_rows
from asr_core.runtime.ascend_manifest import (
    DYNAMIC,
    GEARS,
    MODES,
    STATIC,
    OmGraph,
    read_om_graph,
    write_om_graph,
)
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import TensorSpec
from tests.fakes import acl
from tests.fakes.acl import mdl
from tests.fakes.acl.machine import Machine
from tests.fakes.simulation import (
    INPUTS,
    OUTPUTS,
    attention_graph,
    attention_inputs,
    convert,
    opened,
    simulated,
)

pytest.importorskip("onnx", reason="onnx is not installed")

EDGES = (4, 8, 16)
BUCKETS = [{"batch": batch, "frames": frames} for frames in EDGES for batch in (1, 4)]
LARGEST = [{"batch": 4, "frames": 16}]
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def onnx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return attention_graph(tmp_path_factory.mktemp("graph") / "attention.onnx")


@pytest.fixture(scope="module")
def reference(onnx: Path) -> Iterator[OnnxSession]:
    session = OnnxSession(onnx, threads=1)
    yield session
    session.close()


@pytest.fixture(scope="module")
def graphs(onnx: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, OmGraph]:
    return {
        mode: convert(
            onnx,
            tmp_path_factory.mktemp(mode),
            (INPUTS, OUTPUTS),
            mode,
            LARGEST if mode == DYNAMIC else BUCKETS,
        )
        for mode in MODES
    }


def check(session: AscendSession, reference: OnnxSession, batch: int, frames: int) -> None:
    inputs = attention_inputs(batch, frames)
    found, expected = session.run(inputs), reference.run(inputs)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].shape == array.shape
        assert found[name].dtype == array.dtype
        np.testing.assert_allclose(found[name], array, atol=TOLERANCE)


@pytest.mark.parametrize("mode", MODES)
def test_it_gives_what_onnx_runtime_gives(
    mode: str, graphs: dict[str, OmGraph], reference: OnnxSession
) -> None:
    frames = sorted({edge + step for edge in EDGES for step in (-1, 0, 1)} - {17} | {1})
    with simulated() as machine, opened(machine) as device:
        session = AscendSession(device, graphs[mode])
        for count in frames:
            for batch in (1, 3, 4, 5, 9):
                check(session, reference, batch, count)
        session.close()
        assert not any("largest gear" in text for text in machine.warnings)


@pytest.mark.parametrize("mode", MODES)
def test_it_states_its_inputs_and_limits(mode: str, graphs: dict[str, OmGraph]) -> None:
    with simulated() as machine, opened(machine) as device:
        session = AscendSession(device, graphs[mode])
        assert session.input_specs[1] == TensorSpec("positions", (1, 1, None, 6), "float32")
        assert session.output_specs[1] == TensorSpec("thirds", (None, None), "float32")
        assert session.limits == {"frames": 16}
        with pytest.raises(DeviceInputError) as caught:
            session.run(attention_inputs(1, 17))
        assert caught.value.details == {"axis": "frames", "size": 17, "limit": 16}
        assert "16" in describe(caught.value, "en")


def test_wrong_inputs_are_refused(graphs: dict[str, OmGraph]) -> None:
    with simulated() as machine, opened(machine) as device:
        session = AscendSession(device, graphs[GEARS])
        inputs = attention_inputs(1, 4)
        with pytest.raises(UsageError):
            session.run({"features": inputs["features"]})
        with pytest.raises(UsageError):
            session.run(inputs | {"mask": inputs["mask"].astype(np.float64)})
        with pytest.raises(UsageError, match="frames"):
            session.run(inputs | {"mask": np.ones((1, 1, 5, 1), np.float32)})


@pytest.mark.parametrize("mode", MODES)
def test_the_steady_state_allocates_nothing(mode: str, graphs: dict[str, OmGraph]) -> None:
    with simulated() as machine, opened(machine) as device:
        session = AscendSession(device, graphs[mode])
        before, live = machine.allocations(), machine.live()
        for number in range(500):
            session.run(attention_inputs(1 + number % 4, 1 + number % 16))
        assert machine.allocations() == before
        # The simulation keeps a description of each output of a model of any shape.
        kept = {"TensorDesc": 0} if mode == DYNAMIC else {}
        assert {**machine.live(), **kept} == {**live, **kept}
        session.close()


def test_only_the_valid_part_is_read(graphs: dict[str, OmGraph]) -> None:
    with simulated() as machine, opened(machine) as device:
        session = AscendSession(device, graphs[GEARS])
        machine.copied_bytes.clear()
        session.run(attention_inputs(3, 5))
        assert machine.copied_bytes[2] == 4 * (3 * 5 * 6 + 3 * 5 * 3)


def test_sessions_share_the_memory_of_their_device(
    onnx: Path, graphs: dict[str, OmGraph], reference: OnnxSession, tmp_path: Path
) -> None:
    larger = convert(onnx, tmp_path, (INPUTS, OUTPUTS), GEARS, [{"batch": 8, "frames": 32}])
    with simulated() as machine, opened(machine) as device:
        small = AscendSession(device, graphs[GEARS])
        check(small, reference, 2, 8)
        large = AscendSession(device, larger)
        assert machine.live()["Block"] == machine.live()["HostBlock"] + 2  # weights
        for session in (small, large, small):
            check(session, reference, 2, 8)
        small.close()
        check(large, reference, 8, 32)


@pytest.mark.parametrize("mode", [STATIC, GEARS])
def test_one_memory_for_host_and_device(
    mode: str, graphs: dict[str, OmGraph], reference: OnnxSession
) -> None:
    with simulated(run_mode=0) as machine, opened(machine) as device:
        session = AscendSession(device, graphs[mode])
        check(session, reference, 2, 5)
        assert machine.calls["acl.rt.malloc_host"] == 0


def test_older_versions_wait_without_a_limit(
    graphs: dict[str, OmGraph], reference: OnnxSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(acl.rt, "synchronize_stream_with_timeout")
    with simulated() as machine, opened(machine) as device:
        check(AscendSession(device, graphs[DYNAMIC]), reference, 2, 5)


def test_outputs_whose_shape_is_not_told(
    graphs: dict[str, OmGraph], reference: OnnxSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acl.mdl, "get_dataset_tensor_desc", lambda _dataset, _index: 0)
    with simulated() as machine, opened(machine) as device:
        check(AscendSession(device, graphs[DYNAMIC]), reference, 2, 5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axes", [("batch", 1, "frames", 7), ("batch", "frames", 6)])
def test_outputs_of_another_shape_are_refused(
    mode: str, axes: tuple[int | str, ...], graphs: dict[str, OmGraph]
) -> None:
    outputs = (dataclasses.replace(OUTPUTS[0], axes=axes), OUTPUTS[1])
    graph = dataclasses.replace(graphs[mode], outputs=outputs)
    with simulated() as machine, opened(machine) as device:
        with pytest.raises(ModelIntegrityError, match="gives encoded"):
            AscendSession(device, graph)
        assert "Model" not in machine.live()


@pytest.mark.parametrize("mode", [GEARS, DYNAMIC])
def test_results_of_another_shape_are_no_results(
    mode: str, graphs: dict[str, OmGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    with simulated() as machine, opened(machine) as device:
        session = AscendSession(device, graphs[mode])
        other = {"name": "encoded", "dimCount": 4, "dims": [1, 1, 5, 6]}
        monkeypatch.setattr(acl.mdl, "get_cur_output_dims", lambda _desc, _index: (other, 0))
        monkeypatch.setattr(acl, "get_tensor_desc_dim_v2", lambda _desc, axis: (5, 0))
        with pytest.raises(ModelIntegrityError, match="gave encoded"):
            session.run(attention_inputs(1, 4))


def test_a_closed_session_refuses(graphs: dict[str, OmGraph]) -> None:
    with simulated() as machine, opened(machine) as device:
        session = AscendSession(device, graphs[GEARS])
        session.close()
        session.close()
        assert "Model" not in machine.live()
        with pytest.raises(SessionClosedError):
            session.run(attention_inputs(1, 4))


def test_a_file_for_another_chip_is_named(onnx: Path, tmp_path: Path) -> None:
    graph = convert(onnx, tmp_path, (INPUTS, OUTPUTS), GEARS, BUCKETS, soc="Ascend910B")
    with simulated(soc="Ascend910B2") as machine, opened(machine) as device:
        with pytest.raises(DeviceMismatchError) as caught:
            AscendSession(device, graph)
        assert machine.calls["acl.mdl.load_from_file"] == 0
    for locale in LOCALES:
        said = describe(caught.value, locale)
        assert re.search(r"Ascend910B\b", said)
        assert "Ascend910B2" in said
        assert "attention_0.om" in said


@pytest.mark.parametrize("number", [507008, 500002, 545000])
def test_the_runtime_may_refuse_a_file_by_any_code(number: int, onnx: Path, tmp_path: Path) -> None:
    graph = convert(onnx, tmp_path, (INPUTS, OUTPUTS), GEARS, BUCKETS, soc="Ascend910B")
    write_om_graph(dataclasses.replace(graph, soc="Ascend310P3"))
    graph = read_om_graph(tmp_path / "attention.om.json", "model")
    with simulated(mismatch_code=number) as machine, opened(machine) as device:
        with pytest.raises(DeviceMismatchError) as caught:
            AscendSession(device, graph)
        assert caught.value.details["model_soc"] == "Ascend910B"
        assert caught.value.details["soc"] == "Ascend310P3"


def test_a_chip_without_free_shapes_says_so(onnx: Path, tmp_path: Path) -> None:
    graph = convert(onnx, tmp_path, (INPUTS, OUTPUTS), DYNAMIC, LARGEST, soc="Ascend310B1")
    with simulated(soc="Ascend310B1") as machine, opened(machine) as device:
        session = AscendSession(device, graph)
        with pytest.raises(DeviceError) as caught:
            session.run(attention_inputs(1, 4))
        assert caught.value.details["reason"] == "unsupported"
        assert "fixed shapes" in describe(caught.value, "en")


def test_a_later_cann_is_named(graphs: dict[str, OmGraph]) -> None:
    with simulated() as machine, opened(machine) as device:
        with pytest.raises(DeviceMismatchError) as caught:
            AscendSession(device, graphs[GEARS], cann="7.0.0")
        assert caught.value.details["reason"] == "cann"
        AscendSession(device, graphs[GEARS], cann="8.5.0").close()


def test_versions_have_an_order() -> None:
    versions = ["7.0.0", "8.0.RC1.alpha003", "8.0.RC1", "8.0.RC3", "8.0.0", "8.1.RC1", "8.1.0"]
    for earlier, later in itertools.pairwise(versions):
        assert newer(later, earlier)
        assert not newer(earlier, later)
        assert not newer(later, later)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"inputs": INPUTS[:2]}, "inputs and outputs"),
        ({"outputs": OUTPUTS[:1]}, "inputs and outputs"),
        ({"mode": STATIC}, "inputs and outputs|takes features"),
        ({"mode": DYNAMIC}, "inputs and outputs|takes features"),
    ],
)
def test_a_file_that_is_not_what_the_manifest_says(
    change: dict[str, object], problem: str, graphs: dict[str, OmGraph]
) -> None:
    graph = dataclasses.replace(graphs[GEARS], **change)
    with simulated() as machine, opened(machine) as device:
        with pytest.raises(ModelIntegrityError, match=problem):
            AscendSession(device, graph)
        assert "Model" not in machine.live()


def test_half_the_rows_where_there_is_no_memory(
    graphs: dict[str, OmGraph], reference: OnnxSession
) -> None:
    with simulated() as machine, opened(machine) as device:
        session = AscendSession(device, graphs[GEARS])
        machine.fail("acl.mdl.execute_async", 207018)
        check(session, reference, 3, 5)
        machine.fail("acl.mdl.execute_async", 207018, times=2)
        with pytest.raises(DeviceMemoryError) as caught:
            session.run(attention_inputs(4, 5))
        assert caught.value.details["name"] == "ACL_ERROR_RT_DEVICE_OOM"
        machine.fail("acl.mdl.execute_async", 207018)
        with pytest.raises(DeviceMemoryError):
            session.run(attention_inputs(1, 5))
        check(session, reference, 4, 16)


def failure(machine: Machine, graph: OmGraph) -> DeviceError | None:
    """What is told when a device is opened, loaded with a model and used."""
    try:
        with opened(machine) as device:
            AscendSession(device, graph).run(attention_inputs(1, 5))
    except DeviceError as exc:
        return exc
    return None


CALLS = [
    "acl.rt.get_device_count",
    "acl.rt.set_device",
    "acl.rt.create_context",
    "acl.rt.create_stream",
    "acl.rt.get_run_mode",
    "acl.rt.malloc",
    "acl.rt.malloc_host",
    "acl.mdl.load_from_file",
    "acl.mdl.create_desc",
    "acl.mdl.get_desc",
    "acl.mdl.get_input_dims",
    "acl.mdl.get_input_dynamic_dims",
    "acl.create_data_buffer",
    "acl.mdl.create_dataset",
    "acl.mdl.add_dataset_buffer",
    "acl.rt.memcpy_async",
    "acl.mdl.set_input_dynamic_dims",
    "acl.mdl.execute_async",
    "acl.mdl.get_cur_output_dims",
    "acl.rt.synchronize_stream_with_timeout",
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("number", [207001, 507010, 500000])
def test_nothing_is_left_after_any_failure(
    call: str, number: int, graphs: dict[str, OmGraph]
) -> None:
    for at in (1, 2, 5):
        with simulated() as machine:
            machine.fail(call, number, at=at)
            error = failure(machine, graphs[GEARS])
            assert (error is not None) == (machine.calls[call] >= at)
            if error is not None:
                assert error.details["call"] == call
                bare = ".create_d" in call  # these give 0 instead of a handle
                assert error.details["number"] == (200000 if bare else number)


def test_memory_may_end_at_any_allocation(
    graphs: dict[str, OmGraph], reference: OnnxSession
) -> None:
    failures = 0
    for at in range(1, 100):
        with simulated() as machine, opened(machine) as device:
            machine.out_of_memory_at(at)
            try:
                check(AscendSession(device, graphs[GEARS]), reference, 2, 9)
                break
            except DeviceMemoryError:
                failures += 1
            check(AscendSession(device, graphs[GEARS]), reference, 2, 9)
    assert failures == len(INPUTS) + 1 + len(OUTPUTS)


@pytest.mark.parametrize("mode", [STATIC, DYNAMIC])
def test_a_model_is_loaded_for_half_the_rows_where_memory_is_short(
    mode: str, graphs: dict[str, OmGraph], reference: OnnxSession
) -> None:
    with simulated() as machine, opened(machine) as device:
        for call, number in (("acl.rt.malloc", 207001), ("acl.mdl.load_from_file", 245000)):
            machine.fail(call, number)
            session = AscendSession(device, graphs[mode])
            before = machine.devices[0].runs
            session.run(attention_inputs(4, 16))
            rows = 2 if mode == DYNAMIC else 1
            assert machine.devices[0].runs == before + 4 // rows
            check(session, reference, 3, 5)
            session.close()
            device.call(lambda equipment: equipment.memory.close())
            machine.fail(call, number, times=2)
            with pytest.raises(DeviceMemoryError):
                AscendSession(device, graphs[mode])


def test_half_the_rows_need_no_more_memory_than_they_take(graphs: dict[str, OmGraph]) -> None:
    """What the failed attempt took is given back before the next one."""
    half = with_half_the_rows(graphs[DYNAMIC])
    assert half is not None

    def rows(graph: OmGraph, memory_bytes: int) -> int:
        with simulated(memory_bytes=memory_bytes) as machine, opened(machine) as device:
            try:
                session = AscendSession(device, graph)
            except DeviceMemoryError:
                return 0
            return int(session._graph.files[0].sizes[0]["batch"])

    least = next(one for one in range(1_000, 40_000, 100) if rows(half, one) == 2)
    assert rows(graphs[DYNAMIC], least - 100) == 0
    assert rows(graphs[DYNAMIC], least) == 2


def test_models_that_are_loaded_keep_their_memory_where_another_one_does_not_fit(
    graphs: dict[str, OmGraph], reference: OnnxSession
) -> None:
    with simulated() as machine, opened(machine) as device:
        small = with_half_the_rows(graphs[STATIC])
        assert small is not None
        first = AscendSession(device, small)
        for number in range(1, 6):
            machine.out_of_memory_at(number)
            with pytest.raises(DeviceMemoryError):
                AscendSession(device, graphs[GEARS])
            check(first, reference, 1, 5)
        # Where not even that can be had again, nothing smaller is tried.
        machine.out_of_memory_at(2, times=9)
        with pytest.raises(DeviceError) as caught:
            AscendSession(device, graphs[GEARS])
        assert not isinstance(caught.value, DeviceMemoryError)


def test_a_version_with_the_older_question_for_sizes(
    graphs: dict[str, OmGraph], reference: OnnxSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(acl, "get_tensor_desc_dim_v2")
    with simulated() as machine, opened(machine) as device:
        check(AscendSession(device, graphs[DYNAMIC]), reference, 2, 5)


def test_a_run_whose_turn_comes_after_the_close_is_refused(graphs: dict[str, OmGraph]) -> None:
    with simulated() as machine, opened(machine) as device, ThreadPoolExecutor(2) as threads:
        session = AscendSession(device, graphs[GEARS])
        busy, go = threading.Event(), threading.Event()

        def hold(_equipment: object) -> None:
            busy.set()
            go.wait()

        holding = threads.submit(device.call, hold)
        busy.wait()
        # The run has passed the check of its own thread and waits for that of the device.
        waiting = threads.submit(session._run, attention_inputs(1, 5), {"batch": 1, "frames": 5}, 0)
        while device._tasks.qsize() < 1:
            pass
        session._closed = True
        go.set()
        holding.result()
        with pytest.raises(SessionClosedError):
            waiting.result()
        session._closed = False
        session.close()


def test_what_cannot_be_made_smaller(graphs: dict[str, OmGraph]) -> None:
    assert with_half_the_rows(graphs[GEARS]) is None
    static = with_half_the_rows(graphs[STATIC])
    assert static is not None
    assert [file.sizes[0]["batch"] for file in static.files] == [1, 1, 1]
    assert with_half_the_rows(static) is None
    dynamic = with_half_the_rows(graphs[DYNAMIC])
    assert dynamic is not None
    assert dynamic.files[0].sizes == ({"batch": 2, "frames": 16},)
    assert with_half_the_rows(dataclasses.replace(graphs[STATIC], batch="")) is None


def test_a_lost_device_says_so_until_it_is_opened_again(
    graphs: dict[str, OmGraph], reference: OnnxSession
) -> None:
    with simulated() as machine:
        with opened(machine) as device:
            session = AscendSession(device, graphs[GEARS])
            machine.lose(0)
            with pytest.raises(DeviceLostError) as caught:
                session.run(attention_inputs(1, 5))
            assert caught.value.details["reason"] == "lost"
            assert device.lost is not None
            machine.recover(0)
            with pytest.raises(DeviceLostError):
                session.run(attention_inputs(1, 5))
        assert machine.live() == {}
        with opened(machine) as device:
            check(AscendSession(device, graphs[GEARS]), reference, 2, 5)


def test_a_hanging_run_ends_by_its_limit(graphs: dict[str, OmGraph]) -> None:
    with simulated() as machine, opened(machine, timeout_s=7) as device:
        session = AscendSession(device, graphs[GEARS])
        machine.hang(0)
        with pytest.raises(DeviceLostError) as caught:
            session.run(attention_inputs(1, 5))
        assert caught.value.details["reason"] == "hang"
        assert "7 s" in describe(caught.value, "en")


def test_a_failed_run_leaves_the_session_usable(
    graphs: dict[str, OmGraph], reference: OnnxSession
) -> None:
    with simulated() as machine, opened(machine) as device:
        session = AscendSession(device, graphs[GEARS])
        machine.fail("acl.mdl.execute_async", 500000, text="E19999: inner error")
        with pytest.raises(DeviceError, match="E19999"):
            session.run(attention_inputs(4, 16))
        check(session, reference, 2, 5)


def test_many_threads_may_share_a_device(
    graphs: dict[str, OmGraph], reference: OnnxSession
) -> None:
    with simulated() as machine, opened(machine) as device:
        sessions = [AscendSession(device, graphs[mode]) for mode in MODES]
        with ThreadPoolExecutor(6) as threads:
            work = [
                threads.submit(check, sessions[number % 3], reference, 1 + number % 4, 5)
                for number in range(60)
            ]
            for one in work:
                one.result()


def test_fp16_files_take_and_give_single_precision(
    onnx: Path, reference: OnnxSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = convert(onnx, tmp_path, (INPUTS, OUTPUTS), GEARS, BUCKETS)
    read = mdl.om.read

    def halved(path: Path) -> object:
        header, content = read(path)
        half = [
            tuple(dataclasses.replace(one, dtype="float16") for one in side)
            for side in (header.inputs, header.outputs)
        ]
        return dataclasses.replace(header, inputs=half[0], outputs=half[1]), content

    monkeypatch.setattr(mdl.om, "read", halved)
    with simulated() as machine, opened(machine) as device:
        session = AscendSession(device, graph)
        inputs = attention_inputs(2, 5)
        found, expected = session.run(inputs), reference.run(inputs)
        assert found["encoded"].dtype == np.float32
        np.testing.assert_allclose(found["encoded"], expected["encoded"], atol=0.02)
