"""Several devices: even spread, no work lost with a device, devices that come back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from asr_core.errors import (
    DeviceError,
    DeviceLostError,
    DeviceUnavailableError,
    RecognitionError,
    SessionClosedError,
)
from asr_core.messages import LOCALES, describe
from asr_core.runtime import ascend_device
from asr_core.runtime import pool as pool_module
from asr_core.runtime.ascend import AscendSession
from asr_core.runtime.ascend_acl import AclRuntime
from asr_core.runtime.ascend_device import AscendDevice
from asr_core.runtime.ascend_manifest import GEARS, OmGraph
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.pool import DevicePool, MemberState
from tests.fakes.acl.machine import Machine
from tests.fakes.simulation import (
    INPUTS,
    OUTPUTS,
    attention_graph,
    attention_inputs,
    convert,
    simulated,
)

THREADS, SEGMENTS, DEVICES = 8, 200, 4


class Member(NamedTuple):
    device: AscendDevice
    session: AscendSession

    def close(self) -> None:
        self.session.close()
        self.device.close()


@pytest.fixture(scope="module")
def onnx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnx", reason="onnx is not installed")
    return attention_graph(tmp_path_factory.mktemp("graph") / "attention.onnx")


@pytest.fixture(scope="module")
def graph(onnx: Path, tmp_path_factory: pytest.TempPathFactory) -> OmGraph:
    buckets = [{"batch": 1, "frames": frames} for frames in (4, 8)]
    return convert(onnx, tmp_path_factory.mktemp("om"), (INPUTS, OUTPUTS), GEARS, buckets)


@contextmanager
def devices(graph: OmGraph, count: int = DEVICES) -> Iterator[tuple[Machine, DevicePool[Member]]]:
    runtime = AclRuntime()

    def open_member(index: int) -> Member:
        device = AscendDevice(index, runtime=runtime)
        try:
            return Member(device, AscendSession(device, graph))
        except DeviceError:
            device.close()
            raise

    with simulated(devices=count) as machine:
        names = [f"npu:{index}" for index in range(count)]
        pool = DevicePool(names, open_member, Member.close, back_off_s=(0.01,))
        try:
            yield machine, pool
        finally:
            pool.close()
            runtime.shut_down()


def run_all(pool: DevicePool[Member], onnx: Path, middle: threading.Event | None = None) -> int:
    """8 clients with 200 segments each; every result is compared. Gives how many were right."""
    reference = OnnxSession(onnx, threads=1)
    expected = [reference.run(attention_inputs(1, 1 + kind)) for kind in range(8)]
    right = [0] * THREADS

    def client(number: int) -> None:
        for segment in range(SEGMENTS):
            if middle is not None and number == 0 and segment == SEGMENTS // 2:
                middle.set()
            kind = (number + segment) % 8
            inputs = attention_inputs(1, 1 + kind)
            found = pool.run(lambda member, inputs=inputs: member.session.run(inputs))
            close = [np.allclose(found[key], expected[kind][key], atol=1e-5) for key in found]
            right[number] += all(close)

    with ThreadPoolExecutor(THREADS) as threads:
        for done in [threads.submit(client, number) for number in range(THREADS)]:
            done.result()
    return sum(right)


def test_work_is_spread_and_every_result_is_right(onnx: Path, graph: OmGraph) -> None:
    with devices(graph) as (machine, pool):
        before = machine.allocations()
        assert run_all(pool, onnx) == THREADS * SEGMENTS
        runs = [device.runs for device in machine.devices]
        assert sum(runs) == THREADS * SEGMENTS
        assert max(runs) - min(runs) <= 0.1 * sum(runs) / DEVICES
        assert machine.allocations() == before


@pytest.mark.parametrize("how", ["lose", "hang"])
def test_a_device_that_dies_in_the_middle_loses_nothing(
    how: str, onnx: Path, graph: OmGraph
) -> None:
    with devices(graph) as (machine, pool):
        middle = threading.Event()

        def kill() -> None:
            middle.wait()
            getattr(machine, how)(2)

        killer = threading.Thread(target=kill)
        killer.start()
        assert run_all(pool, onnx, middle) == THREADS * SEGMENTS
        killer.join()
        status = pool.status()
        assert [one.losses for one in status] == [0, 0, 1, 0]
        assert sum(one.done for one in status) == THREADS * SEGMENTS
        if how == "lose":
            assert status[2].state is MemberState.LOST
            assert "507" in status[2].reason
        machine.recover(2)
        wait_until_ready(pool, 2)
        used = machine.devices[2].runs
        for _ in range(THREADS * SEGMENTS):  # its surplus over the others cannot be more
            pool.run(lambda member: member.session.run(attention_inputs(1, 3)))
            if machine.devices[2].runs > used:
                break
        assert machine.devices[2].runs > used


def wait_until_ready(pool: DevicePool[Any], index: int) -> None:
    paused = threading.Event()
    while pool.status()[index].state is not MemberState.READY:
        paused.wait(0.005)


def test_work_waits_until_the_only_device_is_back(graph: OmGraph) -> None:
    with devices(graph, count=1) as (machine, pool):
        machine.lose(0)
        with ThreadPoolExecutor(1) as threads:
            done = threads.submit(pool.run, lambda one: one.session.run(attention_inputs(1, 3)))
            paused = threading.Event()
            while pool.status()[0].state is not MemberState.LOST:
                paused.wait(0.005)
            machine.recover(0)
            assert done.result()["encoded"].shape == (1, 1, 3, 6)


@pytest.mark.parametrize("call", ["acl.mdl.unload", "acl.rt.free", "acl.rt.reset_device"])
def test_a_lost_device_that_hangs_in_giving_back_is_opened_anew_without_waiting(
    call: str, graph: OmGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ascend_device, "RELEASE_TIMEOUT_S", 0.05)
    with devices(graph, count=1) as (machine, pool), ThreadPoolExecutor(1) as clients:
        (old,) = [one for one in threading.enumerate() if one.name == "npu:0"]
        machine.stall(call)
        machine.lose(0)
        machine.recover(0)
        done = clients.submit(pool.run, lambda one: one.session.run(attention_inputs(1, 3)))
        while machine.calls["acl.rt.set_device"] < 2:
            threading.Event().wait(0.005)
        # The attempts have begun although the thread of the device is still inside the call.
        assert old.is_alive()
        machine.released.set()
        old.join()
        assert done.result()["encoded"].shape == (1, 1, 3, 6)


class Plain:
    """Members without devices; the numbers are those of the places."""

    def __init__(self, count: int = 2, *, patience_s: float = 30.0) -> None:
        self.opened: list[int] = []
        self.closed: list[int] = []
        self.broken: set[int] = set()
        names = [f"d{index}" for index in range(count)]
        self.pool: DevicePool[int] = DevicePool(
            names, self.open, self.closed.append, patience_s=patience_s, back_off_s=(0.001,)
        )

    def open(self, index: int) -> int:
        if index in self.broken:
            raise DeviceUnavailableError("broken", device=f"d{index}", reason="environment")
        self.opened.append(index)
        return index


def lose(_member: int) -> int:
    raise DeviceLostError("gone", device="d", reason="lost")


def test_equal_devices_take_turns() -> None:
    plain = Plain(3)
    assert [plain.pool.run(lambda index: index) for _ in range(6)] == [0, 1, 2, 0, 1, 2]
    plain.pool.close()
    assert plain.closed == [2, 1, 0]


def test_long_work_counts_more() -> None:
    plain = Plain(2)
    assert plain.pool.run(lambda index: index, load=10) == 0
    assert [plain.pool.run(lambda index: index, load=2) for _ in range(6)] == [1, 1, 1, 1, 1, 0]


def test_a_busy_device_is_avoided() -> None:
    plain = Plain(2)

    def inside(first: int) -> tuple[int, list[int]]:
        return first, [plain.pool.run(lambda index: index) for _ in range(3)]

    assert plain.pool.run(inside) == (0, [1, 1, 1])


def test_a_loss_inside_other_words_is_found() -> None:
    plain = Plain(2)
    seen: list[int] = []

    def work(index: int) -> int:
        seen.append(index)
        if len(seen) == 1:
            try:
                lose(index)
            except DeviceLostError as exc:
                raise RecognitionError("failed", start_ms=0, end_ms=1) from exc
        return index

    assert plain.pool.run(work) == 1
    assert seen == [0, 1]


def test_work_that_was_lost_is_not_counted_against_the_device_that_is_back() -> None:
    plain = Plain(2)
    seen: list[int] = []

    def work(index: int) -> int:
        seen.append(index)
        return lose(index) if len(seen) == 1 else index

    assert plain.pool.run(work, load=100) == 1
    wait_until_ready(plain.pool, 0)
    assert plain.pool.run(lambda index: index) == 0
    plain.pool.close()


def test_other_errors_are_told_at_once() -> None:
    plain = Plain(2)

    def work(_index: int) -> int:
        raise DeviceError("inner", reason="internal")

    with pytest.raises(DeviceError, match="inner"):
        plain.pool.run(work)
    assert [one.state for one in plain.pool.status()] == [MemberState.READY] * 2


def test_work_that_kills_every_device_is_given_up() -> None:
    plain = Plain(2)
    with pytest.raises(DeviceLostError, match="gone"):
        plain.pool.run(lose)
    assert sum(one.losses for one in plain.pool.status()) == 3


def test_without_a_device_the_reason_is_told() -> None:
    plain = Plain(2, patience_s=0.05)
    plain.broken = {0, 1}
    plain.pool.rest(1, "92 C")
    with pytest.raises(DeviceLostError) as caught:
        plain.pool.run(lose)
    assert caught.value.details["reason"] == "none"
    for locale in LOCALES:
        assert "d1: 92 C" in describe(caught.value, locale)
    plain.pool.close()


def test_a_resting_device_gets_no_work_until_it_resumes() -> None:
    plain = Plain(2)
    plain.pool.rest(0, "92 C")
    assert {plain.pool.run(lambda index: index) for _ in range(4)} == {1}
    assert plain.pool.status()[0].state is MemberState.RESTING
    assert plain.pool.status()[0].reason == "92 C"
    plain.pool.resume(0)
    assert plain.pool.run(lambda index: index) == 0


def test_work_that_waits_for_a_device_that_is_to_rest_goes_to_another_one() -> None:
    plain = Plain(2)
    begun, go = threading.Event(), threading.Event()

    def hold(index: int) -> int:
        begun.set()
        go.wait()
        return index

    with ThreadPoolExecutor(4) as threads:
        plain.pool.rest(1, "for now")
        held = threads.submit(plain.pool.run, hold)
        begun.wait()
        queued = [threads.submit(plain.pool.run, lambda index: index) for _ in range(2)]
        while plain.pool.status()[0].waiting < 3:
            threading.Event().wait(0.005)
        plain.pool.resume(1)
        plain.pool.rest(0, "92 C")
        go.set()
        assert held.result() == 0
        assert [one.result() for one in queued] == [1, 1]
    assert [one.done for one in plain.pool.status()] == [1, 2]


def test_the_newest_reason_of_a_loss_is_told() -> None:
    plain = Plain(1, patience_s=0.2)
    plain.broken = {0}
    with pytest.raises(DeviceLostError) as caught:
        plain.pool.run(lose)
    assert str(caught.value.details["text"]) == "d0: broken"
    plain.pool.close()


def test_what_is_opened_after_the_close_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_JOIN_S", 0.05)
    begun, go = threading.Event(), threading.Event()
    opened: list[int] = []
    closed: list[int] = []

    def open_member(index: int) -> int:
        if opened:
            begun.set()
            go.wait()
        opened.append(index)
        return len(opened)

    pool: DevicePool[int] = DevicePool(
        ["d0"], open_member, closed.append, patience_s=0.01, back_off_s=(0.001,)
    )
    with pytest.raises(DeviceLostError):
        pool.run(lose)
    begun.wait()
    pool.close()
    assert closed == [1]
    go.set()
    for thread in threading.enumerate():
        if thread.name == "rebuild d0":
            thread.join()
    assert closed == [1, 2]


def test_a_pool_that_cannot_be_opened_closes_what_it_opened() -> None:
    closed: list[int] = []

    def open_member(index: int) -> int:
        if index == 2:
            raise DeviceUnavailableError("no", device="d2", reason="environment")
        return index

    with pytest.raises(DeviceUnavailableError):
        DevicePool(["d0", "d1", "d2"], open_member, closed.append)
    assert closed == [1, 0]


def test_a_device_that_is_lost_at_the_start_is_opened_later() -> None:
    broken = {1}

    def open_member(index: int) -> int:
        if index in broken:
            raise DeviceLostError(f"npu:{index} is gone", device=f"npu:{index}", reason="lost")
        return index

    pool: DevicePool[int] = DevicePool(
        ["npu:0", "npu:1"], open_member, lambda _: None, back_off_s=(0.01,)
    )
    assert [one.state for one in pool.status()] == [MemberState.READY, MemberState.LOST]
    assert "npu:1 is gone" in pool.status()[1].reason
    assert pool.run(lambda member: member) == 0
    broken.clear()
    while pool.status()[1].state is not MemberState.READY:
        threading.Event().wait(0.01)
    assert {pool.run(lambda member: member) for _ in range(3)} == {0, 1}
    pool.close()


def test_a_device_comes_back_also_after_a_fault_that_nobody_foresaw(
    caplog: pytest.LogCaptureFixture,
) -> None:
    faults: list[Exception] = [LookupError("odd"), OSError("odder")]

    def open_member(index: int) -> int:
        if opened and faults:
            raise faults.pop(0)
        opened.append(index)
        return index

    opened: list[int] = []
    pool: DevicePool[int] = DevicePool(["d0"], open_member, lambda _: None, back_off_s=(0.001,))
    attempts: list[int] = []

    def work(index: int) -> int:
        attempts.append(index)
        return lose(index) if len(attempts) == 1 else index

    assert pool.run(work) == 0
    assert faults == []
    told = [record for record in caplog.records if record.exc_info]
    assert [str(record.exc_info[1]) for record in told if record.exc_info] == ["odd", "odder"]
    pool.close()


def test_a_fault_that_nobody_foresaw_at_the_start_closes_what_was_opened() -> None:
    closed: list[int] = []

    def open_member(index: int) -> int:
        if index == 1:
            raise LookupError("odd")
        return index

    with pytest.raises(LookupError):
        DevicePool(["d0", "d1"], open_member, closed.append)
    assert closed == [0]


def test_without_any_device_at_the_start_the_pool_is_refused() -> None:
    def open_member(index: int) -> int:
        raise DeviceLostError(f"npu:{index} is gone", device=f"npu:{index}", reason="lost")

    with pytest.raises(DeviceLostError, match="is gone"):
        DevicePool(["npu:0", "npu:1"], open_member, lambda _: None)
    assert not [one for one in threading.enumerate() if one.name.startswith("rebuild")]


def test_a_closed_pool_refuses() -> None:
    plain = Plain(1)
    plain.pool.close()
    with pytest.raises(SessionClosedError):
        plain.pool.run(lambda index: index)


def test_a_close_ends_the_attempts_to_open() -> None:
    plain = Plain(1, patience_s=0.02)
    plain.broken = {0}
    with pytest.raises(DeviceLostError):
        plain.pool.run(lose)
    plain.pool.close()
    assert plain.closed == [0]
