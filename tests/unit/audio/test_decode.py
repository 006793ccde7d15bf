"""Recordings of any format become the same 16 kHz waveform, and bad files say what is wrong."""

from __future__ import annotations

import csv
import os
import struct
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from asr_core.audio.decode import DecodeOptions, open_audio, probe
from asr_core.errors import AudioDecodeError, UsageError
from tests.unit.audio.encoders import Track, encode_tracks
from tests.unit.audio.recordings import SPEECH, encode, encode_video, speech_path, sweep


def decode(path: Path) -> tuple[np.ndarray, list[str]]:
    """The whole waveform and the codes of the warnings."""
    with open_audio(path) as source:
        blocks = list(source.blocks())
        waveform = np.concatenate([np.zeros(0, np.float32), *blocks])
        assert source.position_samples == len(waveform)
        assert all(0 < len(block) <= 160_000 for block in blocks)
        assert waveform.dtype == np.float32
        assert np.isfinite(waveform).all()
        assert np.abs(waveform).max(initial=0) <= 1
        return waveform, [warning.code for warning in source.warnings]


def reason_of(path: Path) -> str:
    with pytest.raises(AudioDecodeError) as caught, open_audio(path) as source:
        list(source.blocks())
    assert caught.value.details["path"] == path.name
    assert str(path.parent) not in str(caught.value)
    return str(caught.value.details["reason"])


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    length = min(len(a), len(b))
    return float(np.corrcoef(a[:length], b[:length])[0, 1])


def best_correlation(delayed: np.ndarray, expected: np.ndarray, latest: int) -> float:
    """Highest correlation when the first waveform is 0 to ``latest`` samples late."""
    used = expected[: len(expected) - latest - 400]
    shifts = range(latest + 1)
    return max(correlation(delayed[shift : shift + len(used)], used) for shift in shifts)


ODD = [
    ("SSB00050112_8k_pcm.wav", 5.395),
    ("SSB00090181_8k_mulaw.wav", 1.746),
    ("SSB00120415_8k_alaw.wav", 2.390),
    ("SSB00180170_stereo44k.wav", 6.641),
    ("SSB00380324_aac.m4a", 5.519),
    ("SSB00570140_opus.opus", 3.598),
    ("SSB00730374_vorbis.ogg", 5.080),
    ("SSB00800191_flac.flac", 6.810),
    ("SSB01220373_24bit48k.flac", 4.381),
    ("SSB01330012_mp3_32k.mp3", 6.278),
    ("SSB01450004_webm_opus.webm", 5.049),
    ("SSB01490418_float32.wav", 3.754),
    ("SSB01930310_g726.wav", 4.180),
]


@pytest.mark.parametrize(("name", "seconds"), ODD, ids=[name for name, _ in ODD])
def test_real_recordings_of_every_format_decode_completely(name, seconds):
    path = speech_path(f"odd/{name}")
    with (SPEECH / "odd.tsv").open(encoding="utf-8") as table:
        row = next(r for r in csv.DictReader(table, delimiter="\t") if r["file"] == f"odd/{name}")

    waveform, warnings = decode(path)
    info = probe(path)

    assert len(waveform) / 16_000 == pytest.approx(seconds, abs=0.01)
    assert waveform.std() > 0.005
    assert info.duration_ms == pytest.approx(seconds * 1000, abs=10)
    assert info.sample_rate_hz == int(row["sample_rate_hz"])
    assert info.channels == int(row["channels"])
    assert info.codec == row["codec"]
    assert warnings == (["narrowband"] if row["sample_rate_hz"] == "8000" else [])


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 22_050, 44_100, 48_000, 96_000])
def test_every_sample_rate_gives_the_same_waveform(tmp_path, rate_hz):
    path = tmp_path / "tone.wav"
    soundfile.write(path, sweep(12.3, rate_hz), rate_hz, subtype="PCM_24")

    waveform, _ = decode(path)

    expected = sweep(12.3, 16_000)
    assert abs(len(waveform) - len(expected)) <= 1
    assert correlation(waveform, expected) > 0.999


