"""Files that are cut off or damaged give what is left of them, at its own time, and say so."""

from __future__ import annotations

import io
import struct
from functools import lru_cache
from pathlib import Path

import av
import numpy as np
import pytest

from asr_core.errors import AudioDecodeError
from tests.unit.audio.encoders import index_first, pyav, sample_recording, silk
from tests.unit.audio.judging import RATE_HZ, decode, voice_match

HOLE_BYTES = 65_536

ENCODERS = {
    "wav": pyav("wav", "pcm_s16le"),
    "flac": pyav("flac", "flac"),
    "mp3": pyav("mp3", "libmp3lame", bit_rate=64_000),
    "aac": pyav("adts", "aac", bit_rate=64_000),
    "m4a": index_first(pyav("ipod", "aac", bit_rate=64_000)),
    "ogg": pyav("ogg", "libopus", bit_rate=64_000),
    "oga": pyav("ogg", "flac"),
    "mkv": pyav("matroska", "aac", bit_rate=64_000),
    "webm": pyav("webm", "libopus", bit_rate=64_000),
}


@lru_cache
def whole(kind: str) -> bytes:
    """The sample recording in one format."""
    return ENCODERS[kind](sample_recording()[None], RATE_HZ).content


@lru_cache
def packets(kind: str) -> list[tuple[int, int, float, float]]:
    """First byte, end byte, start and end in seconds of every packet of the intact file."""
    found = []
    with av.open(io.BytesIO(whole(kind))) as container:
        for packet in container.demux(container.streams.audio[0]):
            if packet.size and packet.pts is not None:
                start_s = float(packet.pts * packet.time_base)
                length_s = float((packet.duration or 0) * packet.time_base)
                start = packet.pos or 0
                found.append((start, start + packet.size, start_s, start_s + length_s))
    return found


def seconds_before(kind: str, byte: int) -> float:
    """How much of the recording lies before a byte of its file."""
    return max((end_s for _, end, _, end_s in packets(kind) if end <= byte), default=0.0)


def whole_s() -> float:
    return len(sample_recording()) / RATE_HZ


def reason_of(path: Path, name: str = "") -> str:
    with pytest.raises(AudioDecodeError) as caught:
        decode(path, name)
    return str(caught.value.details["reason"])


def assert_heard(waveform: np.ndarray, start_s: float, end_s: float, *, within_s: float) -> None:
    """What was said from ``start_s`` to ``end_s`` stands there."""
    span = slice(round(start_s * RATE_HZ), round(end_s * RATE_HZ))
    margin = np.zeros(RATE_HZ, np.float32)
    ours = np.concatenate([margin, waveform[span], margin])
    theirs = np.concatenate([margin, sample_recording()[span], margin])
    delay_s, correlation = voice_match(ours, theirs, 0.9)
    assert correlation > 0.85, (start_s, end_s, delay_s, correlation)
    assert abs(delay_s) <= within_s, (start_s, end_s, delay_s, correlation)


@pytest.mark.parametrize("percent", [10, 50, 90])
@pytest.mark.parametrize("kind", ["wav", "flac", "mp3", "m4a", "ogg", "mkv"])
def test_a_truncated_file_gives_what_is_there_and_says_what_is_missing(tmp_path, kind, percent):
    content = whole(kind)
    cut = len(content) * percent // 100
    path = tmp_path / f"cut.{kind}"
    path.write_bytes(content[:cut])

    decoded = decode(path)

    present_s = seconds_before(kind, cut) if kind != "wav" else (cut - 44) / 2 / RATE_HZ
    speech_s = min(decoded.seconds, present_s)
    unit_s = 1.1 if kind == "ogg" else 0.3  # an Ogg page is read whole or not at all
    assert speech_s > present_s - unit_s
    assert_heard(decoded.waveform, 0.0, speech_s, within_s=0.1)
    assert decoded.warnings == ["truncated"]
    if kind != "ogg":  # its pages do not tell how long the recording was to be
        ((start_ms, end_ms),) = decoded.gaps
        assert start_ms == pytest.approx(1000 * present_s, abs=300)
        assert end_ms == pytest.approx(1000 * whole_s(), abs=150)


