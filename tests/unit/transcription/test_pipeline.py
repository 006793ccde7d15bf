"""The whole path of a file with the real detector, recognizer and normalizer."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr_core.errors import AudioDecodeError, SessionClosedError
from asr_core.events import Progress
from asr_core.recognizers.base import RecognizeOptions
from asr_core.recognizers.whisper import WhisperRecognizer
from asr_core.results import Transcript
from asr_core.text.itn.normalizer import RuleNormalizer
from asr_core.text.punctuation.lines import strip_marks
from asr_core.text.punctuation.marks import Punctuator
from asr_core.text.punctuation.opening import open_punctuation
from asr_core.text.scoring import cer
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.options import TranscribeOptions
from asr_core.transcription.pipeline import Stages, transcribe
from asr_core.transcription.scheduler import RecognizerWorker, WorkerState

pytestmark = pytest.mark.model

RATE_HZ = 16_000
WRITTEN = (
    "各位同事下午好，今天的项目例会现在开始。首先请产品部介绍一下上周的进展。"
    "上周我们完成了语音转写页面的第三版设计，并且邀请了26位用户进行试用。"
    "其中有85%的用户表示满意，剩下的用户主要担心识别速度。研发部这边，我们把模型迁移到了昇腾芯片上，"
    "单路延迟从120毫秒降到了75毫秒。"
)


@pytest.fixture(scope="module")
def long_recording(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample four times, 5 s of silence before each."""
    waveform, rate_hz = soundfile.read(sample, dtype="int16")
    path = tmp_path_factory.mktemp("long") / "long.wav"
    with soundfile.SoundFile(path, "w", rate_hz, 1, "PCM_16") as file:
        for _ in range(4):
            file.write(np.zeros(5 * rate_hz, np.int16))
            file.write(waveform)
    return path


@pytest.fixture(scope="module")
def observed(long_recording: Path, stages: Stages) -> tuple[Transcript, list[Progress]]:
    events: list[Progress] = []
    transcript = transcribe(long_recording, TranscribeOptions(), stages, on_event=events.append)
    return transcript, events


def write_wav(path: Path, waveform: np.ndarray) -> Path:
    soundfile.write(path, waveform, RATE_HZ, "PCM_16")
    return path


def test_a_recording_becomes_its_written_text(sample: Path, stages: Stages) -> None:
    transcript = transcribe(sample, TranscribeOptions(), stages)
    assert cer(WRITTEN, transcript.text).rate <= 0.15
    assert "26位" in transcript.text
    assert "85%" in transcript.text
    assert "二十六位" in transcript.spoken_text
    assert transcript.text[-1] in "。！？"
    assert transcript.language == "zh"
    assert transcript.model.backend == "ctranslate2 int8"
    assert not transcript.partial


def test_the_transcript_covers_the_whole_recording(
    observed: tuple[Transcript, list[Progress]], long_recording: Path
) -> None:
    transcript, _ = observed
    assert transcript.duration_ms == soundfile.info(long_recording).frames * 1000 // RATE_HZ
    coverage = transcript.coverage
    assert coverage.gaps == ()
    assert coverage.transcribed_ms == coverage.speech_ms
    # Four times the sample: 30.4 s with short pauses between its sentences.
    assert 4 * 24_000 <= coverage.speech_ms <= 4 * 30_400
    starts = [sentence.start_ms for sentence in transcript.sentences]
    for turn in range(4):
        begin = turn * 35_400 + 5_000
        assert any(begin - 300 <= start <= begin + 900 for start in starts)
    assert cer(4 * WRITTEN, transcript.text).rate <= 0.2


def test_times_are_ordered_and_inside_the_recording(
    observed: tuple[Transcript, list[Progress]],
) -> None:
    transcript, _ = observed
    tokens = [token for sentence in transcript.sentences for token in sentence.tokens]
    assert all(token.start_ms <= token.end_ms for token in tokens)
    assert all(one.end_ms <= two.start_ms for one, two in itertools.pairwise(tokens))
    assert tokens[0].start_ms >= 0
    assert tokens[-1].end_ms <= transcript.duration_ms


def test_progress_moves_on_and_brings_every_sentence_once(
    observed: tuple[Transcript, list[Progress]],
) -> None:
    transcript, events = observed
    assert len(events) >= 4
    positions = [event.done_ms for event in events]
    assert positions == sorted(positions)
    assert (positions[0], positions[-1]) == (0, transcript.duration_ms)
    assert all(event.total_ms == transcript.duration_ms for event in events)
    assert tuple(itertools.chain(*(event.sentences for event in events))) == transcript.sentences
    assert events[-1].remaining_ms == 0


def test_cancelling_keeps_what_was_recognized(long_recording: Path, stages: Stages) -> None:
    token = CancelToken()
    seen: list[Progress] = []

    def cancel_after_first_text(progress: Progress) -> None:
        seen.append(progress)
        if progress.sentences:
            token.cancel()

    transcript = transcribe(
        long_recording, TranscribeOptions(), stages, on_event=cancel_after_first_text, cancel=token
    )
    assert transcript.partial
    assert transcript.text.startswith("各位同事下午好")
    assert len(transcript.text) < 300
    assert seen[-1].done_ms < 71_000


def test_cancelled_before_the_start_there_is_no_text(sample: Path, stages: Stages) -> None:
    token = CancelToken()
    token.cancel()
    transcript = transcribe(sample, TranscribeOptions(), stages, cancel=token)
    assert (transcript.partial, transcript.sentences) == (True, ())


