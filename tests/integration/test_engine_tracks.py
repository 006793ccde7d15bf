"""Recordings of several tracks, and of none that a browser knows, as the page plays them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asr_core.audio.decode import open_audio
from asr_core.audio.peaks import read_peaks
from asr_core.engine import Engine, TranscribeOptions
from asr_core.settings import Settings
from tests.seeding import finish, open_history
from tests.unit.audio.encoders import Track, encode_tracks

RATE_HZ = 16_000


@pytest.fixture
def bilingual(tmp_path: Path) -> Path:
    """A quiet tone on the first track, a loud one on the second."""
    tone = np.sin(2 * np.pi * 440 * np.arange(3 * RATE_HZ) / RATE_HZ).astype(np.float32)[None, :]
    tracks = [Track(level * tone, RATE_HZ, "aac") for level in (0.05, 0.6)]
    path = tmp_path / "双语.mp4"
    path.write_bytes(encode_tracks("mp4", tracks))
    return path


def stored(settings: Settings, path: Path, options: TranscribeOptions) -> str:
    with open_history(settings) as history:
        recording = history.add_recording(path, name=path.name, origin="file", keep="copy")
        finish(history, history.add_job(recording, options).id)
        return recording


def loudness(path: Path) -> float:
    with open_audio(path) as source:
        waveform = np.concatenate(list(source.blocks()))
    return float(np.abs(waveform[RATE_HZ : 2 * RATE_HZ]).max())


@pytest.mark.parametrize(("track", "level"), [(None, 0.05), (1, 0.05), (2, 0.6)])
def test_the_track_that_was_transcribed_is_played_and_drawn(
    engine: Engine, settings: Settings, bilingual: Path, track: int | None, level: float
) -> None:
    recording = stored(settings, bilingual, TranscribeOptions(track=track))

    played = engine.playback(recording)
    outline = engine.peaks(recording)

    assert played is not None
    assert outline is not None
    assert loudness(played) == pytest.approx(level, rel=0.15)
    drawn = read_peaks(outline)[1][60:90].max() / 128
    assert drawn == pytest.approx(level, rel=0.2)


def test_declared_pcm_is_played(engine: Engine, settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "录音机.pcm"
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(3 * RATE_HZ) / RATE_HZ)
    path.write_bytes((tone * 32767).astype("<i2").tobytes())
    recording = stored(settings, path, TranscribeOptions(raw="s16le:16000:1"))

    played = engine.playback(recording)

    assert played is not None
    assert played.suffix == ".m4a"
    assert loudness(played) == pytest.approx(0.5, rel=0.15)
