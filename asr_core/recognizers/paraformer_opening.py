"""Which networks a model folder gives a Paraformer, opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from asr_core.errors import DeviceError, DeviceUnavailableError, ModelIntegrityError
from asr_core.models.funasr_folder import FunasrFolder, open_folder
from asr_core.models.graph_folder import GRAPHS_FILE, GraphFolder, damaged_graph
from asr_core.models.offers import AUTO, Form, Offer, find_offer
from asr_core.networks.config import ParaformerConfig, read_paraformer_config
from asr_core.networks.graphs import paraformer_graphs
from asr_core.recognizers.paraformer_backend import ParaformerBackend
from asr_core.recognizers.paraformer_graphs import Batching, GraphParaformer
from asr_core.recognizers.paraformer_onnx import OnnxParaformer
from asr_core.results import ModelInfo
from asr_core.runtime.funasr import CONFIG_FILE
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Session

_ROWS = 8
_MOST_WORKERS = 4


def open_paraformer(
    path: Path, *, name: str, threads: int, runtime: str = AUTO
) -> tuple[FunasrFolder, ParaformerBackend]:
    """Open the networks that a folder offers for a runtime.

    Args:
        path: the folder.
        name: catalogue name.
        threads: CPU threads, at least 1.
        runtime: one of :data:`asr_core.models.offers.RUNTIMES`.

    Returns:
        What the small files say, and the networks.

    Raises:
        ModelFileMissingError: files are missing; all are named.
        ModelIntegrityError: a file is damaged or belongs to another model.
        DeviceUnavailableError: the runtime is not there.
    """
    offer = find_offer(path, name, runtime)
    files = open_folder(path, name=name, graphs=offer.form is Form.EXPORT)
    if offer.form is Form.EXPORT:
        return files, OnnxParaformer(files, name=name, threads=threads)
    config = read_paraformer_config(path / CONFIG_FILE, len(files.tokens))
    batching = batching_of(offer.runtime, offer.precision, threads)
    sessions = _sessions(offer, config, name, threads // batching.workers)
    backend = GraphParaformer(
        config,
        sessions,
        info=ModelInfo(name=name, backend=f"{offer.runtime} {offer.precision}", device="cpu"),
        no_bias=files.tokens.index("<s>") if "<s>" in files.tokens else 1,
        batching=batching,
    )
    return files, backend


def batching_of(runtime: str, precision: str, threads: int) -> Batching:
    """How segments share runs of graphs.

    The scales of eight-bit graphs span a whole run: what one of several segments gives would
    depend on the others. Segments run side by side use cores better than operators of several
    threads.

    Args:
        runtime: what executes the graphs.
        precision: of their weights.
        threads: CPU threads, at least 1.
    """
    if runtime == "onnxruntime" and precision == "int8":
        return Batching(rows=1, workers=min(threads, _MOST_WORKERS))
    return Batching(rows=_ROWS)


def _sessions(
    offer: Offer, config: ParaformerConfig, name: str, threads: int
) -> Mapping[str, Session]:
    if offer.graphs is not None:
        return _onnx_sessions(offer.graphs, config, name, threads)
    from asr_core.networks.sessions import mindspore_sessions

    return mindspore_sessions(config, offer.files[0], threads=threads)


def _onnx_sessions(
    graphs: GraphFolder, config: ParaformerConfig, name: str, threads: int
) -> dict[str, Session]:
    wanted = paraformer_graphs(config)
    if absent := [graph for graph in wanted if graph not in graphs.graphs]:
        problem = f"lacks the graphs {', '.join(absent)}"
        raise damaged_graph(graphs.path / GRAPHS_FILE, name, problem)
    sessions: dict[str, Session] = {}
    try:
        for graph in wanted:
            sessions[graph] = _onnx_session(graphs.file(graph), name, threads)
    except (DeviceError, ModelIntegrityError):
        for session in sessions.values():
            session.close()
        raise
    return sessions


def _onnx_session(path: Path, name: str, threads: int) -> OnnxSession:
    try:
        return OnnxSession(path, threads=threads)
    except DeviceUnavailableError:
        raise
    except DeviceError as exc:
        raise damaged_graph(path, name, f"cannot be loaded: {exc}") from exc
