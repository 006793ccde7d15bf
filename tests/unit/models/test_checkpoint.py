"""Checkpoints give tensors and nothing else; tables leave out no tensor and no parameter."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import ModelFileMissingError, ModelIntegrityError
from asr_core.models.checkpoint import Layout, NameTable, Source, filled, read_checkpoint
from tests.golden.paraformer_files import SEACO

GOLDEN = SEACO / "model.pt"


class _Global:
    """Pickled as a name in a module that need not exist."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class _Call:
    """Pickled as the call of a global."""

    def __init__(self, function: _Global, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return (_stand_in, (self.function, *self.arguments))


def _stand_in(*_arguments: Any) -> None:
    """Never called: the pickler writes the global's name for it."""


class _Reference:
    """Pickled as a persistent reference."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


class _Pickler(pickle._Pickler):  # type: ignore[misc]
    """Writes what PyTorch would write, and what it would not."""

    def persistent_id(self, value: Any) -> Any:
        return value.parts if isinstance(value, _Reference) else None

    def save(self, value: Any, save_persistent_id: bool = True) -> None:
        if isinstance(value, _Global):
            self.write(f"c{value.module}\n{value.name}\n".encode())
        elif isinstance(value, _Call):
            self.save(value.function)
            self.save(value.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(value, save_persistent_id)


def pickled(value: Any) -> bytes:
    written = io.BytesIO()
    _Pickler(written, protocol=2).dump(value)
    return written.getvalue()


def tensor(
    key: str,
    size: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    *,
    kind: str = "FloatStorage",
    offset: int = 0,
) -> _Call:
    storage = _Reference("storage", _Global("torch", kind), key, "cpu", size)
    rebuild = _Global("torch._utils", "_rebuild_tensor_v2")
    return _Call(rebuild, storage, offset, shape, strides, False, _Call(_ORDERED))


_ORDERED = _Global("collections", "OrderedDict")


def write(
    path: Path,
    state: Any,
    storages: Mapping[str, bytes],
    *,
    change: Callable[[zipfile.ZipFile], None] | None = None,
    compression: int = zipfile.ZIP_STORED,
) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("model/data.pkl", pickled(state))
        for key, content in storages.items():
            archive.writestr(f"model/data/{key}", content)
        archive.writestr("model/version", b"3\n")
        if change:
            change(archive)
    return path


def floats(count: int) -> bytes:
    return np.arange(count, dtype="<f4").tobytes()


def refused(path: Path) -> str:
    with pytest.raises(ModelIntegrityError) as caught:
        read_checkpoint(path)
    assert caught.value.details == {
        "name": path.parent.name,
        "path": str(path),
        "reason": "folder",
    }
    return str(caught.value)


def test_a_file_of_pytorch_is_read() -> None:
    tensors = read_checkpoint(GOLDEN)
    assert len(tensors) == 232
    assert tensors["encoder.encoders0.0.self_attn.linear_q_k_v.weight"].shape == (48, 560)
    assert tensors["predictor.cif_output.bias"].tolist() == [np.float32(-1.2)]
    assert {array.dtype for array in tensors.values()} == {np.dtype(np.float32)}
    assert all(np.isfinite(array).all() for array in tensors.values())


def test_views_share_a_storage(tmp_path: Path) -> None:
    state = {
        "whole": tensor("0", 6, (2, 3), (3, 1)),
        "turned": tensor("0", 6, (3, 2), (1, 3)),
        "part": tensor("0", 6, (2,), (2,), offset=1),
        "single": tensor("0", 6, (), (), offset=5),
        "none": tensor("0", 6, (0, 4), (4, 1)),
    }
    found = read_checkpoint(write(tmp_path / "model.pt", state, {"0": floats(6)}))
    assert {name: array.tolist() for name, array in found.items()} == {
        "whole": [[0, 1, 2], [3, 4, 5]],
        "turned": [[0, 3], [1, 4], [2, 5]],
        "part": [1, 3],
        "single": 5,
        "none": [],
    }
    assert found["none"].shape == (0, 4)


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ("HalfStorage", np.array([1.5, -2], "<f2").tobytes(), [1.5, -2.0]),
        ("BFloat16Storage", np.array([0x3FC0, 0xC000], "<u2").tobytes(), [1.5, -2.0]),
        ("DoubleStorage", np.array([1.5, -2], "<f8").tobytes(), [1.5, -2.0]),
        ("LongStorage", np.array([1, -(2**40)], "<i8").tobytes(), [1, -(2**40)]),
        ("ByteStorage", b"\x01\xff", [1, 255]),
        ("BoolStorage", b"\x01\x00", [True, False]),
    ],
)
def test_kinds_of_numbers(tmp_path: Path, kind: str, content: bytes, expected: list[Any]) -> None:
    state = {"x": tensor("0", 2, (2,), (1,), kind=kind)}
    found = read_checkpoint(write(tmp_path / "model.pt", state, {"0": content}))
    assert found["x"].tolist() == expected


def test_numbers_of_a_machine_with_the_other_byte_order(tmp_path: Path) -> None:
    path = write(
        tmp_path / "model.pt",
        {"x": tensor("0", 2, (2,), (1,))},
        {"0": np.array([1.5, -2], ">f4").tobytes()},
        change=lambda archive: archive.writestr("model/byteorder", b"big"),
    )
    assert read_checkpoint(path)["x"].tolist() == [1.5, -2.0]


@pytest.mark.parametrize("name", ["state_dict", "model_state_dict", "model"])
def test_a_checkpoint_of_training_holds_more_than_the_state(tmp_path: Path, name: str) -> None:
    parameter = _Call(
        _Global("torch._utils", "_rebuild_parameter"),
        tensor("0", 3, (3,), (1,)),
        True,
        _Call(_ORDERED),
    )
    state = {"epoch": 7, name: OrderedDict(x=parameter), "optimizer": {"lr": 0.1}}
    found = read_checkpoint(write(tmp_path / "model.pt", state, {"0": floats(3)}))
    assert {name: array.tolist() for name, array in found.items()} == {"x": [0, 1, 2]}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("posix", "system"),
        ("torch", "load"),
        ("torch", "nn.Module"),
        ("torch._utils", "_rebuild_tensor"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("collections", "defaultdict"),
        ("asr_core.models.torch_file", "read_torch_file"),
    ],
)
def test_anything_but_tensors_is_refused_by_name(tmp_path: Path, module: str, name: str) -> None:
    marker = tmp_path / "executed"
    state = {"x": _Call(_Global(module, name), f"touch {marker}")}
    assert f"{module}.{name}" in refused(write(tmp_path / "model.pt", state, {}))
    assert not marker.exists()


@pytest.mark.parametrize(
    "state",
    [
        {"x": tensor("0", 4, (5,), (1,))},
        {"x": tensor("0", 4, (4,), (1,), offset=1)},
        {"x": tensor("0", 4, (4,), (1,), offset=-1)},
        {"x": tensor("0", 4, (2, 3), (2, 1))},
        {"x": tensor("0", 4, (4,), (-1,))},
        {"x": tensor("0", 4, (1000, 1000), (0, 0))},
        {"x": tensor("0", 4, (2, 2), (1,))},
        {"x": tensor("0", 4, (1,) * 9, (1,) * 9)},
        {"x": tensor("0", 5, (4,), (1,))},
        {"x": tensor("1", 4, (4,), (1,))},
        {"x": tensor("../version", 4, (4,), (1,))},
        {"x": tensor("/etc/passwd", 4, (4,), (1,))},
        {"x": tensor("0", True, (1,), (1,))},
        {"x": _Call(_Global("torch._utils", "_rebuild_tensor_v2"), "no storage", 0, (1,), (1,))},
        {"x": _Call(_Global("torch._utils", "_rebuild_tensor_v2"))},
        {"x": _Reference("module", "anything")},
        {"x": _Reference("storage", "FloatStorage", "0", "cpu", 4)},
        {"x": [1, 2]},
        {"x": 3.0},
        {3: tensor("0", 4, (4,), (1,))},
        [tensor("0", 4, (4,), (1,))],
        7,
        {"x": tensor("0", 4, (0, 2**40, 2**40), (1, 1, 1))},
    ],
)
def test_impossible_tensors_are_refused(tmp_path: Path, state: Any) -> None:
    refused(write(tmp_path / "model.pt", state, {"0": floats(4)}))


def test_the_name_of_what_is_no_tensor_is_told(tmp_path: Path) -> None:
    state = {"x": tensor("0", 4, (4,), (1,)), "epoch": 7}
    assert "epoch" in refused(write(tmp_path / "model.pt", state, {"0": floats(4)}))


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    state = {"x": tensor("0", 4, (4,), (1,))}
    whole = write(tmp_path / "model.pt", state, {"0": floats(4)}).read_bytes()
    path = tmp_path / "damaged.pt"
    for content in (b"", b"PK\x03\x04", pickle.dumps(state.keys().__len__()), whole[:-30]):
        path.write_bytes(content)
        refused(path)
    path.write_bytes(whole.replace(floats(4), floats(5)[4:]))
    assert "damaged" in refused(path)
    write(path, state, {"0": floats(4)}, compression=zipfile.ZIP_DEFLATED)
    assert "compressed" in refused(path)
    write(path, state, {"0": floats(4)}, change=lambda zip_: zip_.writestr("b/data.pkl", b""))
    assert "several" in refused(path)


@given(st.data())
def test_a_changed_byte_is_noticed_or_changes_no_value(data: st.DataObject) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt"
        write(path, {"x": tensor("0", 4, (4,), (1,))}, {"0": floats(4)})
        content = bytearray(path.read_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        try:
            found = read_checkpoint(path)
        except ModelIntegrityError:
            return
        assert found["x"].tolist() == [0, 1, 2, 3]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for name in ("model.pt", "model.safetensors"):
        with pytest.raises(ModelFileMissingError) as caught:
            read_checkpoint(tmp_path / name)
        assert name in str(caught.value)


def safetensors(path: Path, table: Any, content: bytes) -> Path:
    header = table if isinstance(table, bytes) else json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + content)
    return path


def entry(kind: str, shape: list[Any], first: int, end: int) -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [first, end]}


def test_a_safetensors_file_is_read(tmp_path: Path) -> None:
    table = {
        "__metadata__": {"format": "pt"},
        "b": entry("BF16", [1], 16, 18),
        "a": entry("F32", [2, 2], 0, 16),
        "none": entry("F32", [0], 18, 18),
        "single": entry("I64", [], 18, 26),
    }
    content = floats(4) + b"\xc0\x3f" + (7).to_bytes(8, "little")
    found = read_checkpoint(safetensors(tmp_path / "model.safetensors", table, content))
    assert {name: array.tolist() for name, array in found.items()} == {
        "a": [[0, 1], [2, 3]],
        "b": [1.5],
        "none": [],
        "single": 7,
    }


@pytest.mark.parametrize(
    "table",
    [
        b"{",
        b"[1]",
        b"\xff",
        b"[" * 100_000,
        b'{"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}, "a": {}}',
        {"a": entry("F32", [5], 0, 20)},
        {"a": entry("F32", [3], 0, 16)},
        {"a": entry("F32", [3], 0, 12)},
        {"a": entry("F32", [3], 4, 16)},
        {"a": entry("F32", [-4], 0, 16)},
        {"a": entry("F32", ["4"], 0, 16)},
        {"a": entry("F64", [4], 0, 16)},
        {"a": entry("F99", [4], 0, 16)},
        {"a": {"dtype": ["F32"], "shape": [4], "data_offsets": [0, 16]}},
        {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0]}},
        {"a": {"dtype": "F32", "shape": 4, "data_offsets": [0, 16]}},
        {"a": entry("F32", [4], 0, 16), "b": entry("F32", [1], 0, 4)},
        {"a": entry("F32", [1] * 100, 0, 4)},
        {"a": entry("F32", [0, 2**70], 0, 0), "b": entry("F32", [4], 0, 16)},
        {"a": 4},
        {},
    ],
    ids=lambda table: str(table)[:60],
)
def test_damaged_safetensors_files_are_refused(tmp_path: Path, table: Any) -> None:
    refused(safetensors(tmp_path / "model.safetensors", table, floats(4)))


def test_a_table_longer_than_its_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    for content in (
        b"",
        b"1234567",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 3) + b"{}",
    ):
        path.write_bytes(content)
        refused(path)


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


TABLE = NameTable(
    {
        "same": Source("t.same"),
        "matrix": Source("t.matrix", Layout.MATRIX),
        "kernel": Source("t.kernel", Layout.ROW_KERNEL),
        "up": Source("t.up", Layout.UPSAMPLING),
    },
    {"t.training"},
)
SHAPES = {"same": (3,), "matrix": (3, 2), "kernel": (2, 3, 1, 5), "up": (2, 9)}


def tensors() -> dict[str, np.ndarray]:
    return {
        "t.same": numbers(3).astype(np.float16),
        "t.matrix": numbers(2, 3),
        "t.kernel": numbers(2, 3, 5),
        "t.up": numbers(2, 3, 3),
    }


def test_tensors_are_laid_as_parameters_have_them() -> None:
    given_ = tensors()
    found = filled(SHAPES, given_, TABLE, Path("model.pt"))
    assert {name: array.shape for name, array in found.items()} == SHAPES
    assert {array.dtype for array in found.values()} == {np.dtype(np.float32)}
    assert found["matrix"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert (found["kernel"][:, :, 0] == given_["t.kernel"]).all()
    # Output 1 of the third part of a frame, from input 0.
    assert found["up"][0, 2 * 3 + 1] == given_["t.up"][0, 1, 2]


def test_what_only_training_needs_may_be_there() -> None:
    assert set(filled(SHAPES, {**tensors(), "t.training": numbers(9)}, TABLE, Path("m.pt"))) == set(
        SHAPES
    )


@pytest.mark.parametrize(
    ("shapes", "given_", "table", "told"),
    [
        (SHAPES, {**tensors(), "more": numbers(1)}, TABLE, "no parameter uses: more"),
        (
            SHAPES,
            {name: array for name, array in tensors().items() if name not in ("t.up", "t.same")},
            TABLE,
            "missing: t.same, t.up",
        ),
        ({**SHAPES, "new": (1,)}, tensors(), TABLE, "without a tensor: new"),
        ({"same": (3,)}, tensors(), TABLE, "does not have: kernel, matrix, up"),
        ({**SHAPES, "same": (4,)}, tensors(), TABLE, "t.same has shape (3,)"),
        (SHAPES, {**tensors(), "t.matrix": numbers(6)}, TABLE, "t.matrix has shape (6,)"),
        (SHAPES, {**tensors(), "t.kernel": numbers(2, 15)}, TABLE, "t.kernel has shape (2, 15)"),
        (
            {"a": (3,), "b": (3,)},
            {"t": numbers(3)},
            NameTable({"a": Source("t"), "b": Source("t")}),
            "several parameters use: t",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_listed(
    shapes: dict[str, tuple[int, ...]],
    given_: dict[str, np.ndarray],
    table: NameTable,
    told: str,
) -> None:
    with pytest.raises(ModelIntegrityError) as caught:
        filled(shapes, given_, table, Path("folder/model.pt"))
    assert told in str(caught.value)
    assert caught.value.details["path"] == "folder/model.pt"


def test_a_long_list_of_names_is_cut() -> None:
    many = {f"x{number:02}": numbers(1) for number in range(30)}
    with pytest.raises(ModelIntegrityError, match=r"x00, .*x19 and 10 more"):
        filled({}, many, NameTable({}), Path("model.pt"))