@pytest.mark.parametrize("seconds", [0.05, 4.0])
def test_silence_is_an_empty_transcript_with_the_reason(
    tmp_path: Path, stages: Stages, seconds: float
) -> None:
    path = write_wav(tmp_path / "silence.wav", np.zeros(int(seconds * RATE_HZ), np.int16))
    transcript = transcribe(path, TranscribeOptions(), stages)
    assert transcript.text == ""
    assert transcript.duration_ms == int(seconds * 1000)
    assert [warning.code for warning in transcript.warnings] == ["no_speech"]
    assert transcript.coverage.speech_ms == 0


def test_unreadable_content_names_the_file(tmp_path: Path, stages: Stages) -> None:
    path = tmp_path / "upload-7"
    path.write_text("这不是录音" * 100, encoding="utf-8")
    with pytest.raises(AudioDecodeError) as caught:
        transcribe(path, TranscribeOptions(), stages, name="会议.wav")
    assert caught.value.details == {"path": "会议.wav", "reason": "not_audio"}


def test_without_number_normalization_numbers_stay_spoken(sample: Path, stages: Stages) -> None:
    transcript = transcribe(sample, TranscribeOptions(itn=False), stages)
    assert "二十六位" in transcript.text
    assert transcript.text == transcript.spoken_text


def test_without_punctuation_there_are_no_marks(sample: Path, stages: Stages) -> None:
    transcript = transcribe(sample, TranscribeOptions(punctuation=False), stages)
    assert len(transcript.sentences) > 1
    assert not set(transcript.text) & set("，。？！、；：")


def test_without_speech_detection_everything_is_recognized(sample: Path, stages: Stages) -> None:
    transcript = transcribe(sample, TranscribeOptions(vad="off"), stages)
    assert transcript.coverage.speech_ms == transcript.duration_ms
    assert cer(WRITTEN, transcript.text).rate <= 0.2


def test_a_missing_normalizer_is_told(sample: Path, stages: Stages) -> None:
    transcript = transcribe(sample, TranscribeOptions(), Stages(stages.worker, None, "silero"))
    assert "二十六位" in transcript.text
    assert [warning.code for warning in transcript.warnings] == ["normalization"]


def test_own_rules_count_and_those_that_cannot_are_named(
    sample: Path, stages: Stages, tmp_path: Path
) -> None:
    rules = tmp_path / "itn_rules.txt"
    rules.write_text("二十六位 => 二十六名\nre: (二十)六 => x\n", encoding="utf-8")
    own = replace(stages, normalizer=RuleNormalizer(rules))
    transcript = transcribe(sample, TranscribeOptions(), own)
    assert "二十六名" in transcript.text
    assert "二十六位" in transcript.spoken_text
    warned = [(warning.code, warning.names) for warning in transcript.warnings]
    assert warned == [("itn_rules", ("itn_rules.txt:2",))]


def test_hotwords_are_corrected_counted_and_refused_by_name(sample: Path, stages: Stages) -> None:
    words = ("昇腾", "例会", "达摩院", "太" * 41, "率会 => 例会", "力会 => 例会")
    transcript = transcribe(sample, TranscribeOptions(hotwords=words), stages)
    assert "例会" in transcript.text
    assert [use.word for use in transcript.hotwords] == ["昇腾", "例会", "达摩院"]
    assert [(w.code, w.names) for w in transcript.warnings] == [("hotwords_left_out", ("太" * 41,))]
    bare = transcribe(sample, TranscribeOptions(), stages)
    assert transcript.spoken_text == bare.spoken_text


def test_restored_marks_replace_the_recognizers(sample: Path, stages: Stages) -> None:
    opened = replace(
        stages, open_punctuator=lambda name: Punctuator(open_punctuation(name, threads=1))
    )
    transcript = transcribe(sample, TranscribeOptions(marks="tagger"), opened)
    bare = transcribe(sample, TranscribeOptions(punctuation=False), stages)
    assert strip_marks(transcript.spoken_text) == strip_marks(bare.spoken_text)
    assert transcript.text[-1] in "。！？"
    assert sum(mark in transcript.text for mark in "，。") == 2


def test_a_punctuation_model_that_cannot_be_opened_costs_no_text(
    sample: Path, stages: Stages, tmp_path: Path
) -> None:
    def missing(name: str) -> Punctuator:
        return Punctuator(open_punctuation(str(tmp_path / name), threads=1))

    without = replace(stages, open_punctuator=missing, marks="ct-punc")
    transcript = transcribe(sample, TranscribeOptions(), without)
    assert transcript.text == transcribe(sample, TranscribeOptions(), stages).text
    warned = [(warning.code, warning.names) for warning in transcript.warnings]
    assert warned == [("punctuation_model", ("ct-punc",))]


def test_a_closed_worker_refuses(model_folder: Path) -> None:
    worker = RecognizerWorker(
        lambda: WhisperRecognizer(model_folder, name="whisper-base", threads=1, batch_windows=1)
    )
    worker.preload()
    worker.close()
    with pytest.raises(SessionClosedError):
        worker.recognize([], RecognizeOptions())


def test_a_model_that_cannot_be_loaded_is_told_and_tried_again(
    model_folder: Path, tmp_path: Path
) -> None:
    folders = iter([tmp_path, model_folder])
    worker = RecognizerWorker(
        lambda: WhisperRecognizer(next(folders), name="whisper-base", threads=1, batch_windows=1)
    )
    with pytest.raises(Exception, match="whisper-base cannot be loaded"):
        worker.ready()
    assert worker.state is WorkerState.UNAVAILABLE
    assert worker.error is not None
    assert worker.error.code == "model"
    assert worker.ready().info.name == "whisper-base"
    assert worker.error is None
    worker.close()
