"""Which recordings a browser plays, and the copy that is made of the others."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

from asr_core.audio.decode import open_audio, probe
from asr_core.audio.playback import is_browser_playable, write_playback
from asr_core.audio.reader import AudioInfo
from asr_core.errors import AudioDecodeError, AudioError
from tests.unit.audio.recordings import speech_path, sweep


@pytest.mark.parametrize(
    ("container", "codec", "playable"),
    [
        ("wav", "pcm_u8", True),
        ("wav", "pcm_s16le", True),
        ("wav", "pcm_s24le", True),
        ("wav", "pcm_f32le", True),
        ("wav", "adpcm_g726", False),
        ("wav", "pcm_f64le", False),
        ("flac", "flac", True),
        ("mp3", "mp3", True),
        ("mp4", "aac", True),
        ("mp4", "alac", False),
        ("mp4", "amr_nb", False),
        ("ogg", "opus", True),
        ("ogg", "vorbis", True),
        ("webm", "opus", True),
        ("matroska", "opus", False),
        ("mov", "aac", False),
        ("asf", "wmav2", False),
        ("aac", "aac", False),
    ],
)
def test_formats_that_every_browser_plays(container, codec, playable):
    assert is_browser_playable(AudioInfo(container, codec, 44_100, 1, 1000)) is playable


def test_a_recording_without_a_length_cannot_be_sought_in():
    assert not is_browser_playable(AudioInfo("webm", "opus", 48_000, 1, None))


def test_the_copy_sounds_like_the_recording(tmp_path):
    path, target = tmp_path / "film.wav", tmp_path / "copies" / "播放.m4a"
    target.parent.mkdir()
    soundfile.write(path, sweep(25, 44_100), 44_100)

    write_playback(path, target)

    info = probe(target)
    assert (info.container, info.codec) == ("mp4", "aac")
    assert (info.sample_rate_hz, info.channels) == (16_000, 1)
    assert info.duration_ms == pytest.approx(25_000, abs=70)
    assert is_browser_playable(info)
    with open_audio(target) as source:
        waveform = np.concatenate(list(source.blocks()))
    expected = sweep(25, 16_000)
    assert np.corrcoef(waveform[: len(expected)], expected)[0, 1] > 0.98
    assert [file.name for file in target.parent.iterdir()] == ["播放.m4a"]


@pytest.mark.parametrize("samples", [1, 800])
def test_hardly_any_audio_still_gives_a_playable_copy(tmp_path, samples):
    path, target = tmp_path / "short.wav", tmp_path / "short.m4a"
    soundfile.write(path, np.zeros(samples, np.float32), 16_000)

    write_playback(path, target)

    assert is_browser_playable(probe(target))


def test_a_real_telephone_recording_becomes_playable(tmp_path):
    path, target = speech_path("odd/SSB01930310_g726.wav"), tmp_path / "phone.m4a"
    assert not is_browser_playable(probe(path))

    write_playback(path, target)

    assert probe(target).duration_ms == pytest.approx(4_180, abs=70)


def test_a_bad_recording_leaves_nothing_behind(tmp_path):
    path, target = tmp_path / "text.wav", tmp_path / "text.m4a"
    path.write_text("hello")
    with pytest.raises(AudioDecodeError):
        write_playback(path, target)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist_is_reported(tmp_path):
    path = tmp_path / "tone.wav"
    soundfile.write(path, sweep(1, 16_000), 16_000)
    with pytest.raises(AudioError) as caught:
        write_playback(path, tmp_path / "none" / "tone.m4a")
    assert caught.value.details["path"] == "tone.m4a"
