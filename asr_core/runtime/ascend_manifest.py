"""What lies beside the OM files of a graph: for which chip, shapes, axes and hashes.

``<graph>.om.json``::

    {"schema": 1, "graph": "encode", "mode": "static" | "gears" | "dynamic",
     "soc": "Ascend310P3", "cann": "8.0.0", "precision": "fp16", "source_sha256": "...",
     "batch": "batch",
     "inputs": [{"name": "features", "dtype": "float32", "axes": ["batch", 1, "frames", 560]}],
     "outputs": [{"name": "us_alphas", "dtype": "float32", "axes": ["batch", "frames*3"]}],
     "files": [{"file": "encode.om", "sha256": "...", "size_bytes": 1,
                "sizes": [{"batch": 1, "frames": 128}, {"batch": 1, "frames": 512}]}]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asr_core.errors import ModelFileMissingError, ModelIntegrityError
from asr_core.runtime.ascend_handles import KNOWN_DTYPES

STATIC, GEARS, DYNAMIC = "static", "gears", "dynamic"
MODES = (STATIC, GEARS, DYNAMIC)
ENDING = ".om.json"

Axis = int | str
Sizes = Mapping[str, int]

_SCHEMA = 1
_AXIS = re.compile(r"([a-z_]+)(?:\*([1-9][0-9]*))?")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class OmTensor:
    """One input or output.

    Attributes:
        name: as in the graph.
        dtype: as the recognizer gives or gets it.
        axes: sizes; a free one has a name, which axes of the same size share. An axis of an
            output may be a multiple: ``frames*3``.
    """

    name: str
    dtype: str
    axes: tuple[Axis, ...]

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Its shape where the free axes have these sizes."""
        return tuple(axis_size(axis, sizes) for axis in self.axes)


@dataclass(frozen=True, slots=True)
class OmFile:
    """One OM file.

    Attributes:
        file: its name, in the folder of the manifest.
        sha256: 64 lower-case hexadecimal digits.
        size_bytes: exact length.
        sizes: of the free axes: one entry for a static file, one a gear, or the largest.
    """

    file: str
    sha256: str
    size_bytes: int
    sizes: tuple[Sizes, ...]


@dataclass(frozen=True, slots=True)
class OmGraph:
    """A graph as OM files.

    Attributes:
        folder: where the files lie.
        graph: its name.
        mode: ``static`` (a file for each size), ``gears`` (one file, several sizes) or
            ``dynamic`` (one file, any size up to the largest).
        soc: chip, as ``acl.get_soc_name`` names it.
        cann: version that converted it.
        precision: of the arithmetic.
        source_sha256: hash of the ONNX file.
        batch: name of the axis whose entries know nothing of each other; empty where none is.
        inputs: in the order of the files.
        outputs: in the order of the files.
        files: ordered by size.
    """

    folder: Path
    graph: str
    mode: str
    soc: str
    cann: str
    precision: str
    source_sha256: str
    batch: str
    inputs: tuple[OmTensor, ...]
    outputs: tuple[OmTensor, ...]
    files: tuple[OmFile, ...]


def axis_size(axis: Axis, sizes: Sizes) -> int:
    """The size of an axis, named or not."""
    if isinstance(axis, int):
        return axis
    name, _, factor = axis.partition("*")
    return sizes[name] * int(factor or 1)


def om_document(graph: OmGraph) -> dict[str, Any]:
    """What the manifest of a graph says."""
    content = asdict(graph)
    del content["folder"]
    return {"schema": _SCHEMA, **content}