def test_sixteen_kilohertz_passes_through_unchanged(tmp_path):
    path = tmp_path / "tone.wav"
    soundfile.write(path, sweep(11, 16_000), 16_000, subtype="FLOAT")

    waveform, warnings = decode(path)

    np.testing.assert_array_equal(waveform, sweep(11, 16_000))
    assert warnings == []


@pytest.mark.parametrize("kind", ["wav", "flac"])
def test_stereo_is_the_mean_of_its_channels(tmp_path, kind):
    left, right = sweep(3, 44_100), 0.5 * sweep(3, 44_100, top_hz=900)
    soundfile.write(tmp_path / f"two.{kind}", np.stack([left, right], 1), 44_100, subtype="PCM_24")
    soundfile.write(tmp_path / f"one.{kind}", (left + right) / 2, 44_100, subtype="PCM_24")

    two, _ = decode(tmp_path / f"two.{kind}")
    one, _ = decode(tmp_path / f"one.{kind}")

    np.testing.assert_allclose(two, one, atol=1e-5)


COMPRESSED = [
    ("libmp3lame", "mp3", 44_100, "fltp", "mp3"),
    ("aac", "mp4", 48_000, "fltp", "mp4"),
    ("aac", "adts", 48_000, "fltp", "aac"),
    ("libopus", "webm", 48_000, "flt", "webm"),
    ("libopus", "ogg", 48_000, "flt", "ogg"),
    ("flac", "flac", 44_100, "s16", "flac"),
    ("aac", "matroska", 44_100, "fltp", "matroska"),
    ("aac", "mpegts", 48_000, "fltp", "mpegts"),
]


@pytest.mark.parametrize(
    ("codec", "container", "rate_hz", "sample_format", "name"),
    COMPRESSED,
    ids=[f"{codec}-{container}" for codec, container, *_ in COMPRESSED],
)
def test_compressed_audio_sounds_as_before(
    tmp_path, codec, container, rate_hz, sample_format, name
):
    path = tmp_path / "recording.bin"  # the extension says nothing
    source = sweep(7, rate_hz, top_hz=1_000)
    encode(path, source, rate_hz, codec, container=container, sample_format=sample_format)

    waveform, warnings = decode(path)

    assert probe(path).container == name
    assert warnings == ["extension"]
    assert len(waveform) / 16_000 == pytest.approx(7, abs=0.1)
    expected = sweep(7, 16_000, top_hz=1_000)
    # ADTS and MPEG-TS have no place to state the encoder's delay of 1024 samples.
    latest = 400 if container in ("adts", "mpegts", "matroska") else 20
    assert best_correlation(waveform, expected, latest) > 0.99


def test_a_stream_that_changes_its_sample_rate_keeps_its_length(tmp_path):
    parts = [
        encode(tmp_path / f"{rate_hz}", sweep(3, rate_hz), rate_hz, "aac", container="adts")
        for rate_hz in (44_100, 48_000)
    ]
    path = tmp_path / "joined.aac"
    path.write_bytes(b"".join(part.read_bytes() for part in parts))

    waveform, _ = decode(path)

    assert len(waveform) / 16_000 == pytest.approx(6, abs=0.1)
    assert best_correlation(waveform, sweep(3, 16_000)[:40_000], 800) > 0.95
    assert best_correlation(waveform[48_000:], sweep(3, 16_000)[:40_000], 1_600) > 0.95


def test_audio_that_starts_late_in_a_container_keeps_its_place(tmp_path):
    path = encode(
        tmp_path / "late.mkv",
        sweep(3, 48_000),
        48_000,
        "libopus",
        container="matroska",
        sample_format="flt",
        start_s=1.5,
    )

    waveform, warnings = decode(path)

    assert len(waveform) / 16_000 == pytest.approx(4.5, abs=0.05)
    assert np.abs(waveform[: int(1.45 * 16_000)]).max() == 0
    assert np.abs(waveform[int(1.55 * 16_000) :]).max() > 0.4
    assert warnings == []


