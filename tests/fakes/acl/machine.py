"""SIMULATION: the state behind the simulated ``acl``: devices, memory, handles, faults."""

from __future__ import annotations

import bisect
import functools
import inspect
import itertools
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

OK = 0
INVALID_PARAM = 100000
UNINITIALIZE = 100001
OUT_OF_MEMORY = 207001
DEVICE_ID = 107001
CONTEXT_NULL = 107002
STREAM_CONTEXT = 107003
MODEL_CONTEXT = 107004
MEMORY_TYPE = 107016
INVALID_HANDLE = 107017
LOST_HEARTBEAT = 507010
SETUP_ERROR = 507033
SYNC_TIMEOUT = 507046
AICORE_EXCEPTION = 507015

_DEVICE_BASE = 0x6000_0000_0000
_DEVICE_SPAN = 1 << 40
_ALIGNMENT = 64


class CallError(Exception):
    """A call fails with this return code and leaves this error text to its thread."""

    def __init__(self, code: int, text: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(eq=False)
class Context:
    device: int
    default: bool
    alive: bool = True


@dataclass(eq=False)
class Stream:
    context: Context
    default: bool = False
    queue: list[tuple[Any, Callable[[], None]]] = field(default_factory=list)


@dataclass(eq=False)
class Block:
    """Memory of a device, or pinned memory of the host (``device`` is ``None``)."""

    address: int
    size: int
    device: int | None
    data: np.ndarray


@dataclass(eq=False)
class Device:
    index: int
    capacity_bytes: int
    used_bytes: int = 0
    references: int = 0
    default_context: Context | None = None
    next_address: int = 0
    lost: bool = False
    broken: bool = False
    hung: bool = False
    runs: int = 0
    turn: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class Planned:
    """An injected failure of one function."""

    call: str
    code: int
    at: int
    times: int
    device: int | None
    text: str
    seen: int = 0


class Machine:
    """One process on one host with simulated devices.

    Args:
        devices: how many.
        soc: what ``get_soc_name`` gives.
        memory_bytes: of each device.
        run_mode: 1: cards in a host; 0: the process runs on the device's own processor.
        mismatch_code: what loading an OM for another chip returns.
    """

    def __init__(
        self,
        *,
        devices: int = 1,
        soc: str = "Ascend310P3",
        memory_bytes: int = 1 << 31,
        run_mode: int = 1,
        mismatch_code: int = 507008,
    ) -> None:
        self.lock = threading.RLock()
        self.soc = soc
        self.run_mode = run_mode
        self.mismatch_code = mismatch_code
        self.initialized = False
        self.finalized = False
        self.foreign_init = False
        self.devices = [Device(index, memory_bytes) for index in range(devices)]
        self.calls: Counter[str] = Counter()
        self.violations: list[str] = []
        self.warnings: list[str] = []
        self.leaks: list[str] = []
        self.copied_bytes: Counter[int] = Counter()
        self.released = threading.Event()
        self._stalled: set[str] = set()
        self._handles: dict[int, Any] = {}
        self._freed: dict[int, str] = {}
        self._numbers = itertools.count(0x5500_0000_1000, 0x40)
        self._model_ids = itertools.count(1)
        self._blocks: dict[int, Block] = {}
        self._addresses: list[int] = []
        self._graveyard: list[Block] = []
        self._planned: list[Planned] = []
        self._local = threading.local()
        self._noise = np.random.default_rng(20)

    # What tests do to the machine.

    def fail(
        self,
        call: str,
        code: int,
        *,
        at: int = 1,
        times: int = 1,
        device: int | None = None,
        text: str = "",
    ) -> None:
        """Let calls of a function fail, from the ``at``-th one from now, ``times`` times."""
        with self.lock:
            self._planned.append(Planned(call, code, at, times, device, text))

    def out_of_memory_at(self, number: int, *, times: int = 1) -> None:
        """Let the ``number``-th ``acl.rt.malloc`` from now find no memory."""
        self.fail("acl.rt.malloc", OUT_OF_MEMORY, at=number, times=times)

    def lose(self, device: int) -> None:
        """The device is gone: all its calls fail until it is recovered and set again."""
        with self.lock:
            self.devices[device].lost = True
            self.devices[device].broken = True

    def hang(self, device: int) -> None:
        """Streams of the device never end, until it is reset."""
        with self.lock:
            self.devices[device].hung = True

    def stall(self, call: str) -> None:
        """Calls of a function do not come back until ``released`` is set."""
        with self.lock:
            self._stalled.add(call)

    def recover(self, device: int) -> None:
        """The device can be set again; what was on it before stays lost."""
        with self.lock:
            self.devices[device].broken = False

    def live(self) -> dict[str, int]:
        """Everything that is not released, by kind."""
        with self.lock:
            kinds = Counter(
                type(thing).__name__
                for thing in self._handles.values()
                if not getattr(thing, "default", False)
            )
            kinds.update(
                "Block" if block.device is not None else "HostBlock"
                for block in self._blocks.values()
            )
            kinds.update("SetDevice" for device in self.devices if device.references)
            return dict(kinds)

    def allocations(self) -> dict[str, int]:
        """Calls so far that make something in the memory of a device or pinned memory."""
        names = ("acl.rt.malloc", "acl.rt.malloc_host", "acl.mdl.load_from_file")
        with self.lock:
            return {name: self.calls[name] for name in names}

    # What the functions of the interface use.

    def enter(self, name: str, *, before_init: bool = False) -> None:
        """Count a call; planned failures happen here."""
        if name in self._stalled:
            self.released.wait()
        with self.lock:
            self.calls[name] += 1
            if not before_init and not self.initialized:
                raise CallError(UNINITIALIZE, f"{name} was called before acl.init")
            here = self.context()
            for plan in self._planned:
                elsewhere = plan.device is not None and (here is None or here.device != plan.device)
                if plan.call != name or elsewhere or plan.times < 1:
                    continue
                plan.seen += 1
                if plan.seen >= plan.at:
                    plan.times -= 1
                    raise CallError(plan.code, plan.text or f"{name}: injected {plan.code}")

    def say(self, text: str) -> None:
        self._local.error = text

    def take_error(self) -> str | None:
        text: str | None = getattr(self._local, "error", None)
        self._local.error = None
        return text

    def violate(self, text: str) -> None:
        with self.lock:
            self.violations.append(text)

    def context(self) -> Context | None:
        """The calling thread's context."""
        context: Context | None = getattr(self._local, "context", None)
        return context

    def bind(self, context: Context | None) -> None:
        self._local.context = context

    def here(self) -> Context:
        """The calling thread's context, which has to exist."""
        context = self.context()
        if context is None or not context.alive:
            raise CallError(CONTEXT_NULL, "The context of this thread is null")
        return context

    def working(self) -> Context:
        """The calling thread's context on a device that is not lost."""
        context = self.here()
        self.check_device(context.device)
        return context

    def check_device(self, device: int) -> None:
        if self.devices[device].lost:
            raise CallError(LOST_HEARTBEAT, f"Device {device} has lost its heartbeat")

    def device(self, index: int) -> Device:
        if not 0 <= index < len(self.devices):
            raise CallError(DEVICE_ID, f"EE1001: The argument is invalid: device {index} not found")
        return self.devices[index]

    def add(self, thing: Any) -> int:
        """A handle for a new thing."""
        with self.lock:
            handle = next(self._model_ids) if hasattr(thing, "om") else next(self._numbers)
            self._handles[handle] = thing
            return handle

    def get(self, handle: int, kind: type, code: int = INVALID_PARAM) -> Any:
        with self.lock:
            thing = self._handles.get(handle)
        if not isinstance(thing, kind):
            if handle in self._freed:
                self.violate(f"use of a destroyed {self._freed[handle]}")
            raise CallError(code, f"{handle:#x} is no {kind.__name__}")
        return thing

    def drop(self, handle: int, kind: type, code: int = INVALID_PARAM) -> Any:
        thing = self.get(handle, kind, code)
        with self.lock:
            del self._handles[handle]
            self._freed[handle] = kind.__name__
        return thing

    def things(self, kind: type) -> list[tuple[int, Any]]:
        with self.lock:
            return [(key, thing) for key, thing in self._handles.items() if isinstance(thing, kind)]

    def allocate(self, size: int, device: int | None) -> Block:
        """Memory full of noise."""
        if size <= 0:
            raise CallError(INVALID_PARAM, f"size {size} has to be positive")
        with self.lock:
            data = np.empty(size + _ALIGNMENT, np.uint8)
            if device is None:
                address = -(-data.ctypes.data // _ALIGNMENT) * _ALIGNMENT
                data = data[address - data.ctypes.data :][:size]
            else:
                address = self._place(size, self.devices[device])
                if self.run_mode == 0:  # one memory for both: the process may look at it
                    address = -(-data.ctypes.data // _ALIGNMENT) * _ALIGNMENT
                    data = data[address - data.ctypes.data :]
                data = data[:size]
            data[:] = self._noise.integers(0, 256, size, np.uint8)
            block = Block(address, size, device, data)
            self._blocks[address] = block
            bisect.insort(self._addresses, address)
            self._freed.pop(address, None)
            return block

    def release(self, address: int, *, host: bool) -> None:
        with self.lock:
            block = self._blocks.get(address)
            if block is None:
                why = "double free" if address in self._freed else "free of unknown memory"
                self.violate(f"{why}: {address:#x}")
                raise CallError(INVALID_PARAM, why)
            if host != (block.device is None):
                self.violate("host and device memory are mixed up in a free")
                raise CallError(MEMORY_TYPE, "memory of the other kind")
            del self._blocks[address]
            self._addresses.remove(address)
            self._freed[address] = "memory"
            if block.device is None:
                # A view that outlives the memory finds noise; it does not crash the test.
                block.data[:] = self._noise.integers(0, 256, block.size, np.uint8)
                self._graveyard.append(block)
            else:
                self.devices[block.device].used_bytes -= _rounded(block.size)

    def block(self, address: int) -> Block | None:
        """The live block that holds an address."""
        with self.lock:
            place = bisect.bisect_right(self._addresses, address) - 1
            if place < 0:
                return None
            block = self._blocks[self._addresses[place]]
            return block if address < block.address + block.size else None

    def was_pinned(self, address: int) -> bool:
        """Whether this was pinned memory that was given back."""
        with self.lock:
            return any(one.address <= address < one.address + one.size for one in self._graveyard)

    def blocks_of(self, device: int) -> list[Block]:
        with self.lock:
            return [block for block in self._blocks.values() if block.device == device]

    def device_bytes(self, address: int, size: int, device: int) -> np.ndarray:
        """A view of memory of a device, with its bounds checked."""
        block = self.block(address)
        if block is None or block.device != device:
            self.violate(f"{address:#x} is no memory of device {device}")
            raise CallError(INVALID_PARAM, f"{address:#x} is no memory of device {device}")
        begin = address - block.address
        if begin + size > block.size:
            self.violate(f"{size} bytes at {begin} of a block of {block.size}")
            raise CallError(INVALID_PARAM, f"{size} bytes run over a block of {block.size}")
        return block.data[begin : begin + size]

    def noise(self, size: int) -> np.ndarray:
        with self.lock:
            return self._noise.integers(0, 256, size, np.uint8)

    def _place(self, size: int, device: Device) -> int:
        taken = _rounded(size)
        if device.used_bytes + taken > device.capacity_bytes:
            raise CallError(OUT_OF_MEMORY, f"device {device.index} has no {size} bytes left")
        device.used_bytes += taken
        address = _DEVICE_BASE + device.index * _DEVICE_SPAN + device.next_address
        device.next_address += -(-taken // _ALIGNMENT) * _ALIGNMENT + _ALIGNMENT
        return address


def _rounded(size: int) -> int:
    return -(-size // 32) * 32 + 32


_machine = Machine()


def start(**options: Any) -> Machine:
    """Begin a new machine; the one before is forgotten."""
    global _machine  # noqa: PLW0603 - the interface has no object of its own
    _machine = Machine(**options)
    return _machine


def machine() -> Machine:
    return _machine


def call(name: str, *failed: Any, before_init: bool = False) -> Callable[..., Any]:
    """A function of the interface that returns ``ret``, or values and ``ret``.

    Args:
        name: as Python sees it.
        failed: the values beside a ``ret`` that is not 0.
        before_init: it may be called before ``acl.init``.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*arguments: Any) -> Any:
            _check_types(function, arguments)
            here = _machine
            try:
                here.enter(name, before_init=before_init)
                values = function(here, *arguments)
            except CallError as fault:
                here.say(fault.text)
                return (*failed, fault.code) if failed else fault.code
            if not failed:
                return OK
            return (*values, OK) if len(failed) > 1 else (values, OK)

        return wrapped

    return decorate


def getter(name: str, failed: Any) -> Callable[..., Any]:
    """A function of the interface that returns a bare value."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*arguments: Any) -> Any:
            _check_types(function, arguments)
            here = _machine
            try:
                here.enter(name)
                return function(here, *arguments)
            except CallError as fault:
                here.say(fault.text)
                return failed

        return wrapped

    return decorate


@functools.cache
def _kinds_of(function: Callable[..., Any]) -> tuple[inspect.Signature, tuple[type | None, ...]]:
    kinds = {"int": int, "str": str, "bytes": bytes, "dict[str, Any]": dict, "list[int]": list}
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[1:]
    return signature, tuple(kinds.get(str(one.annotation)) for one in parameters)


def _check_types(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Wrong Python types raise, as in pyACL; nothing else does."""
    signature, kinds = _kinds_of(function)
    if len(arguments) != len(kinds):
        signature.bind(None, *arguments)
    for place, (kind, argument) in enumerate(zip(kinds, arguments, strict=False)):
        if kind is not None and type(argument) is not kind:
            raise TypeError(f"argument {place} has to be {kind.__name__}, not {type(argument)}")
