"""Whether a device computes what the CPU computes: inputs and results that lie beside graphs.

``selftest.npz`` holds arrays named ``encode.in.features``, ``encode.out.encoded`` and so on: of
each graph one run, all but the first fed with what graphs before it gave for a piece of speech.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from asr_core.audio.features import FeatureStream
from asr_core.audio.sample import sample_sentence
from asr_core.errors import DeviceDriftError
from asr_core.models.funasr_folder import open_folder
from asr_core.models.graph_folder import damaged_graph, read_graph_folder
from asr_core.networks.config import read_paraformer_config
from asr_core.networks.graphs import (
    BIAS,
    DECODE,
    EMBED,
    ENCODE,
    FILTER,
    TIMES,
    paraformer_graphs,
    position_encoding,
)
from asr_core.runtime.funasr import CONFIG_FILE
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Array, Float32, Session

SELFTEST_FILE = "selftest.npz"

MOST_DRIFT: Mapping[str, float] = {"fp32": 0.01, "fp16": 0.05, "int8": 0.1}
"""By the precision of the graphs: root mean square of the difference over that of the CPU's result,
of any output. Rounding to half precision stays below a hundredth; a wrong operator, a lost mask or
an overflow is above one."""

_DAMAGE: tuple[type[Exception], ...] = (
    *(OSError, ValueError, EOFError, TypeError, RuntimeError, KeyError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What reading a damaged file raises."""