def test_silence_that_a_stream_leaves_out_is_put_back(tmp_path):
    path = encode(
        tmp_path / "pause.webm",
        sweep(6, 48_000),
        48_000,
        "libopus",
        container="webm",
        sample_format="flt",
        skipped_s=(2.0, 4.0),
    )

    waveform, warnings = decode(path)

    assert len(waveform) / 16_000 == pytest.approx(6, abs=0.05)
    assert np.abs(waveform[int(2.1 * 16_000) : int(3.9 * 16_000)]).max() < 1e-3
    after = slice(round(4.2 * 16_000), None)
    assert best_correlation(waveform[after], sweep(6, 16_000)[after], 20) > 0.9
    assert warnings == []


def test_samples_that_are_no_numbers_become_silence_and_loud_ones_are_clipped(tmp_path):
    path = tmp_path / "wild.wav"
    samples = np.array([np.nan, np.inf, -np.inf, 3.0, -3.0, 0.25], np.float32).repeat(100)
    soundfile.write(path, samples, 16_000, subtype="FLOAT")

    waveform, _ = decode(path)

    np.testing.assert_array_equal(waveform[::100], np.float32([0, 0, 0, 1, -1, 0.25]))


def test_opposite_infinities_in_two_channels_become_silence(tmp_path):
    path = tmp_path / "wild.wav"
    samples = np.tile(np.float32([np.inf, -np.inf]), (100, 1))
    soundfile.write(path, samples, 16_000, subtype="FLOAT")

    waveform, _ = decode(path)

    np.testing.assert_array_equal(waveform, np.zeros(100, np.float32))


@pytest.mark.parametrize(
    ("kind", "samples"),
    [("wav", 1), ("wav", 2205), ("wav", 44_100), ("flac", 1), ("flac", 44_100)],
)
def test_a_silent_or_tiny_recording_is_no_error(tmp_path, kind, samples):
    path = tmp_path / f"silent.{kind}"
    soundfile.write(path, np.zeros(samples, np.float32), 44_100)

    waveform, warnings = decode(path)

    assert abs(len(waveform) - samples * 16_000 / 44_100) <= 1
    assert not waveform.any()
    assert warnings == []


def test_a_missing_file(tmp_path):
    assert reason_of(tmp_path / "none.wav") == "missing"


def test_a_file_below_a_file_is_missing(tmp_path):
    (tmp_path / "a").write_text("x")
    assert reason_of(tmp_path / "a" / "none.wav") == "missing"


@pytest.mark.parametrize("kind", ["wav", "mp3", "m4a"])
def test_an_empty_file(tmp_path, kind):
    path = tmp_path / f"empty.{kind}"
    path.touch()
    assert reason_of(path) == "empty"


@pytest.mark.parametrize("kind", ["wav", "mp3", "m4a", "flac"])
@pytest.mark.parametrize(
    "content",
    [
        "会议纪要：今天讨论三件事。\n" * 200,
        "1\n00:00:01,000 --> 00:00:02,000\n你好\n\n2\n00:00:03,000 --> 00:00:04,000\n再见\n",
        "x",
    ],
    ids=["prose", "subtitles", "one letter"],
)
def test_text_under_an_audio_name(tmp_path, kind, content):
    path = tmp_path / f"text.{kind}"
    path.write_text(content, encoding="utf-8")
    assert reason_of(path) == "not_audio"


def test_text_in_utf16_under_an_audio_name(tmp_path):
    path = tmp_path / "text.mp3"
    path.write_text("会议纪要\n" * 500, encoding="utf-16")
    assert reason_of(path) == "not_audio"


def test_a_folder_is_not_audio(tmp_path):
    assert reason_of(tmp_path) == "not_audio"


def test_a_picture_is_not_audio(tmp_path):
    path = tmp_path / "picture.mp3"
    with av.open(str(tmp_path / "p.png"), "w", format="image2") as output:
        stream = output.add_stream("png", rate=1)
        stream.width, stream.height, stream.pix_fmt = 8, 8, "rgb24"
        picture = av.VideoFrame.from_ndarray(np.zeros((8, 8, 3), np.uint8), format="rgb24")
        output.mux(stream.encode(picture))
        output.mux(stream.encode(None))
    (tmp_path / "p.png").rename(path)
    assert reason_of(path) == "not_audio"


