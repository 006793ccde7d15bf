"""Normalizations forgive what their names say, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import UsageError
from asr_core.evaluation.comparison import compare_texts
from asr_core.evaluation.normalize import NORMALIZATIONS, normalize
from asr_core.text.scoring import normalize_for_cer


@pytest.mark.parametrize(
    ("name", "text", "normalized"),
    [
        ("width", "ＡＢＣ１２，㎞", "ABC12,km"),
        ("upper", "Hello ß", "HELLOSS"),
        ("simplified", "後來開會", "后来开会"),
        ("simplified", "昇腾和李喆", "昇腾和李喆"),
        ("numbers", "共25台", "共二十五台"),
        ("numbers", "两万〇五", "二万零五"),
        ("numbers", "2025年", "二零二五年"),
        ("erhua", "这儿有点儿事儿", "这有点事"),
        ("erhua", "儿子和女儿在幼儿园唱儿歌", "儿子和女儿在幼儿园唱儿歌"),
        ("erhua", "小孩儿玩儿了一会儿", "小孩玩了一会"),
        ("fillers", "嗯那个啊我呃想去", "那个我想去"),
        ("punctuation", "你好，World！《书》…", "你好World书"),
    ],
)
def test_each_normalization(name: str, text: str, normalized: str) -> None:
    assert normalize(text, [name]).text == normalized


def test_the_order_of_the_choice_makes_no_difference() -> None:
    text = "嗯，这儿有２５台 Ｇpu！"
    assert normalize(text, NORMALIZATIONS).text == normalize(text, NORMALIZATIONS[::-1]).text
    assert normalize(text, NORMALIZATIONS).text == "这有二十五台GPU"


def test_without_any_only_spaces_go() -> None:
    assert normalize(" 你好， A b\n", []).text == "你好，Ab"


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UsageError, match="lower"):
        normalize("x", ["lower"])


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("一共25台", "一共二十五台"),
        ("2025年3月15日", "二零二五年三月十五日"),
        ("占85%", "占百分之八十五"),
        ("3.5公里", "三点五公里"),
        ("编号1234", "编号一二三四"),
        ("一共1234台", "一共一千二百三十四台"),
        ("下午15:30", "下午三点半"),
        ("1.2亿元", "一亿两千万元"),
        ("2个200", "两个两百"),
        ("拨打12345", "拨打幺二三四五"),
    ],
)
def test_written_and_spoken_numbers_are_equal(written: str, spoken: str) -> None:
    assert compare_texts(written, spoken).counts.errors == 0
    assert compare_texts(spoken, written).counts.errors == 0
    assert compare_texts(written, spoken, ["punctuation"]).counts.errors > 0


def test_a_wrong_number_is_not_forgiven() -> None:
    assert compare_texts("一共25台", "一共二十六台").counts.errors == 1
    assert compare_texts("一共25台", "一共26台").counts.errors == 1


@given(st.text("今天，。 Ab１2後儿嗯%.", max_size=30), st.sets(st.sampled_from(NORMALIZATIONS)))
def test_every_character_knows_where_it_comes_from(text: str, names: set[str]) -> None:
    found = normalize(text, names)
    assert len(found.text) == len(found.starts) == len(found.ends)
    assert list(found.starts) == sorted(found.starts)
    assert all(0 <= a < b <= len(text) for a, b in zip(found.starts, found.ends, strict=True))


def test_parts_are_shown_as_they_were_written() -> None:
    found = normalize("《第一章》，共25台。", NORMALIZATIONS)
    assert found.text == "第一章共二十五台"
    assert found.gap(0) == "《"
    assert (found.shown(0, 3), found.gap(3)) == ("第一章", "》，")
    assert found.shown(3, 8) == "共25台"
    assert found.shown(5, 8) == "十五台"
    assert found.gap(len(found.text)) == "。"


@given(st.text("今天，。 Abß１2後Ⅷ・", max_size=30))
def test_the_usual_choice_is_that_of_the_error_rate(text: str) -> None:
    found = normalize(text, ["width", "simplified", "punctuation"]).text
    assert normalize_for_cer(found) == normalize_for_cer(text)
