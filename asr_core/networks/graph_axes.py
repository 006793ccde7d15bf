"""The free axes of a Paraformer's graphs by name, for runtimes that fix their sizes.

Knows nothing of MindSpore.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from asr_core.networks.config import ParaformerConfig
from asr_core.networks.graphs import EMBED, ENCODE, paraformer_graphs
from asr_core.runtime.ascend_manifest import Axis, OmTensor
from asr_core.runtime.session import TensorSpec

BATCH, FRAMES, TOKENS = "batch", "frames", "tokens"
WORDS, WORD_TOKENS = "words", "word_tokens"

_TIMES = {
    "features": FRAMES,
    "positions": FRAMES,
    "mask": FRAMES,
    "encoded": FRAMES,
    "alphas": FRAMES,
    "memory": FRAMES,
    "memory_mask": FRAMES,
    "embeds": TOKENS,
    "token_mask": TOKENS,
    "hidden": TOKENS,
    "scores": TOKENS,
    "attention": WORDS,
    "words": WORDS,
    "word_mask": WORDS,
    "tokens": WORD_TOKENS,
    "embedded": WORD_TOKENS,
}


@dataclass(frozen=True, slots=True)
class GraphAxes:
    """A graph with names for its free axes.

    Attributes:
        inputs: in their order.
        outputs: in their order.
        batch: the axis whose entries know nothing of each other.
    """

    inputs: tuple[OmTensor, ...]
    outputs: tuple[OmTensor, ...]
    batch: str

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the free axes, sorted."""
        return tuple(
            sorted({axis for one in self.inputs for axis in one.axes if isinstance(axis, str)})
        )


def paraformer_axes(config: ParaformerConfig) -> Mapping[str, GraphAxes]:
    """Every graph that a model has, by name.

    Args:
        config: of the model.
    """
    times = _TIMES | {"us_alphas": f"{FRAMES}*{config.predictor.upsampling}"}
    graphs = {}
    for name, graph in paraformer_graphs(config).items():
        batch = WORDS if name == EMBED else BATCH
        inputs, outputs = (
            tuple(_named(spec, batch, times) for spec in side)
            for side in (graph.inputs, graph.outputs)
        )
        graphs[name] = GraphAxes(inputs, outputs, batch)
    return graphs


def block_output(config: ParaformerConfig, graph: str, name: str) -> OmTensor:
    """What a block of a graph gives.

    Args:
        config: of the model.
        graph: one of :data:`asr_core.networks.graphs.LAYERED`.
        name: of the block.
    """
    times = FRAMES if graph == ENCODE else TOKENS
    return OmTensor(name, "float32", (BATCH, 1, times, config.encoder.width))


def _named(spec: TensorSpec, batch: str, times: Mapping[str, str]) -> OmTensor:
    axes: list[Axis] = [
        size if size is not None else batch if place == 0 else times[spec.name]
        for place, size in enumerate(spec.shape)
    ]
    return OmTensor(spec.name, spec.dtype, tuple(axes))
