"""Voice activity: probabilities of real speech, silence, and any division into pieces."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.decode import open_audio
from asr_core.audio.segmenter import Segmenter, SegmenterOptions
from asr_core.audio.vad import WINDOW_SAMPLES, load_silero_vad
from asr_core.errors import ModelFileMissingError, SessionClosedError, UsageError
from tests.unit.audio.recordings import SPEECH, speech_path


@pytest.fixture(scope="module")
def vad():
    detector = load_silero_vad()
    yield detector
    detector.close()


def read(name: str) -> np.ndarray:
    with open_audio(speech_path(name)) as source:
        return np.concatenate(list(source.blocks()))


def probabilities_of(vad, waveform, cuts=()):
    stream = vad.stream()
    pieces, start = [], 0
    for end in [*sorted(min(cut, len(waveform)) for cut in cuts), len(waveform)]:
        pieces.append(stream.accept(waveform[start:end]))
        start = end
    return np.concatenate([*pieces, stream.finish()])


def test_speech_is_likely_in_a_real_recording_and_unlikely_in_the_silence_around(vad):
    speech = read("clips/00.flac")
    silence = np.zeros(32_000, np.float32)

    probabilities = probabilities_of(vad, np.concatenate([silence, speech, silence]))

    assert probabilities[:60].max() < 0.3
    assert (probabilities[63 : 63 + len(speech) // 512] > 0.5).mean() > 0.7
    assert probabilities[-40:].max() < 0.3


def test_every_clip_gives_speech_segments_that_hold_most_of_it(vad):
    speech_path("clips")
    for path in sorted((SPEECH / "clips").glob("*.flac")):
        waveform = read(f"clips/{path.name}")
        segmenter = Segmenter(SegmenterOptions())
        probabilities = probabilities_of(vad, waveform)
        segments = segmenter.accept(waveform, probabilities) + segmenter.finish()
        kept = sum(segment.end - segment.start for segment in segments)
        assert kept > 0.6 * len(waveform), path.name


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 40_000), st.lists(st.integers(0, 40_000), max_size=6), st.integers(0, 99))
def test_the_division_into_pieces_does_not_matter(vad, total, cuts, seed):
    rng = np.random.default_rng(seed)
    hum = np.sin(np.cumsum(rng.uniform(0.02, 0.3, total))) * rng.uniform(0.1, 0.9)
    waveform = (hum + rng.normal(0, 0.02, total)).clip(-1, 1).astype(np.float32)

    whole = probabilities_of(vad, waveform)
    pieces = probabilities_of(vad, waveform, cuts)

    assert len(whole) == -(-total // WINDOW_SAMPLES)
    np.testing.assert_allclose(pieces, whole, atol=1e-4)


def test_real_speech_in_small_pieces_equals_real_speech_at_once(vad):
    waveform = read("clips/00.flac")
    cuts = range(0, len(waveform), 333)
    np.testing.assert_allclose(
        probabilities_of(vad, waveform, cuts), probabilities_of(vad, waveform), atol=1e-4
    )


def test_streams_do_not_disturb_each_other(vad):
    waveform = np.sin(np.arange(16_000) * 0.05).astype(np.float32)
    alone = probabilities_of(vad, waveform)
    first, second = vad.stream(), vad.stream()
    mixed = []
    for start in range(0, len(waveform), 1_600):
        mixed.append(first.accept(waveform[start : start + 1_600]))
        second.accept(waveform[:777])
    mixed.append(first.finish())
    np.testing.assert_allclose(np.concatenate(mixed), alone, atol=1e-4)


def test_a_long_recording_runs_in_several_batches(vad):
    waveform = np.zeros(WINDOW_SAMPLES * 2_500, np.float32)
    probabilities = probabilities_of(vad, waveform)
    assert probabilities.shape == (2_500,)
    assert probabilities.dtype == np.float32
    assert probabilities.max() < 0.5


def test_no_audio_gives_no_probability(vad):
    assert probabilities_of(vad, np.zeros(0, np.float32)).shape == (0,)


def test_nothing_can_be_fed_after_the_end(vad):
    stream = vad.stream()
    stream.finish()
    with pytest.raises(UsageError):
        stream.accept(np.zeros(512, np.float32))


def test_a_closed_detector_says_so():
    detector = load_silero_vad()
    detector.close()
    with pytest.raises(SessionClosedError):
        detector.stream().accept(np.zeros(512, np.float32))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelFileMissingError) as caught:
        load_silero_vad()
    assert caught.value.details["name"] == "silero-vad"
    assert "faster-whisper" in str(caught.value)


def test_loading_does_not_import_faster_whisper(vad):
    import subprocess

    program = (
        "import sys; from asr_core.audio.vad import load_silero_vad; load_silero_vad();"
        "sys.exit('faster_whisper' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
