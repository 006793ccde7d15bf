"""The hotword text: what becomes a word, a replacement, or is told to be unusable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.text.hotwords import RejectedEntry, parse_hotwords


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("胜太路\n韩总\nKubernetes", ("胜太路", "韩总", "Kubernetes")),
        (
            "胜太路 韩总，Kubernetes、5G基站;A股\t昇腾",
            ("胜太路", "韩总", "Kubernetes", "5G基站", "A股", "昇腾"),
        ),
        ("ＧＰＵ　５Ｇ基站", ("GPU", "5G基站")),
        ("韩总\n韩总 韩总", ("韩总",)),
        ("gpu GPU", ("gpu", "GPU")),
        ("# 人名\n韩总  # 销售部\nC# 开发", ("韩总", "C#", "开发")),
        ("12345 10086", ("12345", "10086")),
        ("\ufeff韩总\r\n李工\r\n", ("韩总", "李工")),
        ("", ()),
        ("\n  \n # 只有注释\n", ()),
    ],
)
def test_words_in_the_users_order(text: str, words: tuple[str, ...]) -> None:
    parsed = parse_hotwords(text)
    assert parsed.words == words
    assert parsed.rejected == ()


@pytest.mark.parametrize(
    ("text", "replacements"),
    [
        ("销机 => 销记", (("销机", "销记"),)),
        (
            "销机=>销记\n酷伯奈特斯  =>  Kubernetes",
            (("销机", "销记"), ("酷伯奈特斯", "Kubernetes")),
        ),
        ("微软视窗 => Visual Studio", (("微软视窗", "Visual Studio"),)),
        ("销机 ＝＞ 销记", (("销机", "销记"),)),
        ("销机 => 销售\n销机 => 销记", (("销机", "销记"),)),
        ("销记 => 销记", ()),
    ],
)
def test_replacements(text: str, replacements: tuple[tuple[str, str], ...]) -> None:
    parsed = parse_hotwords(text)
    assert parsed.replacements == replacements
    assert parsed.words == ()
    assert parsed.rejected == ()


@pytest.mark.parametrize(
    ("text", "rejected"),
    [
        ("一二三四五六七八九十甲", RejectedEntry("一二三四五六七八九十甲", "too_long")),
        ("A" * 41, RejectedEntry("A" * 41, "too_long")),
        ("20", RejectedEntry("20", "no_word")),
        ("——", RejectedEntry("——", "no_word")),
        ("销机 =>", RejectedEntry("销机 =>", "side_missing")),
        ("=> 销记", RejectedEntry("=> 销记", "side_missing")),
        ("甲 => 乙 => 丙", RejectedEntry("甲 => 乙 => 丙", "side_missing")),
        ("错" * 41 + " => 对", RejectedEntry("错" * 41 + " => 对", "too_long")),
    ],
)
def test_what_is_not_used_is_told(text: str, rejected: RejectedEntry) -> None:
    parsed = parse_hotwords(f"韩总\n{text}\n李工")
    assert parsed.words == ("韩总", "李工")
    assert parsed.rejected == (rejected,)


def test_ten_units_are_allowed_and_a_latin_word_is_one() -> None:
    assert parse_hotwords("基于Kubernetes的云原生平台").words == ("基于Kubernetes的云原生平台",)


def test_words_beyond_the_limit_are_rejected_one_by_one() -> None:
    parsed = parse_hotwords("\n".join(f"词{number:04d}" for number in range(5001)))
    assert len(parsed.words) == 5000
    assert parsed.rejected == (RejectedEntry("词5000", "too_many"),)


@given(st.text(max_size=200))
def test_odd_text_never_raises_and_what_is_read_is_read_again(text: str) -> None:
    parsed = parse_hotwords(text)
    again = parse_hotwords("\n".join(parsed.words))
    assert again.words == parsed.words
