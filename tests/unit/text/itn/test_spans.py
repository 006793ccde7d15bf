"""Spans lie on tokens, inside the sentence, and leave marks and protected tokens alone."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.results import Sentence, Token, WrittenSpan
from asr_core.text.itn.normalizer import RuleNormalizer
from asr_core.text.itn.style import ItnStyle
from asr_core.text.tokens import TimedPiece, tokens_from_pieces

NUMERALS = "零〇幺洞一二两三四五六七八九十百千万亿几"
AROUND = "点分之负第年月日号块元毛角米度楼层路比到至加的平方杠个人岁来多余数上半刻整周又A5G%，。 "
numeric = st.text(NUMERALS + AROUND, max_size=40)


@functools.cache
def normalizer() -> RuleNormalizer:
    return RuleNormalizer()


def tokens_of(text: str) -> tuple[Token, ...]:
    return tokens_from_pieces([TimedPiece(text, 0, 100 * len(text), 0.9)])


@settings(max_examples=300, deadline=None)
@given(numeric, st.lists(st.tuples(st.integers(-2, 30), st.integers(-2, 30)), max_size=2))
def test_spans_are_sorted_disjoint_inside_and_keep_marks_and_protected_tokens(
    text: str, protected: list[tuple[int, int]]
) -> None:
    tokens = tokens_of(text)
    end = 0
    for span in normalizer().spans(tokens, protected=protected):
        assert span.kind == "number"
        assert end <= span.first_token <= span.last_token < len(tokens)
        assert span.written
        assert not any(token.mark for token in tokens[span.first_token : span.last_token])
        for first, last in protected:
            assert span.last_token < first or last < span.first_token or first > last
        end = span.last_token + 1


@settings(max_examples=300, deadline=None)
@given(numeric)
def test_spans_and_lines_say_the_same(text: str) -> None:
    tokens = tokens_of(text)
    spoken = "".join(token.text + token.mark for token in tokens)
    if not any(char.isascii() for char in spoken):
        written = Sentence(tokens, normalizer().spans(tokens)).text
        assert written.replace(" ", "") == normalizer().write(spoken).replace(" ", "")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_taken_and_text_without_numerals_stays(text: str) -> None:
    normalizer().write(text)
    plain = "".join(char for char in text if char not in NUMERALS)
    assert normalizer().write(plain) == plain


@settings(max_examples=300, deadline=None)
@given(st.text(NUMERALS + AROUND + "\ud800\u0301\u200d\U0001f600\t١", max_size=40))
def test_odd_text_is_taken(text: str) -> None:
    normalizer().write(text)
    normalizer().write(text, style=ItnStyle("dash", "digits", "words"))
    if text:
        normalizer().spans((Token(text, 0, 1, 0.5), Token(text, 1, 2, 0.5, "。")))


@pytest.mark.parametrize(
    "text", ["一", "一十", "三点", "十几", "负三", "三到", "A五", "一千零", "百分之三到"]
)
def test_a_very_long_row_is_taken(text: str) -> None:
    row = text * (3000 // len(text))
    assert normalizer().write(row)


def test_a_span_ends_where_a_token_ends() -> None:
    tokens = (Token("二十六位", 0, 400, 0.9), Token("人", 400, 500, 0.9))
    assert normalizer().spans(tokens) == ()


def test_a_mark_inside_a_number_is_not_lost() -> None:
    tokens = tokens_of("三百，五十万")
    assert normalizer().spans(tokens) == (WrittenSpan(0, 1, "300"), WrittenSpan(2, 4, "50万"))


def test_a_date_with_dashes_covers_its_unit_words() -> None:
    tokens = tokens_of("定于二零二五年三月十五日上午")
    spans = normalizer().spans(tokens, style=ItnStyle(dates="dash"))
    assert spans == (WrittenSpan(2, 11, "2025-03-15"),)
    assert Sentence(tokens, spans).text == "定于2025-03-15上午"


def test_protected_tokens_stay() -> None:
    tokens = tokens_of("三百六十行和三百人")
    assert normalizer().spans(tokens_of("二十五人"), protected=((0, 1),)) == ()
    assert normalizer().spans(tokens, protected=((6, 7),)) == ()


@pytest.mark.parametrize(
    ("style", "spoken", "expected"),
    [
        (ItnStyle(clock="digits"), "下午三点半开会", "15:30开会"),
        (ItnStyle(clock="digits"), "早上八点零五分", "早上8:05"),
        (ItnStyle(clock="digits"), "晚上十一点二十", "23:20"),
        (ItnStyle(clock="digits"), "三点一刻", "3:15"),
        (ItnStyle(clock="digits"), "昨晚两点多", "昨晚2点多"),
        (ItnStyle(clock="digits"), "中午十二点半", "中午12:30"),
        (ItnStyle(percent="words"), "增长百分之八十五", "增长百分之八十五"),
        (ItnStyle(percent="words"), "百分之三到百分之五的二十人", "百分之三到百分之五的20人"),
        (ItnStyle(dates="dash"), "二零二五年三月", "2025年3月"),
        (ItnStyle(dates="dash"), "三月十五号", "3月15号"),
    ],
)
def test_styles(style: ItnStyle, spoken: str, expected: str) -> None:
    assert normalizer().write(spoken, style=style) == expected


@pytest.mark.parametrize(
    "text", ["3万五", "3五", "第3名", "2025年3月5号", "35%", "5G", "8点05分", "-3.5"]
)
def test_digits_in_the_text_stay(text: str) -> None:
    assert normalizer().write(text) == text


def test_digits_in_the_text_join_with_spoken_ones() -> None:
    assert normalizer().write("2025年三月十五号") == "2025年3月15号"
    assert normalizer().write("8点三十") == "8点30"
    assert normalizer().write("共120人，二十三岁") == "共120人，23岁"
