"""Checkpoints: tensors by name, and how they fill the parameters of a network.

Files of PyTorch and safetensors files are read without the packages that wrote them: nothing in
them is executed, damage has one error, bfloat16 can be read, and both work on every version of
Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from asr_core.errors import ModelFileMissingError, ModelIntegrityError
from asr_core.models.mindspore_file import read_mindspore_file
from asr_core.models.safetensors_file import read_safetensors_file
from asr_core.models.torch_file import Array, TensorFileError, read_torch_file

Tensors = Mapping[str, Array]

OWN_SUFFIX = ".ckpt"
"""Of checkpoints whose tensors bear the names of the network's parameters."""

_READERS = {".safetensors": read_safetensors_file, OWN_SUFFIX: read_mindspore_file}
_LISTED_NAMES = 20


class Layout(Enum):
    """How the values of a tensor lie in a parameter."""

    SAME = "same"
    MATRIX = "matrix"
    """(outputs, inputs) becomes (inputs, outputs)."""
    ROW_KERNEL = "row_kernel"
    """A kernel over time (outputs, inputs, taps) becomes (outputs, inputs, 1, taps)."""
    UPSAMPLING = "upsampling"
    """(inputs, outputs, times) becomes (inputs, times * outputs), times being the outer one."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the values of a parameter come from."""

    tensor: str
    layout: Layout = Layout.SAME


@dataclass(frozen=True, slots=True)
class NameTable:
    """How the tensors of a checkpoint fill the parameters of a network.

    Attributes:
        sources: for each parameter of the network its tensor.
        set_aside: tensors that training needs and recognition does not; they may be there or not.
    """

    sources: Mapping[str, Source]
    set_aside: Collection[str] = ()


def own_table(names: Collection[str]) -> NameTable:
    """For tensors that bear the names of the parameters."""
    return NameTable({name: Source(name) for name in names})


def read_checkpoint(path: Path) -> dict[str, Array]:
    """Read all tensors of a file of PyTorch, of MindSpore or of a safetensors file.

    Args:
        path: the file; names that end with ``.safetensors`` are of that format, names that end
            with ``.ckpt`` of MindSpore's.

    Returns:
        Read-only arrays by name; bfloat16 becomes float32, all else keeps its type.

    Raises:
        ModelFileMissingError: there is no such file.
        ModelIntegrityError: it cannot be read, is damaged, or holds anything but tensors.
    """
    name = path.parent.name
    read = _READERS.get(path.suffix, read_torch_file)
    try:
        return read(path)
    except FileNotFoundError as exc:
        raise ModelFileMissingError(
            f"{path.name} is missing in {path.parent}", name=name, path=str(path), reason="folder"
        ) from exc
    except (OSError, TensorFileError) as exc:
        raise ModelIntegrityError(
            f"{path} holds no usable tensors: {exc}", name=name, path=str(path), reason="folder"
        ) from exc


def load_into(cell: Any, tensors: Tensors, table: NameTable, path: Path) -> None:
    """Fill every parameter of a MindSpore cell.

    Nothing is changed unless all fits: each parameter has one tensor of its shape, each tensor is
    used once or set aside. One tensor at a time is copied.

    Args:
        cell: a ``mindspore.nn.Cell``.
        tensors: of the checkpoint.
        table: by the names of the cell's parameters; a checkpoint that bears those names itself
            (``.ckpt``) needs none.
        path: the checkpoint, for the error.

    Raises:
        ModelIntegrityError: names or shapes do not fit; the message lists them.
    """
    import mindspore as ms

    parameters = {parameter.name: parameter for parameter in cell.get_parameters()}
    shapes = {name: tuple(parameter.shape) for name, parameter in parameters.items()}
    if path.suffix == OWN_SUFFIX:
        table = own_table(shapes)
    for name, values in _laid_out(shapes, tensors, table, path).items():
        parameters[name].set_data(ms.Tensor(_contiguous(values), ms.float32))


def filled(
    shapes: Mapping[str, tuple[int, ...]], tensors: Tensors, table: NameTable, path: Path
) -> dict[str, Array]:
    """The values of each parameter.

    Args:
        shapes: of all parameters, by name.
        tensors: of the checkpoint.
        table: how tensors fill parameters.
        path: the checkpoint, for the error.

    Returns:
        Contiguous float32 arrays by the names of parameters.

    Raises:
        ModelIntegrityError: as :func:`load_into`.
    """
    laid = _laid_out(shapes, tensors, table, path)
    return {name: _contiguous(values) for name, values in laid.items()}


def _contiguous(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float32).reshape(values.shape)


def _laid_out(
    shapes: Mapping[str, tuple[int, ...]], tensors: Tensors, table: NameTable, path: Path
) -> dict[str, Array]:
    """Views of the tensors, as their parameters have them; see :func:`filled`."""
    faults = _name_faults(shapes, tensors, table)
    values: dict[str, Array] = {}
    for name, shape in shapes.items():
        source = table.sources.get(name)
        if source is None or source.tensor not in tensors:
            continue
        laid = _laid(tensors[source.tensor], source.layout)
        if laid is None or laid.shape != shape:
            found = tensors[source.tensor].shape
            faults.append(f"{source.tensor} has shape {found}, which does not give {shape}")
            continue
        values[name] = laid
    if faults:
        raise ModelIntegrityError(
            f"{path} does not fit the network: " + "; ".join(faults),
            name=path.parent.name,
            path=str(path),
            reason="folder",
        )
    return values


def _name_faults(
    shapes: Mapping[str, tuple[int, ...]], tensors: Tensors, table: NameTable
) -> list[str]:
    used = Counter(source.tensor for source in table.sources.values())
    named = {
        "tensors that are missing": used.keys() - tensors.keys(),
        "tensors that no parameter uses": tensors.keys() - used.keys() - set(table.set_aside),
        "tensors that several parameters use": {name for name, times in used.items() if times > 1},
        "parameters without a tensor": shapes.keys() - table.sources.keys(),
        "parameters that the network does not have": table.sources.keys() - shapes.keys(),
    }
    return [f"{what}: {_listed(names)}" for what, names in named.items() if names]


def _listed(names: Collection[str]) -> str:
    listed = ", ".join(sorted(names)[:_LISTED_NAMES])
    return (
        f"{listed} and {len(names) - _LISTED_NAMES} more" if len(names) > _LISTED_NAMES else listed
    )


def _laid(values: Array, layout: Layout) -> Array | None:
    """The tensor as its parameter has it, or None where it has another rank."""
    if layout is Layout.SAME:
        return values
    if values.ndim != (2 if layout is Layout.MATRIX else 3):
        return None
    if layout is Layout.MATRIX:
        return values.T
    if layout is Layout.ROW_KERNEL:
        return values[:, :, np.newaxis, :]
    return values.transpose(0, 2, 1).reshape(values.shape[0], -1)
