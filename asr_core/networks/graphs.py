"""The graphs of a Paraformer: their names, what they take and what they give.

Whatever runtime executes them, these are the names and shapes; ``None`` marks axes of any size.
Knows nothing of MindSpore.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asr_core.networks.config import ParaformerConfig
from asr_core.runtime.session import TensorSpec

ENCODE, DECODE, TIMES = "encode", "decode", "times"
EMBED, BIAS, FILTER = "embed", "bias", "filter"

LAYERED = (ENCODE, DECODE, BIAS, FILTER)
"""Those that are made of blocks."""

_LONGEST_PERIOD = 10_000.0


@dataclass(frozen=True, slots=True)
class GraphShape:
    """Inputs and outputs of one graph, in their order."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


def paraformer_graphs(config: ParaformerConfig) -> dict[str, GraphShape]:
    """Every graph that a model has, by name.

    Args:
        config: of the model.
    """
    plane = functools.partial(_plane, width=config.encoder.width)
    vocabulary = config.vocabulary
    graphs = {
        ENCODE: GraphShape(
            (
                _plane("features", config.encoder.inputs),
                TensorSpec("positions", (1, 1, None, config.encoder.inputs), "float32"),
                _plane("mask", 1),
            ),
            (plane("encoded"), _plane("alphas", 1)),
        ),
        DECODE: GraphShape(
            (
                plane("embeds"),
                _plane("token_mask", 1),
                plane("memory"),
                _plane("memory_mask", 1),
            ),
            (_plane("scores", vocabulary), plane("hidden")),
        ),
    }
    if config.predictor.upsampling:
        graphs[TIMES] = GraphShape(
            (
                plane("encoded"),
                _plane("mask", 1),
                TensorSpec("part_counts", (None,), "int64"),
            ),
            (TensorSpec("us_alphas", (None, None), "float32"),),
        )
    if config.bias is not None:
        listened = (plane("hidden"), _plane("token_mask", 1), plane("words"))
        graphs[EMBED] = GraphShape(
            (TensorSpec("tokens", (None, None), "int32"),),
            (TensorSpec("embedded", (None, None, config.bias.width), "float32"),),
        )
        graphs[BIAS] = GraphShape(
            (plane("embeds"), *listened, _plane("word_mask", 1)), (_plane("scores", vocabulary),)
        )
        graphs[FILTER] = GraphShape(
            (*listened, _plane("word_mask", 1)),
            (TensorSpec("attention", (None, 1, 1, None), "float32"),),
        )
    return graphs


def position_encoding(frames: int, width: int) -> npt.NDArray[np.float32]:
    """What is added to each frame so that the network knows its place, counted from 1.

    Args:
        frames: number of frames.
        width: features of a frame; even, at least 4.

    Returns:
        float32 (1, 1, frames, width): sines, then cosines.
    """
    angles = np.arange(1, frames + 1)[:, np.newaxis] * position_rates(width)
    waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    encoding: npt.NDArray[np.float32] = waves.astype(np.float32)[np.newaxis, np.newaxis]
    return encoding


def position_rates(width: int) -> npt.NDArray[np.float64]:
    """By how much the angle of each sine grows from frame to frame; float64 (width / 2,)."""
    half = width // 2
    steps = np.arange(half) * (-np.log(_LONGEST_PERIOD) / (half - 1))
    rates: npt.NDArray[np.float64] = np.exp(steps)
    return rates


def _plane(name: str, width: int) -> TensorSpec:
    return TensorSpec(name, (None, 1, None, width), "float32")
