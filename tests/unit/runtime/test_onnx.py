"""The ONNX Runtime session keeps the session contract, shown on the speech detector's network."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from asr_core.errors import (
    DeviceError,
    DeviceUnavailableError,
    ModelFileMissingError,
    SessionClosedError,
    UsageError,
)
from asr_core.runtime import onnx
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import TensorSpec


@pytest.fixture
def path() -> Path:
    spec = importlib.util.find_spec("faster_whisper")
    return Path(spec.submodule_search_locations[0]) / "assets" / "silero_vad_v6.onnx"


@pytest.fixture
def session(path):
    opened = OnnxSession(path, threads=1)
    yield opened
    opened.close()


def make_inputs(windows: int = 3) -> dict[str, np.ndarray]:
    state = np.zeros((1, 1, 128), np.float32)
    return {"input": np.zeros((windows, 576), np.float32), "h": state, "c": state}


def test_it_states_its_inputs_and_outputs(session):
    assert session.input_specs == (
        TensorSpec("input", (None, 576), "float32"),
        TensorSpec("h", (1, 1, 128), "float32"),
        TensorSpec("c", (1, 1, 128), "float32"),
    )
    assert [spec.name for spec in session.output_specs] == ["speech_probs", "hn", "cn"]


def test_it_runs(session):
    outputs = session.run(make_inputs(3))
    assert outputs["speech_probs"].shape == (3,)
    assert outputs["hn"].shape == outputs["cn"].shape == (1, 1, 128)
    assert ((outputs["speech_probs"] >= 0) & (outputs["speech_probs"] <= 1)).all()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"h": None}, "h"),
        ({"extra": np.zeros(1, np.float32)}, "extra"),
        ({"input": np.zeros((3, 576))}, "float64"),
        ({"input": np.zeros((3, 512), np.float32)}, "512"),
        ({"input": np.zeros(576, np.float32)}, "576"),
    ],
    ids=["missing", "unknown", "dtype", "shape", "rank"],
)
def test_wrong_inputs_are_the_callers_mistake(session, change, named):
    inputs = {k: v for k, v in (make_inputs() | change).items() if v is not None}
    with pytest.raises(UsageError, match=named):
        session.run(inputs)


def test_after_closing_it_refuses_to_run(session):
    session.close()
    session.close()
    with pytest.raises(SessionClosedError):
        session.run(make_inputs())


def test_a_missing_file(tmp_path):
    with pytest.raises(ModelFileMissingError) as caught:
        OnnxSession(tmp_path / "none.onnx", threads=1)
    assert caught.value.details == {"name": "none", "path": str(tmp_path / "none.onnx")}


def test_a_file_that_is_no_network(tmp_path):
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"not a network")
    with pytest.raises(DeviceError) as caught:
        OnnxSession(path, threads=1)
    assert caught.value.__cause__ is not None


def test_at_least_one_thread(path):
    with pytest.raises(UsageError):
        OnnxSession(path, threads=0)


def test_a_missing_runtime_is_named(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime.capi", None)
    with pytest.raises(DeviceUnavailableError) as caught:
        OnnxSession(path, threads=1)
    assert caught.value.details["device"] == "cpu"


def test_every_exception_of_the_runtime_is_mapped():
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    caught = onnx._runtime_errors()
    for name in ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile"):
        assert getattr(state, name) in caught
    assert state.RuntimeException in caught


LENGTHS = """
import sys
from pathlib import Path
import numpy as np
import onnx
import psutil
from asr_core.runtime.memory import give_back_memory
from asr_core.runtime.onnx import OnnxSession

tensor = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["time"])
names = [f"y{n}" for n in range(600)]
relu = lambda n: onnx.helper.make_node("LeakyRelu", ["x"], [names[n]], alpha=float(n))
nodes = [relu(n) for n in range(600)]
nodes.append(onnx.helper.make_node("Sum", names, ["sum"]))
graph = onnx.helper.make_graph(nodes, "wide", [tensor("x")], [tensor("sum")])
model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
model.ir_version = 8
onnx.save(model, sys.argv[1])
session = OnnxSession(Path(sys.argv[1]), threads=1)

def used(lengths):
    for length in lengths:
        session.run({"x": np.zeros(length, np.float32)})
    give_back_memory()
    return psutil.Process().memory_info().rss

before = used(range(1, 100))
print((used(range(100, 400)) - before) // 1024)
"""


def test_new_lengths_cost_no_memory(tmp_path):
    """A server hears recordings of every length for months."""
    done = subprocess.run(
        [sys.executable, "-c", LENGTHS, str(tmp_path / "wide.onnx")],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert int(done.stdout) < 2048  # KiB for 300 lengths
