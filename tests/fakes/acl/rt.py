"""SIMULATION: ``acl.rt``: devices, contexts, streams, memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .machine import (
    CONTEXT_NULL,
    DEVICE_ID,
    INVALID_HANDLE,
    INVALID_PARAM,
    LOST_HEARTBEAT,
    MEMORY_TYPE,
    SETUP_ERROR,
    STREAM_CONTEXT,
    SYNC_TIMEOUT,
    CallError,
    Context,
    Device,
    Machine,
    Stream,
    call,
)

_DIRECTIONS = {0: (True, True), 1: (True, False), 2: (False, True), 3: (False, False)}


@call("acl.rt.get_device_count", 0)
def get_device_count(here: Machine) -> int:
    return len(here.devices)


@call("acl.rt.get_run_mode", 0)
def get_run_mode(here: Machine) -> int:
    return here.run_mode


@call("acl.rt.set_device")
def set_device(here: Machine, index: int) -> None:
    device = here.device(index)
    with here.lock:
        if device.broken:
            raise CallError(SETUP_ERROR, f"device {index} cannot be set up")
        if device.lost and device.references:
            raise CallError(LOST_HEARTBEAT, f"device {index} has to be reset first")
        device.references += 1
        if device.default_context is None:
            device.default_context = Context(index, default=True)
        here.bind(device.default_context)


@call("acl.rt.reset_device")
def reset_device(here: Machine, index: int) -> None:
    device = here.device(index)
    with here.lock:
        if not device.references:
            raise CallError(DEVICE_ID, f"device {index} is not set")
        device.references -= 1
        if not device.references:
            _release_device(here, device)


@call("acl.rt.reset_device_force")
def reset_device_force(here: Machine, index: int) -> None:
    device = here.device(index)
    with here.lock:
        device.references = 0
        _release_device(here, device)


@call("acl.rt.get_device", 0)
def get_device(here: Machine) -> int:
    return here.here().device


@call("acl.rt.create_context", 0)
def create_context(here: Machine, index: int) -> int:
    device = here.device(index)
    here.check_device(index)
    if not device.references:
        raise CallError(CONTEXT_NULL, f"device {index} is not set")
    context = Context(index, default=False)
    here.bind(context)
    return here.add(context)


@call("acl.rt.set_context")
def set_context(here: Machine, context: int) -> None:
    here.bind(here.get(context, Context, CONTEXT_NULL))


@call("acl.rt.get_context", 0)
def get_context(here: Machine) -> int:
    context = here.here()
    for handle, known in here.things(Context):
        if known is context:
            return handle
    return here.add(context)


@call("acl.rt.destroy_context")
def destroy_context(here: Machine, handle: int) -> None:
    context = here.get(handle, Context, INVALID_HANDLE)
    if context.default:
        here.violate("the default context was destroyed")
        raise CallError(INVALID_PARAM, "the default context is not destroyed")
    here.drop(handle, Context)
    context.alive = False
    if any(stream.context is context for _, stream in here.things(Stream)):
        here.violate("a context was destroyed before its streams")
    here.check_device(context.device)


@call("acl.rt.create_stream", 0)
def create_stream(here: Machine) -> int:
    return here.add(Stream(here.working()))


@call("acl.rt.destroy_stream")
def destroy_stream(here: Machine, handle: int) -> None:
    stream = _stream(here, handle)
    lost = here.devices[stream.context.device].lost
    if stream.queue and not lost and not here.devices[stream.context.device].hung:
        here.violate("a stream was destroyed while it worked")
    here.drop(handle, Stream)
    here.check_device(stream.context.device)


@call("acl.rt.synchronize_stream")
def synchronize_stream(here: Machine, handle: int) -> None:
    stream = _stream(here, handle)
    if here.devices[stream.context.device].hung:
        here.released.wait()
        raise CallError(SYNC_TIMEOUT, "the stream was aborted")
    run_queue(here, stream)


@call("acl.rt.synchronize_stream_with_timeout")
def synchronize_stream_with_timeout(here: Machine, handle: int, timeout_ms: int) -> None:
    """Waits as long as it takes; a hanging device ends at once, as if the time had passed."""
    stream = _stream(here, handle)
    if here.devices[stream.context.device].hung:
        raise CallError(SYNC_TIMEOUT, f"the stream did not end within {timeout_ms} ms")
    run_queue(here, stream)


@call("acl.rt.get_mem_info", 0, 0)
def get_mem_info(here: Machine, _attribute: int) -> tuple[int, int]:
    device = here.devices[here.working().device]
    return device.capacity_bytes - device.used_bytes, device.capacity_bytes


@call("acl.rt.malloc", 0)
def malloc(here: Machine, size: int, _policy: int) -> int:
    return here.allocate(size, here.working().device).address


@call("acl.rt.free")
def free(here: Machine, address: int) -> None:
    context = here.here()
    here.release(address, host=False)
    here.check_device(context.device)


@call("acl.rt.malloc_host", 0)
def malloc_host(here: Machine, size: int) -> int:
    here.working()
    return here.allocate(size, None).address


@call("acl.rt.free_host")
def free_host(here: Machine, address: int) -> None:
    context = here.here()
    here.release(address, host=True)
    here.check_device(context.device)


@call("acl.rt.memcpy")
def memcpy(here: Machine, target: int, most: int, source: int, count: int, kind: int) -> None:
    here.working()
    _copy(here, (target, most, source, count), kind)


@call("acl.rt.memcpy_async")
def memcpy_async(
    here: Machine, target: int, most: int, source: int, count: int, kind: int, stream: int
) -> None:
    """The host's side has to be pinned; the copy happens when the stream is synchronized."""
    here.working()
    found = _stream(here, stream)
    copy = (target, most, source, count)
    for address in (target, source):
        if here.block(address) is None:
            here.violate("memcpy_async of memory that is not pinned")
            raise CallError(MEMORY_TYPE, f"{address:#x} is not pinned memory")
    _check_copy(here, copy, kind)
    found.queue.append((None, lambda: _copy(here, copy, kind)))


