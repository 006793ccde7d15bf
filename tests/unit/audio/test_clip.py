"""A part of a recording as a file that players open."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from asr_core.audio import decode
from asr_core.audio.clip import CLIP_FORMATS, write_clip
from asr_core.errors import AudioDecodeError, AudioError

RATE_HZ = 16_000


def tones(seconds: int, rate_hz: int = RATE_HZ) -> np.ndarray:
    """Each second has a pitch of its own: 200 Hz, 300 Hz, ..."""
    time = np.arange(rate_hz) / rate_hz
    parts = [np.sin(2 * np.pi * (200 + 100 * n) * time) for n in range(seconds)]
    return (np.concatenate(parts) * 0.5).astype(np.float32)


def pitch_hz(samples: np.ndarray, rate_hz: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples))
    return float(np.argmax(spectrum) * rate_hz / len(samples))


def decoded(path: Path) -> tuple[np.ndarray, int, str]:
    """By FFmpeg, without our own reader."""
    with av.open(path) as container:
        stream = container.streams.audio[0]
        frames = [frame.to_ndarray().astype(np.float32) for frame in container.decode(stream)]
        kind = container.format.name
        rate_hz = stream.rate
    samples = np.concatenate(frames, axis=1)[0]
    return samples / max(1.0, float(np.abs(samples).max())), rate_hz, kind


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "会议.flac"
    stereo = np.stack([tones(8, 44_100)] * 2, axis=1)
    soundfile.write(path, stereo, 44_100)
    return path


@pytest.mark.parametrize(
    ("name", "kind"), [("wav", "wav"), ("mp3", "mp3"), ("m4a", "mov,mp4,m4a,3gp,3g2,mj2")]
)
def test_a_clip_holds_what_was_selected(
    recording: Path, tmp_path: Path, name: str, kind: str
) -> None:
    target = tmp_path / f"clip.{name}"
    assert write_clip(recording, target, 2500, 4500) == 2000
    samples, rate_hz, found = decoded(target)
    assert (rate_hz, found) == (RATE_HZ, kind)
    assert 2000 <= len(samples) / 16 < 2200
    middle = [samples[ms * 16 : (ms + 250) * 16] for ms in (120, 1000, 1700)]
    assert [round(pitch_hz(part, RATE_HZ), -2) for part in middle] == [400, 500, 600]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"clip.{name}", "会议.flac"]


def test_a_wave_clip_is_exact(tmp_path: Path) -> None:
    path, target = tmp_path / "a.wav", tmp_path / "clip.wav"
    waveform = (tones(3) * 32767).astype(np.int16)
    soundfile.write(path, waveform, RATE_HZ)
    assert write_clip(path, target, 1001, 1999) == 998
    samples, rate_hz = soundfile.read(target, dtype="int16")
    assert rate_hz == RATE_HZ
    assert np.abs(samples.astype(int) - waveform[1001 * 16 : 1999 * 16]).max() <= 1


def test_a_clip_ends_with_the_recording(recording: Path, tmp_path: Path) -> None:
    target = tmp_path / "clip.wav"
    assert write_clip(recording, target, 7000, 99_000) == pytest.approx(1000, abs=2)
    assert soundfile.info(target).duration == pytest.approx(1.0, abs=0.002)


@pytest.mark.parametrize("name", list(CLIP_FORMATS))
def test_behind_the_end_there_is_nothing(recording: Path, tmp_path: Path, name: str) -> None:
    assert write_clip(recording, tmp_path / f"clip.{name}", 60_000, 61_000) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["会议.flac"]


@pytest.mark.parametrize("name", list(CLIP_FORMATS))
def test_the_shortest_selection_can_be_played(recording: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / f"clip.{name}"
    assert write_clip(recording, target, 1000, 1001) == 1
    samples, _, _ = decoded(target)
    assert len(samples) >= RATE_HZ // 10


def test_only_the_part_is_decoded_and_little_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.wav"
    soundfile.write(path, np.zeros(RATE_HZ * 600, np.int16), RATE_HZ)
    opened: list[decode.AudioSource] = []

    class Watched(decode.AudioSource):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            opened.append(self)

    monkeypatch.setattr(decode, "AudioSource", Watched)
    tracemalloc.start()
    assert write_clip(path, tmp_path / "clip.wav", 60_000, 62_000) == 2000
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    (source,) = opened
    assert source.position_samples <= 70 * RATE_HZ
    assert most_bytes < 8 << 20


def test_what_cannot_be_read_or_written_is_told(recording: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.wav"
    text.write_text("不是录音\n" * 200, encoding="utf-8")
    with pytest.raises(AudioDecodeError):
        write_clip(text, tmp_path / "clip.wav", 0, 1000)
    with pytest.raises(AudioError):
        write_clip(recording, tmp_path / "none" / "clip.wav", 0, 1000)
    assert not (tmp_path / "clip.wav").exists()
