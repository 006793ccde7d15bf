"""A Paraformer of FunASR whose cells are written to files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from asr_core.models.convert_files import example_inputs
from asr_core.models.quantize import Operator
from asr_core.networks.config import ParaformerConfig
from asr_core.networks.graphs import EMBED, TIMES, GraphShape
from asr_core.runtime.mindspore import MINDSPORE

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class ParaformerSource:
    """A model that is converted.

    Attributes:
        folder: of FunASR.
        model: FunASR's name of the kind of network.
        config: sizes of its networks.
        checkpoint: its weights.
    """

    folder: Path
    model: str
    config: ParaformerConfig
    checkpoint: Path


def on_mindspore(work: Callable[[], _Result]) -> _Result:
    """Run something on the thread that owns MindSpore."""
    MINDSPORE.start(1)
    return MINDSPORE.call(work)


def dense_operators(cells: dict[str, Any]) -> list[Operator]:
    """What :func:`operators_of` will find in the graphs."""
    from asr_core.networks.layers import Dense

    found = {}
    for cell in cells.values():
        for _, part in cell.cells_and_names():
            if isinstance(part, Dense):
                name = part.weight.name.removesuffix(".weight")
                found[name] = Operator(name, part.inputs, part.outputs)
    return list(found.values())


def write_graph(name: str, cell: Any, shape: GraphShape, path: Path) -> None:
    """Write one graph; its cell serves exports only from then on."""
    from asr_core.networks.export import (
        export_graph,
        write_hotword_embedder,
        write_timestamp_head,
    )

    if name == TIMES:
        write_timestamp_head(cell, path)
    elif name == EMBED:
        write_hotword_embedder(cell, path)
    else:
        export_graph(cell, example_inputs(shape), [spec.name for spec in shape.outputs], path)


def save_cells(cells: dict[str, Any], path: Path) -> None:
    """Write all parameters under their own names, each once."""
    import mindspore as ms

    parameters = {
        parameter.name: parameter for cell in cells.values() for parameter in cell.get_parameters()
    }
    ms.save_checkpoint(
        [{"name": name, "data": parameter} for name, parameter in parameters.items()], str(path)
    )
