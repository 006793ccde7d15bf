"""Paraformer as FunASR publishes and exports it for ONNX Runtime, on the CPU."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from asr_core.errors import (
    DeviceError,
    DeviceUnavailableError,
    ModelIntegrityError,
    SessionClosedError,
    UsageError,
)
from asr_core.models.funasr_folder import FunasrFolder
from asr_core.recognizers.paraformer_backend import (
    UNLIMITED_TOKENS,
    Int32,
    ParaformerOutput,
    joined,
)
from asr_core.results import ModelInfo
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Array, Float32, Session, TensorSpec

logger = logging.getLogger(__name__)

_SPEECH, _LENGTHS, _BIAS = "speech", "speech_lengths", "bias_embed"
_SCORES, _COUNTS = "logits", "token_num"
_ALPHAS, _PEAKS = "us_alphas", "us_cif_peak"
_PROBE_FRAMES = 40
_MOST_WORKERS = 4
_NO_TOKEN = re.compile(r"shape: ?\{0[,}]")  # ONNX Runtime on an operator that gets nothing


class OnnxParaformer:
    """FunASR's graph; implements ``ParaformerBackend``.

    What the graph says of a segment depends on the others of a batch: on the padding that longer
    ones bring, on their values where it is quantized, and with more than 50 hotwords on the first
    one. So each segment is run alone, and up to four of them side by side: that uses the cores
    better than operators of several threads.

    Args:
        folder: with its graphs.
        name: catalogue name.
        threads: CPU threads, shared by the segments side by side, at least 1.

    Raises:
        ModelIntegrityError: a graph cannot be loaded or is of another kind.
        DeviceUnavailableError: ONNX Runtime is not installed.
    """

    def __init__(self, folder: FunasrFolder, *, name: str, threads: int) -> None:
        if folder.network is None:
            raise UsageError("The folder was opened without its graphs")
        workers = max(min(threads, _MOST_WORKERS), 1)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="paraformer")
        self._sessions: list[Session] = []
        self._network, self._embedder = folder.network, folder.hotword_network
        self._name = name
        try:
            self._open(folder, threads // workers)
        except (DeviceError, ModelIntegrityError):
            self.close()
            raise
        precision = "int8" if "quant" in folder.network.stem else "fp32"
        self._info = ModelInfo(name=name, backend=f"onnxruntime {precision}", device="cpu")

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def feature_dim(self) -> int:
        return self._feature_dim

    @property
    def vocabulary(self) -> int:
        return self._vocabulary

    @property
    def max_hotword_tokens(self) -> int:
        return self._max_hotword_tokens

    @property
    def max_frames(self) -> int:
        return 0

    def embed_hotwords(self, words: Sequence[Sequence[int]]) -> Float32:
        """See the protocol."""
        if not self._max_hotword_tokens:
            raise UsageError("This network takes no hotwords")
        lengths = [len(word) for word in words]
        if min(lengths, default=1) < 1 or max(lengths, default=1) > self._max_hotword_tokens:
            raise UsageError(f"Hotwords have 1 to {self._max_hotword_tokens} tokens, not {lengths}")
        embedder = self._session(1)
        spec = embedder.input_specs[0]
        width = spec.shape[1] or max(lengths, default=1)
        padded = np.zeros((len(words), width), spec.dtype)
        for row, word in enumerate(words):
            padded[row, : len(word)] = word
        hidden = embedder.run({spec.name: padded})[embedder.output_specs[0].name]
        picked: Float32 = hidden[np.array(lengths, np.intp) - 1, np.arange(len(words))]
        return picked

    def run(self, features: Float32, lengths: Int32, hotwords: Float32 | None) -> ParaformerOutput:
        """See the protocol."""
        bias = None if self._no_bias is None else hotwords
        if bias is None:
            bias = self._no_bias
        # The longest ones first, so that the workers end together.
        order = np.argsort(-lengths, kind="stable").tolist()
        done = self._pool.map(
            lambda row: self._run_one(features[row, : int(lengths[row])], bias), order
        )
        parts = [
            (np.array([row]), output)
            for row, output in zip(order, done, strict=True)
            if output is not None
        ]
        shape = (len(features), features.shape[1], self._vocabulary)
        return joined(parts, shape)

    def close(self) -> None:
        self._pool.shutdown()
        for session in self._sessions:
            session.close()
        self._sessions.clear()

    def _run_one(self, features: Float32, bias: Float32 | None) -> ParaformerOutput | None:
        """Recognize one segment, (frames, feature_dim); ``None``: it holds no token."""
        try:
            return self._run_graph(features, bias)
        except SessionClosedError:
            raise
        except DeviceError as exc:
            # The graph cannot handle a segment in which it finds no token; any other fault is one.
            if not _NO_TOKEN.search(str(exc)):
                raise
            logger.info("no token found frames=%d", len(features))
            return None

    def _run_graph(self, features: Float32, bias: Float32 | None) -> ParaformerOutput:
        session = self._session(0)
        dtypes = {spec.name: spec.dtype for spec in session.input_specs}
        inputs: dict[str, Array] = {
            _SPEECH: np.ascontiguousarray(features[None]),
            _LENGTHS: np.array([len(features)], dtypes[_LENGTHS]),
        }
        if bias is not None:
            inputs[_BIAS] = bias[None]
        outputs = session.run(inputs)
        return ParaformerOutput(
            scores=outputs[_SCORES],
            token_counts=outputs[_COUNTS].astype(np.int32),
            us_alphas=outputs.get(_ALPHAS),
            us_peaks=outputs.get(_PEAKS),
        )

    def _session(self, place: int) -> Session:
        if not self._sessions:
            raise SessionClosedError("The Paraformer networks are closed")
        return self._sessions[place]

    def _open(self, folder: FunasrFolder, threads: int) -> None:
        session = _load(self._network, self._name, threads)
        self._sessions.append(session)
        inputs = {spec.name: spec for spec in session.input_specs}
        outputs = {spec.name: spec for spec in session.output_specs}
        takes_bias = _BIAS in inputs
        wanted = {_SPEECH, _LENGTHS} | ({_BIAS} if takes_bias else set())
        given = {_SCORES, _COUNTS} | ({_ALPHAS, _PEAKS} if _ALPHAS in outputs else set())
        if set(inputs) != wanted or not given <= set(outputs):
            raise self._wrong(self._network, f"takes {sorted(inputs)}, gives {sorted(outputs)}")
        self._feature_dim = self._axis(inputs[_SPEECH], 2, folder.feature_dim)
        self._vocabulary = self._axis(outputs[_SCORES], 2, len(folder.tokens))
        self._max_hotword_tokens = 0
        self._no_bias: Float32 | None = None
        if takes_bias:
            self._open_embedder(folder, threads, inputs[_BIAS])
        self._probe()

    def _open_embedder(self, folder: FunasrFolder, threads: int, bias: TensorSpec) -> None:
        if self._embedder is None:
            raise self._wrong(self._network, "needs a graph for hotwords; the folder has none")
        embedder = _load(self._embedder, self._name, threads)
        self._sessions.append(embedder)
        if [len(spec.shape) for spec in embedder.input_specs] != [2]:
            raise self._wrong(self._embedder, "does not take one table of tokens")
        self._max_hotword_tokens = embedder.input_specs[0].shape[1] or UNLIMITED_TOKENS
        sos = folder.tokens.index("<s>") if "<s>" in folder.tokens else 1
        try:
            self._no_bias = self.embed_hotwords([[sos]])
        except (DeviceError, IndexError) as exc:
            raise self._wrong(self._embedder, f"does not embed hotwords: {exc}") from exc
        if self._no_bias.shape != (1, bias.shape[2] or self._no_bias.shape[-1]):
            raise self._wrong(self._embedder, f"gives vectors of shape {self._no_bias.shape}")

    def _axis(self, spec: TensorSpec, axis: int, expected: int) -> int:
        """Length of an axis, which has to be what the folder says."""
        size = spec.shape[axis] if len(spec.shape) > axis else 0
        if size is not None and size != expected:
            raise self._wrong(self._network, f"has {spec.name} of {spec.shape}, not {expected}")
        return expected

    def _probe(self) -> None:
        """Run the network once: what its declared shapes leave open shows itself here."""
        noise = np.random.default_rng(0).normal(size=(_PROBE_FRAMES, self._feature_dim))
        try:
            output = self._run_one(noise.astype(np.float32), self._no_bias)
        except (DeviceError, UsageError) as exc:
            raise self._wrong(self._network, f"cannot be run: {exc}") from exc
        if output is not None and output.scores.shape[2] != self._vocabulary:
            problem = f"scores {output.scores.shape[2]} tokens; the list has {self._vocabulary}"
            raise self._wrong(self._network, problem)

    def _wrong(self, path: Path, problem: str) -> ModelIntegrityError:
        return ModelIntegrityError(
            f"{path} is no graph of this Paraformer: it {problem}",
            name=self._name,
            path=str(path),
            reason="folder",
        )


def _load(path: Path, name: str, threads: int) -> OnnxSession:
    try:
        return OnnxSession(path, threads=threads)
    except DeviceUnavailableError:
        raise
    except DeviceError as exc:
        raise ModelIntegrityError(
            f"{path} cannot be loaded: {exc}", name=name, path=str(path), reason="folder"
        ) from exc
