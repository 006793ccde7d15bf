"""Which size of a model takes an input, how the rest is padded and what of an output is valid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from asr_core.errors import DeviceInputError, UsageError
from asr_core.runtime.ascend_manifest import OmTensor, Sizes
from asr_core.runtime.session import Array


def measure(tensors: Sequence[OmTensor], inputs: Mapping[str, Array]) -> dict[str, int]:
    """The sizes of the free axes of these inputs.

    Raises:
        UsageError: two axes of one name differ in size, or one is empty.
    """
    sizes: dict[str, int] = {}
    for tensor in tensors:
        for axis, size in zip(tensor.axes, inputs[tensor.name].shape, strict=True):
            if not isinstance(axis, str):
                continue
            if size < 1 or sizes.setdefault(axis, size) != size:
                raise UsageError(
                    f"Input {tensor.name} has {size} {axis}; the others have {sizes.get(axis)}"
                )
    return sizes


def largest(buckets: Sequence[Sizes]) -> dict[str, int]:
    """The largest size of each axis."""
    return {axis: max(bucket[axis] for bucket in buckets) for axis in buckets[0]}


def choose(buckets: Sequence[Sizes], sizes: Sizes, batch: str) -> int | None:
    """The smallest bucket that takes these sizes.

    Args:
        buckets: what there is.
        sizes: what is asked.
        batch: the axis that can be divided; empty: none.

    Returns:
        Its place; ``None`` where all are too small for the batch, though not for the rest.

    Raises:
        DeviceInputError: an axis that cannot be divided is too long for every bucket.
    """
    fitting = [
        place
        for place, bucket in enumerate(buckets)
        if all(size <= bucket[axis] for axis, size in sizes.items())
    ]
    if fitting:
        return min(fitting, key=lambda place: math.prod(buckets[place].values()))
    if batch and most_rows(buckets, sizes, batch):
        return None
    raise _too_long(buckets, sizes, batch)


def most_rows(buckets: Sequence[Sizes], sizes: Sizes, batch: str) -> int:
    """The largest batch that there is for the other sizes; 0 where they do not fit at all."""
    return max(
        (
            bucket[batch]
            for bucket in buckets
            if all(size <= bucket[axis] for axis, size in sizes.items() if axis != batch)
        ),
        default=0,
    )


def fill(view: Array, values: Array, batch_axis: int | None) -> None:
    """Write an input and pad it.

    Args:
        view: where it goes; its size is that of the bucket.
        values: of the same number of axes, none longer.
        batch_axis: rows behind the last one repeat it, so that no row is masked as a whole;
            other axes are filled with zeros.
    """
    view[tuple(slice(size) for size in values.shape)] = values
    inside = [slice(size) for size in values.shape]
    for axis, size in enumerate(values.shape):
        if axis == batch_axis or size == view.shape[axis]:
            continue
        tail = [*inside[:axis], slice(size, None), *[slice(None)] * (view.ndim - axis - 1)]
        view[tuple(tail)] = 0
        inside[axis] = slice(None)
    if batch_axis is not None and values.shape[batch_axis] < view.shape[batch_axis]:
        count = values.shape[batch_axis]
        rows = np.moveaxis(view, batch_axis, 0)
        rows[count:] = rows[count - 1]


def spans(
    valid: Sequence[int], full: Sequence[int], item_bytes: int
) -> Iterator[tuple[int, int, int]]:
    """The bytes of the valid part of an array, as pieces that follow one another.

    Args:
        valid: shape of the part, which begins at the first element.
        full: shape of the array.
        item_bytes: of one element.

    Yields:
        Where a piece begins in the part, where in the array, and its length.
    """
    cut = max((axis for axis in range(len(full)) if valid[axis] != full[axis]), default=0)
    inner = math.prod(full[cut + 1 :])
    count = valid[cut] * inner * item_bytes if full else item_bytes
    steps = [math.prod(full[axis + 1 :]) * item_bytes for axis in range(cut)]
    for place, index in enumerate(np.ndindex(*valid[:cut])):
        there = sum(step * position for step, position in zip(steps, index, strict=True))
        yield place * count, there, count


def _too_long(buckets: Sequence[Sizes], sizes: Sizes, batch: str) -> DeviceInputError:
    limits = largest(buckets)
    divisible = {axis for axis in sizes if axis == batch}
    over = [axis for axis in sizes if axis not in divisible and sizes[axis] > limits[axis]]
    # Every axis may fit some bucket and no bucket all of them.
    axis = over[0] if over else max(set(sizes) - divisible, key=lambda name: sizes[name])
    return DeviceInputError(
        f"An input with {sizes[axis]} {axis} is longer than the model takes ({limits[axis]})",
        axis=axis,
        size=sizes[axis],
        limit=limits[axis],
    )
