"""A Paraformer executed by MindSpore, straight from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asr_core.models.checkpoint import load_into, read_checkpoint
from asr_core.networks.config import ParaformerConfig
from asr_core.networks.graphs import FILTER, paraformer_graphs
from asr_core.runtime.mindspore import MINDSPORE, MindSporeSession

CHECKPOINT_FILES = ("model.pt", "model.safetensors")
"""The first that exists is used."""


def mindspore_sessions(
    config: ParaformerConfig, checkpoint: Path, *, threads: int
) -> dict[str, MindSporeSession]:
    """All graphs of a model, which are compiled when they run for the first time.

    Args:
        config: of the model.
        checkpoint: of FunASR: one of :data:`CHECKPOINT_FILES`.
        threads: CPU threads, at least 1.

    Raises:
        DeviceUnavailableError: MindSpore cannot be used.
        ModelFileMissingError: there is no such checkpoint.
        ModelIntegrityError: it is damaged or belongs to another model.
    """
    MINDSPORE.start(threads)
    cells = MINDSPORE.call(lambda: _filled(config, checkpoint))
    return {
        name: MindSporeSession(name, cells[name], graph.inputs, graph.outputs)
        for name, graph in paraformer_graphs(config).items()
    }


def _filled(config: ParaformerConfig, checkpoint: Path) -> Mapping[str, Any]:
    from asr_core.networks.paraformer import ParaformerNetworks
    from asr_core.networks.seaco import SeacoNetworks

    tensors = read_checkpoint(checkpoint)
    networks = (
        SeacoNetworks(config, config.bias)
        if config.bias is not None
        else ParaformerNetworks(config)
    )
    load_into(networks, tensors, networks.name_table(), checkpoint)
    cells = {
        name: cell
        for name in paraformer_graphs(config)
        if (cell := getattr(networks, name, None)) is not None
    }
    if isinstance(networks, SeacoNetworks):
        cells[FILTER] = networks.hotword_filter()
    return cells
