"""Syllables of characters, and which of them are taken for the same sound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.text.pinyin import (
    FUZZY_DEFAULT,
    FUZZY_PAIRS,
    fold_syllable,
    is_han,
    readings,
    usual_readings,
    usual_syllables,
)


def test_every_reading_of_a_character_counts_the_usual_one_first() -> None:
    assert readings("重")[0] in ("zhong", "chong")
    assert {"zhong", "chong"} <= set(readings("重"))
    assert readings("绿")[0] == "lv"
    assert readings("A") == ()


@pytest.mark.parametrize(
    ("char", "usual"),
    [
        ("行", {"xing", "hang"}),
        ("曾", {"ceng", "zeng"}),
        ("的", {"de"}),
        ("人", {"ren"}),
        ("A", set()),
    ],
)
def test_readings_that_people_meet(char: str, usual: set[str]) -> None:
    assert usual_syllables(char) == usual


def test_a_word_decides_how_its_characters_are_read() -> None:
    assert usual_readings("重庆") == ("chong", "qing")
    assert usual_readings("重要") == ("zhong", "yao")
    assert usual_readings("") == ()


@pytest.mark.parametrize(
    ("left", "right", "pair"),
    [
        ("niu", "liu", "n/l"),
        ("zhang", "zang", "zh/z"),
        ("chi", "ci", "ch/c"),
        ("shan", "san", "sh/s"),
        ("jing", "jin", "ing/in"),
        ("sheng", "shen", "eng/en"),
        ("tang", "tan", "ang/an"),
        ("fu", "hu", "f/h"),
        ("ran", "lan", "r/l"),
    ],
)
def test_a_pair_sounds_alike_where_it_is_chosen(left: str, right: str, pair: str) -> None:
    others = FUZZY_PAIRS - {pair}
    assert fold_syllable(left, frozenset({pair})) == fold_syllable(right, frozenset({pair}))
    assert fold_syllable(left, others) != fold_syllable(right, others)


def test_pairs_that_are_off_by_default() -> None:
    assert {"ang/an", "f/h", "r/l"} == FUZZY_PAIRS - FUZZY_DEFAULT


def test_a_whole_syllable_is_not_an_initial() -> None:
    assert fold_syllable("n", FUZZY_PAIRS) == "n"


@given(st.characters())
def test_any_character_can_be_asked(char: str) -> None:
    found = readings(char)
    assert all(found)
    if is_han(char) and found:
        assert len(usual_readings(char)) == 1
