"""In which forms a folder offers a Paraformer, and which of them is used.

A folder may hold graphs that this program converted, the pair of graphs that FunASR exports, and
FunASR's checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from asr_core.errors import (
    DeviceUnavailableError,
    ModelError,
    ModelFileMissingError,
    ModelIntegrityError,
)
from asr_core.models.files import size_of
from asr_core.models.funasr_folder import (
    HOTWORD_FILES,
    HOTWORD_MODELS,
    NETWORK_FILES,
    read_kind,
)
from asr_core.models.graph_folder import (
    GRAPHS_FILE,
    GraphFolder,
    is_graph_folder,
    read_graph_folder,
    read_graph_manifest,
)
from asr_core.runtime.funasr import CHECKPOINT_FILES, SPEECH_FILES, find_files, first_of, missing

AUTO = "auto"
ONNX, MINDSPORE, ASCEND = "onnxruntime", "mindspore", "ascend"
RUNTIMES = (AUTO, ONNX, MINDSPORE)
"""What a setting may ask for."""

ASCEND_ENDING = ".ascend"
"""Behind the name of a model folder: the same model for Ascend devices."""

_Find = Callable[[Path, str], "Offer"]

_SMALL = tuple((name,) for name in SPEECH_FILES)


class Form(Enum):
    """How the networks of a folder are stored."""

    GRAPHS = "graphs"
    """Graphs that this program converted."""
    EXPORT = "export"
    """The graphs that FunASR exports: the whole network, and the embedder of hotwords."""
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class Offer:
    """One form of a model, all of whose files are there.

    Attributes:
        form: how it is stored.
        runtime: what executes it.
        precision: of its weights.
        files: of the networks.
        graphs: what the folder says of converted graphs.
    """

    form: Form
    runtime: str
    precision: str
    files: tuple[Path, ...]
    graphs: GraphFolder | None = None


def find_offer(path: Path, name: str, runtime: str = AUTO) -> Offer:
    """The form that is used: converted graphs, else FunASR's graphs, else its checkpoint.

    Converted graphs that are incomplete are an error, whatever else is there: who converted them
    counts on them.

    Args:
        path: the folder.
        name: of the model, for messages.
        runtime: one of :data:`RUNTIMES`, or ``ascend``; only forms that it executes count.

    Raises:
        ModelFileMissingError: no form is complete, or not the converted graphs; names all files
            that the first one lacks, and those that make each form where the folder has none.
        ModelIntegrityError: ``graphs.json`` cannot be used.
        DeviceUnavailableError: there are only graphs for a runtime that was not asked for.
    """
    graphs_for = _graphs_for(path, name)
    forms = _forms(runtime, graphs_for)
    fault: ModelError | None = None
    for marks, find in forms:
        if first_of(path, marks) is None:
            continue
        try:
            return find(path, name)
        except ModelFileMissingError as exc:
            if find is _converted:
                raise
            fault = fault or exc
    if fault is None and graphs_for:
        raise DeviceUnavailableError(
            f"{path} holds graphs for {graphs_for} only; {runtime} cannot execute them",
            device=runtime,
            reason="other_graphs",
            path=str(path),
            runtime=graphs_for,
        )
    if fault is None:
        absent = [file for file in SPEECH_FILES if size_of(path / file) is None]
        networks = " / ".join(_networks(path, name, [marks for marks, _ in forms]))
        fault = missing(path, [*absent, networks], name)
    raise fault


def _networks(path: Path, name: str, forms: Sequence[Sequence[str]]) -> list[str]:
    """The files of which one would do where a folder has no form; joined by ``+`` if two have to.

    Raises:
        ModelIntegrityError: the configuration cannot be read.
    """
    names: list[str] = []
    takes_pair = read_kind(path, name) in HOTWORD_MODELS and first_of(path, HOTWORD_FILES) is None
    for marks in forms:
        if marks is NETWORK_FILES and takes_pair:
            names += [f"{one} + {other}" for one, other in zip(marks, HOTWORD_FILES, strict=True)]
        else:
            names += marks
    return names


def ascend_folder(path: Path, name: str) -> Path | None:
    """The converted folder for Ascend devices that belongs to a model folder.

    Args:
        path: of the model; itself such a folder, or with one beside it that is called the same with
            ``.ascend`` behind.
        name: of the model, for messages.

    Returns:
        ``None`` where there is none. One beside the model whose ``graphs.json`` cannot be used is
        one all the same: whoever opens it tells what is wrong, and nobody else needs it.

    Raises:
        ModelIntegrityError: ``graphs.json`` of the model's own folder cannot be used.
    """
    if _graphs_for(path, name) == ASCEND:
        return path
    beside = path.with_name(f"{path.name}{ASCEND_ENDING}")
    try:
        return beside if _graphs_for(beside, name) == ASCEND else None
    except ModelIntegrityError:
        return beside
    except OSError:
        # It cannot be looked into, or the name would be too long for a folder.
        return None


def runs_on_cpu(path: Path, name: str) -> bool:
    """Whether a folder holds more than a form for Ascend devices; its files may be incomplete."""
    others = (*NETWORK_FILES, *CHECKPOINT_FILES)
    return _graphs_for(path, name) != ASCEND or first_of(path, others) is not None


def _forms(runtime: str, graphs_for: str) -> list[tuple[Sequence[str], _Find]]:
    """Files that tell of a form, and what finds the others of it, the preferred form first."""
    accepted = (ONNX, MINDSPORE) if runtime == AUTO else (runtime,)
    forms: list[tuple[Sequence[str], _Find]] = []
    takes_graphs = ONNX in accepted or ASCEND in accepted
    # Where there is no manifest, it is one of the files that could help.
    if takes_graphs and graphs_for in ("", *accepted):
        forms.append(((GRAPHS_FILE,), _converted))
    if ONNX in accepted:
        forms.append((NETWORK_FILES, _exported))
    if MINDSPORE in accepted:
        forms.append((CHECKPOINT_FILES, _checkpoint))
    return forms


def _graphs_for(path: Path, name: str) -> str:
    """The runtime of converted graphs; empty where there are none."""
    return read_graph_manifest(path, name).runtime if is_graph_folder(path) else ""


def _converted(path: Path, name: str) -> Offer:
    graphs = read_graph_folder(path, name, SPEECH_FILES)
    files = tuple(path / entry.file for entry in graphs.files)
    return Offer(Form.GRAPHS, graphs.runtime, graphs.precision, files, graphs)


def _exported(path: Path, name: str) -> Offer:
    wanted = [*_SMALL, NETWORK_FILES]
    # A folder without its configuration may be of either kind; then the graph shows what it is.
    if read_kind(path, name) in HOTWORD_MODELS or first_of(path, HOTWORD_FILES):
        wanted.append(HOTWORD_FILES)
    files = find_files(path, wanted, name)[len(_SMALL) :]
    precision = "int8" if "quant" in files[0].stem else "fp32"
    return Offer(Form.EXPORT, ONNX, precision, tuple(files))


def _checkpoint(path: Path, name: str) -> Offer:
    files = find_files(path, [*_SMALL, CHECKPOINT_FILES], name)
    return Offer(Form.CHECKPOINT, MINDSPORE, "fp32", (files[-1],))
