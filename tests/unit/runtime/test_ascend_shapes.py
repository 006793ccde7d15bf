"""Buckets, padding, and what of an output is read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import DeviceInputError, UsageError
from asr_core.runtime.ascend_manifest import OmTensor
from asr_core.runtime.ascend_shapes import choose, fill, measure, most_rows, spans

BUCKETS = [{"batch": batch, "frames": frames} for frames in (64, 128, 512) for batch in (1, 8)]


@pytest.mark.parametrize(
    ("batch", "frames", "chosen"),
    [
        (1, 1, (1, 64)),
        (1, 63, (1, 64)),
        (1, 64, (1, 64)),
        (1, 65, (1, 128)),
        (1, 512, (1, 512)),
        (2, 64, (8, 64)),
        (8, 65, (8, 128)),
    ],
)
def test_the_smallest_that_fits(batch: int, frames: int, chosen: tuple[int, int]) -> None:
    place = choose(BUCKETS, {"batch": batch, "frames": frames}, "batch")
    assert place is not None
    assert tuple(BUCKETS[place].values()) == chosen


def test_a_batch_can_be_divided_and_a_length_cannot() -> None:
    sizes = {"batch": 9, "frames": 512}
    assert choose(BUCKETS, sizes, "batch") is None
    assert most_rows(BUCKETS, sizes, "batch") == 8
    with pytest.raises(DeviceInputError) as caught:
        choose(BUCKETS, {"batch": 9, "frames": 513}, "batch")
    assert caught.value.details == {"axis": "frames", "size": 513, "limit": 512}
    with pytest.raises(DeviceInputError) as caught:
        choose(BUCKETS, sizes, "")
    assert caught.value.details == {"axis": "batch", "size": 9, "limit": 8}


def test_axes_that_fit_one_by_one_but_not_together() -> None:
    buckets = [{"frames": 100, "tokens": 10}, {"frames": 10, "tokens": 100}]
    with pytest.raises(DeviceInputError):
        choose(buckets, {"frames": 50, "tokens": 50}, "")


def test_axes_of_one_name_have_one_size() -> None:
    tensors = [OmTensor("a", "float32", ("n", 2)), OmTensor("b", "float32", ("n",))]
    arrays = {"a": np.zeros((3, 2), np.float32), "b": np.zeros(3, np.float32)}
    assert measure(tensors, arrays) == {"n": 3}
    with pytest.raises(UsageError, match="4 n"):
        measure(tensors, arrays | {"b": np.zeros(4, np.float32)})
    with pytest.raises(UsageError):
        measure(tensors[1:], {"b": np.zeros(0, np.float32)})


def test_padding_is_zero_and_rows_repeat_the_last() -> None:
    view = np.full((3, 1, 4, 2), 9.0)
    values = np.arange(1.0, 13.0).reshape(2, 1, 3, 2)
    fill(view, values, 0)
    assert np.array_equal(view[:2, :, :3], values)
    assert not view[:2, :, 3:].any()
    assert np.array_equal(view[2], view[1])
    fill(view, values[:1], None)
    assert not view[1:].any()


@st.composite
def shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    full = draw(st.lists(st.integers(1, 4), min_size=0, max_size=4))
    return tuple(draw(st.integers(1, size)) for size in full), tuple(full)


@given(shapes())
def test_exactly_the_valid_part_is_read(shape: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    valid, full = shape
    array = np.arange(math.prod(full), dtype=np.int16).reshape(full)
    expected = array[tuple(slice(size) for size in valid)].tobytes()
    content, read = array.tobytes(), bytearray(len(expected))
    for here, there, count in spans(valid, full, 2):
        assert count > 0
        read[here : here + count] = content[there : there + count]
    assert bytes(read) == expected
    assert sum(count for _, _, count in spans(valid, full, 2)) == len(expected)


@given(shapes())
def test_what_is_padded_holds_the_values(shape: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    valid, full = shape
    view = np.full(full, -1.0)
    values = np.random.default_rng(1).random(valid) + 1
    fill(view, values, 0 if full else None)
    inside = tuple(slice(size) for size in valid)
    assert np.array_equal(view[inside], values)
    assert (view >= 0).all()
    if full:
        assert np.count_nonzero(view) == values.size // valid[0] * full[0]
