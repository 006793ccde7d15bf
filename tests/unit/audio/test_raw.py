"""Headerless PCM is read as it is declared."""

from __future__ import annotations

import numpy as np
import pytest

from asr_core.audio.decode import DecodeOptions, open_audio
from asr_core.audio.raw import ENCODINGS, RawFormat, parse_raw
from asr_core.errors import AudioDecodeError, SettingsError
from tests.unit.audio.recordings import sweep

# How NumPy writes what the declaration says.
LAYOUTS = {
    "s8": ("i1", 127),
    "u8": ("u1", 127),
    "s16le": ("<i2", 32767),
    "s16be": (">i2", 32767),
    "s32le": ("<i4", 2**31 - 128),
    "s32be": (">i4", 2**31 - 128),
    "f32le": ("<f4", 1),
    "f32be": (">f4", 1),
    "f64le": ("<f8", 1),
    "f64be": (">f8", 1),
}


def decode(path, raw, **more):
    with open_audio(path, options=DecodeOptions(raw=raw, **more)) as source:
        blocks = list(source.channel_blocks())
        return np.concatenate(blocks, axis=1), source


@pytest.mark.parametrize("encoding", LAYOUTS)
@pytest.mark.parametrize("channels", [1, 2])
def test_every_layout_gives_the_same_sound(tmp_path, encoding, channels):
    path = tmp_path / "recorder.pcm"
    dtype, scale = LAYOUTS[encoding]
    expected = sweep(3, 16_000)
    samples = expected * scale + (128 if encoding == "u8" else 0)
    interleaved = np.repeat(samples[:, None], channels, axis=1)
    path.write_bytes(np.ascontiguousarray(interleaved).astype(dtype).tobytes())

    waveform, source = decode(path, f"{encoding}:16000:{channels}", split=True)

    assert waveform.shape == (channels, len(expected))
    np.testing.assert_allclose(waveform[-1], expected, atol=2 / min(scale, 2**15) + 1e-6)
    assert (source.info.container, source.info.sample_rate_hz) == ("raw", 16_000)
    assert [w.code for w in source.warnings] == (["channels_alike"] if channels > 1 else [])


def test_another_rate_is_resampled(tmp_path):
    path = tmp_path / "recorder.raw"
    path.write_bytes((sweep(4, 8_000, top_hz=3_000) * 32767).astype("<i2").tobytes())
    waveform, source = decode(path, "s16le:8000:1")
    assert abs(waveform.shape[1] - 64_000) <= 1
    assert [warning.code for warning in source.warnings] == ["narrowband"]


def test_what_is_declared_raw_is_read_raw_even_if_it_looks_otherwise(tmp_path):
    path = tmp_path / "odd.wav"
    path.write_bytes(b"RIFF" + bytes(15_996))
    waveform, source = decode(path, "s16le:16000:1")
    assert waveform.shape == (1, 8_000)
    assert source.warnings == []


def test_less_than_one_sample_is_no_sound(tmp_path):
    path = tmp_path / "short.pcm"
    path.write_bytes(b"1")
    with pytest.raises(AudioDecodeError) as caught:
        decode(path, "s16le:16000:1")
    assert caught.value.details["reason"] == "header_only"


@pytest.mark.parametrize(
    "declared",
    ["", "s16le", "s16le:16000", "s16:16000:1", "s16le:0:1", "s16le:16000:0", "s16le:1e4:1"],
)
def test_other_declarations_are_refused_with_what_is_allowed(declared):
    with pytest.raises(SettingsError) as caught:
        parse_raw(declared)
    assert "s16le:16000:1" in str(caught.value.details["allowed"])


def test_every_encoding_can_be_declared():
    for encoding in ENCODINGS:
        assert parse_raw(f"{encoding}:48000:2") == RawFormat(encoding, 48_000, 2)


def test_a_file_named_like_raw_pcm_is_told_how_to_be_declared(tmp_path):
    path = tmp_path / "dump.pcm"
    path.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(AudioDecodeError) as caught, open_audio(path):
        pass
    assert caught.value.details["reason"] == "raw_undeclared"