@call("acl.rt.memset")
def memset(here: Machine, address: int, most: int, value: int, count: int) -> None:
    here.working()
    if count > most:
        raise CallError(INVALID_PARAM, f"{count} bytes into {most}")
    _side(here, address, most, host=_is_host(here, address))[:count] = value & 0xFF


def run_queue(here: Machine, stream: Stream) -> None:
    """Do what waits on a stream."""
    queue, stream.queue = stream.queue, []
    here.check_device(stream.context.device)
    for _, work in queue:
        work()
        here.check_device(stream.context.device)


def _stream(here: Machine, handle: int) -> Stream:
    context = here.here()
    stream: Stream = here.get(handle, Stream, INVALID_HANDLE)
    if stream.context is not context:
        raise CallError(STREAM_CONTEXT, "the stream belongs to another context")
    return stream


def _release_device(here: Machine, device: Device) -> None:
    """The last reference is gone: report what was not released, and release it."""
    from .mdl import Model

    kinds: tuple[type, ...] = (Context, Stream, Model)
    for kind in kinds:
        for handle, thing in here.things(kind):
            context = thing if isinstance(thing, Context) else thing.context
            if context.device != device.index:
                continue
            if not getattr(thing, "default", False):
                here.leaks.append(f"device {device.index}: {kind.__name__}")
            context.alive = False
            here.drop(handle, kind)
    for block in here.blocks_of(device.index):
        here.leaks.append(f"device {device.index}: {block.size} bytes")
        here.release(block.address, host=False)
    if device.default_context is not None:
        device.default_context.alive = False
        device.default_context = None
    context = here.context()
    if context is not None and context.device == device.index:
        here.bind(None)
    device.hung = False
    was_lost, device.lost = device.lost, False
    if was_lost:
        raise CallError(LOST_HEARTBEAT, f"device {device.index} was lost")


def _is_host(here: Machine, address: int) -> bool:
    block = here.block(address)
    return block is None or block.device is None


def _check_copy(here: Machine, copy: tuple[int, int, int, int], kind: int) -> None:
    target, most, source, count = copy
    if count > most:
        raise CallError(INVALID_PARAM, f"{count} bytes into {most}")
    sides = (_is_host(here, source), _is_host(here, target))
    if here.run_mode == 0 and kind == 3:
        return
    if kind not in _DIRECTIONS or _DIRECTIONS[kind] != sides:
        here.violate(f"copy of kind {kind} between host={sides}")
        raise CallError(107000, f"kind {kind} does not fit the addresses")


def _copy(here: Machine, copy: tuple[int, int, int, int], kind: int) -> None:
    target, most, source, count = copy
    _check_copy(here, copy, kind)
    to = _side(here, target, most, host=_is_host(here, target))
    what = _side(here, source, count, host=_is_host(here, source))
    to[:count] = what
    here.copied_bytes[kind] += count


def _side(here: Machine, address: int, size: int, *, host: bool) -> np.ndarray[Any, Any]:
    """The bytes of one side of a copy; bounds are checked where the memory is known."""
    block = here.block(address)
    if block is not None:
        if address + size > block.address + block.size:
            here.violate(f"a copy of {size} bytes runs over a block of {block.size}")
            raise CallError(INVALID_PARAM, "the copy runs over its block")
        return block.data[address - block.address :][:size]
    if here.was_pinned(address):
        here.violate("copy of pinned memory that was given back")
        raise CallError(INVALID_PARAM, f"{address:#x} was given back")
    if not host or address < 4096 or (address >= 0x6000_0000_0000 and address < 0x7000_0000_0000):
        here.violate(f"copy of unknown memory {address:#x}")
        raise CallError(INVALID_PARAM, f"{address:#x} is unknown memory")
    return np.frombuffer((ctypes.c_ubyte * size).from_address(address), np.uint8)