def write_om_graph(graph: OmGraph) -> Path:
    """Write the manifest of a graph.

    Returns:
        The file.

    Raises:
        OSError: it cannot be written.
    """
    path = graph.folder / f"{graph.graph}{ENDING}"
    document = om_document(graph)
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def read_om_graph(path: Path, name: str) -> OmGraph:
    """Read the manifest of a graph; its files are there and have the right length.

    Args:
        path: ``<graph>.om.json``.
        name: of the model, for messages.

    Raises:
        ModelFileMissingError: the manifest or a file that it names is not there.
        ModelIntegrityError: it is damaged or of a newer version, or a file has another length.
    """
    if not path.is_file():
        raise _missing(path, name)
    try:
        graph = _graph(path.parent, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as exc:
        raise unusable(path, name, f"cannot be used: {exc}") from exc
    for one in graph.files:
        file = path.parent / one.file
        if not file.is_file():
            raise _missing(file, name)
        if file.stat().st_size != one.size_bytes:
            problem = f"has {file.stat().st_size} bytes, not {one.size_bytes}"
            raise unusable(file, name, problem)
    return graph


def unusable(path: Path, name: str, problem: str) -> ModelIntegrityError:
    """The error for a file that has another content."""
    return ModelIntegrityError(
        f"{path} {problem}; convert the model again", name=name, path=str(path), reason="graphs"
    )


def _missing(path: Path, name: str) -> ModelFileMissingError:
    return ModelFileMissingError(
        f"The model file {path} is missing", name=name, path=str(path), reason="folder"
    )


def _graph(folder: Path, values: Any) -> OmGraph:
    if values["schema"] != _SCHEMA:
        raise ValueError(f"schema {values['schema']} is not known")
    if values["mode"] not in MODES:
        raise ValueError(f"mode {values['mode']!r} is not known")
    inputs = tuple(_tensor(entry) for entry in values["inputs"])
    outputs = tuple(_tensor(entry) for entry in values["outputs"])
    if not inputs or not outputs:
        raise ValueError("there are no inputs or no outputs")
    names = {axis for tensor in inputs for axis in tensor.axes if isinstance(axis, str)}
    used = {
        axis.partition("*")[0]
        for tensor in outputs
        for axis in tensor.axes
        if isinstance(axis, str)
    }
    if used - names or any("*" in axis for axis in names):
        raise ValueError(f"axes {sorted(used | names)} are not those of the inputs")
    batch = _text(values["batch"])
    if batch and batch not in names:
        raise ValueError(f"no axis is named {batch}")
    files = tuple(_file(entry, names, values["mode"]) for entry in values["files"])
    if not files or (values["mode"] != STATIC and len(files) != 1):
        raise ValueError(f"{len(files)} files")
    return OmGraph(
        folder=folder,
        graph=_text(values["graph"]),
        mode=values["mode"],
        soc=_text(values["soc"]),
        cann=_text(values["cann"]),
        precision=_text(values["precision"]),
        source_sha256=_text(values["source_sha256"]),
        batch=batch,
        inputs=inputs,
        outputs=outputs,
        files=files,
    )


def _tensor(entry: Any) -> OmTensor:
    axes = tuple(_axis(axis) for axis in entry["axes"])
    name, dtype = _text(entry["name"]), _text(entry["dtype"])
    if dtype not in KNOWN_DTYPES:
        raise ValueError(f"{name} is of a type that is not read ({dtype})")
    return OmTensor(name, dtype, axes)


def _axis(axis: Any) -> Axis:
    if isinstance(axis, str) and _AXIS.fullmatch(axis):
        return axis
    return _count(axis)


def _file(entry: Any, names: set[str], mode: str) -> OmFile:
    file, sha256 = _text(entry["file"]), _text(entry["sha256"])
    # A manifest names files of its own folder and nothing else.
    if Path(file).name != file or file in ("", ".", ".."):
        raise ValueError(f"{file!r} is no file of this folder")
    if not _SHA256.fullmatch(sha256):
        raise ValueError(f"{sha256!r} is no SHA-256")
    sizes = tuple(_sizes(one, names) for one in entry["sizes"])
    if not sizes or (mode != GEARS and len(sizes) != 1):
        raise ValueError(f"{file} has {len(sizes)} sizes")
    return OmFile(file, sha256, _count(entry["size_bytes"]), sizes)


def _sizes(entry: Any, names: Sequence[str] | set[str]) -> Sizes:
    sizes = {_text(key): _count(value) for key, value in entry.items()}
    if set(sizes) != set(names):
        raise ValueError(f"sizes are those of {sorted(sizes)}, not of {sorted(names)}")
    return sizes


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} is no size")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value
