"""pyACL of a process and the thread that owns a device."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from asr_core.errors import (
    DeviceError,
    DeviceLostError,
    DeviceUnavailableError,
    SessionClosedError,
    UsageError,
)
from asr_core.messages import LOCALES, describe
from asr_core.recognizers.placing import missing_devices
from asr_core.results import DeviceChoice
from asr_core.runtime import ascend_device
from asr_core.runtime.ascend_acl import AclRuntime
from asr_core.runtime.ascend_device import AscendDevice, Equipment
from tests.fakes import acl
from tests.fakes.simulation import opened, simulated


def test_without_pyacl_the_reason_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acl", None)
    with pytest.raises(DeviceUnavailableError) as caught:
        AscendDevice(0, runtime=AclRuntime())
    assert caught.value.details == {"device": "npu:0", "reason": "no_acl"}
    for locale in LOCALES:
        assert "set_env.sh" in describe(caught.value, locale)


def test_a_broken_pyacl_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fault = 'raise ImportError("libascendcl.so: cannot open shared object file")\n'
    (tmp_path / "acl.py").write_text(fault, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acl", raising=False)
    with pytest.raises(DeviceUnavailableError, match=r"libascendcl\.so") as caught:
        AscendDevice(0, runtime=AclRuntime())
    assert caught.value.details["reason"] == "acl_broken"
    assert "libascendcl.so" in describe(caught.value, "en")


def test_another_package_of_that_name_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The package index has one."""
    (tmp_path / "acl.py").write_text("class Acl: pass\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acl", raising=False)
    with pytest.raises(DeviceUnavailableError) as caught:
        AscendDevice(0, runtime=AclRuntime())
    assert caught.value.details["reason"] == "other_acl"
    assert missing_devices(AclRuntime()) == DeviceChoice(
        "cpu", "no_acl", (("text", str(caught.value).replace("npu:0", "npu")),)
    )
    for locale in LOCALES:
        said = describe(caught.value, locale)
        assert "pip uninstall acl" in said
        assert str(tmp_path) in said
    monkeypatch.delitem(sys.modules, "acl")


def test_an_error_text_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(acl, "get_recent_err_msg")
    with simulated() as machine:
        machine.fail("acl.rt.set_device", 507033)
        with pytest.raises(DeviceError) as caught:
            AscendDevice(0, runtime=AclRuntime())
        assert caught.value.details["text"] == ""


def test_a_device_that_is_not_there() -> None:
    runtime = AclRuntime()
    with simulated(devices=2) as machine:
        with pytest.raises(DeviceUnavailableError) as caught:
            AscendDevice(2, runtime=runtime)
        assert caught.value.details["count"] == 2
        assert machine.calls["acl.rt.set_device"] == 0
    assert runtime.users == 0


def test_a_driver_that_is_not_right() -> None:
    with simulated() as machine:
        machine.fail("acl.rt.set_device", 100039, text="stub library")
        with pytest.raises(DeviceUnavailableError) as caught:
            AscendDevice(0, runtime=AclRuntime())
        assert caught.value.details["reason"] == "environment"
        assert "stub library" in describe(caught.value, "en")


def test_acl_is_initialized_once_for_all_devices() -> None:
    runtime = AclRuntime()
    with simulated(devices=3) as machine:
        devices = [AscendDevice(index, runtime=runtime) for index in range(3)]
        assert machine.calls["acl.init"] == 1
        with pytest.raises(UsageError, match="3 devices"):
            runtime.shut_down()
        for device in devices:
            device.close()
        AscendDevice(0, runtime=runtime).close()
        assert machine.calls["acl.init"] == 1
        assert machine.calls["acl.finalize"] == 0
        runtime.shut_down()
        runtime.shut_down()
        assert machine.calls["acl.finalize"] == 1


def test_acl_cannot_be_used_after_its_end() -> None:
    runtime = AclRuntime()
    with simulated():
        AscendDevice(0, runtime=runtime).close()
        runtime.shut_down()
        with pytest.raises(DeviceUnavailableError) as caught:
            AscendDevice(0, runtime=runtime)
        assert caught.value.details["reason"] == "finished"


def test_who_did_not_initialize_acl_does_not_end_it() -> None:
    runtime = AclRuntime()
    with simulated() as machine:
        acl.init()
        machine.foreign_init = True
        with opened(machine):
            pass
        device = AscendDevice(0, runtime=runtime)
        device.close()
        runtime.shut_down()
        assert machine.calls["acl.finalize"] == 0
        AscendDevice(0, runtime=runtime).close()


def test_acl_that_cannot_be_initialized() -> None:
    runtime = AclRuntime()
    with simulated() as machine:
        machine.fail("acl.init", 148049, text="opp path")
        with pytest.raises(DeviceUnavailableError, match="opp path"):
            AscendDevice(0, runtime=runtime)
        assert runtime.users == 0
        AscendDevice(0, runtime=runtime).close()