_FRAMES, _TOKENS, _WORDS, _WORD_TOKENS = 48, 8, 6, 2
_FIRST_TOKEN = 3  # those before it are marks of begin and end


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a graph: what went in, and what the CPU gave."""

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Drift:
    """How far the worst output of a device is from the CPU's.

    Attributes:
        graph: its name.
        output: of the graph.
        error: root mean square of the difference over that of the CPU's result; infinite where
            something is not a number.
    """

    graph: str
    output: str
    error: float


def write_selftest(folder: Path, source: Path, *, frames: int = _FRAMES, threads: int = 1) -> Path:
    """Write ``selftest.npz`` into a folder of graphs for a device.

    To be called by whoever makes such a folder, before it appears under its name, as
    ``write_selftest(work, source)``; a file that is there is replaced. The device is tested
    whenever the folder is opened; a folder without the file is opened with a warning. The file is
    none of the graphs and need not stand in ``graphs.json``.

    Args:
        folder: where the file goes; nothing else in it is read.
        source: the converted folder of the same model whose ONNX graphs, in single precision, say
            what is right; with its small files.
        frames: length of the test, at least 8 and no more than the largest size of the device's
            graphs. They also have to take 8 tokens, 6 words and 2 tokens of a word.
        threads: CPU threads.

    Returns:
        The file.

    Raises:
        ModelFileMissingError: files of ``source`` are missing.
        ModelIntegrityError: they cannot be used.
        AudioDecodeError: the sample recording is gone.
        DeviceError: ONNX Runtime cannot run the graphs.
        OSError: the file cannot be written.
    """
    graphs = read_graph_folder(source, source.name)
    files = open_folder(source, name=source.name, graphs=False)
    config = read_paraformer_config(source / CONFIG_FILE, len(files.tokens))
    stream = FeatureStream(files.features, files.cmvn)
    features = np.concatenate([stream.accept(sample_sentence()), stream.finish()])[:frames]
    arrays: dict[str, Array] = {}
    known: dict[str, Array] = _first_inputs(features, len(files.tokens))
    wanted = paraformer_graphs(config)
    for name in (ENCODE, DECODE, TIMES, EMBED, BIAS, FILTER):
        if name not in wanted:
            continue
        if name == TIMES:
            known["part_counts"] = np.array([len(features) * config.predictor.upsampling])
        inputs = {spec.name: known[spec.name] for spec in wanted[name].inputs}
        session = OnnxSession(graphs.file(name), threads=threads)
        try:
            outputs = session.run(inputs)
        finally:
            session.close()
        arrays |= {f"{name}.in.{key}": array for key, array in inputs.items()}
        arrays |= {f"{name}.out.{key}": array for key, array in outputs.items()}
        known |= _fed_forward(name, outputs)
    target = folder / SELFTEST_FILE
    with target.open("wb") as out:
        np.savez_compressed(out, **arrays)
    return target


def has_selftest(folder: Path) -> bool:
    """Whether a folder tests the device at all."""
    return (folder / SELFTEST_FILE).is_file()


def read_selftest(folder: Path, name: str) -> Mapping[str, Run] | None:
    """What ``selftest.npz`` says, by graph; ``None`` where there is none.

    Args:
        folder: with the graphs.
        name: of the model, for messages.

    Raises:
        ModelIntegrityError: it is damaged.
    """
    path = folder / SELFTEST_FILE
    if not path.is_file():
        return None
    found: dict[str, tuple[dict[str, Array], dict[str, Array]]] = {}
    try:
        with np.load(path, allow_pickle=False) as arrays:
            for key in arrays.files:
                graph, side, tensor = key.split(".")
                sides = found.setdefault(graph, ({}, {}))
                # What is no array comes as the bytes of its file.
                values = np.asarray(arrays[key])
                if values.dtype.kind not in "fi":
                    raise ValueError(f"{key} holds no numbers")
                sides[("in", "out").index(side)][tensor] = values
        empty = sorted(graph for graph, (_, outputs) in found.items() if not outputs)
        if empty:
            raise ValueError(f"no results of {', '.join(empty)}")
    except _DAMAGE as exc:
        raise damaged_graph(path, name, f"cannot be used: {exc}") from exc
    return {graph: Run(*sides) for graph, sides in found.items()}


def measure_drift(sessions: Mapping[str, Session], runs: Mapping[str, Run]) -> Drift:
    """Run the test and find the worst output.

    Args:
        sessions: of the device, by graph.
        runs: what :func:`read_selftest` gives; those of other graphs are passed over.

    Raises:
        UsageError, DeviceError: a graph takes no such inputs, or failed.
    """
    worst = Drift("", "", 0.0)
    for graph, run in runs.items():
        if graph not in sessions:
            continue
        outputs = sessions[graph].run(run.inputs)
        for name, expected in run.outputs.items():
            error = _error(outputs[name], expected)
            if not error <= worst.error:
                worst = Drift(graph, name, error)
    return worst


def check_drift(
    sessions: Mapping[str, Session], runs: Mapping[str, Run], *, device: str, precision: str
) -> Drift:
    """Refuse a device whose results are not those of the CPU.

    Args:
        sessions: of the device, by graph.
        runs: what :func:`read_selftest` gives.
        device: how messages name it.
        precision: of the graphs: a key of :data:`MOST_DRIFT`.

    Returns:
        How far the results are apart.

    Raises:
        DeviceDriftError: farther than the limit.
        UsageError, DeviceError: as :func:`measure_drift`.
    """
    drift, limit = measure_drift(sessions, runs), MOST_DRIFT[precision]
    if not drift.error <= limit:
        raise DeviceDriftError(
            f"{device}: {drift.output} of {drift.graph} is off by {drift.error:.2%} of what the "
            f"CPU computes; at most {limit:.0%} is allowed in {precision}",
            device=device,
            graph=drift.graph,
            output=drift.output,
            error=f"{drift.error:.4g}",
            limit=f"{limit:g}",
            precision=precision,
        )
    return drift


def _first_inputs(features: Float32, vocabulary: int) -> dict[str, Array]:
    frames, width = features.shape
    numbers = _FIRST_TOKEN + np.arange(_WORDS * _WORD_TOKENS, dtype=np.int32)
    ones = np.ones((1, 1, frames, 1), np.float32)
    return {
        "features": features[np.newaxis, np.newaxis],
        "positions": position_encoding(frames, width),
        "mask": ones,
        "memory_mask": ones,
        "tokens": (numbers % vocabulary).reshape(_WORDS, _WORD_TOKENS),
        "word_mask": np.ones((1, 1, _WORDS, 1), np.float32),
    }


def _fed_forward(graph: str, outputs: Mapping[str, Array]) -> dict[str, Array]:
    """What a graph gives to those behind it."""
    if graph == ENCODE:
        encoded = outputs["encoded"]
        # The frames themselves stand for what tokens are recognized from.
        embeds = np.ascontiguousarray(encoded[:, :, :: max(encoded.shape[2] // _TOKENS, 1)])
        embeds = embeds[:, :, :_TOKENS].copy()
        token_mask = np.ones((1, 1, embeds.shape[2], 1), np.float32)
        return {"encoded": encoded, "memory": encoded, "embeds": embeds, "token_mask": token_mask}
    if graph == DECODE:
        return {"hidden": outputs["hidden"]}
    if graph == EMBED:
        return {"words": np.ascontiguousarray(outputs["embedded"][np.newaxis, np.newaxis, :, -1])}
    return {}


def _error(found: Array, expected: Array) -> float:
    if found.shape != expected.shape or not np.isfinite(found).all():
        return float("inf")
    difference = found.astype(np.float64) - expected
    size = float(np.sqrt(np.mean(np.square(expected, dtype=np.float64))))
    return float(np.sqrt(np.mean(difference**2))) / max(size, 1e-6)
