"""A transcription that was stopped goes on after the last segment that it recognized."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr_core.audio.segmenter import Segment
from asr_core.events import Progress
from asr_core.recognizers.base import RecognizeOptions, Recognizer
from asr_core.results import Transcript, Utterance
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.checkpoints import Checkpoint, Spans
from asr_core.transcription.options import TranscribeOptions
from asr_core.transcription.pipeline import Stages, transcribe

pytestmark = pytest.mark.model

RATE_HZ = 16_000


class Counting:
    """The recognizer's thread, noting what it is given."""

    def __init__(self, worker) -> None:
        self._worker = worker
        self.seen: list[tuple[int, int]] = []

    def ready(self) -> Recognizer:
        return self._worker.ready()

    def recognize(self, segments: Sequence[Segment], options: RecognizeOptions) -> list[Utterance]:
        self.seen += [(segment.start, segment.end) for segment in segments]
        return self._worker.recognize(segments, options)


class Kept:
    """Checkpoints in memory."""

    def __init__(self) -> None:
        self.groups: dict[tuple[int, int], tuple[Spans, Checkpoint]] = {}

    def load(self, channel: int, number: int, spans: Spans) -> Checkpoint | None:
        known = self.groups.get((channel, number))
        return known[1] if known and list(known[0]) == list(spans) else None

    def save(self, channel, number, spans, utterances, elapsed_ms) -> None:
        assert (channel, number) not in self.groups
        self.groups[channel, number] = (spans, Checkpoint(tuple(utterances), elapsed_ms))


@pytest.fixture(scope="module", params=["mix", "split"])
def recording(request, sample: Path, tmp_path_factory: pytest.TempPathFactory):
    """A minute in one channel, or in two of which one is late."""
    speech, rate_hz = soundfile.read(sample, dtype="int16")
    assert rate_hz == RATE_HZ
    minute = np.tile(speech, 2)
    if request.param == "split":
        minute = np.stack([minute, np.roll(minute, 9 * RATE_HZ)], axis=1)
    path = tmp_path_factory.mktemp("long") / "会议.wav"
    soundfile.write(path, minute, RATE_HZ)
    return path, TranscribeOptions(channels=request.param)


@pytest.fixture(scope="module")
def undisturbed(recording, stages: Stages) -> tuple[Transcript, list[tuple[int, int]]]:
    path, options = recording
    counting = Counting(stages.worker)
    transcript = transcribe(path, options, dataclasses.replace(stages, worker=counting))
    return transcript, counting.seen


def content(transcript: Transcript) -> tuple:
    return (
        *(transcript.sentences, transcript.duration_ms, transcript.language, transcript.model),
        *(transcript.coverage, transcript.warnings, transcript.partial),
    )


def test_nothing_is_recognized_twice_and_the_text_is_that_of_one_run(
    recording, stages: Stages, undisturbed
) -> None:
    path, options = recording
    whole, seen = undisturbed
    counting, kept = Counting(stages.worker), Kept()
    counted = dataclasses.replace(stages, worker=counting)
    for stop in (0.1, 0.3):
        token = CancelToken()

        def stop_there(progress: Progress, token=token, stop=stop) -> None:
            if progress.done_ms >= stop * whole.duration_ms:
                token.cancel()

        part = transcribe(
            path, options, counted, on_event=stop_there, cancel=token, checkpoints=kept
        )
        assert part.partial

        seen_by_then = len(counting.seen)
        known = CancelToken(known_only=True)
        kept_text = transcribe(path, options, counted, cancel=known, checkpoints=kept)
        assert (kept_text.partial, kept_text.sentences) == (True, part.sentences)
        assert len(counting.seen) == seen_by_then
    events: list[Progress] = []
    resumed = transcribe(path, options, counted, on_event=events.append, checkpoints=kept)

    assert content(resumed) == content(whole)
    assert sorted(counting.seen) == sorted(seen)
    assert tuple(line for event in events for line in event.sentences) == resumed.sentences

    counting.seen.clear()
    again = transcribe(path, options, counted, checkpoints=kept)
    assert content(again) == content(whole)
    assert counting.seen == []
    # The time that recognition took then counts, else the speed would be a fable.
    assert again.processing_ms >= sum(known.elapsed_ms for _, known in kept.groups.values())
