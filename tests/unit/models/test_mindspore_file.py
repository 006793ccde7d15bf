"""Checkpoints of MindSpore are read without MindSpore; damage has one error."""

from __future__ import annotations

import binascii
import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import ModelIntegrityError
from asr_core.models.checkpoint import read_checkpoint
from asr_core.models.mindspore_file import read_mindspore_file
from asr_core.models.torch_file import TensorFileError


def varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def entry(name: str, kind: str, shape: tuple[int, ...], content: bytes) -> bytes:
    """One entry as MindSpore 2.10 writes it."""
    dims = b"".join(b"\x08" + varint(size) for size in shape)
    tensor = dims + field(2, kind.encode()) + field(3, content)
    return field(1, field(1, name.encode()) + field(2, tensor))


VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)
WHOLE = entry("a.weight", "Float32", (2, 3), VALUES.tobytes())


def read(tmp_path: Path, content: bytes) -> dict[str, np.ndarray]:
    path = tmp_path / "model.ckpt"
    path.write_bytes(content)
    return read_mindspore_file(path)


def test_tensors_of_every_kind(tmp_path: Path) -> None:
    brain = np.array([0x3F80, 0xC000], "<u2").tobytes()
    found = read(
        tmp_path,
        WHOLE
        + entry("half", "Float16", (1,), np.float16(0.5).tobytes())
        + entry("number", "Float32", (), np.float32(3).tobytes())
        + entry("zero", "Float32", (0,), np.float32(4).tobytes())
        + entry("counts", "Int64", (2,), np.array([1, -2]).tobytes())
        + entry("brain", "BFloat16", (2,), brain),
    )
    assert np.array_equal(found["a.weight"], VALUES)
    assert (found["half"].dtype, found["half"].tolist()) == (np.float16, [0.5])
    assert (found["number"].shape, float(found["number"])) == ((), 3.0)
    assert (found["zero"].shape, float(found["zero"])) == ((), 4.0)
    assert found["counts"].tolist() == [1, -2]
    assert found["brain"].tolist() == [1.0, -2.0]


def test_packed_axes_are_read(tmp_path: Path) -> None:
    tensor = field(1, b"\x02\x03") + field(2, b"Float32") + field(3, VALUES.tobytes())
    found = read(tmp_path, field(1, field(1, b"a") + field(2, tensor)))
    assert np.array_equal(found["a"], VALUES)


def test_parts_of_a_large_tensor_are_joined(tmp_path: Path) -> None:
    parts = (VALUES.tobytes()[:8], VALUES.tobytes()[8:])
    found = read(tmp_path, b"".join(entry("a", "Float32", (2, 3), part) for part in parts))
    assert np.array_equal(found["a"], VALUES)


def test_what_mindspore_writes_is_read(tmp_path: Path) -> None:
    ms = pytest.importorskip("mindspore", reason="MindSpore is not installed")
    large = np.random.default_rng(0).normal(size=(300, 700)).astype(np.float32)
    saved = {"large": large, "small": VALUES, "number": np.float32(2.5)}
    path = tmp_path / "model.ckpt"
    ms.save_checkpoint(
        [{"name": name, "data": ms.Tensor(array)} for name, array in saved.items()],
        str(path),
        crc_check=True,
    )
    found = read_mindspore_file(path)
    assert found.keys() == saved.keys()
    for name, array in saved.items():
        assert np.array_equal(found[name], array)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"PK\x03\x04 a zip archive", "checkpoint of MindSpore|ends early"),
        (WHOLE[:-1], "ends early"),
        (entry("a", "Float32", (2, 4), VALUES.tobytes()), "as many bytes"),
        (entry("a", "Float32", (2**40, 2**40), b""), "as many bytes"),
        (entry("a", "Complex64", (2, 3), VALUES.tobytes()), "unknown type"),
        (WHOLE + entry("b", "Float32", (), b"1234") + WHOLE, "stands twice"),
        (field(1, field(1, b"a")), "no tensor"),
        (field(1, field(1, b"a") + field(2, field(3, b"1234"))), "without a type"),
        (field(1, field(1, b"\xff") + field(2, field(2, b"x") + field(3, b""))), "no text"),
        (b"\x0a" + b"\xff" * 11, "no checkpoint"),
        (WHOLE + b"crc_num" + (1).to_bytes(10, "big"), "checksum"),
    ],
)
def test_damage_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(TensorFileError, match=said):
        read(tmp_path, content)
    with pytest.raises(ModelIntegrityError, match=said):
        read_checkpoint(tmp_path / "model.ckpt")


def test_a_right_checksum_is_accepted(tmp_path: Path) -> None:
    checksum = binascii.crc32(WHOLE).to_bytes(10, "big")
    assert list(read(tmp_path, WHOLE + b"crc_num" + checksum)) == ["a.weight"]


@given(place=st.integers(0, len(WHOLE) - 1), byte=st.integers(0, 255))
def test_any_changed_byte_gives_tensors_or_the_one_error(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int
) -> None:
    content = bytearray(WHOLE)
    content[place] = byte
    with contextlib.suppress(TensorFileError):
        found = read(tmp_path_factory.getbasetemp(), bytes(content))
        assert all(isinstance(array, np.ndarray) for array in found.values())