@pytest.mark.parametrize("kind", ["m4a", "mov"])
def test_an_mp4_whose_table_of_contents_is_cut_off_is_damaged(tmp_path, kind):
    content = pyav("mov", "aac")(sample_recording()[None, : 5 * RATE_HZ], RATE_HZ).content
    path = tmp_path / f"cut.{kind}"
    path.write_bytes(content[: len(content) // 2])
    assert reason_of(path) == "damaged"


@pytest.mark.parametrize("filling", ["noise", "zeros"])
@pytest.mark.parametrize("kind", ["wav", "flac", "mp3", "aac", "m4a", "ogg", "oga", "mkv", "webm"])
def test_what_follows_a_damaged_place_keeps_its_time(tmp_path, kind, filling):
    content = bytearray(whole(kind))
    middle = len(content) // 2
    hole = slice(middle - HOLE_BYTES // 2, middle + HOLE_BYTES // 2)
    noise = np.random.default_rng(3).integers(0, 256, HOLE_BYTES, np.uint8).tobytes()
    content[hole] = noise if filling == "noise" else bytes(HOLE_BYTES)
    path = tmp_path / f"hole.{kind}"
    path.write_bytes(content)

    decoded = decode(path)

    lost = [p for p in packets(kind) if p[1] > hole.start and p[0] < hole.stop]
    start_s, end_s = lost[0][2], lost[-1][3]
    # ADTS has no clock; the length of the hole is known by the bit rate around it.
    drift_s = 0.1 * (end_s - start_s) if kind == "aac" else 0.1
    assert decoded.seconds == pytest.approx(whole_s(), abs=drift_s + 0.05)
    assert_heard(decoded.waveform, 0.5, start_s - 1, within_s=0.1)
    assert_heard(decoded.waveform, end_s + 1.5, whole_s() - 1, within_s=drift_s)
    if kind == "wav":  # samples have no check: noise is a sound like any other
        return
    assert "truncated" in decoded.warnings
    missing_ms = sum(end_ms - start_ms for start_ms, end_ms in decoded.gaps)
    assert missing_ms >= 0.8 * 1000 * (end_s - start_s)
    assert decoded.gaps[0][0] >= 1000 * (start_s - 1.5)
    assert decoded.gaps[-1][1] <= 1000 * (end_s + 1.5)


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFF000, 0x80000000])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_wav_whose_sizes_were_never_filled_in_is_read_to_its_end(tmp_path, size, channels):
    waveform = np.tile(sample_recording()[: 5 * RATE_HZ], (channels, 1))
    content = bytearray(pyav("wav", "pcm_s16le")(waveform, RATE_HZ).content)
    data = content.index(b"data")
    struct.pack_into("<I", content, 4, size)
    struct.pack_into("<I", content, data + 4, size)
    path = tmp_path / "streamed.wav"
    path.write_bytes(content)

    decoded = decode(path)

    assert decoded.seconds == 5
    assert decoded.warnings == []
    assert decoded.gaps == []
    assert_heard(decoded.waveform, 0.5, 5.0, within_s=0.001)


def test_a_wav_that_states_too_little_is_read_to_its_end(tmp_path):
    """A writer that died had noted its first second."""
    waveform = sample_recording()[None, : 5 * RATE_HZ]
    content = bytearray(pyav("wav", "pcm_s16le")(waveform, RATE_HZ).content)
    struct.pack_into("<I", content, content.index(b"data") + 4, 2 * RATE_HZ)
    path = tmp_path / "short.wav"
    path.write_bytes(content)
    # What follows the stated end could as well be another chunk: only the stated part is sure.
    assert decode(path).seconds >= 1


def silk_content(*, tencent: bool) -> bytes:
    return silk(tencent=tencent)(sample_recording()[None, : 5 * RATE_HZ], RATE_HZ).content


@pytest.mark.parametrize("tencent", [True, False])
def test_a_truncated_voice_message(tmp_path, tencent):
    content = silk_content(tencent=tencent)
    path = tmp_path / "cut.silk"
    path.write_bytes(content[: len(content) // 2])

    decoded = decode(path)

    assert 2 < decoded.seconds < 3
    assert_heard(decoded.waveform, 0.5, decoded.seconds - 0.1, within_s=0.02)
    assert decoded.warnings == ["truncated"]


def test_a_voice_message_with_a_damaged_packet_keeps_its_times(tmp_path):
    content = bytearray(silk_content(tencent=True))
    offset = 10
    for _ in range(100):
        offset += 2 + struct.unpack_from("<h", content, offset)[0]
    length = struct.unpack_from("<h", content, offset)[0]
    content[offset + 2 : offset + 2 + length] = b"\xff" * length
    path = tmp_path / "hole.silk"
    path.write_bytes(content)

    decoded = decode(path)

    assert decoded.seconds == 5
    assert_heard(decoded.waveform, 2.5, 5.0, within_s=0.02)


@pytest.mark.parametrize(
    ("tail", "reason"),
    [(b"", "header_only"), (b"\xff\xff", "header_only"), (b"\xfe\x7f" * 900, "damaged")],
    ids=["nothing", "only an end", "garbage"],
)
@pytest.mark.parametrize("head", [b"#!SILK_V3", b"\x02#!SILK_V3"])
def test_a_voice_message_without_sound(tmp_path, head, tail, reason):
    path = tmp_path / "bad.silk"
    path.write_bytes(head + tail)
    assert reason_of(path) == reason


def header_of(kind: str) -> bytes:
    """The start of a recording up to its first sound."""
    if kind == "amr":
        return b"#!AMR\n"
    muxer, codec = {
        "wav": ("wav", "pcm_s16le"),
        "flac": ("flac", "flac"),
        "ogg": ("ogg", "libopus"),
        "mkv": ("matroska", "libopus"),
        "caf": ("caf", "pcm_s16be"),
    }[kind]
    content = pyav(muxer, codec)(sample_recording()[None, : 5 * RATE_HZ], RATE_HZ).content
    with av.open(io.BytesIO(content)) as container:
        first = next(container.demux(container.streams.audio[0]))
        return content[: first.pos]


@pytest.mark.parametrize("kind", ["wav", "flac", "ogg", "mkv", "caf", "amr"])
def test_a_header_without_sound_is_said_so(tmp_path, kind):
    path = tmp_path / f"header.{kind}"
    path.write_bytes(header_of(kind))
    assert reason_of(path) == "header_only"
