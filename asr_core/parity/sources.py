"""The forms of a model that can be compared, opened from the folders in which they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from asr_core.errors import ModelIntegrityError, SettingsError
from asr_core.models.ascend_plan import layered
from asr_core.models.files import sha256_of
from asr_core.models.funasr_folder import (
    NETWORK_FILES,
    FunasrFolder,
    open_folder,
)
from asr_core.models.graph_folder import (
    GRAPHS_FILE,
    GraphFolder,
    damaged_graph,
    is_graph_folder,
    read_graph_manifest,
)
from asr_core.models.graph_taps import tap_graph
from asr_core.models.offers import ASCEND, AUTO, MINDSPORE, ONNX, Form, find_offer
from asr_core.networks.config import read_paraformer_config
from asr_core.networks.graphs import ENCODE, GraphShape, paraformer_graphs
from asr_core.networks.sessions import mindspore_sessions
from asr_core.parity.exported import ExportedProbe
from asr_core.parity.graphs import GraphProbe, Recorder, Tap
from asr_core.parity.onnx import tapped_session
from asr_core.parity.probe import EXACT, Call, Probe
from asr_core.recognizers.paraformer_ascend import open_ascend_graphs
from asr_core.recognizers.paraformer_graphs import Batching, GraphParaformer
from asr_core.recognizers.tokenizer import MAX_HOTWORDS
from asr_core.results import ModelInfo
from asr_core.runtime.ascend_acl import ACL, AclRuntime
from asr_core.runtime.ascend_manifest import ENDING, read_om_graph
from asr_core.runtime.cann import cann_version
from asr_core.runtime.funasr import CHECKPOINT_FILES, CONFIG_FILE, first_of, missing
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Session

_NO_WORD, _SCORES = "<s>", "scores"
_ROWS = 64
"""Most recordings in a run of graphs whose rows do not depend on each other."""

_EXPORTED_WORDS = 49
"""Of a longer list FunASR's exported graph keeps the 51 best, without a place for none of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One side of a comparison.

    Attributes:
        probe: runs it.
        folder: its small files.
        max_hotword_tokens: of the longest hotword; 0: it takes none.
        most_words: hotwords up to which it follows the rule of FunASR in PyTorch.
        max_frames: of the longest part that it takes; 0: any.
    """

    probe: Probe
    folder: FunasrFolder
    max_hotword_tokens: int
    most_words: int = MAX_HOTWORDS
    max_frames: int = 0


def open_source(path: Path, *, threads: int, frames: int | None = None) -> Source:
    """Open one form of a model.

    Args:
        path: a converted folder, or a model folder of FunASR; of the latter the checkpoint is used
            if it has one, else its exported graph. A file of a folder chooses that form. Graphs for
            Ascend run on the first device.
        threads: CPU threads, at least 1.
        frames: of converted graphs those for this number of frames are shown, where there are any.

    Raises:
        ModelFileMissingError: files are missing; all are named.
        ModelIntegrityError: a file is damaged or belongs to another model.
        DeviceUnavailableError: the runtime is not there.
        SettingsError: there are no graphs for ``frames``.
    """
    folder, chosen = (path.parent, path.name) if path.is_file() else (path, "")
    name = folder.resolve().name
    if chosen in NETWORK_FILES:
        return _open_exported(folder, folder / chosen, name, threads)
    if chosen not in ("", GRAPHS_FILE, *CHECKPOINT_FILES):
        wanted = (GRAPHS_FILE, *CHECKPOINT_FILES, *NETWORK_FILES)
        raise missing(folder, [" / ".join(wanted)], name)
    if is_graph_folder(folder) and read_graph_manifest(folder, name).runtime == ASCEND:
        return open_device(folder, index=0, threads=threads)
    prefers = not is_graph_folder(folder) and first_of(folder, CHECKPOINT_FILES)
    runtime = MINDSPORE if chosen in CHECKPOINT_FILES or prefers else AUTO
    offer = find_offer(folder, name, runtime)
    if offer.graphs is not None:
        return _open_graphs(offer.graphs, name, threads, frames)
    if offer.form is Form.CHECKPOINT:
        checkpoint = folder / chosen if chosen in CHECKPOINT_FILES else offer.files[0]
        return _open_checkpoint(folder, checkpoint, name, threads)
    return _open_exported(folder, offer.files[0], name, threads)


def open_device(path: Path, *, index: int, threads: int, runtime: AclRuntime = ACL) -> Source:
    """Open graphs for Ascend on a device; of each graph its results are seen.

    Of graphs of which the folder has a form that gives what blocks compute, these are seen, too.

    Args:
        path: a converted folder.
        index: of the device.
        threads: CPU threads, for graphs that stay on the CPU.
        runtime: pyACL of the process.

    Raises:
        As :func:`asr_core.recognizers.paraformer_ascend.open_ascend_paraformer`.
    """
    name = path.resolve().name
    inner = _layered(path, name)
    graphs = open_ascend_graphs(
        path,
        name=name,
        index=index,
        threads=threads,
        runtime=runtime,
        cann=cann_version(),
        further=[layered(graph) for graph in inner],
    )
    info = ModelInfo(name=name, backend=f"{ASCEND} {graphs.precision}", device=f"npu:{index}")
    try:
        blocks = {graph: graphs.further[layered(graph)] for graph in inner}
        taps = _taps(graphs.files, graphs.sessions, blocks)
        return _source(graphs.files, graphs.sessions, taps, info, graphs.precision, graphs.batching)
    except BaseException:
        for session in (*graphs.further.values(), *graphs.sessions.values()):
            session.close()
        raise


def open_originals(path: Path, *, threads: int) -> Source:
    """Open the ONNX files that the OM files of a folder were made of, which lie beside them.

    Args:
        path: a converted folder for Ascend.
        threads: CPU threads, at least 1.

    Raises:
        ModelFileMissingError: they are not there any more; all are named.
        ModelIntegrityError: they are others, or cannot be loaded.
    """
    name = path.resolve().name
    manifest = read_graph_manifest(path, name)
    inner = _layered(path, name)
    entries = {
        graph: entry for graph, entry in manifest.graphs.items() if graph not in map(layered, inner)
    }
    absent = [f"{graph}.onnx" for graph in entries if not _original(path, graph).is_file()]
    if absent:
        raise missing(path, absent, name)
    for graph, entry in entries.items():
        if entry.file.endswith(ENDING):
            made_of = read_om_graph(path / entry.file, name).source_sha256
            if sha256_of(_original(path, graph)) != made_of:
                problem = f"is not what {entry.file} was made of"
                raise damaged_graph(_original(path, graph), name, problem)
    files = open_folder(path, name=name, graphs=False)
    sessions = {graph: OnnxSession(_original(path, graph), threads=threads) for graph in entries}
    info = ModelInfo(name=name, backend=f"{ONNX} {EXACT}", device="cpu")
    taps = _taps(files, sessions, {graph: sessions[graph] for graph in inner})
    return _source(files, sessions, taps, info, EXACT)


def _layered(path: Path, name: str) -> tuple[str, ...]:
    """Graphs of a converted folder of which there is a form that gives what blocks compute."""
    graphs = read_graph_manifest(path, name).graphs if is_graph_folder(path) else ()
    return tuple(graph for graph in graphs if layered(graph) in graphs)


def _original(path: Path, graph: str) -> Path:
    return path / f"{graph}.onnx"


def check_alike(reference: Source, other: Source) -> None:
    """Both read the same features and have the same tokens.

    Raises:
        ModelIntegrityError: they do not.
    """
    right, found = reference.folder, other.folder
    if (right.features, right.tokens) != (found.features, found.tokens):
        raise ModelIntegrityError(
            f"{found.path} is another model than {right.path}: features or tokens differ",
            name=found.path.name,
            path=str(found.path),
            reason="folder",
        )


def _open_exported(path: Path, network: Path, name: str, threads: int) -> Source:
    files = open_folder(path, name=name)
    own = path / network.name.replace("model", "model_eb", 1)
    embedder = own if own.is_file() else files.hotword_network
    exported = replace(files, network=network, hotword_network=embedder)
    probe = ExportedProbe(exported, name=name, threads=threads)
    return Source(probe, files, probe.max_hotword_tokens, _EXPORTED_WORDS)


def _open_graphs(manifest: GraphFolder, name: str, threads: int, frames: int | None) -> Source:
    files = open_folder(manifest.path, name=name, graphs=False)
    shapes = _shapes(files)
    sizes = {graph: f"{graph}.{frames}" for graph in shapes if _is_sized(manifest, graph, frames)}
    if absent := [graph for graph in shapes if graph not in manifest.graphs]:
        problem = f"lacks the graphs {', '.join(absent)}"
        raise damaged_graph(manifest.path / GRAPHS_FILE, name, problem)
    if frames is not None and not sizes:
        raise _no_such_size(manifest, frames)
    taps = {}
    for graph, shape in shapes.items():
        tap = partial(tap_graph, graph=graph)
        path = manifest.file(sizes.get(graph, graph))
        session, layers = tapped_session(path, tap, name=name, threads=threads)
        taps[graph] = (Tap(session, layers | _outputs(shape)),)
    sessions = {graph: OnnxSession(manifest.file(graph), threads=threads) for graph in shapes}
    info = ModelInfo(name=name, backend=f"onnxruntime {manifest.precision}", device="cpu")
    return _source(files, sessions, taps, info, manifest.precision)


def _no_such_size(manifest: GraphFolder, frames: int) -> SettingsError:
    present = [
        graph.partition(".")[2] for graph in manifest.graphs if graph.startswith(f"{ENCODE}.")
    ]
    allowed = ", ".join(present) or "no number: the folder has no graphs of one size"
    return SettingsError(
        f"{manifest.path} has no graphs for {frames} frames; allowed: {allowed}",
        name="--frames",
        value=str(frames),
        allowed=allowed,
    )


def _is_sized(manifest: GraphFolder, graph: str, frames: int | None) -> bool:
    return frames is not None and f"{graph}.{frames}" in manifest.graphs


def _open_checkpoint(path: Path, checkpoint: Path, name: str, threads: int) -> Source:
    files = open_folder(path, name=name, graphs=False)
    config = read_paraformer_config(path / CONFIG_FILE, len(files.tokens))
    sessions = mindspore_sessions(config, checkpoint, threads=threads, probed=True)
    taps = {}
    for graph, shape in _shapes(files).items():
        outputs = _outputs(shape)
        names = [spec.name for spec in sessions[graph].output_specs]
        blocks = {layer: layer for layer in names if layer not in outputs}
        taps[graph] = (Tap(sessions[graph], blocks | outputs),)
    info = ModelInfo(name=name, backend=f"mindspore {EXACT}", device="cpu")
    return _source(files, sessions, taps, info, EXACT)


def _source(
    files: FunasrFolder,
    sessions: Mapping[str, Session],
    taps: Mapping[str, Sequence[Tap]],
    info: ModelInfo,
    precision: str,
    batching: Batching | None = None,
) -> Source:
    calls: list[Call] = []
    config = read_paraformer_config(files.path / CONFIG_FILE, len(files.tokens))
    shapes = paraformer_graphs(config)
    recorders = {
        graph: Recorder(graph, session, tuple(_outputs(shapes[graph])), calls)
        for graph, session in sessions.items()
    }
    no_bias = files.tokens.index(_NO_WORD) if _NO_WORD in files.tokens else 1
    # What a graph of rounded values says of a recording depends on the others of a run.
    batching = batching or Batching(_ROWS if precision == EXACT else 1)
    backend = GraphParaformer(config, recorders, info=info, no_bias=no_bias, batching=batching)
    probe = GraphProbe(backend, calls, taps, precision=precision, no_bias=no_bias)
    return Source(probe, files, backend.max_hotword_tokens, max_frames=batching.frames)


def _taps(
    files: FunasrFolder, sessions: Mapping[str, Session], inner: Mapping[str, Session]
) -> dict[str, tuple[Tap, ...]]:
    """What graphs give is to be seen, and what their blocks give that have such a form."""
    taps: dict[str, tuple[Tap, ...]] = {}
    for graph, shape in _shapes(files).items():
        outputs = _outputs(shape)
        plain = Tap(sessions[graph], outputs)
        if graph not in inner:
            taps[graph] = (plain,)
            continue
        names = [spec.name for spec in inner[graph].output_specs]
        blocks = {name: name for name in names if name not in outputs}
        taps[graph] = (Tap(inner[graph], blocks), plain)
    return taps


def _shapes(files: FunasrFolder) -> dict[str, GraphShape]:
    config = read_paraformer_config(files.path / CONFIG_FILE, len(files.tokens))
    return paraformer_graphs(config)


def _outputs(shape: GraphShape) -> dict[str, str]:
    """Names of outputs, scores last: they are made of the others."""
    names = [spec.name for spec in shape.outputs]
    return {name: name for name in sorted(names, key=lambda name: name == _SCORES)}
