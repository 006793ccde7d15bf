"""Whatever the engine produces is read back as it was."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.jobs.model import JobState
from asr_core.results import (
    Coverage,
    DeviceChoice,
    HotwordUse,
    ModelInfo,
    Sentence,
    Token,
    Transcript,
    TranscriptWarning,
    WrittenSpan,
)
from asr_core.store.database import Database
from asr_core.store.history import History
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import recording

TIMES_MS = st.integers(0, 2**40)
TEXTS = st.text(max_size=6)
RANGES = st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), max_size=3).map(tuple)
TOKENS = st.builds(
    Token, st.text(min_size=1, max_size=6), TIMES_MS, TIMES_MS, st.floats(0, 1), TEXTS
)


KINDS = st.sampled_from(["number", "hotword", "replacement", "polish"])
NAMES = st.lists(TEXTS, max_size=2).map(tuple)
CHOICES = st.none() | st.builds(
    DeviceChoice, TEXTS, TEXTS, st.lists(st.tuples(TEXTS, TEXTS), max_size=2).map(tuple)
)
USES = st.builds(HotwordUse, TEXTS, st.integers(0, 99), st.integers(0, 99))


def spaced(transcript: Transcript, choice: bool) -> Transcript:
    made = tuple(replace(sentence, spaced=choice) for sentence in transcript.sentences)
    return replace(transcript, sentences=made)


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    tokens = draw(st.lists(TOKENS, min_size=1, max_size=8))
    spans = []
    first = 0
    while first < len(tokens) and draw(st.booleans()):
        last = draw(st.integers(first, len(tokens) - 1))
        spans.append(WrittenSpan(first, last, draw(TEXTS), draw(KINDS)))
        first = last + 1
    return Sentence(tuple(tokens), tuple(spans), draw(TEXTS))


TRANSCRIPTS = st.builds(
    spaced,
    st.builds(
        Transcript,
        sentences=st.lists(sentences(), max_size=5).map(tuple),
        duration_ms=TIMES_MS,
        language=TEXTS,
        model=st.builds(ModelInfo, TEXTS, TEXTS, TEXTS, CHOICES),
        processing_ms=TIMES_MS,
        coverage=st.builds(
            Coverage, TIMES_MS, TIMES_MS, st.lists(st.tuples(TIMES_MS, TIMES_MS)).map(tuple)
        ),
        warnings=st.lists(st.builds(TranscriptWarning, TEXTS, TEXTS, RANGES, NAMES)).map(tuple),
        partial=st.booleans(),
        hotwords=st.lists(USES, max_size=3).map(tuple),
        devices=st.lists(st.tuples(TEXTS, st.integers(0, 99)), max_size=3).map(tuple),
    ),
    st.booleans(),
)
OPTIONS = st.builds(
    TranscribeOptions,
    vad=st.none() | TEXTS,
    itn=st.booleans(),
    punctuation=st.booleans(),
    hotwords=st.lists(TEXTS).map(tuple),
    polish=st.lists(TEXTS).map(tuple),
    marks=st.none() | TEXTS,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[History, str]]:
    home: Path = tmp_path_factory.mktemp("round_trip")
    database = Database(home / "history.db")
    history = History(database, home / "recordings")
    yield history, recording(history, home / "会议.wav")
    database.close()


@settings(max_examples=80, deadline=None)
@given(transcript=TRANSCRIPTS, options=OPTIONS)
def test_a_transcript_and_its_options_come_back_equal(
    shared: tuple[History, str], transcript: Transcript, options: TranscribeOptions
) -> None:
    history, recording_id = shared
    job = history.add_job(recording_id, options, running=True)
    state = JobState.PARTIAL if transcript.partial else JobState.DONE
    history.save_transcript(job.id, transcript, state)

    record = history.record(recording_id)
    assert record.transcript == transcript
    assert record.job.options == options
    assert record.job.id == job.id
    assert record.job.state is state
    assert record.job.processing_ms == transcript.processing_ms
    assert record.entry.duration_ms == record.job.duration_ms == transcript.duration_ms
