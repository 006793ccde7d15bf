"""MindSpore behind the seam of all runtimes: what it takes, gives and refuses."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asr_core.errors import DeviceError, SessionClosedError, UsageError
from asr_core.runtime.mindspore import MINDSPORE, MindSporeSession
from asr_core.runtime.session import TensorSpec

ms = pytest.importorskip("mindspore", reason="MindSpore is not installed")

ROOT = Path(__file__).resolve().parents[3]

INPUTS = (
    TensorSpec("x", (None, 3), "float32"),
    TensorSpec("y", (None, 3), "float32"),
)
OUTPUTS = (TensorSpec("sum", (None, 3), "float32"), TensorSpec("product", (None, 3), "float32"))


class _Network(ms.nn.Cell):
    def construct(self, x: Any, y: Any) -> Any:
        return x + y, x * y


@pytest.fixture
def session() -> MindSporeSession:
    MINDSPORE.start(1)
    return MindSporeSession("pair", _Network(), INPUTS, OUTPUTS)


def pair(rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(rows)
    return {name: rng.normal(size=(rows, 3)).astype(np.float32) for name in ("x", "y")}


def test_results_have_names_and_any_number_of_rows(session: MindSporeSession) -> None:
    assert (session.input_specs, session.output_specs) == (INPUTS, OUTPUTS)
    for rows in (1, 4, 2):
        inputs = pair(rows)
        found = session.run(inputs)
        assert list(found) == ["sum", "product"]
        assert np.allclose(found["sum"], inputs["x"] + inputs["y"])
        assert np.allclose(found["product"], inputs["x"] * inputs["y"])


def test_results_stay_when_the_network_runs_again(session: MindSporeSession) -> None:
    first = session.run(pair(2))["sum"]
    kept = first.copy()
    session.run(pair(2) | {"x": np.ones((2, 3), np.float32)})
    assert np.array_equal(first, kept)


def test_threads_take_turns(session: MindSporeSession) -> None:
    found: dict[int, np.ndarray] = {}

    def work(rows: int) -> None:
        found[rows] = session.run(pair(rows))["sum"]

    threads = [threading.Thread(target=work, args=(rows,)) for rows in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rows, result in found.items():
        assert np.allclose(result, pair(rows)["x"] + pair(rows)["y"])
    assert sorted(found) == list(range(1, 7))


@pytest.mark.parametrize(
    "changes",
    [
        {"z": np.zeros((1, 3), np.float32)},
        {"x": np.zeros((1, 3))},
        {"x": np.zeros((1, 4), np.float32)},
        {"x": np.zeros(3, np.float32)},
    ],
    ids=["unknown", "dtype", "width", "rank"],
)
def test_other_inputs_are_refused(
    session: MindSporeSession, changes: dict[str, np.ndarray]
) -> None:
    with pytest.raises(UsageError):
        session.run(pair(1) | changes)


def test_a_fault_of_mindspore_is_a_device_error(session: MindSporeSession) -> None:
    session.run(pair(2))
    with pytest.raises(DeviceError, match="MindSpore failed in pair"):
        session.run(pair(2) | {"x": np.zeros((3, 3), np.float32)})
    assert session.run(pair(2))["sum"].shape == (2, 3)


def test_a_closed_session_says_so(session: MindSporeSession) -> None:
    session.close()
    session.close()
    with pytest.raises(SessionClosedError):
        session.run(pair(1))


def test_threads_are_counted_from_one() -> None:
    with pytest.raises(UsageError):
        MINDSPORE.start(0)


CORES = """
import os
import mindspore as ms
import numpy as np
from asr_core.runtime.mindspore import MINDSPORE, MindSporeSession
from asr_core.runtime.session import TensorSpec

class Product(ms.nn.Cell):
    def construct(self, x):
        return ms.ops.matmul(x, x)

def cores():
    tasks = set(os.listdir("/proc/self/task")) - before
    return {frozenset(os.sched_getaffinity(int(task))) for task in tasks}

before = set(os.listdir("/proc/self/task"))
spec = TensorSpec("x", (None, None), "float32")
MINDSPORE.start(%d)
session = MindSporeSession("product", Product(), (spec,), (spec,))
session.run({"x": np.ones((8, 8), np.float32)})
print(*sorted(len(bound) for bound in cores()), len(os.sched_getaffinity(0)))
"""


@pytest.mark.parametrize("given", [1, 2, 1000])
def test_its_threads_use_no_more_cores_than_they_may(given: int, tmp_path: Path) -> None:
    here = len(os.sched_getaffinity(0))
    # MindSpore reads the source of a network from its file.
    program = tmp_path / "cores.py"
    program.write_text(CORES % given, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    # All of them the same, and the caller's thread keeps what it has.
    assert done.stdout.split() == [str(min(given, here)), str(here)]


INTERRUPTED = """
import signal, threading
from asr_core.runtime.mindspore import MindSpore

main, told, begun, ended = threading.main_thread().ident, threading.Event(), [], []

def work():
    begun.append(True)
    signal.pthread_kill(main, signal.SIGINT)
    told.wait(0.5)  # only a caller that does not wait ends this sooner
    ended.append(True)
"""

RUNNING = """
try:
    MindSpore().call(work)
except KeyboardInterrupt:
    print("interrupted", begun, ended)
    told.set()
"""

WAITING = """
owner, busy, free = MindSpore(), threading.Event(), threading.Event()
other = threading.Thread(target=owner.call, args=(lambda: (busy.set(), free.wait()),))
other.start()
busy.wait()
killer = threading.Thread(target=signal.pthread_kill, args=(main, signal.SIGINT))
try:
    killer.start()
    owner.call(work)
    killer.join()
except KeyboardInterrupt:
    free.set()
    other.join()
    owner.call(lambda: None)
    print("interrupted", begun, ended)
"""


@pytest.mark.parametrize(
    ("how", "said"),
    [(RUNNING, "interrupted [True] [True]\n"), (WAITING, "interrupted [] []\n")],
    ids=["running", "waiting"],
)
def test_an_interruption_is_told_when_nothing_runs_any_more(how: str, said: str) -> None:
    """In a process of its own: MindSpore makes SIGTERM of SIGINT once it has run something."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED + how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == said