def test_one_thread_does_everything() -> None:
    with simulated() as machine, opened(machine) as device:
        threads = {device.call(lambda _e: threading.get_ident()) for _ in range(3)}
        assert len(threads) == 1
        assert threading.get_ident() not in threads


def test_the_thread_stays_on_its_cores() -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("the system does not bind threads to cores")
    core = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    with simulated() as machine, opened(machine, cores=[core]) as device:
        assert device.call(lambda _e: os.sched_getaffinity(0)) == {core}
    assert os.sched_getaffinity(0) == before


def test_memory_is_told() -> None:
    with simulated(memory_bytes=1 << 20) as machine, opened(machine) as device:
        assert device.free_bytes() == (1 << 20, 1 << 20)
        assert device.soc == "Ascend310P3"
        assert device.name == "npu:0"
        machine.fail("acl.rt.get_mem_info", 207000, times=2)
        assert device.free_bytes() == (0, 0)


def test_errors_reach_the_caller_and_the_thread_goes_on() -> None:
    def fail(_equipment: Equipment) -> None:
        raise KeyError("x")

    with simulated() as machine, opened(machine) as device:
        with pytest.raises(KeyError):
            device.call(fail)
        assert device.call(lambda _e: 7) == 7


def test_a_closed_device_refuses() -> None:
    with simulated() as machine, opened(machine) as device:
        device.close()
        device.close()
        with pytest.raises(SessionClosedError):
            device.call(lambda _e: 7)


def test_a_call_that_never_ends_is_given_up() -> None:
    begun, ends = threading.Event(), threading.Event()

    def hang(_equipment: Equipment) -> None:
        begun.set()
        ends.wait()

    caught: list[DeviceError] = []

    def use(device: AscendDevice, work: Callable[[Equipment], object], limit_s: float) -> None:
        try:
            device.call(work, timeout_s=limit_s)
        except DeviceError as exc:
            caught.append(exc)

    with simulated() as machine, opened(machine) as device:
        waiting = threading.Thread(target=use, args=(device, lambda _e: None, 600))
        stuck = threading.Thread(target=use, args=(device, hang, 0.05))
        stuck.start()
        begun.wait()
        waiting.start()
        stuck.join()
        waiting.join()
        assert [type(exc) for exc in caught] == [DeviceLostError] * 2
        assert {exc.details["reason"] for exc in caught} == {"hang"}
        with pytest.raises(DeviceLostError):
            device.call(lambda _e: None)
        ends.set()


def test_a_device_that_cannot_be_opened_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ascend_device, "OPEN_TIMEOUT_S", 0.05)
    ends = threading.Event()
    set_device = acl.rt.set_device
    monkeypatch.setattr(acl.rt, "set_device", lambda index: ends.wait() and set_device(index))
    runtime = AclRuntime()
    with simulated():
        with pytest.raises(DeviceLostError) as caught:
            AscendDevice(0, runtime=runtime)
        assert caught.value.details["reason"] == "hang"
        assert runtime.users == 1  # pyACL is not ended while a thread of it is at work
        ends.set()
        join("npu:0")
        assert runtime.users == 0


def join(name: str) -> None:
    """Wait for the threads of that name."""
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join()


def test_pyacl_is_not_ended_while_a_closed_device_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ascend_device, "RELEASE_TIMEOUT_S", 0.05)
    ends, runtime = threading.Event(), AclRuntime()
    with simulated() as machine:
        device = AscendDevice(0, runtime=runtime)
        with pytest.raises(DeviceLostError):
            device.call(lambda _equipment: ends.wait(), timeout_s=0.05)
        device.close()
        with pytest.raises(UsageError, match="still open"):
            runtime.shut_down()
        assert machine.calls["acl.finalize"] == 0
        ends.set()
        join("npu:0")
        runtime.shut_down()
        assert machine.calls["acl.finalize"] == 1


@pytest.mark.parametrize(
    "call", ["acl.rt.reset_device", "acl.rt.destroy_stream", "acl.rt.destroy_context"]
)
def test_a_lost_device_that_does_not_let_go_is_not_waited_for(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ascend_device, "RELEASE_TIMEOUT_S", 0.05)
    runtime = AclRuntime()
    with simulated() as machine:
        device = AscendDevice(0, runtime=runtime)
        machine.lose(0)
        with pytest.raises(DeviceLostError):
            device.call(lambda equipment: equipment.acl.do("acl.rt.malloc", 64, 0))
        machine.stall(call)
        device.close()
        assert runtime.users == 1
        machine.released.set()
        join("npu:0")
        assert runtime.users == 0
        machine.recover(0)
