"""Parts that several networks share.

Values are (batch, 1, time, width): with that axis for the heads of attention no part computes a
shape, so that a graph serves every batch and every time, also after its export.

Some parts have a form for MindSpore and one for exports: :func:`for_export` chooses the latter.
MindSpore copies a matrix for each recording of a batch unless it multiplies rows; in an export,
rows would keep the batch of the example. Values that MindSpore has to spread over an axis cost it
ten times as much as those of one shape, so a bias has its own operator and masks are spread once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

from asr_core.models.checkpoint import Layout

MASKED = -1.0e4
"""Added to the scores of places that attention must not see: finite in half precision too."""

_EPSILON = 1e-12


class Part(nn.Cell):  # type: ignore[misc]
    """A cell with parameters of its own, which knows how a checkpoint stores them.

    Attributes:
        layouts: by the names of its parameters.
        exported: whether it has the form for an export.
    """

    layouts: ClassVar[dict[str, Layout]] = {}
    exported = False


class Dense(Part):
    """One matrix product of each place; bias added.

    Inputs:
        - **x** (Tensor) - float32 (batch, 1, time, inputs).

    Outputs:
        float32 (batch, 1, time, outputs).

    Args:
        inputs: width of a place.
        outputs: width of its result.
        biased: whether there is a bias.
    """

    layouts: ClassVar[dict[str, Layout]] = {"weight": Layout.MATRIX, "bias": Layout.SAME}

    def __init__(self, inputs: int, outputs: int, *, biased: bool = True) -> None:
        super().__init__()
        self.weight = zeros("weight", inputs, outputs)
        self.biased = biased
        if biased:
            self.bias = zeros("bias", outputs)
        self.inputs = inputs
        self.outputs = outputs
        self.multiply = ops.MatMul()
        self.add_bias = ops.BiasAdd()

    def construct(self, x: Tensor) -> Tensor:
        if self.exported:
            product = ops.matmul(x, self.weight)
            if self.biased:
                product = product + self.bias
            return product
        rows = self.multiply(x.reshape((-1, self.inputs)), self.weight)
        if self.biased:
            rows = self.add_bias(rows, self.bias)
        return rows.reshape((x.shape[0], x.shape[1], -1, self.outputs))


class Table(Part):
    """Rows of a table by their numbers.

    Inputs:
        - **numbers** (Tensor) - int32, any shape.

    Outputs:
        float32 (..., width).

    Args:
        rows: their count.
        width: of a row.
    """

    layouts: ClassVar[dict[str, Layout]] = {"weight": Layout.SAME}

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.weight = zeros("weight", rows, width)
        self.gather = ops.Gather()

    def construct(self, numbers: Tensor) -> Tensor:
        return self.gather(self.weight, numbers, 0)


class LayerNorm(Part):
    """Each place with mean 0 and deviation 1, then scaled and shifted.

    Exported in the steps that ONNX Runtime joins to one.

    Inputs:
        - **x** (Tensor) - float32 (..., width).

    Outputs:
        float32 (..., width).

    Args:
        width: of a place.
    """

    layouts: ClassVar[dict[str, Layout]] = {"weight": Layout.SAME, "bias": Layout.SAME}

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = zeros("weight", width)
        self.bias = zeros("bias", width)
        self.mean = ops.ReduceMean(True)
        self.whole = ops.LayerNorm(-1, -1, _EPSILON)

    def construct(self, x: Tensor) -> Tensor:
        if not self.exported:
            normed, _, _ = self.whole(x, self.weight, self.bias)
            return normed
        centred = x - self.mean(x, -1)
        variance = self.mean(ops.pow(centred, 2.0), -1)
        return centred / ops.sqrt(variance + _EPSILON) * self.weight + self.bias


class TimeConvolution(Part):
    """A convolution over time that keeps the number of places; nothing is outside.

    Inputs:
        - **x** (Tensor) - float32 (batch, 1, time, width).

    Outputs:
        float32 (batch, 1, time, width).

    Args:
        width: of a place.
        before: places before each one that count for it.
        after: places after it.
        separate: whether each feature is computed from itself alone, without a bias.
    """

    layouts: ClassVar[dict[str, Layout]] = {"weight": Layout.ROW_KERNEL, "bias": Layout.SAME}

    def __init__(self, width: int, before: int, after: int, *, separate: bool) -> None:
        super().__init__()
        taps = before + 1 + after
        self.weight = zeros("weight", width, 1 if separate else width, 1, taps)
        self.biased = not separate
        if self.biased:
            self.bias = zeros("bias", width)
        group = width if separate else 1
        # The convolution's own padding is lost in an export; MindSpore's other one is slow.
        self.pad = ops.Pad(((0, 0), (0, 0), (0, 0), (before, after)))
        self.convolve_padded = ops.Conv2D(width, (1, taps), pad_mode="valid", group=group)
        self.convolve = ops.Conv2D(
            width, (1, taps), pad_mode="pad", pad=(0, 0, before, after), group=group
        )
        self.add_bias = ops.BiasAdd()

    def construct(self, x: Tensor) -> Tensor:
        rows = ops.transpose(x, (0, 3, 1, 2))
        if self.exported:
            result = ops.transpose(self.convolve_padded(self.pad(rows), self.weight), (0, 2, 3, 1))
            if self.biased:
                result = result + self.bias
            return result
        result = self.convolve(rows, self.weight)
        if self.biased:
            result = self.add_bias(result, self.bias)
        return ops.transpose(result, (0, 2, 3, 1))


class Memory(nn.Cell):  # type: ignore[misc]
    """Each place plus a weighted sum of the places around it (FSMN).

    Inputs:
        - **x** (Tensor) - float32 (batch, 1, time, width).
        - **mask** (Tensor) - float32 (batch, 1, time, 1 or width), 1 where a place counts, else 0.

    Outputs:
        float32 (batch, 1, time, width), 0 where the mask is.

    Args:
        width: of a place.
        taps: places that are summed.
        shift: by how many places that window lies earlier than in the middle.
    """

    def __init__(self, width: int, taps: int, shift: int) -> None:
        super().__init__()
        before = (taps - 1) // 2 + shift
        self.fsmn_block = TimeConvolution(width, before, taps - 1 - before, separate=True)

    def construct(self, x: Tensor, mask: Tensor) -> Tensor:
        seen = x * mask
        return (self.fsmn_block(seen) + seen) * mask


class Spread(Part):
    """A mask for values of a width.

    Inputs:
        - **mask** (Tensor) - float32 (batch, 1, time, 1).

    Outputs:
        float32 (batch, 1, time, width); in an export what it was given.

    Args:
        width: of a place.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def construct(self, mask: Tensor) -> Tensor:
        if self.exported:
            return mask
        return ops.tile(mask, (1, 1, 1, self.width))