def test_a_film_without_sound(tmp_path):
    assert reason_of(encode_video(tmp_path / "film.mp4")) == "no_audio_track"


@pytest.mark.parametrize(
    "script",
    [
        "ffconcat version 1.0\nfile secret.wav\n",
        "#EXTM3U\n#EXTINF:1,\nsecret.wav\n#EXT-X-ENDLIST\n",
    ],
    ids=["concat", "playlist"],
)
def test_a_script_cannot_make_the_decoder_read_another_file(tmp_path, script):
    soundfile.write(tmp_path / "secret.wav", sweep(1, 16_000), 16_000)
    path = tmp_path / "upload.wav"
    path.write_text(script)
    assert reason_of(path) == "not_audio"


@pytest.mark.parametrize(
    "head",
    [
        b"RIFF\x24\x00\x00\x00WAVEgarbage",
        b"fLaC",
        b"OggS\x00\x02",
        b"\0\0\0\x20ftypM4A ",
        b"ID3\x04",
    ],
    ids=["wav", "flac", "ogg", "m4a", "mp3"],
)
def test_a_header_with_nothing_behind_it_is_damaged(tmp_path, head):
    path = tmp_path / "broken.bin"
    path.write_bytes(head + bytes(range(7, 200)))
    assert reason_of(path) == "damaged"


def test_a_file_without_permission(tmp_path):
    path = tmp_path / "locked.wav"
    soundfile.write(path, sweep(1, 16_000), 16_000)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read every file")
    assert reason_of(path) == "unreadable"


def cut_off(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


@pytest.mark.parametrize("kind", ["wav", "flac", "mp3"])
def test_a_cut_off_file_gives_what_is_left_and_a_warning(tmp_path, kind):
    path = tmp_path / f"cut.{kind}"
    if kind == "mp3":
        encode(path, sweep(20, 44_100), 44_100, "libmp3lame", container="mp3")
    else:
        soundfile.write(path, sweep(20, 44_100), 44_100)
    cut_off(path, 0.5)

    waveform, warnings = decode(path)

    assert 5 < len(waveform) / 16_000 < 15
    assert correlation(waveform[: 4 * 16_000], sweep(20, 16_000)[: 4 * 16_000]) > 0.9
    assert warnings == ["truncated"]


def test_a_recorder_that_never_wrote_the_length_is_no_truncation(tmp_path):
    path = tmp_path / "stream.wav"
    soundfile.write(path, sweep(5, 16_000), 16_000)
    content = bytearray(path.read_bytes())
    for offset in (4, content.index(b"data") + 4):
        content[offset : offset + 4] = struct.pack("<I", 0xFFFFFFFF)
    path.write_bytes(content)

    waveform, warnings = decode(path)

    assert len(waveform) == 80_000
    assert warnings == []


def test_a_damaged_place_in_the_middle_is_silent_and_the_rest_keeps_its_time(tmp_path):
    path = tmp_path / "scratch.flac"
    rng = np.random.default_rng(1)
    source = sweep(20, 16_000) + rng.normal(0, 0.01, 320_000).astype(np.float32)
    soundfile.write(path, source, 16_000)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4_000] = rng.integers(0, 256, 4_000, np.uint8).tobytes()
    path.write_bytes(content)

    with open_audio(path) as source_file:
        waveform = np.concatenate(list(source_file.blocks()))
        warnings = [warning.code for warning in source_file.warnings]
        gaps = source_file.gaps

    assert len(waveform) == 320_000
    assert correlation(waveform[-8 * 16_000 :], source[-8 * 16_000 :]) > 0.999
    assert warnings == ["truncated"]
    assert len(gaps) == 1
    assert 8_000 < gaps[0][0] < gaps[0][1] < 12_000


