"""Voice activity by FSMN-VAD: a model folder of FunASR, its network, and intervals of speech."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from asr_core.audio.endpointer import Endpointer
from asr_core.audio.features import (
    Cmvn,
    FeatureOptions,
    FeatureStream,
    LevelStream,
    level_range_db,
    read_cmvn,
)
from asr_core.audio.fsmn_config import FsmnConfig, VoiceOptions, read_fsmn_config
from asr_core.errors import ModelIntegrityError, UsageError
from asr_core.runtime.funasr import CHECKPOINT_FILES, CMVN_FILE, CONFIG_FILE, find_files, unusable
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Array, Float32, Session

NETWORK_FILES = ("model.onnx", "model_quant.onnx", *CHECKPOINT_FILES)
"""The first that exists is used: the whole network is small, and quantized it is less exact.
MindSpore executes checkpoints."""

_BATCH_FRAMES = 512  # of one network call at most: bounds memory, and the fastest that was measured
_MODEL_NAME = "fsmn-vad"
_NO_NOISE_DB = -100.0  # level of the noise before any was heard


class FsmnVad:
    """A loaded FSMN-VAD.

    Used by one thread at a time; streams share the network and nothing else.

    Args:
        session: network whose first input is (1, frames, features) and the others its caches;
            its first output is (1, frames, units) probabilities, the others the next caches.
        config: what the model folder says.
        cmvn: normalization of the features.

    Raises:
        ModelIntegrityError: the network has another number of caches than the configuration.
    """

    def __init__(self, session: Session, config: FsmnConfig, cmvn: Cmvn) -> None:
        expected = 1 + len(config.cache_shapes)
        if len(session.input_specs) != expected or len(session.output_specs) != expected:
            raise ModelIntegrityError(
                f"The network of FSMN-VAD takes {len(session.input_specs)} arrays, not {expected}",
                name=_MODEL_NAME,
                path=NETWORK_FILES[0],
                reason="folder",
            )
        self._session = session
        self._config = config
        self._cmvn = cmvn

    def stream(self) -> FsmnVadStream:
        """A fresh stream for one recording."""
        return FsmnVadStream(self._session, self._config, self._cmvn)

    def close(self) -> None:
        self._session.close()


class FsmnVadStream:
    """The intervals of speech in one recording that arrives in pieces of any length.

    Source of the behaviour: ``Fsmn_vad`` of funasr-onnx 0.4.3, whose intervals these are.
    """

    def __init__(self, session: Session, config: FsmnConfig, cmvn: Cmvn) -> None:
        self._features = FeatureStream(config.features, cmvn)
        self._scorer = _Scorer(session, config.cache_shapes)
        self._voice = _VoiceDecision(config.voice, config.features)
        self._endpointer = Endpointer(config.endpoints)
        self._frame_samples = config.features.frame_shift_samples
        self._finished = False

    @property
    def settled(self) -> int:
        """Position in samples; no later interval starts before it. Never falls."""
        return self._endpointer.settled * self._frame_samples

    @property
    def open_span(self) -> tuple[int, int] | None:
        """Speech that has not ended, in samples, as far as it is certain; final later."""
        utterance = self._endpointer.open_utterance
        return self._in_samples([utterance])[0] if utterance else None

    def accept(self, waveform: Float32) -> list[tuple[int, int]]:
        """Feed the next piece.

        Args:
            waveform: float32 mono 16 kHz in [-1, 1], shape (samples,).

        Returns:
            Intervals of speech that became final, in samples, half-open; sorted, disjoint.
        """
        if self._finished:
            raise UsageError("The voice activity stream is finished")
        intervals = []
        step = _BATCH_FRAMES * self._frame_samples
        for start in range(0, len(waveform), step):
            piece = waveform[start : start + step]
            self._voice.hear(piece)
            intervals += self._detect(self._features.accept(piece))
        return intervals

    def finish(self) -> list[tuple[int, int]]:
        """End of the recording: the remaining intervals, as :meth:`accept` returns them."""
        self._finished = True
        last = self._detect(self._features.finish())
        return [*last, *self._in_samples(self._endpointer.finish())]

    def _detect(self, features: Float32) -> list[tuple[int, int]]:
        if not len(features):
            return []
        voiced = self._voice.decide(self._scorer.score(features))
        return self._in_samples(self._endpointer.accept(voiced))

    def _in_samples(self, intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return [
            (start * self._frame_samples, end * self._frame_samples) for start, end in intervals
        ]


class _Scorer:
    """Runs the network piece by piece; its caches make that the same as in one run."""

    def __init__(self, session: Session, cache_shapes: tuple[tuple[int, ...], ...]) -> None:
        self._session = session
        self._inputs = [spec.name for spec in session.input_specs]
        self._outputs = [spec.name for spec in session.output_specs]
        self._caches: list[Array] = [np.zeros(shape, np.float32) for shape in cache_shapes]

    def score(self, features: Float32) -> Float32:
        """Probabilities of the units, float32, shape (frames, units)."""
        arrays = [features[None], *self._caches]
        outputs = self._session.run(dict(zip(self._inputs, arrays, strict=True)))
        scores, *self._caches = [outputs[name] for name in self._outputs]
        units: Float32 = scores[0]
        return units


class _VoiceDecision:
    """Which frames hold a voice, by their probabilities and, where asked for, their loudness."""

    def __init__(self, options: VoiceOptions, features: FeatureOptions) -> None:
        self._options = options
        self._units = list(options.silence_units)
        self._noise_db = _NO_NOISE_DB
        lowest, highest = level_range_db(features)
        # Thresholds that no frame can miss need no levels.
        is_bound = options.min_level_db > lowest or options.min_snr_db > lowest - highest
        self._levels = LevelStream(features) if is_bound else None
        self._heard: npt.NDArray[np.float64] = np.zeros(0, np.float64)

    def hear(self, waveform: Float32) -> None:
        """The piece of the recording whose frames are decided next or later."""
        if self._levels is not None:
            self._heard = np.concatenate([self._heard, self._levels.accept(waveform)])

    def decide(self, scores: Float32) -> npt.NDArray[np.bool_]:
        """Whether the next frames hold a voice.

        Args:
            scores: float32, shape (frames, units).

        Returns:
            bool, shape (frames,).
        """
        silence = scores[:, self._units].sum(axis=1, dtype=np.float64).clip(0.0, 1.0)
        likely: npt.NDArray[np.bool_] = (
            1.0 - silence >= silence**self._options.silence_exponent + self._options.margin
        )
        if self._levels is None:
            return likely
        levels, self._heard = self._heard[: len(likely)], self._heard[len(likely) :]
        pairs = zip(likely.tolist(), levels.tolist(), strict=True)
        return np.array([self._is_voiced(is_likely, level_db) for is_likely, level_db in pairs])

    def _is_voiced(self, is_likely: bool, level_db: float) -> bool:
        if level_db < self._options.min_level_db:
            return False
        if is_likely:
            return level_db - self._noise_db >= self._options.min_snr_db
        if self._noise_db == _NO_NOISE_DB:
            self._noise_db = level_db
        else:
            self._noise_db += (level_db - self._noise_db) / self._options.noise_frames
        return False


def load_fsmn_vad(folder: Path, threads: int = 1) -> FsmnVad:
    """Load a model folder as FunASR publishes and exports it.

    Args:
        folder: holds ``config.yaml``, ``am.mvn`` and ``model.onnx``, ``model_quant.onnx`` or a
            checkpoint.
        threads: CPU threads of the network.

    Raises:
        ModelFileMissingError: the folder or one of its files is missing.
        ModelIntegrityError: a file has another content.
        DeviceError: ONNX Runtime cannot load the network, or MindSpore cannot be used.
    """
    wanted = ((CONFIG_FILE,), (CMVN_FILE,), NETWORK_FILES)
    config_file, cmvn_file, network = find_files(folder, wanted, _MODEL_NAME)
    config, cmvn = read_fsmn_config(config_file), read_cmvn(cmvn_file)
    dim = config.features.stack * config.features.n_mels
    if len(cmvn.shift) != dim:
        problem = f"normalizes {len(cmvn.shift)} values, not {dim}"
        raise unusable(cmvn_file, _MODEL_NAME, problem)
    return FsmnVad(_open(config_file, network, threads), config, cmvn)


def _open(config: Path, network: Path, threads: int) -> Session:
    if network.name in CHECKPOINT_FILES:
        from asr_core.networks.funasr_sessions import fsmn_vad_session

        return fsmn_vad_session(config, network, threads=threads)
    return OnnxSession(network, threads=threads)
