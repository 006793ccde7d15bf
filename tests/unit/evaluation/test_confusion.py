"""What is confused with what, and which words to add to the hotwords."""

from __future__ import annotations

import random

import pytest

from asr_core.evaluation.comparison import compare_texts
from asr_core.evaluation.confusion import (
    Confusion,
    Context,
    Suggestion,
    confusions,
    suggest_hotwords,
)


def test_substituted_parts_are_counted_with_their_places() -> None:
    pairs = [("我们在昇腾上跑", "我们在升腾上跑"), ("买了昇腾芯片的人", "买了升腾芯片的人")]
    assert confusions(compare_texts(*pair) for pair in pairs) == (
        Confusion(
            "昇",
            "升",
            2,
            (Context("我们在", "昇", "升", "腾上跑"), Context("买了", "昇", "升", "腾芯片的人")),
        ),
    )


def test_the_most_frequent_comes_first_and_long_passages_are_left_out() -> None:
    said = "甲乙丙。甲丁戊好。子丑寅卯辰巳午未申。"
    heard = "己乙丙。己丁庚好。一二三四五六七八九。"
    found = confusions([compare_texts(said, heard)])
    assert [(one.reference, one.hypothesis, one.count) for one in found] == [
        ("甲", "己", 2),
        ("戊", "庚", 1),
    ]


def test_missing_and_extra_words_are_no_confusions() -> None:
    assert confusions([compare_texts("今天我们开会", "今天开会了")]) == ()


@pytest.mark.parametrize(
    ("said", "heard", "words"),
    [
        (
            "我们买了昇腾，用了昇腾，喜欢昇腾。",
            "我们买了升腾，用了身疼，喜欢升腾。",
            [Suggestion("昇腾", 3, 3)],
        ),
        (
            "这是达摩院的。达摩院在那。我去达摩院。",
            "这是大魔院的。达摩院在那。我去打磨院。",
            [Suggestion("达摩院", 2, 3)],
        ),
        ("用的是 MindSpore 框架", "用的是 MindSport 框架", [Suggestion("MindSpore", 1, 1)]),
        ("他的项目是飞天", "他的项目是非甜", [Suggestion("飞天", 1, 1)]),
        (
            "请张晓明和李建业发言",
            "请张小明和李建爷发言",
            [Suggestion("张晓明", 1, 1), Suggestion("李建业", 1, 1)],
        ),
        ("一共二十五台", "一共二十六台", []),
        ("今天好", "今天好", []),
        ("他的", "她得", []),
    ],
)
def test_misrecognized_words_are_suggested(said: str, heard: str, words: list[Suggestion]) -> None:
    assert list(suggest_hotwords([compare_texts(said, heard)])) == words


def test_known_words_are_not_suggested_again() -> None:
    comparison = compare_texts("用的是 MindSpore 和昇腾", "用的是 MindSport 和升腾")
    assert [one.word for one in suggest_hotwords([comparison], ["mindspore"])] == ["昇腾"]


def test_words_misrecognized_more_often_come_first() -> None:
    said = ["在昇腾的", "在鲲鹏的", "在鲲鹏的"]
    heard = ["在升腾的", "在昆朋的", "在坤鹏的"]
    comparisons = [compare_texts(*pair) for pair in zip(said, heard, strict=True)]
    assert suggest_hotwords(comparisons) == (Suggestion("鲲鹏", 2, 2), Suggestion("昇腾", 1, 1))


def test_long_texts_are_looked_through() -> None:
    chance = random.Random(5)  # noqa: S311 - the same every time
    chars = [chr(code) for code in range(0x4E00, 0x4E00 + 2000)]
    said = [chance.choice(chars) for _ in range(20_000)]
    heard = [chance.choice(chars) if at % 11 == 0 else char for at, char in enumerate(said)]
    for at in range(0, 20_000, 2_000):
        said[at : at + 4], heard[at : at + 4] = "。昇腾。", "。升疼。"
    found = suggest_hotwords([compare_texts("".join(said), "".join(heard))])
    assert (found[0].word, found[0].missed) == ("昇腾", 10)