@pytest.mark.parametrize(
    "name",
    ["-rf.wav", "会议 录音🎙.wav", "a:b.wav", 'it\'s "q".wav', "http:x.m4a", "%d.mp3", "x.txt"],
)
@pytest.mark.parametrize("kind", ["wav", "mp3"])
def test_any_file_name_works(tmp_path, monkeypatch, name, kind):
    monkeypatch.chdir(tmp_path)
    path = Path(name)
    if kind == "mp3":
        encode(path, sweep(1, 44_100), 44_100, "libmp3lame", container="mp3")
    else:
        with path.open("wb") as file:
            soundfile.write(file, sweep(1, 44_100), 44_100, format="WAV")

    waveform, _ = decode(path)

    assert len(waveform) == pytest.approx(16_000, abs=100)
    assert probe(path).container == kind


def test_errors_use_the_name_that_the_user_knows(tmp_path):
    path = tmp_path / "f3a9.bin"
    path.write_text("hello")
    with pytest.raises(AudioDecodeError) as caught, open_audio(path, name="周会.mp3"):
        pass
    assert caught.value.details == {"path": "周会.mp3", "reason": "not_audio"}
    with pytest.raises(AudioDecodeError) as caught:
        probe(path, "周会.mp3")
    assert caught.value.details["path"] == "周会.mp3"


def test_blocks_can_be_read_once(tmp_path):
    path = tmp_path / "tone.wav"
    soundfile.write(path, sweep(1, 16_000), 16_000)
    with open_audio(path) as source:
        list(source.blocks())
        with pytest.raises(UsageError):
            next(source.blocks())


@pytest.mark.parametrize("container", ["wav", "flac"])
def test_a_long_recording_comes_in_short_blocks(tmp_path, container):
    path = tmp_path / f"long.{container}"
    soundfile.write(path, np.zeros(300 * 8_000, np.int16), 8_000)

    with open_audio(path) as source:
        lengths = [len(block) for block in source.blocks()]

    assert sum(lengths) == 300 * 16_000
    assert max(lengths) <= 160_000


@pytest.mark.parametrize(("start_ms", "end_ms"), [(0, 700), (1_300, 2_900), (1_000, None)])
def test_a_part_sounds_as_it_does_in_the_whole(tmp_path, start_ms, end_ms):
    path = tmp_path / "a.wav"
    soundfile.write(path, sweep(seconds=12.0, rate_hz=44_100), 44_100)
    whole, _ = decode(path)
    with open_audio(path, options=DecodeOptions(start_ms=start_ms, end_ms=end_ms)) as source:
        part = np.concatenate(list(source.blocks()))
        assert (source.gaps, source.warnings) == ([], [])
        assert source.info.duration_ms == (end_ms or 12_000) - start_ms
    end = None if end_ms is None else end_ms * 16
    np.testing.assert_array_equal(part, whole[start_ms * 16 : end])


@pytest.mark.parametrize("start_ms", [2_999, 31_001, 47_777, 63_500])
@pytest.mark.parametrize("kind", ["mp3", "m4a", "flac", "wav"])
def test_what_lies_far_before_a_part_is_passed_over_and_changes_nothing(
    tmp_path: Path, sample: Path, kind: str, start_ms: int
) -> None:
    """Rates that are no multiple of 16 kHz, and channels of which one is wired the wrong way."""
    said, _ = soundfile.read(sample, dtype="float32", frames=20 * 16_000)
    said = np.tile(said, 4)
    wrong = np.concatenate([said[: len(said) // 2], -0.8 * said[len(said) // 2 :]])
    path = tmp_path / f"long.{kind}"
    if kind in ("flac", "wav"):
        soundfile.write(path, np.stack([said, wrong], axis=1), 22_050)
    else:
        codec, muxer = {"mp3": ("libmp3lame", "mp3"), "m4a": ("aac", "mp4")}[kind]
        path.write_bytes(encode_tracks(muxer, [Track(np.stack([said, wrong]), 22_050, codec)]))
    whole, _ = decode(path)
    end_ms = start_ms + 2_500
    with open_audio(path, options=DecodeOptions(start_ms=start_ms, end_ms=end_ms)) as source:
        part = np.concatenate([np.zeros(0, np.float32), *source.blocks()])
    expected = whole[start_ms * 16 : end_ms * 16]
    assert part.shape == expected.shape
    np.testing.assert_allclose(part, expected, atol=1e-6)
