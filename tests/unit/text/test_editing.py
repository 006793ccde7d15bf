"""What a person does to a sentence, and what stays as it was."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import EditError
from asr_core.results import Sentence, Token, WrittenSpan, join_sentences
from asr_core.text.editing import (
    Splice,
    confirm,
    difference,
    drop_span,
    merge,
    rename_speaker,
    replace_words,
    respaced,
    retext,
    set_speaker,
    split,
    split_at,
)
from asr_core.text.layout import Part, layout
from asr_core.text.rewrite import differences
from tests.unit.text.lines import edited, sentences, typed


def line(*words: str, spans: tuple[WrittenSpan, ...] = (), start_ms: int = 0) -> Sentence:
    """Words of 100 ms with gaps of 100 ms; a mark may follow its word after a bar."""
    tokens = []
    for index, word in enumerate(words):
        text, _, mark = word.partition("|")
        begin = start_ms + 200 * index
        tokens.append(Token(text, begin, begin + 100, 0.5, mark))
    return Sentence(tuple(tokens), spans)


def shown(sentence: Sentence) -> list[tuple[str, int, int, float]]:
    return [(t.text + t.mark, t.start_ms, t.end_ms, t.confidence) for t in sentence.tokens]


def assert_ordered(sentence: Sentence, start_ms: int, end_ms: int) -> None:
    times = [time for token in sentence.tokens for time in (token.start_ms, token.end_ms)]
    assert times == sorted(times)
    assert start_ms <= times[0]
    assert times[-1] <= end_ms
    assert all(token.text for token in sentence.tokens)
    covered = [i for s in sentence.spans for i in range(s.first_token, s.last_token + 1)]
    assert covered == sorted(set(covered))
    assert not covered or 0 <= covered[0] <= covered[-1] < len(sentence.tokens)


@given(sentences())
def test_the_layout_says_where_every_part_stands(sentence: Sentence) -> None:
    text = sentence.text
    parts = layout(sentence)
    assert [p.first_token for p in parts] == [0, *(p.last_token + 1 for p in parts[:-1])]
    spans = {span.first_token: span.written for span in sentence.spans}
    for part in parts:
        own = spans.get(part.first_token, sentence.tokens[part.first_token].text)
        assert text[part.start : part.end] == own
    between = [text[a.mark_end : b.start] for a, b in itertools.pairwise(parts) if b.is_shown]
    assert set(between) <= {"", " "}
    assert parts[-1].mark_end == len(text)


@given(st.data(), sentences())
def test_a_sentence_says_exactly_what_was_typed(data: st.DataObject, sentence: Sentence) -> None:
    text = data.draw(st.one_of(edited(sentence.text), typed))
    new = retext(sentence, text)
    if not text.strip():
        assert new is None or text == sentence.text
        return
    assert new is not None
    assert new.text == text
    assert (new.speaker, new.spaced) == (sentence.speaker, sentence.spaced)
    assert_ordered(new, sentence.start_ms, sentence.end_ms)


@given(st.data(), sentences())
def test_words_before_and_behind_an_edit_do_not_move(
    data: st.DataObject, sentence: Sentence
) -> None:
    """A word is untouched where it and both its neighbouring characters stand in the new text."""
    text = sentence.text
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    new_text = text[:start] + " x " + data.draw(typed) + " y " + text[end:]
    new = retext(sentence, new_text)
    assert new is not None
    for part in layout(sentence):
        if part.is_shown and (part.mark_end < start or part.start > end):
            own = sentence.tokens[part.first_token : part.last_token + 1]
            times = [(t.text, t.start_ms, t.end_ms, t.confidence) for t in own]
            kept = [(t.text, t.start_ms, t.end_ms, t.confidence) for t in new.tokens]
            assert any(kept[i : i + len(times)] == times for i in range(len(kept)))


@given(st.data(), sentences())
def test_only_typed_words_are_certain(data: st.DataObject, sentence: Sentence) -> None:
    """Doubt that was not settled stays: every doubtful token of the result is one of before."""
    new = retext(sentence, data.draw(edited(sentence.text)))
    before = [(t.text, t.start_ms, t.end_ms, t.confidence) for t in sentence.tokens]
    if new is not None:
        after = [(t.text, t.start_ms, t.end_ms, t.confidence) for t in new.tokens]
        assert {token for token in after if token[3] < 1.0} <= set(before)


@given(sentences())
def test_nothing_typed_changes_nothing(sentence: Sentence) -> None:
    if sentence.text:
        assert retext(sentence, sentence.text) is sentence


@given(typed, typed)
def test_the_differences_of_two_texts_make_one_of_the_other(old: str, new: str) -> None:
    changes = differences(old, new)
    made, done = "", 0
    for change in changes:
        assert change.start >= done
        made += old[done : change.start] + change.text
        done = change.end
    assert made + old[done:] == new


def test_a_changed_character_takes_the_time_of_the_old_one() -> None:
    new = retext(line("公", "资", "很", "高|。"), "工资很高。")
    assert new is not None
    assert shown(new) == [
        ("工", 0, 100, 1.0),
        ("资", 200, 300, 0.5),
        ("很", 400, 500, 0.5),
        ("高。", 600, 700, 0.5),
    ]


def test_what_is_put_in_shares_the_gap() -> None:
    new = retext(line("天", "好"), "天气很好")
    assert new is not None
    assert shown(new) == [
        ("天", 0, 100, 0.5),
        ("气", 100, 150, 1.0),
        ("很", 150, 200, 1.0),
        ("好", 200, 300, 0.5),
    ]


def test_at_the_edges_there_is_no_time_to_share() -> None:
    new = retext(line("天"), "今天好")
    assert new is not None
    assert shown(new) == [("今", 0, 0, 1.0), ("天", 0, 100, 0.5), ("好", 100, 100, 1.0)]


def test_a_mark_is_no_word() -> None:
    before = line("你", "好|，", "世", "界|。")
    new = retext(before, "你好。“世界”！")
    assert new is not None
    assert shown(new) == [
        ("你", 0, 100, 0.5),
        ("好。“", 200, 300, 0.5),
        ("世", 400, 500, 0.5),
        ("界”！", 600, 700, 0.5),
    ]


def test_a_number_that_is_corrected_is_one_word() -> None:
    before = line("二", "十", "六", "人", spans=(WrittenSpan(0, 2, "26"),))
    new = retext(before, "27人")
    assert new is not None
    assert shown(new) == [("27", 0, 500, 1.0), ("人", 600, 700, 0.5)]
    assert new.spans == ()


def test_a_number_beside_an_edit_keeps_how_it_was_said() -> None:
    before = line("有", "二", "十", "六", "人", spans=(WrittenSpan(1, 3, "26"),))
    new = retext(before, "没有26个人")
    assert new is not None
    assert new.spans == (WrittenSpan(2, 4, "26"),)
    assert new.spoken_text == "没有二十六个人"


def test_a_longer_latin_word_is_one_word() -> None:
    new = retext(line("say", "hello", "now"), "say hellos now")
    assert new is not None
    assert shown(new) == [("say", 0, 100, 0.5), ("hellos", 200, 300, 1.0), ("now", 400, 500, 0.5)]


def test_words_written_together_keep_their_times() -> None:
    before = line("Deep", "Seek", "好")
    new = retext(before, "DeepSeek好")
    assert new is not None
    assert new.tokens == before.tokens
    assert new.spans == (WrittenSpan(0, 1, "DeepSeek", "edit"),)
    assert new.spoken_text == "Deep Seek好"


def test_what_was_left_out_stays_left_out() -> None:
    before = line(
        "嗯|，",
        "我",
        "呃|。",
        "去",
        spans=(WrittenSpan(0, 0, "", "polish"), WrittenSpan(2, 2, "", "polish")),
    )
    assert before.text == "我。去"
    new = retext(before, "我去了")
    assert new is not None
    assert (new.text, new.spoken_text) == ("我去了", "嗯，我呃去了")


def test_a_blank_text_removes_the_sentence() -> None:
    assert retext(line("会", "议"), "") is None
    assert retext(line("会", "议"), " \n\u3000") is None


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "count"), [("a", 1_000_000), ("会", 60_000)])
def test_a_very_long_text_is_no_trap(unit: str, count: int) -> None:
    """Without a place to break, and changed at both ends; as one word and as very many."""
    long = unit * count
    whole = retext(line("开", "头"), long)
    assert whole is not None
    again = retext(whole, "新" + long[1:-1] + "尾")
    assert again is not None
    assert again.text == "新" + long[1:-1] + "尾"


@pytest.mark.slow
def test_a_very_long_text_that_is_typed_anew_is_no_trap() -> None:
    """Comparing each character with each would be 3,600 million steps."""
    one, other = "会议" * 30_000, "纪要录" * 20_000
    whole = retext(line("开", "头"), one)
    assert whole is not None
    again = retext(whole, other)
    assert again is not None
    assert again.text == other


@given(st.data(), sentences())
def test_both_halves_of_a_sentence_are_the_sentence(
    data: st.DataObject, sentence: Sentence
) -> None:
    index = data.draw(st.integers(-1, len(sentence.tokens) + 1))
    try:
        left, right = split(sentence, index)
    except EditError:
        return
    assert len(left.tokens) == index
    both = (*left.tokens, *right.tokens)
    assert [replace(t, mark="") for t in both] == [replace(t, mark="") for t in sentence.tokens]
    gap = sentence.text[len(left.text) :].removesuffix(right.text)
    assert left.text + gap + right.text == sentence.text
    assert not gap.strip(" ")
    assert left.speaker == right.speaker == sentence.speaker


@given(st.data(), sentences())
def test_a_cut_at_any_character_loses_none(data: st.DataObject, sentence: Sentence) -> None:
    offset = data.draw(st.integers(0, len(sentence.text)))
    try:
        left, right = split_at(sentence, offset)
    except EditError:
        return
    assert (left.text + right.text).replace(" ", "") == sentence.text.replace(" ", "")
    assert_ordered(left, sentence.start_ms, sentence.end_ms)
    assert_ordered(right, left.end_ms, sentence.end_ms)


def test_a_word_that_is_cut_through_shares_its_time() -> None:
    left, right = split_at(line("你", "hello|。"), 3)
    assert shown(left) == [("你", 0, 100, 0.5), ("he", 200, 240, 0.5)]
    assert shown(right) == [("llo。", 240, 300, 0.5)]
    number = line("三", "十", "个", spans=(WrittenSpan(0, 1, "30"),))
    left, right = split_at(number, 1)
    assert shown(left) == [("3", 0, 150, 1.0)]
    assert shown(right) == [("0", 150, 300, 1.0), ("个", 400, 500, 0.5)]


def test_a_cut_needs_words_on_both_sides() -> None:
    for index in (0, 2, -1):
        with pytest.raises(EditError) as caught:
            split(line("会", "议"), index)
        assert caught.value.details == {"reason": "empty"}
    number = line("三", "十", spans=(WrittenSpan(0, 1, "30"),))
    with pytest.raises(EditError) as caught:
        split(number, 1)
    assert caught.value.details == {"reason": "inside"}


@given(st.lists(sentences(), min_size=1, max_size=4))
def test_sentences_that_follow_each_other_become_one(parts: list[Sentence]) -> None:
    moved = [
        replace(line, speaker=part.speaker)
        for line, part in zip(in_a_row(parts, 0), parts, strict=True)
    ]
    end_ms = moved[-1].end_ms
    whole = merge(moved)
    assert whole.text == join_sentences(part.text for part in moved)
    assert [replace(t, mark="") for t in whole.tokens] == [
        replace(t, mark="") for part in moved for t in part.tokens
    ]
    assert_ordered(whole, 0, end_ms)
    assert whole.speaker == next((p.speaker for p in moved if p.speaker), "")


def test_what_was_said_at_once_stays_apart() -> None:
    with pytest.raises(EditError) as caught:
        merge([line("会", "议"), line("好", start_ms=200)])
    assert caught.value.details == {"reason": "overlap"}


def test_a_speaker_gets_another_name_everywhere() -> None:
    lines = [set_speaker(line("会"), who) for who in ("甲", "甲", "乙", "甲", "")]
    splices = rename_speaker(lines, "甲", "王总")
    assert [(s.first, s.removed, [x.speaker for x in s.sentences]) for s in splices] == [
        (0, 2, ["王总", "王总"]),
        (3, 1, ["王总"]),
    ]
    assert rename_speaker(lines, "丙", "丁") == ()
    assert difference(lines, lines) == ()


def test_doubt_is_settled_word_by_word() -> None:
    settled = confirm(line("会", "议", "好"), 1, 2)
    assert [token.confidence for token in settled.tokens] == [0.5, 1.0, 1.0]
    assert settled.text == "会议好"


def test_a_correction_is_taken_back() -> None:
    fixed = line("生", "态", "路", spans=(WrittenSpan(0, 2, "胜太路", "hotword"),))
    assert drop_span(fixed, 0).text == "生态路"
    with pytest.raises(EditError) as caught:
        drop_span(fixed, 1)
    assert caught.value.details == {"reason": "no_span"}


@given(sentences())
def test_another_spacing_rule_leaves_the_text(sentence: Sentence) -> None:
    if sentence.text:
        other = respaced(sentence, not sentence.spaced)
        assert (other.text, other.spaced) == (sentence.text, not sentence.spaced)


def test_characters_lead_to_tokens() -> None:
    number = line("共", "三", "十|，", "个", spans=(WrittenSpan(1, 2, "30"),))
    parts = layout(number)
    assert number.text == "共30，个"
    assert parts == [Part(0, 0, 0, 1, 1), Part(1, 2, 1, 3, 4), Part(3, 3, 4, 5, 5)]


def test_a_stretch_that_is_recognized_again_replaces_its_words() -> None:
    first, second = line("今", "天", "天", "气|。"), line("很", "好|。", start_ms=1000)
    new = line("气", "候", start_ms=400)
    splice = replace_words([first, second], 380, 1120, [new])
    assert (splice.first, splice.removed) == (0, 2)
    assert [s.text for s in splice.sentences] == ["今天", "气候", "好。"]
    assert splice.sentences[0].tokens == first.tokens[:2]
    assert splice.sentences[2].tokens == second.tokens[1:]


def test_a_stretch_without_words_gets_some() -> None:
    lines = [line("会"), line("议", start_ms=5000)]
    new = line("好", start_ms=2000)
    assert replace_words(lines, 1900, 2200, [new]) == Splice(1, 0, (new,))
    assert replace_words([], 0, 100, [new]) == Splice(0, 0, (new,))


def test_new_words_have_the_speaker_and_room_of_the_old_ones() -> None:
    before = set_speaker(line("今", "天", "好"), "甲")
    new = Sentence((Token("明", 50, 380, 0.9), Token("天", 380, 600, 0.9)))
    splice = replace_words([before], 150, 350, [new])
    assert [(s.text, s.speaker) for s in splice.sentences] == [
        ("今", "甲"),
        ("明天", "甲"),
        ("好", "甲"),
    ]
    assert shown(splice.sentences[1]) == [("明", 100, 380, 0.9), ("天", 380, 400, 0.9)]


@given(st.data(), st.lists(sentences(), min_size=1, max_size=4), st.lists(sentences(), max_size=2))
def test_words_outside_of_a_stretch_stay_where_they_are(
    data: st.DataObject, parts: list[Sentence], new: list[Sentence]
) -> None:
    lines = in_a_row(parts, 0)
    end_ms = lines[-1].end_ms
    begin = data.draw(st.integers(0, end_ms))
    end = data.draw(st.integers(begin, end_ms + 1))
    placed = [replace(line, speaker="") for line in in_a_row(new, begin)]
    splice = replace_words(lines, begin, end, placed)
    after = [*lines[: splice.first], *splice.sentences, *lines[splice.first + splice.removed :]]
    kept = [token for line in after for token in line.tokens]
    for line in lines:
        for token in line.tokens:
            if not begin <= (token.start_ms + token.end_ms) // 2 < end:
                assert token in kept
    count = sum(
        begin <= (token.start_ms + token.end_ms) // 2 < end
        for line in lines
        for token in line.tokens
    )
    before = sum(len(line.tokens) for line in lines)
    assert len(kept) == before - count + sum(len(line.tokens) for line in placed)


def in_a_row(parts: list[Sentence], start_ms: int) -> list[Sentence]:
    """Sentences of one speaker, one after the other."""
    moved = []
    for part in parts:
        tokens = tuple(
            replace(t, start_ms=t.start_ms + start_ms, end_ms=t.end_ms + start_ms)
            for t in part.tokens
        )
        moved.append(replace(part, tokens=tokens, speaker="甲", spaced=False))
        start_ms = tokens[-1].end_ms
    return moved
