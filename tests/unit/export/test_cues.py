"""Subtitles that a person can read: short lines, natural breaks, honest times."""

from __future__ import annotations

import itertools

from hypothesis import given, settings

from asr_core.export.clean import one_line
from asr_core.export.cues import MAX_CUE_MS, MAX_LINE_CHARS, build_cues
from asr_core.results import Sentence, Token, Transcript, WrittenSpan
from asr_core.text.tokens import text_width
from tests.unit.export.samples import meeting, sentence, transcript, transcripts


def squeezed(text: str) -> str:
    return "".join(one_line(text).split())


def test_a_short_sentence_is_one_cue_with_the_times_of_its_tokens() -> None:
    cues = build_cues(meeting())
    assert [(c.start_ms, c.end_ms, c.lines) for c in cues] == [
        (1000, 3000, ("用户有26位，很满意。",)),
        (5000, 6000, ("用Tinglu吧！",)),
    ]


def test_a_long_sentence_breaks_at_its_comma() -> None:
    text = "研发部这边我们把模型迁移到了新的芯片上，单路延迟从很多毫秒降到了一半左右。"
    (cue,) = build_cues(transcript(sentence(text, step_ms=150)))
    assert cue.lines == (
        "研发部这边我们把模型迁移到了新的芯片上，",
        "单路延迟从很多毫秒降到了一半左右。",
    )


def test_without_marks_it_breaks_at_the_pause() -> None:
    head = sentence("春眠不觉晓处处闻啼鸟夜来", step_ms=100).tokens
    tail = sentence("风雨声花落知多少啊还有呢", 1600, step_ms=100).tokens
    (cue,) = build_cues(transcript(Sentence(head + tail)))
    assert cue.lines == ("春眠不觉晓处处闻啼鸟夜来", "风雨声花落知多少啊还有呢")


def test_slow_speech_is_cut_after_seven_seconds() -> None:
    cues = build_cues(transcript(sentence("一二三四五六七八", step_ms=1500)))
    assert [cue.text for cue in cues] == ["一二三四", "五六七八"]


def test_a_written_number_is_never_cut() -> None:
    spoken = sentence("我的电话号码是幺三八零零幺三八零零零请你一定要记下来谢谢", step_ms=100)
    written = Sentence(spoken.tokens, (WrittenSpan(7, 17, "13800138000"),))
    lines = [line for cue in build_cues(transcript(written)) for line in cue.lines]
    assert any("13800138000" in line for line in lines)


def test_a_word_wider_than_a_line_stands_alone() -> None:
    url = "https://" + "a" * 60
    tokens = (
        Token("看", 0, 100, 1.0),
        Token(url, 100, 900, 1.0),
        Token("吧", 900, 1000, 1.0, "。"),
    )
    lines = [line for cue in build_cues(transcript(Sentence(tokens))) for line in cue.lines]
    assert url in lines


def test_a_short_cue_stands_a_second_when_nothing_follows() -> None:
    cues = build_cues(transcript(sentence("好。", 1000), sentence("对。", 1500), duration_ms=1800))
    assert [(cue.start_ms, cue.end_ms) for cue in cues] == [(1000, 1500), (1500, 1800)]
    (alone,) = build_cues(transcript(sentence("好。", 1000)))
    assert (alone.start_ms, alone.end_ms) == (1000, 2000)


def test_names_stand_where_the_speaker_changes_and_count_as_width() -> None:
    made = transcript(
        sentence("好。", 0, speaker="声道1"),
        sentence("对。", 2000, speaker="声道1"),
        sentence("我们把模型都迁移到了新的芯片上，延迟降了一半。", 4000, speaker="声道2"),
        sentence("嗯。", 12_000),
    )
    assert [cue.lines for cue in build_cues(made, names=True)] == [
        ("声道1：好。",),
        ("对。",),
        ("声道2：我们把模型都迁移到了新的芯片上，", "延迟降了一半。"),
        ("嗯。",),
    ]
    assert [cue.speaker for cue in build_cues(made)] == ["声道1", "声道1", "声道2", ""]
    assert build_cues(made)[0].lines == ("好。",)


def test_people_who_talk_at_once_have_cues_at_once() -> None:
    made = transcript(
        sentence("一二三四五六七八九十", 0, step_ms=600, speaker="声道1"),
        sentence("等一下。", 2000, speaker="声道2"),
        sentence("好的。", 7000, speaker="声道1"),
    )
    assert [(cue.start_ms, cue.end_ms, cue.speaker) for cue in build_cues(made)] == [
        (0, 6000, "声道1"),
        (2000, 2600 + 400, "声道2"),
        (7000, 8000, "声道1"),
    ]


def test_no_speech_no_cues() -> None:
    assert build_cues(transcript()) == []


@settings(max_examples=60, deadline=None)
@given(transcripts())
def test_cues_keep_their_rules(made: Transcript) -> None:
    cues = build_cues(made)
    for cue in cues:
        assert 1 <= len(cue.lines) <= 2
        assert 0 < cue.end_ms - cue.start_ms <= MAX_CUE_MS
        assert all(line.strip() for line in cue.lines)
    assert all(a.start_ms <= b.start_ms for a, b in itertools.pairwise(cues))
    for speaker in {cue.speaker for cue in cues}:
        alone = [cue for cue in cues if cue.speaker == speaker]
        assert all(a.end_ms <= b.start_ms for a, b in itertools.pairwise(alone))
        shown = "".join(squeezed(line) for cue in alone for line in cue.lines)
        said = [line.text for line in made.sentences if line.speaker == speaker]
        assert shown == squeezed("".join(said))


@settings(max_examples=40, deadline=None)
@given(transcripts())
def test_a_line_is_too_wide_only_when_it_holds_one_word(made: Transcript) -> None:
    words = {
        squeezed(text + mark) for sentence in made.sentences for text, mark in _parts(sentence)
    }
    for cue in build_cues(made):
        for line in cue.lines:
            assert text_width(line) <= MAX_LINE_CHARS or squeezed(line) in words


def _parts(sentence: Sentence) -> list[tuple[str, str]]:
    covered = {span.first_token: span for span in sentence.spans}
    parts, index = [], 0
    while index < len(sentence.tokens):
        span = covered.get(index)
        last = span.last_token if span else index
        text = span.written if span else sentence.tokens[index].text
        parts.append((text, sentence.tokens[last].mark))
        index = last + 1
    return parts
