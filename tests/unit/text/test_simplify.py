"""Traditional characters come out simplified, each in its place."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.text.simplify import Simplifier


@functools.cache
def simplifier() -> Simplifier:
    return Simplifier()


@pytest.mark.parametrize(
    ("traditional", "simplified"),
    [
        ("開放中文轉換", "开放中文转换"),
        ("語音識別", "语音识别"),
        ("皇后在後面", "皇后在后面"),
        ("乾隆與乾燥", "乾隆与干燥"),
        ("已经是简体", "已经是简体"),
        ("Hello, 世界 123", "Hello, 世界 123"),
        ("a\0後", "a\0后"),
        ("昇腾芯片", "昇腾芯片"),
        ("華為昇騰與昇騰九一零", "华为昇腾与昇腾九一零"),
        ("氣溫上昇", "气温上升"),
        ("升騰的熱氣", "升腾的热气"),
        ("", ""),
    ],
)
def test_simplified_text(traditional: str, simplified: str) -> None:
    assert simplifier().simplify(traditional) == simplified


@settings(deadline=None)
@given(st.one_of(st.text(max_size=40), st.text("乾後裏著麼臺髮發纔只隻", max_size=20)))
def test_the_length_never_changes(text: str) -> None:
    assert len(simplifier().simplify(text)) == len(text)
