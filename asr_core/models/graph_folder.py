"""A folder of graphs that this program converted: what ``graphs.json`` says about its files.

The small files of the original model lie beside the graphs under their own names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from asr_core.errors import ModelIntegrityError
from asr_core.models.files import sha256_of, size_of, synced
from asr_core.runtime.funasr import missing

GRAPHS_FILE = "graphs.json"
RUNTIMES = ("onnxruntime", "mindspore", "ascend")
PRECISIONS = ("fp32", "int8", "fp16")

_SCHEMA = 1
_NO_SHAPES: Mapping[str, tuple[int, ...]] = MappingProxyType({})
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class GraphFile:
    """One graph.

    Attributes:
        file: its name in the folder.
        sha256: 64 lower-case hexadecimal digits.
        size_bytes: exact length.
        kept_fp32: operators that were left in single precision.
        shapes: of the inputs, where the graph has one size only; empty where sizes are free.
    """

    file: str
    sha256: str
    size_bytes: int
    kept_fp32: tuple[str, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphFolder:
    """A folder of converted graphs.

    Attributes:
        path: the folder.
        runtime: what executes the graphs: one of :data:`RUNTIMES`.
        precision: of their weights: one of :data:`PRECISIONS`.
        model: FunASR's name of the kind of network.
        source_file: name of the checkpoint that they were made from.
        source_sha256: its hash.
        made_by: program and version.
        graphs: files by the names of the graphs.
        weights: files that graphs of several sizes, or of more than 2 GB, take their weights from.
    """

    path: Path
    runtime: str
    precision: str
    model: str
    source_file: str
    source_sha256: str
    made_by: str
    graphs: Mapping[str, GraphFile]
    weights: tuple[GraphFile, ...] = ()

    @property
    def files(self) -> tuple[GraphFile, ...]:
        """All files that the manifest vouches for."""
        return (*self.graphs.values(), *self.weights)

    def file(self, graph: str) -> Path:
        """Where a graph lies.

        Raises:
            KeyError: there is no such graph.
        """
        return self.path / self.graphs[graph].file

    def damaged(self) -> tuple[str, ...]:
        """Names of files that do not have the content they were written with; reads all of them.

        Raises:
            OSError: a file cannot be read.
        """
        return tuple(
            graph.file for graph in self.files if sha256_of(self.path / graph.file) != graph.sha256
        )


def is_graph_folder(path: Path) -> bool:
    """Whether a folder says that it holds converted graphs."""
    return (path / GRAPHS_FILE).is_file()


def graph_file(
    path: Path,
    kept_fp32: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] = _NO_SHAPES,
) -> GraphFile:
    """What a manifest says about a file that was just written; reads all of it."""
    return GraphFile(path.name, sha256_of(path), path.stat().st_size, tuple(kept_fp32), shapes)


def graph_document(folder: GraphFolder) -> dict[str, Any]:
    """What ``graphs.json`` says."""
    return {
        "schema": _SCHEMA,
        "runtime": folder.runtime,
        "precision": folder.precision,
        "model": folder.model,
        "source": {"file": folder.source_file, "sha256": folder.source_sha256},
        "made_by": folder.made_by,
        "graphs": {
            name: _facts(graph)
            | {"kept_fp32": list(graph.kept_fp32)}
            | ({"shapes": dict(graph.shapes)} if graph.shapes else {})
            for name, graph in folder.graphs.items()
        },
        "weights": [_facts(weights) for weights in folder.weights],
    }


def write_graph_manifest(folder: GraphFolder) -> Path:
    """Write ``graphs.json``; it is on the disk, whole, when this returns.

    Returns:
        The file.

    Raises:
        OSError: it cannot be written.
    """
    document = graph_document(folder)
    target = folder.path / GRAPHS_FILE
    draft = folder.path / f".{GRAPHS_FILE}.part"
    with synced(draft, "wb") as out:
        out.write(json.dumps(document, ensure_ascii=False, indent=1).encode())
    draft.replace(target)
    return target


def read_graph_folder(path: Path, name: str, beside: Sequence[str] = ()) -> GraphFolder:
    """What a folder holds. Every missing file is named in one error; no graph is read.

    Args:
        path: the folder.
        name: of the model, for messages.
        beside: files that have to lie beside the graphs.

    Raises:
        ModelFileMissingError: ``graphs.json``, graphs that it names, or files beside them.
        ModelIntegrityError: ``graphs.json`` is damaged or of a newer version, or a graph has
            another size than it says.
    """
    found = read_graph_manifest(path, name) if is_graph_folder(path) else None
    graphs = tuple(graph.file for graph in found.files) if found else (GRAPHS_FILE,)
    absent = [file for file in (*beside, *graphs) if size_of(path / file) is None]
    if absent or found is None:
        raise missing(path, absent, name)
    for graph in found.files:
        size = size_of(path / graph.file)
        if size != graph.size_bytes:
            problem = f"has {size} bytes, not {graph.size_bytes}"
            raise damaged_graph(path / graph.file, name, problem)
    return found


def damaged_graph(path: Path, name: str, problem: str) -> ModelIntegrityError:
    """The error for a file of a converted folder that has another content."""
    return ModelIntegrityError(
        f"{path} {problem}; convert the model again", name=name, path=str(path), reason="graphs"
    )


def read_graph_manifest(path: Path, name: str) -> GraphFolder:
    """What ``graphs.json`` says, whatever else is there.

    Args:
        path: the folder.
        name: of the model, for messages.

    Raises:
        ModelIntegrityError: it cannot be read, is damaged or of a newer version.
    """
    manifest = path / GRAPHS_FILE
    try:
        document: Any = json.loads(manifest.read_text(encoding="utf-8"))
        if document["schema"] != _SCHEMA:
            raise ValueError(f"schema {document['schema']} is not known")
        if not document["graphs"]:
            raise ValueError("it names no graphs")
        return GraphFolder(
            path=path,
            runtime=_one_of(document["runtime"], RUNTIMES),
            precision=_one_of(document["precision"], PRECISIONS),
            model=_text(document["model"]),
            source_file=_text(document["source"]["file"]),
            source_sha256=_hash(document["source"]["sha256"]),
            made_by=_text(document["made_by"]),
            graphs=MappingProxyType(
                {_text(key): _graph(entry) for key, entry in document["graphs"].items()}
            ),
            weights=tuple(_graph(entry) for entry in document.get("weights", ())),
        )
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as exc:
        raise damaged_graph(manifest, name, f"cannot be used: {exc}") from exc


def _facts(graph: GraphFile) -> dict[str, Any]:
    return {"file": graph.file, "sha256": graph.sha256, "size_bytes": graph.size_bytes}


def _graph(entry: Any) -> GraphFile:
    file, size_bytes = _text(entry["file"]), entry["size_bytes"]
    # A manifest names files of its own folder and nothing else.
    if Path(file).name != file or file in ("", ".", ".."):
        raise ValueError(f"{file!r} is no file of this folder")
    if isinstance(size_bytes, bool) or not isinstance(size_bytes, int) or size_bytes < 0:
        raise ValueError(f"{file} has a size of {size_bytes!r}")
    kept = tuple(_text(operator) for operator in entry.get("kept_fp32", ()))
    shapes = {
        _text(key): tuple(int(size) for size in shape)
        for key, shape in entry.get("shapes", {}).items()
    }
    return GraphFile(file, _hash(entry["sha256"]), size_bytes, kept, MappingProxyType(shapes))


def _one_of(value: Any, known: Sequence[str]) -> str:
    if value not in known:
        raise ValueError(f"{value!r} is not one of {', '.join(known)}")
    return _text(value)


def _hash(value: Any) -> str:
    text = _text(value)
    if not _SHA256.fullmatch(text):
        raise ValueError(f"{text!r} is no SHA-256")
    return text


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value
