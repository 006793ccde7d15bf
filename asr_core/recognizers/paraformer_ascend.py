"""Paraformer on an Ascend device, from a folder of converted graphs."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from asr_core.errors import DeviceInputError, UsageError
from asr_core.models.funasr_folder import FunasrFolder, open_folder
from asr_core.models.graph_folder import GRAPHS_FILE, GraphFolder, damaged_graph
from asr_core.models.offers import ASCEND, find_offer
from asr_core.models.selftest import SELFTEST_FILE, check_drift, read_selftest
from asr_core.networks.config import ParaformerConfig, read_paraformer_config
from asr_core.networks.graph_axes import FRAMES, WORD_TOKENS, paraformer_axes
from asr_core.networks.graphs import ENCODE, TIMES
from asr_core.recognizers.paraformer_graphs import TIMED_ROWS, Batching, GraphParaformer
from asr_core.results import ModelInfo
from asr_core.runtime.ascend import open_sessions
from asr_core.runtime.ascend_acl import ACL, AclRuntime
from asr_core.runtime.ascend_manifest import ENDING, OmGraph, read_om_graph
from asr_core.runtime.funasr import CONFIG_FILE
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Session

logger = logging.getLogger(__name__)

_UNKNOWN = "?"


@dataclass(frozen=True, slots=True, eq=False)
class AscendGraphs:
    """The graphs of a folder, opened.

    Attributes:
        files: what the small files say.
        config: sizes of the networks.
        precision: of the folder.
        sessions: by the names of the graphs; the last one that is closed closes the device.
        further: those that were asked for besides.
        batching: how segments share runs.
    """

    files: FunasrFolder
    config: ParaformerConfig
    precision: str
    sessions: Mapping[str, Session]
    further: Mapping[str, Session]
    batching: Batching


def open_ascend_paraformer(
    path: Path,
    *,
    name: str,
    index: int,
    threads: int,
    runtime: AclRuntime = ACL,
    cann: str = _UNKNOWN,
    cores: Collection[int] = (),
) -> tuple[FunasrFolder, GraphParaformer]:
    """Open a folder whose ``graphs.json`` is for ``ascend``.

    Its graphs are manifests of OM files (``encode.om.json``); one for which the chip lacks
    operators may be an ONNX file, which runs on the CPU.

    Args:
        path: the folder.
        name: of the model.
        index: of the device.
        threads: CPU threads, for graphs that are ONNX files.
        runtime: pyACL of the process.
        cann: version of this machine; "?" where it is unknown.
        cores: processor cores that the device's thread stays on; empty: any.

    Returns:
        What the small files say, and the networks; closing them closes the device.

    Raises:
        ModelFileMissingError: files are missing; all are named.
        ModelIntegrityError: a file is damaged or belongs to another model.
        DeviceMismatchError: the files are made for another chip or a later CANN.
        DeviceUnavailableError: pyACL or the device cannot be used.
        DeviceDriftError: the device computes other numbers than the CPU.
        DeviceError: the device failed.
    """
    graphs = open_ascend_graphs(
        path, name=name, index=index, threads=threads, runtime=runtime, cann=cann, cores=cores
    )
    tokens = graphs.files.tokens
    backend = GraphParaformer(
        graphs.config,
        graphs.sessions,
        info=ModelInfo(name=name, backend=f"ascend {graphs.precision}", device=f"npu:{index}"),
        no_bias=tokens.index("<s>") if "<s>" in tokens else 1,
        batching=graphs.batching,
    )
    try:
        _test(path, name, graphs, f"npu:{index}")
    except BaseException:
        backend.close()
        raise
    return graphs.files, backend


def open_ascend_graphs(
    path: Path,
    *,
    name: str,
    index: int,
    threads: int,
    runtime: AclRuntime = ACL,
    cann: str = _UNKNOWN,
    cores: Collection[int] = (),
    further: Collection[str] = (),
) -> AscendGraphs:
    """The graphs of :func:`open_ascend_paraformer` without what runs between them.

    Args:
        further: names of other graphs of the folder that are opened on the same device.
    """
    offer = find_offer(path, name, ASCEND)
    files = open_folder(path, name=name, graphs=False)
    config = read_paraformer_config(path / CONFIG_FILE, len(files.tokens))
    if offer.graphs is None:
        raise damaged_graph(path / GRAPHS_FILE, name, "holds no graphs for Ascend devices")
    models, others = _files(offer.graphs, config, name)
    besides = {graph: read_om_graph(offer.graphs.file(graph), name) for graph in further}
    limits = _limits(models)
    sessions: dict[str, Session] = {}
    try:
        for graph, file in others.items():
            sessions[graph] = OnnxSession(file, threads=threads)
        every = models | besides
        sessions |= open_sessions(index, every, runtime=runtime, cann=cann, cores=cores)
    except BaseException:
        for session in sessions.values():
            session.close()
        raise
    batching = Batching(
        rows=_rows(models.get(ENCODE)),
        timed_rows=_rows(models[TIMES]) if TIMES in models else TIMED_ROWS,
        frames=limits.get(FRAMES, 0),
        word_tokens=limits.get(WORD_TOKENS, 0),
    )
    seen = {graph: sessions.pop(graph) for graph in besides}
    return AscendGraphs(files, config, offer.precision, sessions, seen, batching)


def _test(path: Path, name: str, graphs: AscendGraphs, device: str) -> None:
    """Compare what the device computes with what the CPU did."""
    runs = read_selftest(path, name)
    if runs is None:
        logger.warning("no self-test of the device device=%s folder=%s", device, path.name)
        return
    untested = sorted(graph for graph in graphs.sessions if graph not in runs)
    if untested:
        raise damaged_graph(path / SELFTEST_FILE, name, f"does not test {', '.join(untested)}")
    try:
        drift = check_drift(graphs.sessions, runs, device=device, precision=graphs.precision)
    except (DeviceInputError, UsageError, KeyError) as exc:
        raise damaged_graph(path / SELFTEST_FILE, name, f"is of another model: {exc}") from exc
    logger.info(
        "self-test passed device=%s graph=%s output=%s error=%.3g",
        *(device, drift.graph, drift.output, drift.error),
    )


def _files(
    folder: GraphFolder, config: ParaformerConfig, name: str
) -> tuple[dict[str, OmGraph], dict[str, Path]]:
    """Graphs for the device, and those for the CPU."""
    models: dict[str, OmGraph] = {}
    others: dict[str, Path] = {}
    for graph, axes in paraformer_axes(config).items():
        if graph not in folder.graphs:
            problem = f"lacks the graph {graph}"
            raise damaged_graph(folder.path / GRAPHS_FILE, name, problem)
        file = folder.file(graph)
        if not file.name.endswith(ENDING):
            others[graph] = file
            continue
        models[graph] = read_om_graph(file, name)
        if (models[graph].inputs, models[graph].outputs) != (axes.inputs, axes.outputs):
            raise damaged_graph(file, name, f"is no {graph} of this model")
    return models, others


def _limits(models: dict[str, OmGraph]) -> dict[str, int]:
    """The longest of each free axis that all graphs take."""
    limits: dict[str, int] = {}
    for graph in models.values():
        for axis in graph.files[0].sizes[0]:
            most = max(sizes[axis] for file in graph.files for sizes in file.sizes)
            limits[axis] = min(most, limits.get(axis, most))
    return limits


def _rows(encode: OmGraph | None) -> int:
    """Segments that the encoder takes at once."""
    if encode is None or not encode.batch:
        return 1
    return max(sizes[encode.batch] for file in encode.files for sizes in file.sizes)
