"""What a model folder of FunASR says about its FSMN-VAD: ``config.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr_core.audio.endpointer import EndpointOptions
from asr_core.audio.features import FeatureOptions
from asr_core.errors import ModelFileMissingError, ModelIntegrityError, UsageError
from asr_core.results import SAMPLE_RATE_HZ

_LARGEST_NUMBER = 1e9


@dataclass(frozen=True, slots=True)
class VoiceOptions:
    """When a frame holds a voice.

    Attributes:
        silence_units: outputs of the network whose sum is the probability of silence.
        margin: by how much speech must be likelier than silence.
        silence_exponent: power of the probability of silence in that comparison.
        min_level_db: a quieter frame holds no voice.
        min_snr_db: a frame that is less loud above the noise holds no voice.
        noise_frames: length of the running mean that is the level of the noise.
    """

    silence_units: tuple[int, ...] = (0,)
    margin: float = 0.6
    silence_exponent: float = 1.0
    min_level_db: float = -100.0
    min_snr_db: float = -100.0
    noise_frames: int = 100

    def __post_init__(self) -> None:
        if not self.silence_units or min(self.silence_units) < 0:
            raise UsageError("Silence must be at least one output of the network")
        if self.noise_frames < 1:
            raise UsageError("The level of the noise needs at least one frame")


@dataclass(frozen=True, slots=True)
class FsmnConfig:
    """One model.

    Attributes:
        features: what the network sees.
        voice: what its outputs mean.
        endpoints: how utterances are found in that.
        cache_shapes: of the memories that go from one network call to the next.
    """

    features: FeatureOptions
    voice: VoiceOptions
    endpoints: EndpointOptions
    cache_shapes: tuple[tuple[int, ...], ...]


def read_fsmn_config(path: Path) -> FsmnConfig:
    """Read the configuration; what it leaves out has FunASR's own default.

    A recording is always divided into all its utterances: ``detect_mode`` and the other settings
    of a single utterance have no effect, nor has what FunASR itself does not use.

    Args:
        path: ``config.yaml``.

    Raises:
        ModelFileMissingError: there is no such file.
        ModelIntegrityError: it is no configuration of an FSMN-VAD, or has an impossible value.
    """
    import yaml

    name = path.parent.name
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return _config(content)
    except FileNotFoundError as exc:
        raise ModelFileMissingError(
            f"{path.name} is missing in {path.parent}", name=name, path=str(path), reason="folder"
        ) from exc
    except (yaml.YAMLError, UnicodeDecodeError, _ConfigError, UsageError) as exc:
        raise ModelIntegrityError(
            f"{path} is no configuration of an FSMN-VAD: {exc}",
            name=name,
            path=str(path),
            reason="folder",
        ) from exc


class _ConfigError(ValueError):
    """A value that is missing or has the wrong kind."""


class _Section:
    """One mapping of the file."""

    def __init__(self, content: Any, name: str) -> None:
        section = content.get(name, {}) if isinstance(content, Mapping) else None
        if not isinstance(section, Mapping):
            raise _ConfigError(f"{name} is not a mapping")
        self._values = section
        self._name = name

    def number(self, key: str, default: float) -> float:
        value = self._values.get(key, default)
        try:
            # YAML reads 1e-4 as text.
            number = float(value)
        except (TypeError, ValueError) as exc:
            raise _ConfigError(f"{self._name}.{key} is not a number: {value!r}") from exc
        if not abs(number) <= _LARGEST_NUMBER:
            raise _ConfigError(f"{self._name}.{key} is not a usable number: {value!r}")
        return number

    def whole(self, key: str, default: int) -> int:
        number = self.number(key, default)
        if number != int(number):
            raise _ConfigError(f"{self._name}.{key} is not a whole number: {number}")
        return int(number)

    def text(self, key: str, default: str) -> str:
        value = self._values.get(key, default)
        if not isinstance(value, str):
            raise _ConfigError(f"{self._name}.{key} is not a text: {value!r}")
        return value

    def numbers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        values = self._values.get(key, default)
        if not isinstance(values, list | tuple) or not all(isinstance(v, int) for v in values):
            raise _ConfigError(f"{self._name}.{key} is not a list of whole numbers: {values!r}")
        return tuple(values)

    def expect(self, key: str, expected: int) -> None:
        number = self.whole(key, expected)
        if number != expected:
            raise _ConfigError(f"{self._name}.{key} is {number}; only {expected} is supported")


def _config(content: Any) -> FsmnConfig:
    frontend = _Section(content, "frontend_conf")
    model = _Section(content, "model_conf")
    encoder = _Section(content, "encoder_conf")
    features = _features(frontend)
    model.expect("sample_rate", SAMPLE_RATE_HZ)
    model.expect("frame_in_ms", features.frame_shift_ms)
    model.expect("frame_length_ms", features.frame_length_ms)
    cache = (1, encoder.whole("proj_dim", 128), encoder.whole("lorder", 20) - 1, 1)
    layers = encoder.whole("fsmn_layers", 4)
    if min(*cache, layers) < 1:
        raise _ConfigError("encoder_conf describes no FSMN")
    return FsmnConfig(
        features=features,
        voice=_voice(model),
        endpoints=_endpoints(model, features.frame_shift_ms),
        cache_shapes=(cache,) * layers,
    )


def _features(frontend: _Section) -> FeatureOptions:
    frontend.expect("fs", SAMPLE_RATE_HZ)
    frontend.expect("lfr_n", 1)
    return FeatureOptions(
        n_mels=frontend.whole("n_mels", 80),
        frame_length_ms=frontend.whole("frame_length", 25),
        frame_shift_ms=frontend.whole("frame_shift", 10),
        window=frontend.text("window", "hamming"),
        stack=frontend.whole("lfr_m", 1),
    )


def _voice(model: _Section) -> VoiceOptions:
    return VoiceOptions(
        silence_units=model.numbers("sil_pdf_ids", (0,)),
        margin=model.number("speech_noise_thres", 0.6),
        silence_exponent=model.number("speech_2_noise_ratio", 1.0),
        min_level_db=model.number("decibel_thres", -100.0),
        min_snr_db=model.number("snr_thres", -100.0),
        noise_frames=model.whole("noise_frame_num_used_for_snr", 100),
    )


def _endpoints(model: _Section, frame_ms: int) -> EndpointOptions:
    def frames(key: str, default_ms: int) -> int:
        return model.whole(key, default_ms) // frame_ms

    window = frames("window_size_ms", 200)
    # The window has fallen silent before the silence is counted.
    end_silence_ms = model.whole("max_end_silence_time", 800) - model.whole(
        "speech_to_sil_time_thres", 150
    )
    end_lookback = end_silence_ms // frame_ms
    lookback = window
    if model.whole("do_extend", 1):
        end_lookback = max(end_lookback - frames("lookahead_time_end_point", 100) - 1, 0)
        lookback += frames("lookback_time_start_point", 200)
    return EndpointOptions(
        window=window,
        onset=frames("sil_to_speech_time_thres", 150),
        offset=frames("speech_to_sil_time_thres", 150),
        lookback=lookback,
        end_silence=-(-end_silence_ms // frame_ms),
        end_lookback=end_lookback,
        max_utterance=frames("max_single_segment_time", 60_000),
    )
