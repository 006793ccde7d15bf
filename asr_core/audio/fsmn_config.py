"""What a model folder of FunASR says about its FSMN-VAD: ``config.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr_core.audio.endpointer import EndpointOptions
from asr_core.audio.features import FeatureOptions
from asr_core.errors import UsageError
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.funasr import ConfigError, Section, read_config, unusable


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
    name = path.parent.name
    content = read_config(path, name)
    try:
        return _config(content)
    except (ConfigError, UsageError) as exc:
        raise unusable(path, name, f"is no configuration of an FSMN-VAD: {exc}") from exc


def _config(content: Any) -> FsmnConfig:
    frontend = Section(content, "frontend_conf")
    model = Section(content, "model_conf")
    encoder = Section(content, "encoder_conf")
    features = _features(frontend)
    model.expect("sample_rate", SAMPLE_RATE_HZ)
    model.expect("frame_in_ms", features.frame_shift_ms)
    model.expect("frame_length_ms", features.frame_length_ms)
    cache = (1, encoder.whole("proj_dim", 128), encoder.whole("lorder", 20) - 1, 1)
    layers = encoder.whole("fsmn_layers", 4)
    if min(*cache, layers) < 1:
        raise ConfigError("encoder_conf describes no FSMN")
    return FsmnConfig(
        features=features,
        voice=_voice(model),
        endpoints=_endpoints(model, features.frame_shift_ms),
        cache_shapes=(cache,) * layers,
    )


def _features(frontend: Section) -> FeatureOptions:
    frontend.expect("fs", SAMPLE_RATE_HZ)
    frontend.expect("lfr_n", 1)
    return FeatureOptions(
        n_mels=frontend.whole("n_mels", 80),
        frame_length_ms=frontend.whole("frame_length", 25),
        frame_shift_ms=frontend.whole("frame_shift", 10),
        window=frontend.text("window", "hamming"),
        stack=frontend.whole("lfr_m", 1),
    )


def _voice(model: Section) -> VoiceOptions:
    return VoiceOptions(
        silence_units=model.numbers("sil_pdf_ids", (0,)),
        margin=model.number("speech_noise_thres", 0.6),
        silence_exponent=model.number("speech_2_noise_ratio", 1.0),
        min_level_db=model.number("decibel_thres", -100.0),
        min_snr_db=model.number("snr_thres", -100.0),
        noise_frames=model.whole("noise_frame_num_used_for_snr", 100),
    )


def _endpoints(model: Section, frame_ms: int) -> EndpointOptions:
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
