"""Sizes of a Paraformer come from its configuration; what is not supported is named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from asr_core.errors import ModelFileMissingError, ModelIntegrityError
from asr_core.networks.config import (
    DecoderShape,
    EncoderShape,
    PredictorShape,
    read_paraformer_config,
)
from tests.golden.paraformer_files import PLAIN as PLAIN_FOLDER
from tests.golden.paraformer_files import SEACO as SEACO_FOLDER

SEACO = SEACO_FOLDER / "config.yaml"
PLAIN = PLAIN_FOLDER / "config.yaml"
VOCABULARY = 61


def changed(folder: Path, changes: Mapping[str, Any], source: Path = SEACO) -> Path:
    """A configuration with other values; names of values in sections have a point, None removes."""
    content = yaml.safe_load(source.read_text(encoding="utf-8"))
    for name, value in changes.items():
        section, _, key = name.rpartition(".")
        target = content[section] if section else content
        if value is None:
            target.pop(key, None)
        else:
            target[key] = value
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def test_a_model_with_hotwords() -> None:
    config = read_paraformer_config(SEACO, VOCABULARY)
    assert config.vocabulary == VOCABULARY
    assert config.no_bias == 59
    assert config.encoder == EncoderShape(560, 16, 4, 24, layers=3, taps=11, shift=0)
    assert config.decoder == DecoderShape(16, 4, 24, attending=2, remembering=0, taps=11, shift=0)
    assert config.predictor == PredictorShape(16, 1, 1, 1.0, 0.0, 1.0, 0.45, 3, 0.25, 0.01)
    # The configuration asks for four blocks and leaves out that six attend, which decides.
    assert config.bias == DecoderShape(16, 4, 20, attending=6, remembering=0, taps=21, shift=0)


def test_a_plain_model() -> None:
    config = read_paraformer_config(PLAIN, VOCABULARY)
    assert (config.bias, config.no_bias) == (None, None)
    assert config.encoder == EncoderShape(560, 16, 2, 24, layers=2, taps=8, shift=0)
    assert config.decoder == DecoderShape(16, 1, 24, attending=1, remembering=2, taps=6, shift=1)
    assert config.predictor == PredictorShape(16, 2, 1, 0.9, 0.02, 1.0, 0.45, 0, 1.0, 0.0)


def test_numbers_that_yaml_reads_as_texts(tmp_path: Path) -> None:
    path = changed(tmp_path, {"predictor_conf.noise_threshold2": "1e-4"})
    assert read_paraformer_config(path, VOCABULARY).predictor.upsampled_noise == 1e-4


def test_the_front_end_says_how_wide_a_frame_is(tmp_path: Path) -> None:
    path = changed(tmp_path, {"input_size": None, "frontend_conf.n_mels": 40})
    assert read_paraformer_config(path, VOCABULARY).encoder.inputs == 280


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model": "SenseVoiceSmall"}, "SenseVoiceSmall"),
        ({"model": None}, "model"),
        ({"encoder": "ConformerEncoder"}, "ConformerEncoder"),
        ({"decoder": "ContextualParaformerDecoder"}, "ContextualParaformerDecoder"),
        ({"seaco_decoder": None}, "seaco_decoder"),
        ({"predictor": "CifPredictor"}, "CifPredictor"),
        ({"model_conf.bias_encoder_bid": True}, "bias_encoder_bid"),
        ({"model_conf.bias_encoder_type": "mean"}, "bias_encoder_type"),
        ({"model_conf.inner_dim": 32}, "inner_dim"),
        ({"model_conf.NO_BIAS": 61}, "NO_BIAS"),
        ({"model_conf": [1]}, "model_conf"),
        ({"encoder_conf.input_layer": "conv2d"}, "input_layer"),
        ({"encoder_conf.normalize_before": False}, "normalize_before"),
        ({"encoder_conf.selfattention_layer_type": "selfattn"}, "selfattention_layer_type"),
        ({"encoder_conf.output_size": 17}, "heads"),
        ({"encoder_conf.num_blocks": 0}, "num_blocks"),
        ({"encoder_conf.num_blocks": 2.5}, "num_blocks"),
        ({"encoder_conf.num_blocks": "many"}, "num_blocks"),
        ({"encoder_conf.kernel_size": float("nan")}, "kernel_size"),
        ({"encoder_conf.sanm_shfit": 6}, "sanm_shfit"),
        ({"input_size": 561}, "561"),
        ({"predictor_conf.idim": 15}, "idim"),
        ({"predictor_conf.use_cif1_cnn": True}, "use_cif1_cnn"),
        ({"predictor_conf.upsample_type": "cnn_attn"}, "upsample_type"),
        ({"predictor_conf.upsample_times": 5}, "upsample_times"),
        ({"predictor_conf.upsample_times": None}, "upsample_times"),
        ({"predictor_conf.threshold": 0.9}, "threshold"),
        ({"predictor_conf.tail_threshold": None}, "tail_threshold"),
        ({"seaco_decoder_conf.num_blocks": 7}, "seaco_decoder_conf"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_supported_is_named(
    tmp_path: Path, changes: Mapping[str, Any], named: str
) -> None:
    path = changed(tmp_path, changes)
    with pytest.raises(ModelIntegrityError, match=named) as caught:
        read_paraformer_config(path, VOCABULARY)
    assert caught.value.details["path"] == str(path)


@pytest.mark.parametrize("content", [b"", b"- 1", b"a: [", b"\xff\xfe\x00"])
def test_what_is_no_configuration_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    with pytest.raises(ModelIntegrityError):
        read_paraformer_config(path, VOCABULARY)


def test_a_missing_configuration_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissingError, match=r"config\.yaml"):
        read_paraformer_config(tmp_path / "config.yaml", VOCABULARY)