class Heads(nn.Cell):  # type: ignore[misc]
    """Shares the features of each place among the heads of attention, and joins them again.

    Args:
        count: number of heads.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.share = ops.Split(3, count)
        self.stack = ops.Concat(1)
        self.part = ops.Split(1, count)
        self.join = ops.Concat(3)

    def construct(self, x: Tensor) -> Tensor:
        """(batch, 1, time, width) to (batch, heads, time, width / heads)."""
        if self.count == 1:
            return x
        return self.stack(self.each(self.share(x)))

    def joined(self, x: Tensor) -> Tensor:
        """(batch, heads, time, width / heads) to (batch, 1, time, width)."""
        if self.count == 1:
            return x
        return self.join(self.each(self.part(x)))

    def each(self, shares: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The same tuple; an export loses one that is handed on whole."""
        named: tuple[Tensor, ...] = ()
        for head in range(self.count):
            named = (*named, shares[head])
        return named


def attention_bias(mask: Tensor) -> Tensor:
    """What is added to scores: (batch, 1, time, 1) of 1 and 0 gives (batch, 1, 1, time)."""
    return ops.transpose(mask - 1.0, (0, 1, 3, 2)) * -MASKED


def for_export(cell: nn.Cell) -> None:
    """Give all parts of a cell, which must not have run, the form for an export."""
    for _, part in cell.cells_and_names():
        if isinstance(part, Part):
            part.exported = True


def zeros(name: str, *shape: int) -> Parameter:
    """A float32 parameter that a checkpoint fills."""
    return Parameter(Tensor(np.zeros(shape, np.float32), ms.float32), name=name)


def layouts_of(cell: nn.Cell) -> Iterator[tuple[str, Layout]]:
    """Names and layouts of all parameters inside parts, each once."""
    seen: set[str] = set()
    for _, part in cell.cells_and_names():
        if not isinstance(part, Part):
            continue
        for attribute, layout in part.layouts.items():
            parameter: Any = getattr(part, attribute, None)
            if isinstance(parameter, Parameter) and parameter.name not in seen:
                seen.add(parameter.name)
                yield parameter.name, layout
