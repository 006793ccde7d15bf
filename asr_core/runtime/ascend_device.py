"""One Ascend device: the thread that owns it, its context, stream and memory."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, TypeVar

from asr_core.errors import (
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    DeviceUnavailableError,
    SessionClosedError,
)
from asr_core.runtime.ascend_acl import ACL, Acl, AclRuntime
from asr_core.runtime.ascend_handles import Context, Device, DeviceBuffer, HostBuffer, Stream

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

RUN_TIMEOUT_S = 20
"""A run that takes longer has hung; the longest one takes a few seconds."""

LOAD_TIMEOUT_S = 600
OPEN_TIMEOUT_S = 30
"""Setting a device takes a second or two; one that does not answer must not hold up the others."""

RELEASE_TIMEOUT_S = 5
"""How long a lost device may take to give back what it holds, before nobody waits for it."""

_SPARE_S = 5
_MEMORY_KINDS = (1, 0)  # HBM; DDR, which all chips but those with HBM have


class MemoryPool:
    """Memory that all models of a device share, for one runs at a time.

    It grows while models are loaded and stays as it is while they run.

    Args:
        acl: functions.
        run_mode: of the process.
    """

    def __init__(self, acl: Acl, run_mode: int) -> None:
        self._acl = acl
        self._run_mode = run_mode
        self._slots: list[tuple[DeviceBuffer, HostBuffer]] = []
        self.generation = 0

    def reserve(self, sizes: Sequence[int]) -> None:
        """Make sure that the places 0, 1, ... have at least these sizes, in bytes.

        Raises:
            DeviceMemoryError: there is not enough; everything is as large as it was.
            DeviceError: nor is there any more what was given back.
        """
        before = [slot[0].size for slot in self._slots]
        try:
            for place, size in enumerate(sizes):
                if place == len(self._slots):
                    self._slots.append(self._new(size))
                elif self._slots[place][0].size < size:
                    self._replace(place, self._new(size))
        except DeviceMemoryError:
            # What is left too large would be missing where less is tried next.
            self._restore(before)
            raise

    def _replace(self, place: int, slot: tuple[DeviceBuffer, HostBuffer]) -> None:
        old, self._slots[place] = self._slots[place], slot
        self.generation += 1
        for buffer in reversed(old):
            buffer.close()

    def _restore(self, sizes: Sequence[int]) -> None:
        while len(self._slots) > len(sizes):
            for buffer in reversed(self._slots.pop()):
                buffer.close()
        for place, size in enumerate(sizes):
            if self._slots[place][0].size > size:
                for buffer in reversed(self._slots[place]):
                    buffer.close()
                try:
                    self._replace(place, self._new(size))
                except DeviceMemoryError as exc:
                    raise DeviceError(exc.message, **exc.details) from exc

    def device(self, place: int) -> DeviceBuffer:
        return self._slots[place][0]

    def host(self, place: int) -> HostBuffer:
        """The pinned twin of a place."""
        return self._slots[place][1]

    def close(self) -> None:
        while self._slots:
            for buffer in reversed(self._slots.pop()):
                buffer.close()

    def _new(self, size: int) -> tuple[DeviceBuffer, HostBuffer]:
        on_device = DeviceBuffer(self._acl, size)
        try:
            return on_device, HostBuffer(self._acl, size, self._run_mode)
        except DeviceError:
            on_device.close()
            raise


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a device has while it is open; for its own thread only.

    Attributes:
        acl: functions.
        stream: the one queue.
        memory: shared by all models.
        timeout_ms: how long a run may take.
        loaded: what models hold; given back at the latest when the device is closed.
    """

    acl: Acl
    stream: Stream
    memory: MemoryPool
    timeout_ms: int
    loaded: list[contextlib.ExitStack] = field(default_factory=list)

    def unload(self, stack: contextlib.ExitStack) -> None:
        """Give back what one model holds."""
        if stack in self.loaded:
            self.loaded.remove(stack)
        stack.close()

    def unload_all(self) -> None:
        while self.loaded:
            self.loaded.pop().close()


@dataclass(frozen=True, slots=True)
class _Task:
    work: Callable[[Equipment], Any]
    result: Future[Any] = field(default_factory=Future)
    started: threading.Event = field(default_factory=threading.Event)


