"""Numbers are written as a newspaper prints them, and nothing else changes."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.results import Sentence, Token, WrittenSpan
from asr_core.text.itn.normalizer import RuleNormalizer
from asr_core.text.tokens import TimedPiece, tokens_from_pieces

DATA = Path(__file__).resolve().parents[2] / "data" / "itn"
NUMERALS = "零〇幺一二两三四五六七八九十百千万亿点分之负"


@functools.cache
def normalizer() -> RuleNormalizer:
    return RuleNormalizer()


def tokens_of(text: str) -> tuple[Token, ...]:
    return tokens_from_pieces([TimedPiece(text, 0, 100 * len(text), 0.9)])


def written(text: str) -> str:
    tokens = tokens_of(text)
    return Sentence(tokens, normalizer().spans(tokens)).text


def read_pairs(name: str) -> list[tuple[str, str]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    pairs = [tuple(line.split(" => ")) for line in lines if line]
    return [(spoken, expected) for spoken, expected in pairs]


@pytest.mark.parametrize(
    ("spoken", "expected"), [*read_pairs("meeting.txt"), *read_pairs("rules.txt")]
)
def test_pair(spoken: str, expected: str) -> None:
    assert written(spoken) == expected


@pytest.mark.parametrize(
    "text", [expected for _, expected in (*read_pairs("meeting.txt"), *read_pairs("rules.txt"))]
)
def test_a_written_text_stays_as_it_is(text: str) -> None:
    assert written(text) == text


def test_a_span_covers_the_number_and_keeps_the_unit_and_the_spoken_form() -> None:
    tokens = tokens_of("有百分之八十五的用户")
    assert normalizer().spans(tokens) == (WrittenSpan(1, 6, "85%"),)
    assert Sentence(tokens, normalizer().spans(tokens)).spoken_text == "有百分之八十五的用户"


def test_a_number_does_not_reach_over_a_mark() -> None:
    assert written("三十，五十") == "30，50"
    assert written("三百，五十万") == "300，50万"


def test_letters_and_their_number_become_one_word() -> None:
    tokens = tokens_of("用五G看PM二点五")
    assert normalizer().spans(tokens) == (WrittenSpan(1, 2, "5G"), WrittenSpan(4, 7, "PM2.5"))


def test_digits_of_the_recognizer_stay_as_they_are() -> None:
    for text in ("2025年12月15日", "有85%的人", "3.5倍", "9:30开始", "第3个"):
        assert written(text) == text


def test_a_token_that_holds_more_than_a_number_is_left_alone() -> None:
    tokens = (Token("二十六位", 0, 400, 0.9), Token("人", 400, 500, 0.9))
    assert normalizer().spans(tokens) == ()


def test_no_tokens_no_spans() -> None:
    assert normalizer().spans(()) == ()


@settings(deadline=None)
@given(st.text(max_size=40))
def test_text_without_numerals_never_changes(text: str) -> None:
    plain = "".join(char for char in text if char not in NUMERALS)
    assert normalizer().spans(tokens_of(plain)) == ()


odd = st.text(NUMERALS + "年月日号点块元米楼第几多来比到的，。AG5 个", max_size=24)


@settings(max_examples=200, deadline=None)
@given(odd)
def test_spans_are_disjoint_and_cover_numbers_only(text: str) -> None:
    tokens = tokens_of(text)
    spans = normalizer().spans(tokens)
    indices: list[int] = []
    for span in spans:
        assert span.written
        covered = range(span.first_token, span.last_token + 1)
        indices.extend(covered)
        assert all(not tokens[index].mark for index in covered[:-1])
        assert all(tokens[i].text in NUMERALS or tokens[i].text.isascii() for i in covered)
    assert indices == sorted(set(indices))
    assert all(0 <= index < len(tokens) for index in indices)


@settings(deadline=None)
@given(st.integers(10, 9999))
def test_every_number_from_ten_is_written_with_its_value(value: int) -> None:
    assert written(f"共{_say(value)}个") == f"共{value}个"


def _say(value: int) -> str:
    """Plain spelling of 10 to 9999, independent of the rules under test."""
    digits = "零一二三四五六七八九"
    line = ""
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = value // unit % 10
        if digit:
            line += digits[digit] + name
        elif line and not line.endswith("零") and value % unit:
            line += "零"
    return line.removeprefix("一") if 10 <= value < 20 else line
