"""Networks executed by MindSpore, compiled once for all shapes.

MindSpore keeps its state by process: one thread of this module owns it, compiles every network
and runs it, whichever thread asks.
"""

from __future__ import annotations

import functools
import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np

from asr_core.errors import (
    DeviceError,
    DeviceUnavailableError,
    SessionClosedError,
    UsageError,
)
from asr_core.runtime.session import Array, TensorSpec, check_inputs

_Result = TypeVar("_Result")

_ENVIRONMENT = {
    "GLOG_v": "3",  # only errors are logged
    # Every new shape would stay in memory with its code.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "16",
}
_FAULTS = (RuntimeError, ValueError, TypeError, MemoryError)
"""What MindSpore raises; it has no classes of its own."""


class MindSpore:
    """MindSpore of this process, in graph mode on the CPU."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: ThreadPoolExecutor | None = None
        self._started = False

    def call(self, work: Callable[[], _Result]) -> _Result:
        """Run something on the thread that owns MindSpore, and wait for it.

        Whatever interrupts the waiting, what runs has ended when this returns or raises: nothing
        is written any more into a folder that the caller clears.
        """
        with self._lock:
            if self._owner is None:
                owner = ThreadPoolExecutor(1, thread_name_prefix="mindspore")
                # Were the first work interrupted while the thread begins, there would be two.
                owner.submit(_nothing).result()
                self._owner = owner
            owner = self._owner
        running: Future[_Result] | None = None
        try:
            running = owner.submit(work)
            return running.result()
        except BaseException:
            if running is None:
                # It may have been sent nevertheless; what is sent after it is done after it.
                wait([owner.submit(_nothing)])
            elif not running.cancel():
                wait([running])
            raise

    def start(self, threads: int) -> None:
        """Make ready for networks; the number of cores is that of the first call.

        MindSpore starts a thread for each core whatever it is told, and one that is told a number
        of threads multiplies at little more than half the speed. So its threads get as many cores
        as they may use.

        Args:
            threads: CPU threads, at least 1.

        Raises:
            UsageError: ``threads`` is below 1.
            DeviceUnavailableError: MindSpore cannot be imported.
        """
        if threads < 1:
            raise UsageError(f"MindSpore needs at least one thread, not {threads}")
        self.call(functools.partial(self._start, threads))

    def _start(self, threads: int) -> None:
        if not self._started:
            _use_cores(threads)
        # What it notes when a network cannot be compiled would lie in the working folder.
        os.environ.setdefault("MS_OM_PATH", tempfile.gettempdir())
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        try:
            import mindspore as ms
        except (ImportError, RuntimeError, AttributeError) as exc:
            raise DeviceUnavailableError(
                "MindSpore is not usable here; it is installed by requirements.txt up to Python "
                f"3.12: {exc}",
                device="cpu",
                reason="no_mindspore",
                text=str(exc),
            ) from exc
        ms.set_context(mode=ms.GRAPH_MODE)
        self._started = True


def _use_cores(count: int) -> None:
    """Keep this thread, and those that it starts, on so many cores of those that it may use.

    Processes begin at different ones.
    """
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if count < len(usable):
        first = os.getpid() % len(usable)
        os.sched_setaffinity(0, (usable + usable)[first : first + count])


MINDSPORE = MindSpore()
"""The only one of a process."""


class MindSporeSession:
    """One network of MindSpore; implements :class:`asr_core.runtime.session.Session`.

    Several threads may use it; they take turns.

    Args:
        name: of the network, for messages.
        cell: a ``mindspore.nn.Cell`` with its weights, after :meth:`MindSpore.start`.
        inputs: what it takes, in its order; ``None`` marks axes of any size.
        outputs: what it gives, in its order.
    """

    def __init__(
        self, name: str, cell: Any, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
    ) -> None:
        self._name = name
        self._input_specs = tuple(inputs)
        self._output_specs = tuple(outputs)
        self._cell: Any = cell
        MINDSPORE.call(self._prepare)

    @property
    def input_specs(self) -> tuple[TensorSpec, ...]:
        return self._input_specs

    @property
    def output_specs(self) -> tuple[TensorSpec, ...]:
        return self._output_specs

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Execute the network once; see :meth:`asr_core.runtime.session.Session.run`."""
        if self._cell is None:
            raise SessionClosedError(f"The session of {self._name} is closed")
        check_inputs(self._input_specs, inputs)
        return MINDSPORE.call(functools.partial(self._run, inputs))

    def close(self) -> None:
        """Release the network; a second call does nothing."""
        if self._cell is not None:
            MINDSPORE.call(self._release)

    def _prepare(self) -> None:
        import mindspore as ms

        self._cell.set_train(False)
        self._cell.set_inputs(
            *(
                ms.Tensor(shape=list(spec.shape), dtype=getattr(ms, spec.dtype))
                for spec in self._input_specs
            )
        )

    def _run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        import mindspore as ms

        try:
            found = self._cell(*(ms.Tensor(inputs[spec.name]) for spec in self._input_specs))
            results = found if isinstance(found, tuple) else (found,)
            # What a network gave lies in memory that its next run may take.
            arrays = [np.array(one.asnumpy()) for one in results]
        except _FAULTS as exc:
            # A graph that failed once refuses to run; it is compiled anew by the next run.
            self._cell.compile_cache.clear()
            raise DeviceError(f"MindSpore failed in {self._name}: {exc}", reason=str(exc)) from exc
        names = [spec.name for spec in self._output_specs]
        return dict(zip(names, arrays, strict=True))

    def _release(self) -> None:
        self._cell = None


def _nothing() -> None:
    """The work that only waits for its turn."""
