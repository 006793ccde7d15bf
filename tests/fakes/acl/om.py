"""SIMULATION: "OM" files: a header and an ONNX graph. No device could load one.

``build`` stands where the converter of the devices stands: it fixes the shapes of a graph.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .machine import CallError

MAGIC = b"SIMULATED OM, NOT FOR A DEVICE\n"
BAD_FILE = 145002
PARSE_MODEL = 545001

Axis = int | str
"""A size, or the name of a free axis, also as ``frames*3``."""

DTYPES = {
    "float32": 0,
    "float16": 1,
    "int8": 2,
    "int32": 3,
    "uint8": 4,
    "int64": 9,
    "float64": 11,
    "bool": 12,
}


@dataclass(frozen=True)
class Tensor:
    """An input or output; its axes stay symbolic."""

    name: str
    dtype: str
    axes: tuple[Axis, ...]


@dataclass(frozen=True)
class Header:
    """What such a file says before its graph.

    Attributes:
        soc: the chip that it is made for.
        mode: ``static``, ``gears`` or ``dynamic``.
        inputs: in the order of the file.
        outputs: in the order of the file.
        sizes: of the named axes: one entry for ``static``, one a gear, and for ``dynamic`` the
            largest.
    """

    soc: str
    mode: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    sizes: tuple[Mapping[str, int], ...]


def size_of(axis: Axis, sizes: Mapping[str, int]) -> int:
    if isinstance(axis, int):
        return axis
    name, _, factor = axis.partition("*")
    return sizes[name] * int(factor or 1)


def build(graph: Path, target: Path, header: Header) -> Path:
    """Write a simulated OM.

    Args:
        graph: ONNX file.
        target: the OM.
        header: its shapes.
    """
    text = json.dumps({"simulated": True, **asdict(header)}).encode()
    target.write_bytes(MAGIC + len(text).to_bytes(8, "little") + text + graph.read_bytes())
    return target


def read(path: Path) -> tuple[Header, bytes]:
    """Header and graph of a file."""
    if not path.is_file():
        raise CallError(BAD_FILE, f"EE1001: [{path}] does not exist")
    content = path.read_bytes()
    if not content.startswith(MAGIC):
        raise CallError(PARSE_MODEL, f"E19999: {path} is no OM")
    begin = len(MAGIC) + 8
    end = begin + int.from_bytes(content[len(MAGIC) : begin], "little")
    values = json.loads(content[begin:end])
    header = Header(
        values["soc"],
        values["mode"],
        _tensors(values["inputs"]),
        _tensors(values["outputs"]),
        tuple(values["sizes"]),
    )
    return header, content[end:]


def _tensors(values: Sequence[Mapping[str, object]]) -> tuple[Tensor, ...]:
    return tuple(
        Tensor(str(value["name"]), str(value["dtype"]), tuple(value["axes"]))  # type: ignore[arg-type]
        for value in values
    )
