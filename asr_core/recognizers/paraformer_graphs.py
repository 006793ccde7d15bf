"""Paraformer over graphs of its own, whatever runtime executes them.

Between the graphs stand the steps of the host: weights become tokens, the hotwords that matter are
chosen from a long list, and what the hotword part says is merged with what the decoder says.
Source of the rules: FunASR 1.4.16, ``seaco_paraformer/model.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from asr_core.errors import (
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    DeviceUnavailableError,
    ModelIntegrityError,
    SessionClosedError,
    UsageError,
)
from asr_core.networks.config import ParaformerConfig
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
from asr_core.recognizers.cif import (
    PEAK,
    acoustic_embeds,
    add_tail,
    count_tokens,
    fire_by_steps,
    fire_by_sums,
    scale_to_counts,
)
from asr_core.recognizers.paraformer_backend import (
    UNLIMITED_TOKENS,
    Int32,
    ParaformerOutput,
    joined,
)
from asr_core.recognizers.timestamps import UPSAMPLING
from asr_core.results import ModelInfo
from asr_core.runtime.session import Array, Float32, Session

Part = TypeVar("Part")

MOST_WORDS = 50
"""Of a longer list each recording gets the hotwords that it looks at most, and ``<s>``."""

TIMED_ROWS = 8
"""Segments in a run of the graph for times: it reads its weights once for all of them."""

_PROBE_FRAMES, _PROBE_TOKENS = 12, 3
_OVER_FRAMES = frozenset({"features", "positions", "mask", "encoded", "memory", "memory_mask"})


@dataclass(frozen=True, slots=True)
class Batching:
    """How the segments of a batch share runs of the graphs.

    Attributes:
        rows: most segments in one run; they are of like length, shorter ones are padded.
        timed_rows: the same for the graph for times.
        workers: runs side by side, as many as at the opening; more than 1 only where sessions may
            be used by several threads.
        frames: of the longest segment that the graphs take; 0: any.
        word_tokens: of the longest hotword that they take; 0: any.
    """

    rows: int
    workers: int = 1
    frames: int = 0
    word_tokens: int = 0
    timed_rows: int = TIMED_ROWS

    def __post_init__(self) -> None:
        if min(self.rows, self.timed_rows, self.workers) < 1:
            raise UsageError(f"Runs need segments and workers: {self}")


@dataclass(frozen=True, slots=True, eq=False)
class _Heard:
    """What a run says of its segments that hold a token.

    Attributes:
        rows: numbers of those segments, (segments,).
        counts: their tokens, (segments,).
        scores: log-probabilities, (segments, tokens, vocabulary).
        encoded: of each segment, (frames, width).
    """

    rows: npt.NDArray[np.intp]
    counts: Int32
    scores: Float32
    encoded: tuple[Float32, ...]


class GraphParaformer:
    """Implements ``ParaformerBackend`` over sessions.

    Args:
        config: of the model.
        sessions: one for each graph of :func:`asr_core.networks.graphs.paraformer_graphs`; they
            are closed with this.
        info: what the model is called.
        no_bias: number of ``<s>``, which means none of the hotwords.
        batching: how segments share runs.

    Raises:
        ModelIntegrityError: graphs are missing, are not those of this model, or cannot be run.
        DeviceError: the device is lost, has no memory or is not there.
    """

    def __init__(
        self,
        config: ParaformerConfig,
        sessions: Mapping[str, Session],
        *,
        info: ModelInfo,
        no_bias: int,
        batching: Batching,
    ) -> None:
        self._config = config
        self._sessions = dict(sessions)
        self._info = info
        self._positions = position_encoding(_PROBE_FRAMES, config.encoder.inputs)
        # A single run at a time needs no thread of its own, nor memory that belongs to one.
        self._pool = (
            ThreadPoolExecutor(batching.workers, thread_name_prefix="paraformer")
            if batching.workers > 1
            else None
        )
        self.batching = batching
        self._max_hotword_tokens = 0
        self._no_bias: Float32 | None = None
        try:
            self._check()
            self._probe()
            if config.bias is not None:
                tokens = self._session(EMBED).input_specs[0].shape[1] or batching.word_tokens
                self._max_hotword_tokens = tokens or UNLIMITED_TOKENS
                self._no_bias = self.embed_hotwords([[no_bias]])
        except (DeviceLostError, DeviceMemoryError, DeviceUnavailableError):
            # The device is at fault, not the graphs.
            self.close()
            raise
        except DeviceError as exc:
            self.close()
            raise self._wrong(f"cannot be run: {exc}") from exc
        except ModelIntegrityError:
            self.close()
            raise

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def feature_dim(self) -> int:
        return self._config.encoder.inputs

    @property
    def vocabulary(self) -> int:
        return self._config.vocabulary

    @property
    def max_hotword_tokens(self) -> int:
        return self._max_hotword_tokens

    @property
    def max_frames(self) -> int:
        return self.batching.frames

    def embed_hotwords(self, words: Sequence[Sequence[int]]) -> Float32:
        """See the protocol."""
        if not self._max_hotword_tokens:
            raise UsageError("This network takes no hotwords")
        lengths = [len(word) for word in words]
        if min(lengths, default=1) < 1 or max(lengths, default=1) > self._max_hotword_tokens:
            raise UsageError(f"Hotwords have 1 to {self._max_hotword_tokens} tokens, not {lengths}")
        tokens = np.zeros((len(words), max(lengths, default=1)), np.int32)
        for row, word in enumerate(words):
            tokens[row, : len(word)] = word
        embedded = self._session(EMBED).run({"tokens": tokens})["embedded"]
        picked: Float32 = embedded[np.arange(len(words)), np.array(lengths, np.intp) - 1]
        return picked

    def run(self, features: Float32, lengths: Int32, hotwords: Float32 | None) -> ParaformerOutput:
        """See the protocol."""
        self._session(ENCODE)
        words = self._no_bias if hotwords is None else hotwords
        # The longest ones first, so that workers end together and runs are padded little.
        order = np.argsort(-lengths, kind="stable")
        heard = self._each(
            lambda rows: self._hear(rows, features[rows, : lengths[rows[0]]], lengths[rows], words),
            _parts(order, self.batching.rows),
        )
        output = joined(
            [(part.rows, ParaformerOutput(part.scores, part.counts)) for part in heard],
            (len(features), features.shape[1], self.vocabulary),
        )
        if TIMES not in self._sessions:
            return output
        alphas = np.zeros((len(features), UPSAMPLING * features.shape[1]), np.float32)
        spoken = {
            row: encoded
            for part in heard
            for row, encoded in zip(part.rows.tolist(), part.encoded, strict=True)
        }
        for rows, weights in self._each(
            lambda rows: (rows, self._weights([spoken[row] for row in rows])),
            _parts([row for row in order.tolist() if row in spoken], self.batching.timed_rows),
        ):
            alphas[rows, : weights.shape[1]] = scale_to_counts(weights, output.token_counts[rows])
        return replace(output, us_alphas=alphas, us_peaks=fire_by_steps(alphas, PEAK))

    def close(self) -> None:
        if self._pool:
            self._pool.shutdown()
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def _each(self, work: Callable[[Sequence[int]], Part], runs: list[list[int]]) -> list[Part]:
        return list(self._pool.map(work, runs) if self._pool else map(work, runs))

    def _hear(
        self, rows: Sequence[int], features: Float32, lengths: Int32, words: Float32 | None
    ) -> _Heard:
        """One run of all graphs but that for times, (segments, frames, feature_dim)."""
        planes = np.ascontiguousarray(features[:, np.newaxis])
        mask = _mask(lengths, planes.shape[2])
        found = self._session(ENCODE).run(
            {"features": planes, "positions": self._position(planes.shape[2]), "mask": mask}
        )
        encoded = found["encoded"]
        embeds, counts = self._embeds(encoded[:, 0], found["alphas"][:, 0, :, 0], lengths)
        spoken = np.flatnonzero(counts)
        counts, lengths = counts[spoken], lengths[spoken]
        if len(spoken) < len(rows):
            # Rows without a token would only cost time.
            encoded, mask, embeds = encoded[spoken], mask[spoken], embeds[spoken]
        scores = np.zeros((0, 0, self.vocabulary), np.float32)
        if len(spoken):
            scores = self._scores(embeds, counts, encoded, mask, words)
        kept = tuple(plane[0, :length] for plane, length in zip(encoded, lengths, strict=True))
        return _Heard(np.asarray(rows)[spoken], counts, scores, kept)

    def _embeds(self, encoded: Float32, alphas: Float32, lengths: Int32) -> tuple[Float32, Int32]:
        """One vector for each token, (segments, tokens, width), and the tokens of each segment."""
        predictor = self._config.predictor
        hidden, weights = add_tail(encoded, alphas, lengths, predictor.tail_threshold)
        counts = count_tokens(weights)
        fires = fire_by_steps(weights) if predictor.upsampling else fire_by_sums(weights)
        return acoustic_embeds(hidden, weights, fires, counts), counts

    def _scores(
        self,
        embeds: Float32,
        counts: Int32,
        encoded: Float32,
        mask: Float32,
        words: Float32 | None,
    ) -> Float32:
        """Log-probabilities, (segments, tokens, vocabulary)."""
        planes = np.ascontiguousarray(embeds[:, np.newaxis])
        token_mask = _mask(counts, planes.shape[2])
        read = self._session(DECODE).run(
            {"embeds": planes, "token_mask": token_mask, "memory": encoded, "memory_mask": mask}
        )
        scores: Float32 = read["scores"][:, 0]
        if words is None:
            return scores
        chosen = self._chosen(words, read["hidden"], token_mask)
        heard = self._session(BIAS).run(
            {
                "embeds": planes,
                "hidden": read["hidden"],
                "token_mask": token_mask,
                "words": chosen,
                "word_mask": np.ones((len(chosen), 1, chosen.shape[2], 1), np.float32),
            }
        )["scores"][:, 0]
        is_hotword = heard.argmax(axis=-1) != self._config.no_bias
        scores[is_hotword] = heard[is_hotword]
        return scores

    def _chosen(self, words: Float32, hidden: Float32, token_mask: Float32) -> Float32:
        """The hotwords that each segment may use, (segments, 1, words, width)."""
        listed = np.broadcast_to(words, (len(hidden), 1, *words.shape))
        if len(words) <= MOST_WORDS:
            return np.ascontiguousarray(listed)
        attention = self._session(FILTER).run(
            {
                "hidden": hidden,
                "token_mask": token_mask,
                "words": np.ascontiguousarray(listed),
                "word_mask": np.ones((len(hidden), 1, len(words), 1), np.float32),
            }
        )["attention"][:, 0, 0]
        # The last word, which means none of them, is always there; it may be there twice.
        most = np.argsort(-attention, axis=1, kind="stable")[:, :MOST_WORDS]
        last = np.full((len(hidden), 1), len(words) - 1)
        return np.ascontiguousarray(words[np.concatenate([most, last], axis=1)][:, np.newaxis])

    def _weights(self, encoded: Sequence[Float32]) -> Float32:
        """Weights of parts of frames, (segments, parts); the first segment is the longest."""
        lengths = np.array([len(frames) for frames in encoded], np.int32)
        planes = np.zeros((len(encoded), 1, *encoded[0].shape), np.float32)
        for plane, frames in zip(planes, encoded, strict=True):
            plane[0, : len(frames)] = frames
        parts = lengths.astype(np.int64) * self._config.predictor.upsampling
        weights: Float32 = self._session(TIMES).run(
            {"encoded": planes, "mask": _mask(lengths, planes.shape[2]), "part_counts": parts}
        )["us_alphas"]
        return weights

    def _position(self, frames: int) -> Float32:
        positions = self._positions
        if frames > positions.shape[2]:
            positions = self._positions = position_encoding(frames, self.feature_dim)
        return positions[:, :, :frames]

    def _session(self, graph: str) -> Session:
        if not self._sessions:
            raise SessionClosedError("The Paraformer networks are closed")
        return self._sessions[graph]

    def _check(self) -> None:
        """Whether the graphs are those of the configuration."""
        for name, graph in paraformer_graphs(self._config).items():
            if name not in self._sessions:
                raise self._wrong(f"lack {name}")
            session = self._sessions[name]
            for kind, specs, wanted in (
                ("takes", session.input_specs, graph.inputs),
                ("gives", session.output_specs, graph.outputs),
            ):
                found = {spec.name: spec for spec in specs}
                if set(found) != {spec.name for spec in wanted}:
                    raise self._wrong(f"are others: {name} {kind} {sorted(found)}")
                for spec in wanted:
                    given = found[spec.name]
                    if given.dtype != spec.dtype or not _fits(given.shape, spec.shape):
                        raise self._wrong(f"are of another model: {name} {kind} {given}")

    def _probe(self) -> None:
        """Run every graph once: what its declared shapes leave open shows itself here."""
        rng = np.random.default_rng(0)
        for name, graph in paraformer_graphs(self._config).items():
            inputs: dict[str, Array] = {}
            for spec in graph.inputs:
                time = _PROBE_FRAMES if spec.name in _OVER_FRAMES else _PROBE_TOKENS
                shape = [axis or (time if place else 1) for place, axis in enumerate(spec.shape)]
                is_plane = spec.dtype == "float32" and not spec.name.endswith("mask")
                values = rng.normal(size=shape) if is_plane else np.ones(shape)
                inputs[spec.name] = values.astype(spec.dtype)
            if name == TIMES:
                inputs["part_counts"] *= _PROBE_FRAMES * self._config.predictor.upsampling
            found = self._session(name).run(inputs)
            for spec in graph.outputs:
                given = found[spec.name].shape
                if not _fits(given, spec.shape):
                    raise self._wrong(f"are of another model: {name} gives {given}")

    def _wrong(self, problem: str) -> ModelIntegrityError:
        return ModelIntegrityError(
            f"The graphs of {self._info.name} {problem}",
            name=self._info.name,
            path=self._info.name,
            reason="graphs",
        )


def _parts(rows: Sequence[int] | npt.NDArray[np.intp], most: int) -> list[list[int]]:
    return [list(rows[first : first + most]) for first in range(0, len(rows), most)]


def _mask(lengths: Int32, time: int) -> Float32:
    """1 inside each length and 0 behind it, (rows, 1, time, 1)."""
    inside = np.arange(time) < lengths[:, np.newaxis]
    return inside.astype(np.float32)[:, np.newaxis, :, np.newaxis]


def _fits(found: Sequence[int | None], wanted: Sequence[int | None]) -> bool:
    """Whether a shape may be the one that is wanted."""
    return len(found) == len(wanted) and all(
        one is None or other is None or one == other
        for one, other in zip(found, wanted, strict=True)
    )
