"""SIMULATION: the simulated ``acl`` in the place of the real one, and OM files for it."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from asr_core.runtime.ascend_acl import AclRuntime
from asr_core.runtime.ascend_device import AscendDevice
from asr_core.runtime.ascend_manifest import (
    STATIC,
    OmFile,
    OmGraph,
    OmTensor,
    read_om_graph,
    write_om_graph,
)
from tests.fakes import acl
from tests.fakes.acl import om
from tests.fakes.acl.machine import Machine, start

SOC = "Ascend310P3"
CANN = "8.0.0"


@contextlib.contextmanager
def simulated(**options: Any) -> Iterator[Machine]:
    """``import acl`` gives the simulation; at the end nothing is left on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "acl", acl)
        machine = start(**options)
        yield machine
    left = (machine.violations, machine.leaks, machine.live())
    if any(left):
        pytest.fail(f"violations, leaks, live: {left}")


@contextlib.contextmanager
def opened(machine: Machine, index: int = 0, **options: Any) -> Iterator[AscendDevice]:
    """A simulated device; the machine is needed only so that there is one."""
    assert machine is not None
    device = AscendDevice(index, runtime=AclRuntime(), **options)
    try:
        yield device
    finally:
        device.close()


def convert(
    onnx: Path,
    folder: Path,
    tensors: tuple[Sequence[OmTensor], Sequence[OmTensor]],
    mode: str,
    buckets: Sequence[Mapping[str, int]],
    *,
    batch: str = "batch",
    soc: str = SOC,
) -> OmGraph:
    """Simulated OM files of a graph, and the manifest beside them.

    Args:
        onnx: the graph.
        folder: where they go.
        tensors: inputs and outputs.
        mode: ``static``, ``gears`` or ``dynamic``.
        buckets: sizes of the free axes.
        batch: name of the axis of independent entries.
        soc: chip.
    """
    inputs, outputs = (
        tuple(om.Tensor(one.name, one.dtype, one.axes) for one in side) for side in tensors
    )
    groups = [[bucket] for bucket in buckets] if mode == STATIC else [list(buckets)]
    files = []
    for number, group in enumerate(groups):
        path = folder / f"{onnx.stem}_{number}.om"
        om.build(onnx, path, om.Header(soc, mode, inputs, outputs, tuple(group)))
        content = path.read_bytes()
        sha256 = hashlib.sha256(content).hexdigest()
        files.append(OmFile(path.name, sha256, len(content), tuple(group)))
    graph = OmGraph(
        folder=folder,
        graph=onnx.stem,
        mode=mode,
        soc=soc,
        cann=CANN,
        precision="fp32",
        source_sha256=hashlib.sha256(onnx.read_bytes()).hexdigest(),
        batch=batch,
        inputs=tuple(tensors[0]),
        outputs=tuple(tensors[1]),
        files=tuple(files),
    )
    return read_om_graph(write_om_graph(graph), "model")


WIDTH = 6

INPUTS = (
    OmTensor("features", "float32", ("batch", 1, "frames", WIDTH)),
    OmTensor("positions", "float32", (1, 1, "frames", WIDTH)),
    OmTensor("mask", "float32", ("batch", 1, "frames", 1)),
)
OUTPUTS = (
    OmTensor("encoded", "float32", ("batch", 1, "frames", WIDTH)),
    OmTensor("thirds", "float32", ("batch", "frames*3")),
)


def attention_graph(path: Path) -> Path:
    """An ONNX file whose every output row depends on all frames that the mask keeps."""
    from onnx import TensorProto, checker, helper, numpy_helper

    def value(tensor: OmTensor) -> Any:
        axes = [axis.replace("*", "_") if isinstance(axis, str) else axis for axis in tensor.axes]
        return helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, axes)

    import numpy as np

    nodes = [
        helper.make_node("Add", ["features", "positions"], ["x"]),
        helper.make_node("Transpose", ["x"], ["x_t"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["x", "x_t"], ["scores"]),
        helper.make_node("Transpose", ["mask"], ["mask_t"], perm=[0, 1, 3, 2]),
        helper.make_node("Sub", ["mask_t", "one"], ["hidden"]),
        helper.make_node("Mul", ["hidden", "much"], ["bias"]),
        helper.make_node("Add", ["scores", "bias"], ["biased"]),
        helper.make_node("Softmax", ["biased"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "x"], ["encoded"]),
        helper.make_node("ReduceSum", ["encoded", "last"], ["sums"], keepdims=1),
        helper.make_node("Concat", ["sums"] * 3, ["copies"], axis=3),
        helper.make_node("Reshape", ["copies", "flat"], ["thirds"]),
    ]
    constants = [
        numpy_helper.from_array(np.float32(1.0), "one"),
        numpy_helper.from_array(np.float32(10000.0), "much"),
        numpy_helper.from_array(np.array([3], np.int64), "last"),
        numpy_helper.from_array(np.array([0, -1], np.int64), "flat"),
    ]
    graph = helper.make_graph(
        nodes, path.stem, [value(one) for one in INPUTS], [value(one) for one in OUTPUTS], constants
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


def attention_inputs(batch: int, frames: int, seed: int = 0) -> dict[str, Any]:
    """Inputs of :func:`attention_graph`; each row has a length of its own, the last all frames."""
    import numpy as np

    random = np.random.default_rng((batch, frames, seed))
    lengths = np.linspace(frames, max(frames // 2, 1), batch).astype(int)
    kept = np.arange(frames) < lengths[:, np.newaxis]
    return {
        "features": random.normal(size=(batch, 1, frames, WIDTH)).astype(np.float32),
        "positions": random.normal(size=(1, 1, frames, WIDTH)).astype(np.float32),
        "mask": kept[:, np.newaxis, :, np.newaxis].astype(np.float32),
    }
