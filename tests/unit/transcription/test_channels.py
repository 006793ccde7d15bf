"""Channels transcribed on their own, and recordings of which a part is missing."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr_core.audio.peaks import read_peaks
from asr_core.audio.reader import DecodeOptions
from asr_core.events import Progress
from asr_core.results import Transcript
from asr_core.transcription.options import TranscribeOptions
from asr_core.transcription.pipeline import Stages, transcribe

pytestmark = pytest.mark.model

RATE_HZ = 16_000
SPLIT = TranscribeOptions(channels="split")


@pytest.fixture(scope="module")
def speech(sample: Path) -> np.ndarray:
    waveform, rate_hz = soundfile.read(sample, dtype="int16")
    assert rate_hz == RATE_HZ
    return waveform


@pytest.fixture(scope="module")
def call(speech: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two people on a telephone line each: the first 16 s or so, and 4 s later the rest."""
    loudness = np.abs(speech[: 18 * RATE_HZ].astype(int)).reshape(-1, RATE_HZ // 5).sum(axis=1)
    pause = 70 + int(np.argmin(loudness[70:]))  # the quietest fifth of a second from 14 s on
    middle = pause * RATE_HZ // 5 + RATE_HZ // 10
    first, second = speech[:middle], speech[middle:]
    channels = np.zeros((4 * RATE_HZ + len(second) + RATE_HZ, 2), np.int16)
    channels[: len(first), 0] = first
    channels[4 * RATE_HZ : 4 * RATE_HZ + len(second), 1] = second
    path = tmp_path_factory.mktemp("call") / "通话.wav"
    soundfile.write(path, channels, RATE_HZ)
    return path


@pytest.fixture(scope="module")
def observed(call: Path, stages: Stages) -> tuple[Transcript, list[Progress]]:
    events: list[Progress] = []
    labelled = dataclasses.replace(stages, channel_label="声道{number}")
    return transcribe(call, SPLIT, labelled, on_event=events.append), events


def texts(transcript: Transcript, speaker: str) -> str:
    return "".join(s.spoken_text for s in transcript.sentences if s.speaker == speaker)


def test_each_channel_is_a_speaker_with_a_text_of_its_own(
    observed: tuple[Transcript, list[Progress]],
) -> None:
    transcript, _ = observed
    assert {sentence.speaker for sentence in transcript.sentences} == {"声道1", "声道2"}
    assert "各位同事下午好" in texts(transcript, "声道1")
    assert "七十五毫秒" not in texts(transcript, "声道1")
    assert "七十五毫秒" in texts(transcript, "声道2")
    assert "各位同事" not in texts(transcript, "声道2")


def test_speakers_who_talk_at_once_are_in_order_of_time(
    observed: tuple[Transcript, list[Progress]],
) -> None:
    transcript, events = observed
    starts = [sentence.start_ms for sentence in transcript.sentences]
    assert starts == sorted(starts)
    assert tuple(itertools.chain(*(event.sentences for event in events))) == transcript.sentences
    for speaker in ("声道1", "声道2"):
        own = [sentence for sentence in transcript.sentences if sentence.speaker == speaker]
        assert all(one.end_ms <= two.start_ms for one, two in itertools.pairwise(own))
    second = min(s.start_ms for s in transcript.sentences if s.speaker == "声道2")
    first = max(s.end_ms for s in transcript.sentences if s.speaker == "声道1")
    assert 3_700 <= second < first


def test_the_account_of_speech_adds_the_channels(
    observed: tuple[Transcript, list[Progress]],
) -> None:
    transcript, _ = observed
    assert transcript.coverage.speech_ms == transcript.coverage.transcribed_ms
    assert transcript.coverage.speech_ms > transcript.duration_ms


def test_mixed_channels_have_no_speakers(call: Path, stages: Stages) -> None:
    transcript = transcribe(call, TranscribeOptions(), stages)
    assert {sentence.speaker for sentence in transcript.sentences} == {""}


def test_one_channel_cannot_be_split_and_needs_no_label(sample: Path, stages: Stages) -> None:
    split = transcribe(sample, SPLIT, stages)
    mixed = transcribe(sample, TranscribeOptions(), stages)
    assert split.sentences == mixed.sentences
    assert split.warnings == mixed.warnings == ()


def test_channels_that_hold_the_same_are_reported(
    speech: np.ndarray, stages: Stages, tmp_path: Path
) -> None:
    path = tmp_path / "double.wav"
    soundfile.write(path, np.stack([speech, speech], axis=1)[: 8 * RATE_HZ], RATE_HZ)
    transcript = transcribe(path, SPLIT, stages)
    assert [warning.code for warning in transcript.warnings] == ["channels_alike"]
    assert texts(transcript, "1") == texts(transcript, "2") != ""


def test_a_wrongly_wired_channel_does_not_silence_the_other(
    speech: np.ndarray, stages: Stages, tmp_path: Path
) -> None:
    path = tmp_path / "opposite.wav"
    soundfile.write(path, np.stack([speech, -speech], axis=1)[: 8 * RATE_HZ], RATE_HZ)
    transcript = transcribe(path, TranscribeOptions(), stages)
    assert "各位同事下午好" in transcript.text


def test_what_a_damaged_recording_lacks_is_a_gap(
    speech: np.ndarray, stages: Stages, tmp_path: Path
) -> None:
    path = tmp_path / "cut.wav"
    soundfile.write(path, speech, RATE_HZ, "PCM_16")
    whole = path.read_bytes()
    path.write_bytes(whole[: 44 + 2 * 10 * RATE_HZ])

    transcript = transcribe(path, TranscribeOptions(), stages)

    assert transcript.duration_ms == 10_000
    assert transcript.coverage.gaps == ((10_000, len(speech) * 1000 // RATE_HZ),)
    assert transcript.coverage.speech_ms == transcript.coverage.transcribed_ms
    assert [warning.code for warning in transcript.warnings] == ["truncated"]
    assert transcript.warnings[0].ranges == transcript.coverage.gaps
    assert "各位同事下午好" in transcript.text


def test_a_recording_over_the_limit_keeps_its_beginning(
    sample: Path, stages: Stages, tmp_path: Path
) -> None:
    limited = dataclasses.replace(stages, limits=DecodeOptions(max_duration_s=9.0))
    peaks = tmp_path / "outline.peaks"

    transcript = transcribe(sample, TranscribeOptions(), limited, peaks=peaks)

    assert transcript.duration_ms == 9_000
    assert not transcript.partial
    assert "各位同事下午好" in transcript.text
    assert [warning.code for warning in transcript.warnings] == ["too_long"]
    assert transcript.coverage.gaps == transcript.warnings[0].ranges == ((9_000, 30_400),)
    assert read_peaks(peaks)[0].duration_ms == 9_000


def test_the_outline_is_written_while_the_text_is_made(
    call: Path, stages: Stages, tmp_path: Path
) -> None:
    peaks = tmp_path / "outline.peaks"
    transcript = transcribe(call, SPLIT, stages, peaks=peaks)
    info, pairs = read_peaks(peaks)
    assert abs(info.duration_ms - transcript.duration_ms) <= 20
    assert pairs.max() > 30
    assert [file.name for file in tmp_path.iterdir()] == ["outline.peaks"]


def test_an_outline_that_cannot_be_written_costs_no_text(
    call: Path, stages: Stages, tmp_path: Path
) -> None:
    transcript = transcribe(call, SPLIT, stages, peaks=tmp_path / "no folder" / "outline.peaks")
    assert "各位同事下午好" in transcript.text
