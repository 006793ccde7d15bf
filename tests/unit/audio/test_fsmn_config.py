"""The configuration of a model folder: every value is used or refused, none is guessed."""

from __future__ import annotations

import pytest

from asr_core.audio.endpointer import EndpointOptions
from asr_core.audio.features import FeatureOptions
from asr_core.audio.fsmn_config import VoiceOptions, read_fsmn_config
from asr_core.errors import ModelFileMissingError, ModelIntegrityError, UsageError

PUBLISHED = """
frontend: WavFrontendOnline
frontend_conf: {fs: 16000, window: hamming, n_mels: 80, frame_length: 25, frame_shift: 10,
                dither: 0.0, lfr_m: 5, lfr_n: 1}
model: FsmnVADStreaming
model_conf:
    sample_rate: 16000
    detect_mode: 1
    max_end_silence_time: 800
    window_size_ms: 200
    sil_to_speech_time_thres: 150
    speech_to_sil_time_thres: 150
    speech_2_noise_ratio: 1.0
    do_extend: 1
    lookback_time_start_point: 200
    lookahead_time_end_point: 100
    max_single_segment_time: 60000
    snr_thres: -100.0
    noise_frame_num_used_for_snr: 100
    decibel_thres: -100.0
    speech_noise_thres: 0.6
    silence_pdf_num: 1
    sil_pdf_ids: [0]
    frame_in_ms: 10
    frame_length_ms: 25
encoder_conf: {input_dim: 400, fsmn_layers: 4, proj_dim: 128, lorder: 20}
"""


@pytest.fixture
def write(tmp_path):
    def write(text: str):
        path = tmp_path / "config.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_published_configuration(write):
    config = read_fsmn_config(write(PUBLISHED))
    assert config.features == FeatureOptions(80, 25, 10, "hamming", stack=5, stride=1)
    assert config.voice == VoiceOptions((0,), 0.6, 1.0, -100.0, -100.0, 100)
    assert config.endpoints == EndpointOptions(20, 15, 15, 40, 65, 54, 6_000)
    assert config.cache_shapes == ((1, 128, 19, 1),) * 4


def test_what_is_left_out_has_the_default_of_funasr(write):
    config = read_fsmn_config(write("frontend_conf: {lfr_m: 5}"))
    assert config == read_fsmn_config(write(PUBLISHED))


def test_every_value_has_its_effect(write):
    config = read_fsmn_config(
        write(
            """
frontend_conf: {n_mels: 40, window: povey, frame_length: 32, frame_shift: 20, lfr_m: 3}
model_conf: {frame_in_ms: 20, frame_length_ms: 32, window_size_ms: 400,
  sil_to_speech_time_thres: 200, speech_to_sil_time_thres: 100, max_end_silence_time: 1110,
  lookback_time_start_point: 300, lookahead_time_end_point: 60, max_single_segment_time: 9000,
  speech_noise_thres: 0.5, speech_2_noise_ratio: 1e-1, decibel_thres: -40, snr_thres: 3,
  noise_frame_num_used_for_snr: 50, sil_pdf_ids: [0, 7]}
encoder_conf: {fsmn_layers: 2, proj_dim: 16, lorder: 6}
"""
        )
    )
    assert config.features == FeatureOptions(40, 32, 20, "povey", stack=3)
    assert config.voice == VoiceOptions((0, 7), 0.5, 0.1, -40, 3, 50)
    assert config.endpoints == EndpointOptions(20, 10, 5, 35, 51, 46, 450)
    assert config.cache_shapes == ((1, 16, 5, 1),) * 2


def test_without_extension_an_utterance_ends_where_the_silence_begins(write):
    config = read_fsmn_config(write("model_conf: {do_extend: 0}"))
    assert config.endpoints == EndpointOptions(20, 15, 15, 20, 65, 65, 6_000)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "frontend_conf"),
        ("- 1", "frontend_conf"),
        ("model_conf: 3", "model_conf"),
        ("model_conf: [", "model_conf"),
        ("model_conf: {window_size_ms: long}", "window_size_ms"),
        ("model_conf: {window_size_ms: 1.5}", "window_size_ms"),
        ("model_conf: {window_size_ms: .nan}", "window_size_ms"),
        ("model_conf: {window_size_ms: .inf}", "window_size_ms"),
        ("model_conf: {window_size_ms: 100}", "window"),
        ("model_conf: {speech_noise_thres: []}", "speech_noise_thres"),
        ("model_conf: {sil_pdf_ids: 0}", "sil_pdf_ids"),
        ("model_conf: {sil_pdf_ids: []}", "output"),
        ("model_conf: {noise_frame_num_used_for_snr: 0}", "noise"),
        ("model_conf: {max_end_silence_time: 100}", "endpointer"),
        ("model_conf: {sample_rate: 8000}", "sample_rate is 8000"),
        ("model_conf: {frame_in_ms: 20}", "frame_in_ms"),
        ("frontend_conf: {fs: 8000}", "fs is 8000"),
        ("frontend_conf: {lfr_n: 6}", "lfr_n"),
        ("frontend_conf: {window: 3}", "window"),
        ("frontend_conf: {n_mels: 0}", "positive"),
        ("encoder_conf: {lorder: 1}", "FSMN"),
    ],
)
def test_an_impossible_configuration_says_where(write, text, reason):
    path = write(text)
    with pytest.raises(ModelIntegrityError, match=reason) as caught:
        read_fsmn_config(path)
    assert caught.value.details["path"] == str(path)


def test_a_file_that_is_no_text(write):
    path = write("")
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ModelIntegrityError):
        read_fsmn_config(path)


def test_a_missing_configuration(tmp_path):
    with pytest.raises(ModelFileMissingError, match=r"config\.yaml"):
        read_fsmn_config(tmp_path / "config.yaml")


def test_voice_options_must_make_sense():
    with pytest.raises(UsageError):
        VoiceOptions(silence_units=(-1,))
