"""A Paraformer of FunASR as MindSpore cells that are written to files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from asr_core.models.checkpoint import load_into, read_checkpoint
from asr_core.models.convert_files import example_inputs
from asr_core.models.quantize import Operator
from asr_core.networks.config import ParaformerConfig
from asr_core.networks.graphs import EMBED, FILTER, TIMES, GraphShape, paraformer_graphs
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


def filled_cells(source: ParaformerSource) -> dict[str, Any]:
    """The filled graphs of a model by name; nothing else holds them."""
    from asr_core.networks.paraformer import ParaformerNetworks
    from asr_core.networks.seaco import SeacoNetworks

    config = source.config
    networks = (
        SeacoNetworks(config, config.bias)
        if config.bias is not None
        else ParaformerNetworks(config)
    )
    tensors = read_checkpoint(source.checkpoint)
    load_into(networks, tensors, networks.name_table(), source.checkpoint)
    cells = {name: getattr(networks, name) for name in paraformer_graphs(config) if name != FILTER}
    if isinstance(networks, SeacoNetworks):
        cells[FILTER] = networks.hotword_filter()
    return cells


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
