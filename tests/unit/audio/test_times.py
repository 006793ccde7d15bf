"""What is heard at a moment of the recording is found at that moment of the waveform."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from asr_core.audio.decode import probe
from asr_core.audio.detector import open_detector
from asr_core.errors import AudioDecodeError
from tests.unit.audio.encoders import (
    Track,
    downmix,
    encode_tracks,
    pyav,
    sample_recording,
    speech,
    words,
)
from tests.unit.audio.judging import RATE_HZ, decode, opened, voice_match
from tests.unit.audio.matrix import LAME_DELAY

SECONDS = 2.5


def segments_of(path):
    detector = open_detector("silero")
    try:
        stream = detector.stream()
        found = [s for block in decode_blocks(path) for s in stream.accept(block)]
        found += stream.finish()
    finally:
        detector.close()
    return [(s.start, s.end, s.speech_start, s.speech_end) for s in found]


def decode_blocks(path):
    with opened(path) as source:
        yield from source.blocks()


@pytest.mark.parametrize(
    ("extension", "encode"),
    [
        ("wav", pyav("wav", "pcm_s16le")),
        ("flac", pyav("flac", "flac")),
        ("mp3", pyav("mp3", "libmp3lame", bit_rate=96_000)),
        ("m4a", pyav("ipod", "aac", bit_rate=96_000)),
    ],
    ids=["wav", "flac", "mp3", "m4a"],
)
def test_stereo_and_mono_versions_of_one_recording_have_the_same_segments(
    tmp_path, extension, encode
):
    recording = sample_recording()[: 15 * RATE_HZ]
    for channels in (1, 2):
        content = encode(np.tile(recording, (channels, 1)), RATE_HZ).content
        (tmp_path / f"{channels}.{extension}").write_bytes(content)

    mono = segments_of(tmp_path / f"1.{extension}")
    stereo = segments_of(tmp_path / f"2.{extension}")

    assert len(mono) >= 3
    if extension in ("wav", "flac"):
        assert stereo == mono
    else:  # the encoder gives the two versions different noise
        np.testing.assert_allclose(stereo, mono, atol=0.032 * RATE_HZ)


@pytest.mark.parametrize(
    ("muxer", "codec", "film_s"),
    [
        ("matroska", "libopus", 0.0),
        ("matroska", "aac", 0.0),
        ("matroska", "flac", 8.0),
        ("webm", "libopus", 0.0),
        ("mp4", "aac", 0.0),
        ("mp4", "aac", 8.0),
        ("mov", "pcm_s16le", 8.0),
        ("mpegts", "aac", 8.0),
        ("mpegts", "libmp3lame", 8.0),
        ("flv", "aac", 8.0),
    ],
)
def test_audio_that_starts_four_seconds_late_is_four_seconds_late(tmp_path, muxer, codec, film_s):
    path = tmp_path / f"late.{'ts' if muxer == 'mpegts' else muxer}"
    track = Track(speech(48_000, 1, SECONDS), 48_000, codec, 4.0)
    path.write_bytes(encode_tracks(muxer, [track], film_s=film_s))

    decoded = decode(path)

    delay_s, correlation = voice_match(decoded.waveform, downmix(1, SECONDS), 6.0)
    assert correlation > 0.9
    assert delay_s == pytest.approx(4, abs=0.02)
    assert decoded.seconds == pytest.approx(4 + SECONDS, abs=0.04)
    assert not decoded.waveform[: round(3.9 * RATE_HZ)].any()
    assert not {"truncated", "tracks"} & set(decoded.warnings)
    assert decoded.gaps == []


def test_the_clock_of_a_broadcast_says_nothing_of_its_start(tmp_path):
    path = tmp_path / "broadcast.ts"
    track = Track(speech(48_000, 1, SECONDS), 48_000, "aac", 20_000.0)
    path.write_bytes(encode_tracks("mpegts", [track]))

    decoded = decode(path)

    delay_s, correlation = voice_match(decoded.waveform, downmix(1, SECONDS), 1.0)
    assert correlation > 0.9
    assert delay_s == pytest.approx(1_024 / 48_000, abs=0.002)
    assert decoded.warnings == []


@pytest.mark.parametrize("has_header", [True, False], ids=["with header", "without header"])
@pytest.mark.parametrize("is_variable", [True, False], ids=["vbr", "cbr"])
def test_ten_minutes_of_mp3_do_not_drift(tmp_path, has_header, is_variable):
    rate_hz = 22_050
    # Silence and speech in turn: the bit rate varies as much as it can.
    part = np.zeros(30 * rate_hz, np.float32)
    part[: 4 * rate_hz] = speech(rate_hz, 1, 4.0)[0]
    encode = pyav(
        "mp3",
        "libmp3lame",
        bit_rate=0 if is_variable else 32_000,
        codec_options={"flags": "+qscale", "global_quality": "708"} if is_variable else {},
        muxer_options={} if has_header else {"write_xing": "0"},
    )
    path = tmp_path / "long.mp3"
    path.write_bytes(encode(np.tile(part, 20)[None], rate_hz).content)

    decoded = decode(path)

    lead_s = 0 if has_header else LAME_DELAY / rate_hz
    for number in (0, 10, 19):
        start = round((30 * number + lead_s) * RATE_HZ)
        spoken = decoded.waveform[start : start + 5 * RATE_HZ]
        delay_s, correlation = voice_match(spoken, downmix(1, 4.0), 1.0)
        assert correlation > 0.9
        assert abs(delay_s) < 0.03
    assert decoded.seconds == pytest.approx(600, abs=0.1)
    assert decoded.warnings == []


def two_tracks(muxer: str, codec: str, default: int | None) -> bytes:
    """Two people, one a track."""
    tracks = [
        Track(speech(48_000, 2, SECONDS)[[index]], 48_000, codec, is_default=index + 1 == default)
        for index in (0, 1)
    ]
    return encode_tracks(muxer, tracks)


@pytest.mark.parametrize("default", [1, 2])
@pytest.mark.parametrize(("muxer", "codec"), [("matroska", "flac"), ("mp4", "aac")])
def test_the_default_track_is_taken_or_the_one_asked_for(tmp_path, muxer, codec, default):
    path = tmp_path / f"two.{'mkv' if muxer == 'matroska' else muxer}"
    path.write_bytes(two_tracks(muxer, codec, default))
    voices = words(2, SECONDS)

    taken = decode(path)

    assert voice_match(taken.waveform, voices[default - 1])[1] > 0.9
    assert voice_match(taken.waveform, voices[2 - default])[1] < 0.5
    assert taken.warnings == ["tracks"]
    assert taken.info.track == default
    assert taken.info.tracks == 2
    for number in (1, 2):
        chosen = decode(path, track=number)
        assert voice_match(chosen.waveform, voices[number - 1])[1] > 0.9
        assert chosen.warnings == []
        assert chosen.info.track == number


def test_the_first_of_equal_tracks_is_taken(tmp_path):
    path = tmp_path / "two.mkv"
    path.write_bytes(two_tracks("matroska", "flac", None))

    decoded = decode(path)

    assert decoded.info.track == 1
    assert voice_match(decoded.waveform, words(2, SECONDS)[0])[1] > 0.9


@pytest.mark.parametrize("number", [3, 99])
def test_a_track_that_does_not_exist(tmp_path, number):
    path = tmp_path / "two.mkv"
    path.write_bytes(two_tracks("matroska", "flac", 1))
    with pytest.raises(AudioDecodeError) as caught:
        decode(path, track=number)
    assert caught.value.details["reason"] == "no_such_track"


def test_a_file_of_one_track_has_that_one_only(tmp_path):
    path = tmp_path / "one.wav"
    soundfile.write(path, words(1)[0], RATE_HZ)
    assert decode(path, track=1).warnings == []
    with pytest.raises(AudioDecodeError) as caught:
        decode(path, track=2)
    assert caught.value.details["reason"] == "no_such_track"


@pytest.mark.parametrize(
    ("extension", "encode"),
    [
        ("wav", pyav("wav", "pcm_s24le")),
        ("flac", pyav("flac", "flac")),
        ("m4a", pyav("ipod", "alac")),
        ("opus", pyav("ogg", "libopus", bit_rate=64_000)),
    ],
    ids=["wav", "flac", "m4a", "opus"],
)
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_split_channels_keep_their_words_and_times(tmp_path, extension, encode, channels):
    path = tmp_path / f"split.{extension}"
    path.write_bytes(encode(speech(48_000, channels), 48_000).content)

    with opened(path, split=True) as source:
        blocks = list(source.channel_blocks())
    apart = np.concatenate(blocks, axis=1)

    assert apart.shape[0] == channels
    assert apart.dtype == np.float32
    for number, (ours, theirs) in enumerate(zip(apart, words(channels), strict=True)):
        if number == 3 and extension == "opus":
            continue  # the subwoofer's channel
        delay_s, correlation = voice_match(ours, theirs)
        assert correlation > 0.9, number
        assert abs(delay_s) < 0.002
    mixed = decode(path).waveform
    np.testing.assert_allclose(apart.mean(axis=0), mixed, atol=1e-4)


def test_without_split_there_is_one_channel(tmp_path):
    path = tmp_path / "mix.wav"
    path.write_bytes(pyav("wav", "pcm_s16le")(speech(16_000, 2), 16_000).content)
    with opened(path) as source:
        blocks = np.concatenate(list(source.channel_blocks()), axis=1)
    np.testing.assert_array_equal(blocks[0], decode(path).waveform)
    assert len(blocks) == 1


def test_channels_that_are_alike_are_said_so(tmp_path):
    same = np.tile(words(1), (2, 1))
    buffer = io.BytesIO()
    soundfile.write(buffer, same.T, RATE_HZ, format="WAV")
    path = tmp_path / "alike.wav"
    path.write_bytes(buffer.getvalue())
    with opened(path, split=True) as source:
        list(source.channel_blocks())
        codes = [warning.code for warning in source.warnings]
    assert codes == ["channels_alike"]


def test_the_stated_length_is_the_decoded_one(tmp_path):
    for muxer, codec in (("matroska", "flac"), ("mp4", "aac"), ("ogg", "libopus")):
        path = tmp_path / f"length.{muxer}"
        path.write_bytes(pyav(muxer, codec)(speech(48_000, 1, SECONDS), 48_000).content)
        stated_ms = probe(path).duration_ms
        assert stated_ms == pytest.approx(1000 * decode(path).seconds, abs=30)
