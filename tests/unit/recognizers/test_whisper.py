from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr_core.audio.resample import Resampler
from asr_core.audio.segmenter import Segment
from asr_core.errors import ModelError, SessionClosedError
from asr_core.recognizers.base import RecognizeOptions
from asr_core.recognizers.hallucination import bare
from asr_core.recognizers.whisper import WhisperRecognizer
from asr_core.results import Token, Utterance
from asr_core.runtime.session import Float32
from asr_core.text.scoring import cer

pytestmark = pytest.mark.model

SENTENCE = "各位同事下午好今天的项目例会现在开始"


@pytest.fixture(scope="module")
def recognizer(model_folder: Path) -> Iterator[WhisperRecognizer]:
    whisper = WhisperRecognizer(model_folder, name="whisper-base", threads=2, batch_windows=2)
    yield whisper
    whisper.close()


@pytest.fixture(scope="module")
def speech(sample: Path) -> Float32:
    waveform, rate_hz = soundfile.read(sample, dtype="float32")
    assert rate_hz == 16_000
    return waveform


def segment(waveform: Float32, start: int = 0) -> Segment:
    end = start + len(waveform)
    return Segment(start, end, start, end, np.asarray(waveform, np.float32))


def text_of(utterance: Utterance) -> str:
    return "".join(token.text for token in utterance.tokens)


def recognize(recognizer: WhisperRecognizer, *segments: Segment) -> list[Utterance]:
    return recognizer.recognize(segments, RecognizeOptions())


def test_speech_becomes_simplified_text_with_times_and_confidence(
    recognizer: WhisperRecognizer, speech: Float32
) -> None:
    first = segment(speech[: 4 * 16_000], start=160_000)
    (utterance,) = recognize(recognizer, first)
    assert cer(SENTENCE, text_of(utterance)).rate <= 0.15
    assert utterance.tokens[-1].mark
    assert (utterance.start_ms, utterance.end_ms) == (10_000, 14_000)
    assert_times_inside(utterance.tokens, 10_000, 14_000)
    # The sentence lasts 3.9 s; its words are not heaped up at one end.
    assert utterance.tokens[0].start_ms < 10_600
    assert utterance.tokens[-1].start_ms > 13_000
    assert all(0 < token.confidence <= 1 for token in utterance.tokens)


def assert_times_inside(tokens: tuple[Token, ...], start_ms: int, end_ms: int) -> None:
    times = [time for token in tokens for time in (token.start_ms, token.end_ms)]
    assert times == sorted(times)
    assert start_ms <= times[0]
    assert times[-1] <= end_ms


def test_segments_that_share_a_window_keep_their_own_words_and_times(
    recognizer: WhisperRecognizer, speech: Float32
) -> None:
    first = segment(speech[: int(4.4 * 16_000)])
    second = segment(speech[int(4.6 * 16_000) : 8 * 16_000], start=100 * 16_000)
    one, two = recognize(recognizer, first, second)
    assert cer(SENTENCE, text_of(one)).rate <= 0.2
    assert cer("首先请产品部介绍一下上周的进展", text_of(two)).rate <= 0.25
    assert_times_inside(one.tokens, 0, 4400)
    assert_times_inside(two.tokens, 100_000, 103_400)


def test_numbers_come_as_they_are_spoken(recognizer: WhisperRecognizer, speech: Float32) -> None:
    (utterance,) = recognize(recognizer, segment(speech[8 * 16_000 : 21 * 16_000]))
    spoken = text_of(utterance)
    assert "二十六" in spoken
    assert "百分之八十五" in spoken
    assert not any(char.isdigit() and char.isascii() for char in spoken)


@pytest.mark.parametrize("seconds", [0.05, 0.4, 3.0, 30.0])
@pytest.mark.parametrize("level", [0.0, 0.003, 0.1])
def test_noise_gives_neither_prompt_nor_loop(
    recognizer: WhisperRecognizer, seconds: float, level: float
) -> None:
    noise = np.random.default_rng(5).standard_normal(int(seconds * 16_000)) * level
    (utterance,) = recognize(recognizer, segment(noise.astype(np.float32)))
    spoken = bare(text_of(utterance))
    assert "普通话" not in spoken
    assert len(spoken) <= 12 + 6 * seconds


def test_speakers_that_share_a_window_are_all_heard(
    recognizer: WhisperRecognizer, speech_folder: Path
) -> None:
    """Packed together, the model alone passes whole sentences over."""
    with (speech_folder / "clips.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))[:18]
    segments, start = [], 0
    for row in rows:
        waveform, rate_hz = soundfile.read(speech_folder / row["file"], dtype="float32")
        resampler = Resampler(rate_hz)
        waveform = np.concatenate([resampler.push(waveform), resampler.flush()])
        segments.append(segment(waveform, start))
        start = segments[-1].end + 8_000
    utterances = recognize(recognizer, *segments)
    heard = "".join(map(text_of, utterances))
    assert cer("".join(row["transcript"] for row in rows), heard).rate <= 0.3
    assert all(utterance.tokens for utterance in utterances)


def test_numbers_are_never_written_in_full_width_digits(
    recognizer: WhisperRecognizer, speech: Float32
) -> None:
    utterances = recognize(recognizer, *(segment(speech[at : at + 160_000]) for at in (0, 320_000)))
    for utterance in utterances:
        assert not any(unicodedata.digit(char, -1) >= 0 for char in text_of(utterance))


def test_many_windows_in_one_call_give_one_utterance_each_in_order(
    recognizer: WhisperRecognizer, speech: Float32
) -> None:
    piece = speech[: 4 * 16_000]
    segments = [segment(piece, start=number * 20 * 16_000) for number in range(20)]
    utterances = recognize(recognizer, *segments)
    assert [utterance.start_ms for utterance in utterances] == [
        number * 20_000 for number in range(20)
    ]
    for utterance in utterances:
        assert cer(SENTENCE, text_of(utterance)).rate <= 0.3
        assert_times_inside(utterance.tokens, utterance.start_ms, utterance.end_ms)


def test_no_segments_give_no_utterances(recognizer: WhisperRecognizer) -> None:
    assert recognize(recognizer) == []


def test_a_damaged_model_is_a_model_error(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"not a model")
    with pytest.raises(ModelError) as caught:
        WhisperRecognizer(tmp_path, name="whisper-base", threads=1, batch_windows=1)
    assert caught.value.details["name"] == "whisper-base"


def test_a_closed_recognizer_refuses(model_folder: Path, speech: Float32) -> None:
    whisper = WhisperRecognizer(model_folder, name="whisper-base", threads=1, batch_windows=1)
    whisper.close()
    whisper.close()
    with pytest.raises(SessionClosedError):
        recognize(whisper, segment(speech[:16_000]))


def test_silence_beside_speech_in_one_batch_stays_silent(
    model_folder: Path, speech: Float32
) -> None:
    """One worker, so that both windows are in one batch."""
    whisper = WhisperRecognizer(model_folder, name="whisper-base", threads=1, batch_windows=2)
    talk = segment(speech[: 13 * 16_000])
    silence = segment(np.zeros(13 * 16_000, np.float32), start=talk.end)
    heard, nothing = recognize(whisper, talk, silence)
    whisper.close()
    assert text_of(heard).startswith("各位同事下午好")
    assert nothing.tokens == ()