class AscendDevice:
    """An open device. Any thread may use it; one thread of its own does everything on it.

    Args:
        index: of the device, from 0.
        runtime: pyACL of the process.
        timeout_s: how long a run may take; whole seconds, at least 1.
        cores: processor cores that the thread stays on; empty: any.

    Raises:
        DeviceUnavailableError: pyACL or the device cannot be used.
        DeviceError: it cannot be set up.
    """

    def __init__(
        self,
        index: int,
        *,
        runtime: AclRuntime = ACL,
        timeout_s: int = RUN_TIMEOUT_S,
        cores: Collection[int] = (),
    ) -> None:
        self.index = index
        self.name = f"npu:{index}"
        self.soc = ""
        self._runtime = runtime
        self._timeout_s = timeout_s
        self._cores = frozenset(cores)
        self._lock = threading.Lock()
        self._tasks: queue.Queue[_Task | None] = queue.Queue()
        self._lost: DeviceLostError | None = None
        self._abandoned = False
        self._closed = False
        self._acl = runtime.acquire(self.name)
        opened: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._own, args=(opened,), name=self.name, daemon=True
        )
        self._thread.start()
        done, _ = wait([opened], timeout=OPEN_TIMEOUT_S)
        if not done:
            self._abandon("acl.rt.set_device", OPEN_TIMEOUT_S)
            raise self._loss()
        try:
            opened.result()
        except BaseException:
            self._thread.join()
            raise

    @property
    def lost(self) -> DeviceLostError | None:
        """Why the device answers no more; it has to be closed and opened again."""
        return self._lost

    def call(
        self, work: Callable[[Equipment], _Result], *, timeout_s: float | None = None
    ) -> _Result:
        """Do something on the thread of the device and wait for it.

        Args:
            work: gets what the device has.
            timeout_s: when the device counts as lost; by default what a run may take.

        Raises:
            SessionClosedError: the device is closed.
            DeviceLostError: the device was lost, now or before.
        """
        return self._send(work, timeout_s or self._timeout_s + _SPARE_S, lost_too=False)

    def unload(self, stack: contextlib.ExitStack) -> None:
        """Give back what a model holds, also where the device is lost."""
        limit_s = LOAD_TIMEOUT_S if self._lost is None else RELEASE_TIMEOUT_S
        with contextlib.suppress(SessionClosedError, DeviceLostError):
            self._send(lambda equipment: equipment.unload(stack), limit_s, lost_too=True)

    def free_bytes(self) -> tuple[int, int]:
        """Memory of the device that is free, and all of it; zeros where it does not tell."""
        return self.call(_memory)

    def close(self) -> None:
        """Give everything back, loaded models too; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._tasks.put(None)
        self._thread.join(self._timeout_s + _SPARE_S if self._lost is None else RELEASE_TIMEOUT_S)
        if self._thread.is_alive():
            logger.error("device does not let go device=%s", self.name)

    def _send(
        self, work: Callable[[Equipment], _Result], limit_s: float, *, lost_too: bool
    ) -> _Result:
        task = _Task(work)
        with self._lock:
            if self._closed:
                raise SessionClosedError(f"The device {self.name} is closed")
            if self._lost is not None and (self._abandoned or not lost_too):
                raise self._loss()
            self._tasks.put(task)
        task.started.wait()
        done, _ = wait([task.result], timeout=limit_s)
        if not done:
            self._abandon("run", limit_s)
            raise self._loss()
        result: _Result = task.result.result()
        return result

    def _loss(self) -> DeviceLostError:
        """A new error each time: one object raised in several threads mixes their traces."""
        lost = self._lost or DeviceLostError(f"{self.name} is lost", device=self.name)
        return DeviceLostError(lost.message, **lost.details)

    def _abandon(self, call: str, seconds: float) -> None:
        """The thread does not come back from a call: whoever waits is told."""
        message = f"{self.name}: {call} did not end within {seconds:g} s"
        details = {"call": call, "number": 0, "name": "", "text": "", "seconds": round(seconds)}
        lost = DeviceLostError(message, device=self.name, reason="hang", **details)
        logger.error("device hangs device=%s call=%s seconds=%g", self.name, call, seconds)
        with self._lock:
            self._lost = self._lost or lost
            self._abandoned = True
            self._refuse_waiting()
            self._tasks.put(None)

    def _refuse_waiting(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                task = self._tasks.get_nowait()
                if task is not None:
                    task.result.set_exception(self._loss())
                    task.started.set()

    def _own(self, opened: Future[None]) -> None:
        """The life of the owner thread; the device counts as open until it ends."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._runtime.release)
            try:
                equipment = self._open(stack)
            except BaseException as exc:  # noqa: BLE001 - handed to the thread that waits
                stack.close()
                opened.set_exception(exc)
                return
            stack.callback(equipment.unload_all)
            opened.set_result(None)
            while (task := self._tasks.get()) is not None:
                task.started.set()
                self._do(task, equipment)

    def _do(self, task: _Task, equipment: Equipment) -> None:
        try:
            result = task.work(equipment)
        except DeviceLostError as exc:
            with self._lock:
                if self._lost is None:
                    logger.error("device lost device=%s error=%s", self.name, exc)
                    self._lost = exc
            task.result.set_exception(exc)
        except BaseException as exc:  # noqa: BLE001 - handed to the thread that waits
            task.result.set_exception(exc)
        else:
            task.result.set_result(result)

    def _open(self, stack: contextlib.ExitStack) -> Equipment:
        """Everything in order; the stack gives it back in the reverse one."""
        if self._cores and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, self._cores)
        acl = self._acl
        count = acl.ask("acl.rt.get_device_count")
        if not 0 <= self.index < count:
            raise DeviceUnavailableError(
                f"There is no device {self.name}; this machine has {count}",
                device=self.name,
                reason="no_such_device",
                count=count,
            )
        device = Device(acl, self.index)
        stack.callback(device.close)
        context = Context(acl, device)
        stack.callback(context.close)
        stream = Stream(acl)
        stack.callback(stream.close)
        memory = MemoryPool(acl, acl.ask("acl.rt.get_run_mode"))
        stack.callback(memory.close)
        self.soc = str(acl.get("acl.get_soc_name"))
        logger.info("device open device=%s soc=%s", self.name, self.soc)
        return Equipment(acl, stream, memory, self._timeout_s * 1000)


def _memory(equipment: Equipment) -> tuple[int, int]:
    for kind in _MEMORY_KINDS:
        with contextlib.suppress(DeviceError):
            free, total = equipment.acl.ask("acl.rt.get_mem_info", kind)
            if total:
                return int(free), int(total)
    return 0, 0
