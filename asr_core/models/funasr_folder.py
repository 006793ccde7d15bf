"""A Paraformer model folder of FunASR: which files it has and what the small ones say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from asr_core.audio.features import Cmvn, FeatureOptions, read_cmvn
from asr_core.errors import UsageError
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.funasr import (
    CMVN_FILE,
    CONFIG_FILE,
    TOKENS_FILE,
    find_files,
    first_of,
    read_config,
    unusable,
)

SEGMENTATION_FILE = "seg_dict"
NETWORK_FILES = ("model_quant.onnx", "model.onnx")
"""The first that exists is used."""

HOTWORD_FILES = ("model_eb_quant.onnx", "model_eb.onnx")
"""The network that embeds hotwords; the first that exists is used."""

HOTWORD_MODELS = frozenset({"SeacoParaformer", "ContextualParaformer"})
"""Values of ``model`` in the configuration whose networks take hotwords."""


@dataclass(frozen=True, slots=True, eq=False)
class FunasrFolder:
    """One model.

    Attributes:
        path: the folder.
        model: FunASR's name of the kind of network (``SeacoParaformer``, ``Paraformer``).
        features: what the network sees.
        cmvn: normalization over ``features.stack * features.n_mels`` values.
        tokens: text of each token, by number.
        segmentation: pieces of English words and of characters (``seg_dict``); empty if the folder
            has none.
        network: the ONNX graph; ``None`` when it was not asked for.
        hotword_network: the graph that embeds hotwords; ``None`` for a model without hotwords.
    """

    path: Path
    model: str
    features: FeatureOptions
    cmvn: Cmvn
    tokens: tuple[str, ...]
    segmentation: Mapping[str, tuple[str, ...]]
    network: Path | None = None
    hotword_network: Path | None = None

    @property
    def feature_dim(self) -> int:
        """Values of one feature frame."""
        return self.features.stack * self.features.n_mels


def open_folder(path: Path, *, name: str, graphs: bool = True) -> FunasrFolder:
    """Find the files and read the small ones. Every missing file is named in one error.

    Args:
        path: the folder.
        name: of the model, for messages.
        graphs: whether the ONNX graphs are needed.

    Raises:
        ModelFileMissingError: files are missing.
        ModelIntegrityError: a file has another content.
    """
    # A configuration that is missing is told together with the other files.
    config = _read_mapping(path, name)
    kind = _text(config.get("model"), "Paraformer")
    wanted: list[tuple[str, ...]] = [(CONFIG_FILE,), (TOKENS_FILE,), (CMVN_FILE,)]
    if graphs:
        wanted.append(NETWORK_FILES)
    # A folder without its configuration may be of either kind; then the graph shows what it is.
    if graphs and (kind in HOTWORD_MODELS or first_of(path, HOTWORD_FILES)):
        wanted.append(HOTWORD_FILES)
    find_files(path, wanted, name)
    features, cmvn = _read_features(path, config, name), read_cmvn(path / CMVN_FILE)
    folder = FunasrFolder(
        path=path,
        model=kind,
        features=features,
        cmvn=cmvn,
        tokens=_read_tokens(path / TOKENS_FILE, name),
        segmentation=_read_segmentation(path / SEGMENTATION_FILE, name),
        network=first_of(path, NETWORK_FILES) if graphs else None,
        hotword_network=first_of(path, HOTWORD_FILES) if graphs else None,
    )
    if len(cmvn.shift) != folder.feature_dim:
        problem = f"normalizes {len(cmvn.shift)} values; the features have {folder.feature_dim}"
        raise unusable(path / CMVN_FILE, name, problem)
    return folder


def read_kind(path: Path, name: str) -> str:
    """FunASR's name of the kind of network; empty where no configuration says it.

    Raises:
        ModelIntegrityError: the configuration cannot be read.
    """
    return _text(_read_mapping(path, name).get("model"), "")


def _read_mapping(path: Path, name: str) -> Mapping[str, Any]:
    if not (path / CONFIG_FILE).is_file():
        return {}
    config = read_config(path / CONFIG_FILE, name)
    if not isinstance(config, Mapping):
        raise unusable(path / CONFIG_FILE, name, "is no configuration of a model")
    return config


def _read_features(folder: Path, config: Mapping[str, Any], name: str) -> FeatureOptions:
    path = folder / CONFIG_FILE
    frontend = config.get("frontend_conf")
    if not isinstance(frontend, Mapping):
        raise unusable(path, name, "has no frontend_conf")
    try:
        rate_hz = int(frontend.get("fs", SAMPLE_RATE_HZ))
        options = FeatureOptions(
            n_mels=int(frontend.get("n_mels", 80)),
            frame_length_ms=int(frontend.get("frame_length", 25)),
            frame_shift_ms=int(frontend.get("frame_shift", 10)),
            window=_text(frontend.get("window"), "hamming"),
            stack=int(frontend.get("lfr_m", 1)),
            stride=int(frontend.get("lfr_n", 1)),
        )
    except (TypeError, ValueError, UsageError) as exc:
        raise unusable(path, name, f"describes no features: {exc}") from exc
    if rate_hz != SAMPLE_RATE_HZ:
        raise unusable(path, name, f"is for {rate_hz} Hz; only {SAMPLE_RATE_HZ} is supported")
    return options


def _read_tokens(path: Path, name: str) -> tuple[str, ...]:
    try:
        tokens = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise unusable(path, name, f"cannot be read: {exc}") from exc
    if not isinstance(tokens, list) or len(tokens) < 4 or not _are_texts(tokens):
        raise unusable(path, name, "is no list of tokens")
    return tuple(tokens)


def _read_segmentation(path: Path, name: str) -> Mapping[str, tuple[str, ...]]:
    """``word piece piece ...`` on each line."""
    if not path.is_file():
        return MappingProxyType({})
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise unusable(path, name, f"cannot be read: {exc}") from exc
    rows = (line.split() for line in lines)
    return MappingProxyType({row[0]: tuple(row[1:]) for row in rows if len(row) > 1})


def _are_texts(items: Sequence[object]) -> bool:
    return all(isinstance(item, str) for item in items)


def _text(value: object, default: str) -> str:
    return value if isinstance(value, str) else default
