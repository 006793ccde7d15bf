"""The punctuation network of our own: what words look like, what stands around them, a mark.

A text runs along the first axis; texts lie side by side on the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mindspore as ms
import numpy as np
import numpy.typing as npt
from mindspore import Parameter, Tensor, nn, ops

MARK_COUNT = 8
TAPS = 3
"""Places that a layer looks at: one before, the place itself, one after."""


@dataclass(frozen=True, slots=True)
class TaggerShape:
    """Sizes of the network.

    Attributes:
        units: numbered words.
        pairs: numbered pairs of words; the table has one row more, for all others.
        pause_classes: classes of pauses; class 0 is a pause that is not known.
        unit_width: features of a word.
        pair_width: features of a pair.
        steps: for each layer the distance of the places that it looks at.
        dropout: part of the features of words that is dropped while training.
    """

    units: int
    pairs: int
    pause_classes: int
    unit_width: int = 128
    pair_width: int = 64
    steps: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    dropout: float = 0.1


class PunctuationNetwork(nn.Cell):  # type: ignore[misc]
    """Scores of the mark after each word.

    Tables give the features of a word, of its pair with the next word and of the pause after it.
    Gated convolutions with growing steps add what stands around it.

    Inputs:
        - **units** (Tensor) - int32 (length, texts), numbers of words.
        - **pairs** (Tensor) - int32 (length, texts), number of each word's pair with the next.
        - **pauses** (Tensor) - int32 (length, texts), class of the pause after each word.

    Outputs:
        float32 (length, texts, 8): unnormalized log-probabilities.

    Args:
        shape: sizes.
        seed: of the initial weights.
    """

    def __init__(self, shape: TaggerShape, seed: int = 0) -> None:
        super().__init__()
        random = np.random.default_rng(seed)
        self.width = shape.unit_width + shape.pair_width
        self.units = _parameter(random.normal(0.0, 0.3, (shape.units, shape.unit_width)), "units")
        self.pairs = _parameter(np.zeros((shape.pairs + 1, shape.pair_width)), "pairs")
        self.pauses = _parameter(np.zeros((shape.pause_classes, self.width)), "pauses")
        self.layers = nn.CellList(
            [
                _GatedConvolution(self.width, step, f"layers.{number}", random)
                for number, step in enumerate(shape.steps)
            ]
        )
        self.head = _parameter(random.normal(0.0, 0.05, (self.width, MARK_COUNT)), "head")
        self.head_bias = _parameter(np.zeros(MARK_COUNT), "head_bias")
        self.drop = nn.Dropout(p=shape.dropout)
        self.gather = ops.Gather()
        self.join = ops.Concat(-1)
        self.multiply = ops.MatMul()

    def construct(self, units: Tensor, pairs: Tensor, pauses: Tensor) -> Tensor:
        words = self.join((self.gather(self.units, units, 0), self.gather(self.pairs, pairs, 0)))
        seen = self.drop(words) + self.gather(self.pauses, pauses, 0)
        for layer in self.layers:
            seen = layer(seen)
        scores = self.multiply(seen.reshape((-1, self.width)), self.head) + self.head_bias
        return scores.reshape((units.shape[0], units.shape[1], MARK_COUNT))


class _GatedConvolution(nn.Cell):  # type: ignore[misc]
    """Adds to each place what a gate lets pass of three places; one matrix product."""

    def __init__(self, width: int, step: int, name: str, random: np.random.Generator) -> None:
        super().__init__(auto_prefix=False)
        size = TAPS * width
        self.matrix = _parameter(
            random.normal(0.0, size**-0.5, (size, 2 * width)), f"{name}.matrix"
        )
        self.bias = _parameter(np.zeros(2 * width), f"{name}.bias")
        self.width = width
        self.step = step
        self.extend = ops.Concat(0)
        self.join = ops.Concat(-1)
        self.multiply = ops.MatMul()
        self.sigmoid = ops.Sigmoid()

    def construct(self, seen: Tensor) -> Tensor:
        length, texts, width = seen.shape
        edge = ops.zeros((self.step, texts, width), seen.dtype)
        wide = self.extend((edge, seen, edge))
        around = self.join(
            (wide[:length], seen, wide[2 * self.step : 2 * self.step + length])
        ).reshape((-1, TAPS * width))
        values = self.multiply(around, self.matrix) + self.bias
        gated = values[:, :width] * self.sigmoid(values[:, width:])
        return seen + gated.reshape((length, texts, width))


def _parameter(values: npt.NDArray[Any], name: str) -> Parameter:
    return Parameter(Tensor(values.astype(np.float32), ms.float32), name=name)
