"""Detectors of speech on whole recordings, real ones above all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asr_core.audio.decode import open_audio
from asr_core.audio.detector import Detector, SegmentStream, open_detector
from asr_core.audio.segmenter import Segment
from asr_core.errors import UsageError
from tests.unit.audio.segments import bounds, check_settled

RATE_HZ = 16_000
WINDOW = 512

# (start, speech_start, speech_end, end) of the shipped recording, by Silero.
SAMPLE_SPEECH = [
    (0, 1_024, 61_440, 66_240),
    (74_048, 78_848, 123_904, 128_704),
    (132_928, 137_728, 243_200, 247_552),
    (247_552, 251_904, 343_552, 347_648),
    (347_648, 351_744, 476_160, 480_960),
]


@pytest.fixture(scope="module", params=["silero", "fsmn", "off"])
def detector(request):
    is_fsmn = request.param == "fsmn"
    folder = request.getfixturevalue("fsmn_folder") if is_fsmn else None
    detector = open_detector(request.param, fsmn_folder=folder)
    yield detector
    detector.close()


@pytest.fixture(scope="module")
def silero():
    detector = open_detector("silero")
    yield detector
    detector.close()


@pytest.fixture(scope="module")
def speech(sample: Path) -> np.ndarray:
    return read(sample)


def read(path: Path) -> np.ndarray:
    with open_audio(path) as source:
        return np.concatenate(list(source.blocks()))


def segments_of(detector: Detector, waveform: np.ndarray, cuts=()) -> list[Segment]:
    stream = detector.stream()
    segments: list[Segment] = []
    told, start = [], 0
    for end in [*sorted(min(cut, len(waveform)) for cut in cuts), len(waveform)]:
        segments += stream.accept(waveform[start:end])
        told.append((stream.settled, len(segments)))
        start = end
    segments += stream.finish()
    check_settled(told, segments)
    return segments


def check_shape(segments: list[Segment], waveform: np.ndarray) -> None:
    """Assert that segments are sorted, disjoint, inside the recording and short enough."""
    position = 0
    for segment in segments:
        assert position <= segment.start <= segment.speech_start
        assert segment.speech_start < segment.speech_end <= segment.end <= len(waveform)
        assert segment.end - segment.start <= 30 * RATE_HZ
        np.testing.assert_array_equal(segment.waveform, waveform[segment.start : segment.end])
        position = segment.end


def test_the_shipped_recording_gives_its_known_segments(silero, speech):
    segments = segments_of(silero, speech)
    check_shape(segments, speech)
    # Another processor rounds otherwise, and a probability close to the threshold may turn.
    assert len(segments) == len(SAMPLE_SPEECH)
    assert np.abs(np.array(bounds(segments)) - np.array(SAMPLE_SPEECH)).max() <= WINDOW


def test_without_detection_the_shipped_recording_is_two_windows_without_a_hole(speech):
    first, second = segments_of(open_detector("off"), speech)
    assert (first.start, second.end) == (0, len(speech))
    assert first.end == second.start
    # Inside the pause between two utterances, late in the first 30 s.
    assert 343_552 < first.end < 351_744


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cuts=st.lists(st.integers(0, 486_400), max_size=30))
def test_the_division_into_pieces_does_not_matter(detector, speech, cuts):
    whole = segments_of(detector, speech)
    assert bounds(segments_of(detector, speech, cuts)) == bounds(whole)


@pytest.mark.parametrize("step", [320, 1_600, 160_000])
def test_equal_pieces_of_a_microphone_or_a_file_give_the_same_segments(detector, speech, step):
    pieces = segments_of(detector, speech, range(step, len(speech), step))
    assert bounds(pieces) == bounds(segments_of(detector, speech))
    check_shape(pieces, speech)


def test_two_channels_side_by_side_do_not_disturb_each_other(detector, speech):
    left, right = speech, np.concatenate([np.zeros(40_000, np.float32), speech[::-1]])
    streams: list[tuple[SegmentStream, np.ndarray, list[Segment]]] = [
        (detector.stream(), left, []),
        (detector.stream(), right, []),
    ]
    for start in range(0, len(right), 8_000):
        for stream, waveform, segments in streams:
            segments += stream.accept(waveform[start : start + 8_000])
    for stream, waveform, segments in streams:
        segments += stream.finish()
        assert bounds(segments) == bounds(segments_of(detector, waveform))


@pytest.mark.parametrize("samples", [0, 1, 511, 512, 160_000, 700_000])
def test_digital_silence_is_no_speech(detector, samples):
    assert segments_of(detector, np.zeros(samples, np.float32)) == []


def test_a_silent_stretch_between_speech_costs_no_window_and_no_speech(speech):
    muted = np.zeros(120 * RATE_HZ, np.float32)
    waveform = np.concatenate([speech, muted, speech])

    segments = segments_of(open_detector("off"), waveform)

    check_shape(segments, waveform)
    heard = np.zeros(len(waveform), bool)
    for segment in segments:
        heard[segment.start : segment.end] = True
    assert not waveform[~heard].any()
    assert (~heard).sum() > 80 * RATE_HZ


def test_the_quietest_audible_sample_is_heard_without_detection():
    waveform = np.zeros(20_000, np.float32)
    waveform[12_345] = 2.0**-15
    assert bounds(segments_of(open_detector("off"), waveform)) == [(0, 0, 20_000, 20_000)]


def noise(seconds: int) -> np.ndarray:
    return np.random.default_rng(5).normal(0, 0.1, seconds * RATE_HZ)


def chords(seconds: int) -> np.ndarray:
    """A new triad each half second, with overtones and a decay."""
    t = np.arange(seconds * RATE_HZ) / RATE_HZ
    beat = np.floor(t * 2)
    root_hz = 220 * 2 ** ((beat * 7 % 12) / 12)
    parts = [
        np.sin(2 * np.pi * root_hz * ratio * n * t) / n for ratio in (1, 1.25, 1.5) for n in (1, 2)
    ]
    return 0.1 * sum(parts) * np.exp(-3 * (t * 2 - beat))


@pytest.mark.parametrize(
    "make",
    [
        noise,
        chords,
        lambda seconds: np.sign(noise(seconds)),
        lambda seconds: np.full(seconds * RATE_HZ, 0.7),
        lambda seconds: np.where(np.arange(seconds * RATE_HZ) % 3_200 < 40, 1.0, 0.0),
    ],
    ids=["noise", "chords", "clipped noise", "offset", "clicks"],
)
def test_what_is_no_voice_gives_proper_segments_or_none(detector, make):
    waveform = make(50).astype(np.float32)
    check_shape(segments_of(detector, waveform), waveform)


def test_noise_is_no_speech(silero):
    assert segments_of(silero, noise(30).astype(np.float32)) == []


def test_a_stereo_copy_gives_the_same_segments(detector, speech, tmp_path):
    soundfile.write(tmp_path / "mono.wav", speech, RATE_HZ)
    soundfile.write(tmp_path / "stereo.wav", np.stack([speech, speech], 1), RATE_HZ)

    mono = segments_of(detector, read(tmp_path / "mono.wav"))
    stereo = segments_of(detector, read(tmp_path / "stereo.wav"))

    assert bounds(stereo) == bounds(mono)
    assert mono != []


def test_four_seconds_of_silence_before_a_recording_move_its_speech_by_as_much(silero, speech):
    segments = segments_of(silero, np.concatenate([np.zeros(4 * RATE_HZ, np.float32), speech]))
    moved = np.array(bounds(segments)) - 4 * RATE_HZ
    expected = np.array(SAMPLE_SPEECH)
    assert moved.shape == expected.shape
    # The detector remembers what it heard before; the first padding is no longer cut off.
    assert np.abs(moved - expected)[1:].max() <= 2 * WINDOW
    assert np.abs(moved - expected)[0, 1:].max() <= 2 * WINDOW


def test_nothing_can_be_fed_after_the_end(detector):
    stream = detector.stream()
    stream.finish()
    with pytest.raises(UsageError):
        stream.accept(np.zeros(16, np.float32))
