"""What the browser receives says exactly what the transcript says."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.engine import EXPORT_FORMATS, Job, JobState, LiveView, TranscribeOptions
from asr_core.events import Progress
from asr_core.messages import message
from asr_core.results import (
    Coverage,
    ModelInfo,
    Sentence,
    Token,
    Transcript,
    TranscriptWarning,
    WrittenSpan,
)
from tests.seeding import MEETING, sentence
from ui import view

words = st.text(st.sampled_from("好的ab1 2<>&'\"`${}"), min_size=1, max_size=4)
marks = st.sampled_from(["", "，", "。", ",", "?"])


@st.composite
def sentences(draw):
    count = draw(st.integers(1, 8))
    tokens = tuple(
        Token(draw(words), 100 * i, 100 * (i + 1), draw(st.floats(0, 1)), draw(marks))
        for i in range(count)
    )
    spans, index = [], 0
    while index < count:
        last = draw(st.integers(index, count - 1))
        if draw(st.booleans()):
            spans.append(WrittenSpan(index, last, draw(words)))
        index = last + 1
    return Sentence(tokens, tuple(spans))


@given(sentences())
def test_pieces_join_to_the_texts_of_the_sentence(line):
    shown = view.sentence_view(line)
    spoken = shown["spoken"] or shown["written"]
    assert "".join(piece[0] for piece in spoken) == line.spoken_text
    assert "".join(piece[0] for piece in shown["written"]) == line.text


def test_doubtful_and_rewritten_pieces_are_flagged():
    line = sentence("迁移二十六台", 0, doubtful="迁", spans=[(2, 4, "26")])
    assert view.sentence_view(line)["written"] == [
        ["迁", 0, view.DOUBTFUL, 20, 0],
        ["移", 200, view.PLAIN, 95, 1],
        ["26", 400, view.REWRITTEN, 100, 2],
        ["台", 1000, view.PLAIN, 95, 5],
    ]


def running(shown: int) -> LiveView:
    """A job that has ``shown`` sentences of the meeting."""
    job = Job("1" * 32, "2" * 32, "例会.wav", "file", "", JobState.RUNNING, 0, TranscribeOptions())
    progress = Progress(4_000, 24_000, 500, 2_500, shown)
    return LiveView(job, progress, MEETING[:shown], 0)


@pytest.mark.parametrize(("have", "first"), [(0, 0), (2, 2), (3, 3), (4, 0), (-1, 0)])
def test_running_job_sends_what_the_browser_lacks(have, first):
    shown = view.live_view(running(3), have, "zh-CN")
    assert shown["from"] == first
    assert shown["lines"] == [view.sentence_view(line) for line in MEETING[first:3]]
    assert (shown["done_ms"], shown["total_ms"], shown["remaining_ms"]) == (4_000, 24_000, 2_500)


def transcript(*warnings):
    model = ModelInfo("whisper-base", "ctranslate2 int8", "cpu")
    coverage = Coverage(20_000, 17_600, ((1_000, 3_400),))
    return Transcript((), 30_000, "zh", model, 3_000, coverage, warnings)


@pytest.mark.parametrize("locale", ["zh-CN", "en"])
def test_known_warnings_are_said_in_the_visitors_language(locale):
    shown = transcript(TranscriptWarning("no_speech", "no speech was detected"))
    assert view.warning_texts(shown, locale) == [message("warning.no_speech", locale)]


def test_a_warning_without_a_translation_keeps_its_english_message():
    shown = transcript(TranscriptWarning("brand_new", "Something to know."))
    assert view.warning_texts(shown, "zh-CN") == ["Something to know."]


def test_a_warning_about_parts_of_a_recording_says_which():
    two = TranscriptWarning("truncated", "damaged", ((62_000, 65_400), (3_600_000, 3_725_000)))
    many = TranscriptWarning("truncated", "damaged", tuple((i, i + 1) for i in range(0, 9000, 999)))
    assert view.warning_texts(transcript(two), "zh-CN") == [
        message("warning.truncated", "zh-CN") + "（缺 1:02–1:05, 1:00:00–1:02:05）"
    ]
    assert view.warning_texts(transcript(many), "en")[0].endswith("0:01–0:01 …)")


def test_damage_and_speech_without_text_are_told_apart():
    damage = TranscriptWarning("truncated", "damaged", ((3_000, 5_000), (30_000, 34_000)))
    coverage = Coverage(20_000, 17_600, ((1_000, 3_400), (4_800, 5_200), (30_000, 34_000)))
    shown = view.transcript_view(replace(transcript(damage), coverage=coverage), "zh-CN")
    assert shown["gaps"] == [[1_000, 3_000], [5_000, 5_200]]
    assert shown["lost"] == [[3_000, 5_000], [30_000, 34_000]]
    assert (shown["text_ms"], shown["silent_ms"]) == (17_600, 10_000)


def test_what_two_channels_say_at_once_counts_once():
    lines = tuple(
        replace(sentence("我们开始吧", start_ms, marks="。"), speaker=speaker)
        for speaker, start_ms in (("声道1", 1_000), ("声道2", 1_000), ("声道1", 9_000))
    )
    one_ms = lines[0].end_ms - lines[0].start_ms
    coverage = Coverage(3 * one_ms + 500, 3 * one_ms, ((20_000, 20_500),))
    both = replace(transcript(), sentences=lines, coverage=coverage)
    shown = view.transcript_view(both, "zh-CN")
    assert shown["text_ms"] == 2 * one_ms
    assert shown["silent_ms"] == 30_000 - 2 * one_ms - 500


def test_every_format_of_the_engine_is_offered():
    assert sorted(view.FORMATS) == sorted(EXPORT_FORMATS)


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_views_travel_as_json_without_markup(shown):
    sent = view.to_json(shown)
    assert json.loads(sent) == shown
    assert "<" not in sent
