"""Punctuation is judged at its place in the words, whatever the words' own errors."""

from __future__ import annotations

import pytest

from asr_core.evaluation.comparison import compare_texts
from asr_core.evaluation.marks import MarkScore, MarkScores, score_marks


def scored(*pairs: tuple[str, str]) -> MarkScores:
    scores = score_marks(compare_texts(reference, hypothesis) for reference, hypothesis in pairs)
    assert scores is not None
    return scores


def test_marks_are_counted_one_by_one() -> None:
    found = scored(("今天开会，大家好。谁来？", "今天开会。大家好。谁来"))
    assert found.marks == {
        "，": MarkScore(1, 0, 0),
        "。": MarkScore(1, 2, 1),
        "？": MarkScore(1, 0, 0),
    }
    assert found.micro == MarkScore(3, 2, 1)
    assert found.boundary == MarkScore(3, 2, 2)
    assert found.marks["。"].precision == 0.5
    assert found.marks["。"].recall == 1.0
    assert found.marks["。"].f1 == pytest.approx(2 / 3)
    assert found.marks["，"].f1 == 0.0


def test_sums_over_several_texts() -> None:
    assert scored(("好。", "好。"), ("坏。", "坏，")).micro == MarkScore(2, 2, 1)


@pytest.mark.parametrize(
    ("reference", "hypothesis"),
    [
        ("今天天气，很好。", "今天气，很好。"),
        ("今天气，很好。", "今天天气，很好。"),
        ("今天天气，很好。", "明天天七，真好。"),
        ("今天天气，很好。", "今天，很好。"),
        ("共25台，很多。", "共二十五台，很多。"),
        ("Hello, world!", "hello，world！"),
        ("甲、乙；丙：丁。", "甲、乙；丙：丁。"),
    ],
)
def test_wrong_words_leave_right_marks_right(reference: str, hypothesis: str) -> None:
    found = scored((reference, hypothesis))
    assert found.micro.hits == found.micro.expected == found.micro.given


def test_a_mark_of_the_reference_is_used_once() -> None:
    assert scored(("甲，乙丙丁。", "甲，，乙，丁。")).micro == MarkScore(2, 3, 2)


def test_marks_inside_numbers_and_words_are_none() -> None:
    assert scored(("15:30，1,000。", "15:30，1,000。")).marks.keys() == {"，", "。"}


def test_an_unpunctuated_reference_judges_nothing() -> None:
    assert score_marks([compare_texts("今天开会", "今天，开会。")]) is None
