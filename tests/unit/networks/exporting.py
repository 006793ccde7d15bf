"""MindSpore cells as ONNX graphs with free batches and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def export(cell: Any, inputs: Mapping[str, np.ndarray], outputs: Sequence[str], path: Path) -> None:
    """Write a graph whose values are (batch, 1, time, width), with their first and third axis free.

    An output that bears a name of its own is lost to the parts that use it too, and a declared
    shape keeps the sizes of the example: both are mended after the export.
    """
    import mindspore as ms
    import onnx
    from onnx import helper

    from asr_core.networks.layers import for_export

    for_export(cell)
    axes = {
        name: ({} if array.shape[0] == 1 else {0: "batch"}) | {2: f"{name}_time"}
        for name, array in inputs.items()
    }
    example = [ms.Tensor(array) for array in inputs.values()]
    ms.onnx.export(cell, *example, file_name=str(path), input_names=list(inputs), dynamic_axes=axes)
    model = onnx.load(path)
    declared = list(model.graph.output)
    del model.graph.output[:]
    for name, value in zip(outputs, declared, strict=True):
        model.graph.node.append(helper.make_node("Identity", [value.name], [name]))
        free = [f"{name}_{axis}" for axis in range(4)]
        model.graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, free))
    onnx.checker.check_model(model)
    onnx.save(model, path)
