"""A Paraformer executed by MindSpore, straight from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asr_core.models.checkpoint import load_into, read_checkpoint
from asr_core.networks.config import ParaformerConfig
from asr_core.networks.graphs import FILTER, paraformer_graphs
from asr_core.runtime.mindspore import MINDSPORE, MindSporeSession
from asr_core.runtime.session import TensorSpec


def mindspore_sessions(
    config: ParaformerConfig, checkpoint: Path, *, threads: int, probed: bool = False
) -> dict[str, MindSporeSession]:
    """All graphs of a model, which are compiled when they run for the first time.

    Args:
        config: of the model.
        checkpoint: one of :data:`asr_core.models.checkpoint.CHECKPOINT_FILES`.
        threads: CPU threads, at least 1.
        probed: whether graphs give the output of each block too, behind their own outputs.

    Raises:
        DeviceUnavailableError: MindSpore cannot be used.
        ModelFileMissingError: there is no such checkpoint.
        ModelIntegrityError: it is damaged or belongs to another model.
    """
    MINDSPORE.start(threads)
    cells = MINDSPORE.call(lambda: filled_graphs(config, checkpoint))
    if probed:
        cells = MINDSPORE.call(lambda: _probed(cells))
    return {
        name: MindSporeSession(
            name, cells[name], graph.inputs, (*graph.outputs, *_layers(cells[name]))
        )
        for name, graph in paraformer_graphs(config).items()
    }


def filled_graphs(config: ParaformerConfig, checkpoint: Path) -> dict[str, Any]:
    """The graphs of a model by name, with its weights; nothing else holds them.

    Runs on the thread that owns MindSpore.

    Args:
        config: of the model.
        checkpoint: one of :data:`asr_core.models.checkpoint.CHECKPOINT_FILES`.

    Raises:
        ModelFileMissingError: there is no such checkpoint.
        ModelIntegrityError: it is damaged or belongs to another model.
    """
    from asr_core.networks.paraformer import ParaformerNetworks
    from asr_core.networks.seaco import SeacoNetworks

    networks = (
        SeacoNetworks(config, config.bias)
        if config.bias is not None
        else ParaformerNetworks(config)
    )
    tensors = read_checkpoint(checkpoint)
    load_into(networks, tensors, networks.name_table(), checkpoint)
    cells = {name: getattr(networks, name) for name in paraformer_graphs(config) if name != FILTER}
    if isinstance(networks, SeacoNetworks):
        cells[FILTER] = networks.hotword_filter()
    return cells


def _probed(cells: Mapping[str, Any]) -> dict[str, Any]:
    from asr_core.networks.probes import PROBES

    return {name: PROBES[name](cell) if name in PROBES else cell for name, cell in cells.items()}


def _layers(cell: Any) -> tuple[TensorSpec, ...]:
    """What a probe gives behind the outputs of its graph."""
    names: tuple[str, ...] = getattr(cell, "layer_names", ())
    return tuple(TensorSpec(name, (None, 1, None, None), "float32") for name in names)
