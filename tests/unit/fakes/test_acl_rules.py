"""The simulated acl keeps the documented rules of pyACL: process, devices, memory, streams."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from tests.fakes import acl
from tests.fakes.acl.machine import Machine, start

TO_DEVICE, TO_HOST = 1, 2
HUGE_FIRST = 0


@pytest.fixture
def machine() -> Machine:
    return start(devices=2, memory_bytes=1 << 20)


@pytest.fixture
def ready(machine: Machine) -> Machine:
    """Initialized, device 0 set on this thread."""
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    return machine


def on_thread(work: Callable[[], object]) -> object:
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


def test_nothing_works_before_init(machine: Machine) -> None:
    assert acl.rt.set_device(0) == 100001
    assert acl.rt.malloc(64, HUGE_FIRST) == (0, 100001)
    assert acl.mdl.create_desc() == 0
    assert acl.finalize() == 100001


def test_init_and_finalize_are_for_once(machine: Machine) -> None:
    assert acl.init() == 0
    assert acl.init() == 100002
    assert acl.finalize() == 0
    assert acl.finalize() == 100037
    assert acl.init() == 100002


def test_unknown_devices(ready: Machine) -> None:
    assert acl.rt.get_device_count() == (2, 0)
    assert acl.rt.set_device(2) == 107001
    assert acl.rt.reset_device(1) == 107001


def test_contexts_belong_to_threads(ready: Machine) -> None:
    assert on_thread(lambda: acl.rt.malloc(64, HUGE_FIRST)) == (0, 107002)
    context, ret = acl.rt.get_context()
    assert ret == 0

    def borrow() -> object:
        return acl.rt.set_context(context), acl.rt.get_device()

    assert on_thread(borrow) == (0, (0, 0))
    assert acl.rt.destroy_context(context) == 100000
    assert ready.violations == ["the default context was destroyed"]


def test_devices_count_references(ready: Machine) -> None:
    assert acl.rt.set_device(0) == 0
    assert acl.rt.reset_device(0) == 0
    pointer, ret = acl.rt.malloc(64, HUGE_FIRST)
    assert (ret, acl.rt.free(pointer)) == (0, 0)
    assert acl.rt.reset_device(0) == 0
    assert acl.rt.malloc(64, HUGE_FIRST) == (0, 107002)


def test_what_is_not_released_is_reported(ready: Machine) -> None:
    acl.rt.create_context(0)
    acl.rt.create_stream()
    acl.rt.malloc(100, HUGE_FIRST)
    assert acl.rt.reset_device(0) == 0
    assert ready.leaks == ["device 0: Context", "device 0: Stream", "device 0: 100 bytes"]
    assert ready.live() == {}


def test_memory_is_noise_and_its_size_positive(ready: Machine) -> None:
    assert acl.rt.malloc(0, HUGE_FIRST) == (0, 100000)
    pointer, _ = acl.rt.malloc(256, HUGE_FIRST)
    assert pointer % 64 == 0
    host, _ = acl.rt.malloc_host(256)
    assert acl.rt.memcpy(host, 256, pointer, 256, TO_HOST) == 0
    assert len(set(acl.util.ptr_to_bytes(host, 256))) > 50


def test_memory_ends(ready: Machine) -> None:
    assert acl.rt.malloc(1 << 20, HUGE_FIRST) == (0, 207001)
    free, total, ret = acl.rt.get_mem_info(0)
    assert (free, total, ret) == (1 << 20, 1 << 20, 0)
    acl.rt.malloc(1000, HUGE_FIRST)
    assert acl.rt.get_mem_info(0)[0] == (1 << 20) - 1056


def test_frees_are_not_mixed_up(ready: Machine) -> None:
    pointer, _ = acl.rt.malloc(64, HUGE_FIRST)
    host, _ = acl.rt.malloc_host(64)
    assert acl.rt.free_host(pointer) == 107016
    assert acl.rt.free(host) == 107016
    assert acl.rt.free(pointer) == 0
    assert acl.rt.free(pointer) == 100000
    assert [text.partition(":")[0] for text in ready.violations] == [
        "host and device memory are mixed up in a free",
        "host and device memory are mixed up in a free",
        "double free",
    ]


def test_copies_check_bounds_and_direction(ready: Machine) -> None:
    pointer, _ = acl.rt.malloc(64, HUGE_FIRST)
    host, _ = acl.rt.malloc_host(128)
    assert acl.rt.memcpy(pointer, 64, host, 65, TO_DEVICE) == 100000
    assert ready.violations == []
    assert acl.rt.memcpy(pointer, 128, host, 128, TO_DEVICE) == 100000
    assert acl.rt.memcpy(host, 128, pointer, 128, TO_HOST) == 100000
    assert acl.rt.memcpy(pointer, 64, host, 64, TO_HOST) == 107000
    assert len(ready.violations) == 3
    assert acl.rt.memcpy(pointer, 64, host, 64, TO_DEVICE) == 0


def test_a_copy_takes_effect_when_its_stream_is_synchronized(ready: Machine) -> None:
    stream, _ = acl.rt.create_stream()
    pointer, _ = acl.rt.malloc(8, HUGE_FIRST)
    host, _ = acl.rt.malloc_host(16)
    assert acl.rt.memcpy(host, 16, acl.util.bytes_to_ptr(b"abcdefgh" * 2), 16, 0) == 0
    assert acl.rt.memcpy_async(pointer, 8, host, 8, TO_DEVICE, stream) == 0
    assert acl.rt.memcpy_async(host + 8, 8, pointer, 8, TO_HOST, stream) == 0
    acl.rt.memcpy(host, 16, acl.util.bytes_to_ptr(b"ABCDEFGH" * 2), 16, 0)
    assert acl.util.ptr_to_bytes(host + 8, 8) == b"ABCDEFGH"
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.util.ptr_to_bytes(host, 16) == b"ABCDEFGH" * 2


def test_asynchronous_copies_need_pinned_memory(ready: Machine) -> None:
    stream, _ = acl.rt.create_stream()
    pointer, _ = acl.rt.malloc(8, HUGE_FIRST)
    array = np.zeros(8, np.uint8)
    copy = (pointer, 8, array.ctypes.data, 8, TO_DEVICE, stream)
    assert acl.rt.memcpy_async(*copy) == 107016


def test_a_stream_belongs_to_its_context(ready: Machine) -> None:
    stream, _ = acl.rt.create_stream()
    acl.rt.create_context(0)
    assert acl.rt.synchronize_stream(stream) == 107003


def test_bytes_to_ptr_takes_bytes_only(ready: Machine) -> None:
    with pytest.raises(ValueError, match="needs an byte"):
        acl.util.bytes_to_ptr(bytearray(4))
    pointer, _ = acl.rt.malloc(8, HUGE_FIRST)
    with pytest.raises(ValueError, match="host memory"):
        acl.util.ptr_to_bytes(pointer, 8)


def test_wrong_types_raise(ready: Machine) -> None:
    with pytest.raises(TypeError):
        acl.rt.malloc(np.int64(64), HUGE_FIRST)
    with pytest.raises(TypeError):
        acl.rt.malloc(64)


def test_error_texts_belong_to_threads_and_are_read_once(ready: Machine) -> None:
    assert acl.rt.set_device(7) == 107001
    assert on_thread(acl.get_recent_err_msg) is None
    assert "device 7" in (acl.get_recent_err_msg() or "")
    assert acl.get_recent_err_msg() is None


def test_failures_are_injected_by_number(ready: Machine) -> None:
    ready.out_of_memory_at(2)
    codes = [acl.rt.malloc(64, HUGE_FIRST)[1] for _ in range(3)]
    assert codes == [0, 207001, 0]


def test_a_lost_device_answers_nothing_until_it_is_back(ready: Machine) -> None:
    pointer, _ = acl.rt.malloc(64, HUGE_FIRST)
    ready.lose(0)
    assert acl.rt.malloc(64, HUGE_FIRST) == (0, 507010)
    assert acl.rt.free(pointer) == 507010
    assert acl.rt.reset_device(0) == 507010
    assert acl.rt.set_device(0) == 507033
    assert acl.rt.set_device(1) == 0
    ready.recover(0)
    assert acl.rt.set_device(0) == 0
    assert ready.leaks == []


def test_a_hanging_device_ends_a_wait_only_by_its_limit(ready: Machine) -> None:
    stream, _ = acl.rt.create_stream()
    ready.hang(0)
    assert acl.rt.synchronize_stream_with_timeout(stream, 10) == 507046
    ready.released.set()
    assert acl.rt.synchronize_stream(stream) == 507046


def test_a_context_is_made_on_a_device_that_is_set(ready: Machine) -> None:
    assert acl.rt.create_context(1) == (0, 107002)
    assert acl.rt.set_device(1) == 0
    assert acl.rt.create_context(1)[1] == 0


def test_the_chip_has_no_name_before_init(machine: Machine) -> None:
    assert acl.get_soc_name() == ""
    acl.init()
    assert acl.get_soc_name() == "Ascend310P3"


def test_what_was_destroyed_is_not_used(ready: Machine) -> None:
    stream, _ = acl.rt.create_stream()
    assert acl.rt.destroy_stream(stream) == 0
    assert acl.rt.synchronize_stream(stream) == 107017
    assert ready.violations == ["use of a destroyed Stream"]


def test_contexts_end_after_their_streams(ready: Machine) -> None:
    context, _ = acl.rt.create_context(0)
    stream, _ = acl.rt.create_stream()
    assert acl.rt.destroy_context(context) == 0
    assert ready.violations == ["a context was destroyed before its streams"]
    assert stream


def test_streams_end_after_their_work(ready: Machine) -> None:
    stream, _ = acl.rt.create_stream()
    pointer, _ = acl.rt.malloc(8, HUGE_FIRST)
    host, _ = acl.rt.malloc_host(8)
    assert acl.rt.memcpy_async(pointer, 8, host, 8, TO_DEVICE, stream) == 0
    acl.rt.destroy_stream(stream)
    assert ready.violations == ["a stream was destroyed while it worked"]


def test_pinned_memory_outlives_the_copies_that_wait(ready: Machine) -> None:
    stream, _ = acl.rt.create_stream()
    pointer, _ = acl.rt.malloc(8, HUGE_FIRST)
    host, _ = acl.rt.malloc_host(8)
    assert acl.rt.memcpy_async(host, 8, pointer, 8, TO_HOST, stream) == 0
    assert acl.rt.free_host(host) == 0
    assert acl.rt.synchronize_stream(stream) == 100000
    assert ready.violations == ["copy of pinned memory that was given back"]


def test_what_is_left_at_the_end_of_the_process_is_reported(ready: Machine) -> None:
    acl.rt.malloc_host(8)
    assert acl.finalize() == 0
    assert "finalize: 1 HostBlock" in ready.leaks


def test_a_stalled_call_comes_back_when_it_is_released(ready: Machine) -> None:
    ready.stall("acl.rt.malloc")
    done = threading.Event()

    def allocate() -> None:
        acl.rt.set_device(0)
        acl.rt.malloc(8, HUGE_FIRST)
        done.set()

    thread = threading.Thread(target=allocate)
    thread.start()
    assert not done.wait(0.05)
    ready.released.set()
    thread.join()
    assert done.is_set()
