from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.recognizers.hallucination import Loop, find_loop, find_prompt, is_phantom

PROMPT = "以下是普通话的句子，有标点符号。"


@pytest.mark.parametrize(
    "text",
    [
        "哈哈哈哈哈哈",
        "对对对对，没错",
        "好的好的好的，我知道了",
        "一二三四五六七八九十",
        "我们今天讨论三个问题，三个问题都很重要，三个问题都要解决",
        "",
    ],
)
def test_speech_is_no_loop(text: str) -> None:
    assert find_loop(text) is None


def test_a_phrase_without_end_is_a_loop() -> None:
    assert find_loop("会议开始" + "谢谢大家" * 20 + "再见") == Loop(4, 84, 4)


def test_a_clause_three_times_is_a_loop_and_twice_is_not() -> None:
    clause = "我认为跑步最重要的就是给我带来了身体健康"
    assert find_loop(clause * 3 + "律师") == Loop(0, 3 * len(clause), len(clause))
    assert find_loop(clause * 2 + "律师") is None


def test_one_character_without_end_is_a_loop() -> None:
    assert find_loop("我" + "啊" * 40) == Loop(1, 41, 1)


@given(
    st.text("会议记录语音识别", max_size=12), st.integers(4, 12), st.text("甲乙丙丁", max_size=8)
)
def test_a_loop_is_found_whatever_surrounds_it(before: str, turns: int, after: str) -> None:
    unit = "谢谢你们"
    loop = find_loop(before + unit * turns + after)
    assert loop is not None
    assert loop.end - loop.start >= 16


@given(st.lists(st.integers(), unique=True))
def test_what_never_repeats_is_no_loop(items: list[int]) -> None:
    assert find_loop(items) is None


@pytest.mark.parametrize(
    "text",
    [
        "字幕由 Amara.org 社区提供",
        "请不吝点赞 订阅 转发 打赏支持明镜与点点栏目",
        "中文字幕志愿者 李宗盛",
        "谢谢观看！",
    ],
)
def test_subtitle_credits_are_phantoms(text: str) -> None:
    assert is_phantom(text)


@pytest.mark.parametrize(
    "text",
    [
        "今天的会议就到这里，谢谢大家！",
        "谢谢观看我们上个季度的产品演示，下面进入提问环节，请大家踊跃发言",
        "",
    ],
)
def test_speech_is_no_phantom(text: str) -> None:
    assert not is_phantom(text)


def test_the_whole_prompt_is_found_with_its_punctuation() -> None:
    text = "以下是普通话的句子,有标点符号。会议开始"
    assert find_prompt(text, PROMPT) == (0, text.index("会"))


def test_the_first_clause_alone_is_found() -> None:
    assert find_prompt("好的。以下是普通话的句子。", PROMPT) == (3, 13)


def test_other_text_holds_no_prompt() -> None:
    assert find_prompt("这份合同有标点符号的问题", PROMPT) is None
