"""Views of a sentence: nicer to read, and nothing of what was said is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.results import Sentence, Token, WrittenSpan
from asr_core.text.polish import PolishOptions, hidden_ranges, polish_spans
from asr_core.text.tokens import TimedPiece, tokens_from_pieces

ALL = PolishOptions(spacing=True, acronyms=True, fillers=True, repeats=True)
SHORTER = PolishOptions(fillers=True, repeats=True)


def polished_text(said: Sentence, options: PolishOptions, *, keep: tuple[str, ...] = ()) -> str:
    added = polish_spans(said.tokens, said.spans, options, keep=keep)
    spans = sorted([*said.spans, *added], key=lambda span: span.first_token)
    return Sentence(said.tokens, tuple(spans), spaced=options.spacing).text


def sentence(text: str, *spans: WrittenSpan) -> Sentence:
    tokens = tokens_from_pieces([TimedPiece(text, 0, 200 * len(text), 0.9)])
    return Sentence(tokens, spans)


@pytest.mark.parametrize(
    ("text", "polished"),
    [
        ("我们用API调用GPU集群。", "我们用 API 调用 GPU 集群。"),
        ("一共有26位用户，85%满意。", "一共有 26 位用户，85% 满意。"),
        ("Hello world.", "Hello world."),
    ],
)
def test_spacing_between_chinese_and_latin(text: str, polished: str) -> None:
    assert polished_text(sentence(text), PolishOptions(spacing=True)) == polished


@pytest.mark.parametrize(
    ("text", "polished"),
    [
        ("调用api接口", "调用API接口"),
        ("一块g p u", "一块GPU"),
        ("装在iphone上", "装在iPhone上"),
        ("用github管理", "用GitHub管理"),
        ("who is it", "who is it"),
        ("GPU", "GPU"),
    ],
)
def test_acronyms(text: str, polished: str) -> None:
    assert polished_text(sentence(text), PolishOptions(acronyms=True)) == polished


def test_the_capitals_of_a_hotword_win() -> None:
    shown = polished_text(sentence("看api文档"), PolishOptions(acronyms=True), keep=("Api",))
    assert shown == "看Api文档"


@pytest.mark.parametrize(
    ("text", "polished"),
    [
        ("嗯，我们开始吧。", "我们开始吧。"),
        ("我觉得嗯可以。", "我觉得可以。"),
        ("我觉得呃，可以。", "我觉得，可以。"),
        ("啊，这个项目，那个，要延期。", "这个项目，要延期。"),
        ("啊我们先说预算。", "我们先说预算。"),
        ("就是，预算不够。", "预算不够。"),
    ],
)
def test_fillers_are_hidden(text: str, polished: str) -> None:
    assert polished_text(sentence(text), PolishOptions(fillers=True)) == polished


@pytest.mark.parametrize(
    "text",
    [
        "嗯。",
        "嗯，嗯。",
        "那个项目延期了。",
        "我要这个，你要那个。",
        "红的、那个、蓝的都要。",
        "好啊。",
        "嗯呢，太好了。",
        "对啊，你说得对。",
        "这样啊，我明白了。",
        "啊！下雨了！",
        "金额是一百。",
        "然后我们开始。",
        "问题就是预算。",
    ],
)
def test_what_means_something_stays(text: str) -> None:
    assert polished_text(sentence(text), SHORTER) == text


@pytest.mark.parametrize(
    ("text", "polished"),
    [
        ("我我我们开始吧。", "我们开始吧。"),
        ("我我觉得可以。", "我觉得可以。"),
        ("就是就是预算不够。", "就是预算不够。"),
        ("我们我们要加快。", "我们要加快。"),
        ("因为我们我们没有钱。", "因为我们没有钱。"),
        ("这这个项目。", "这个项目。"),
        ("那个那个项目。", "那个项目。"),
        ("我觉得我觉得可以。", "我觉得可以。"),
        ("我嗯我觉得可以。", "我觉得可以。"),
    ],
)
def test_repeats_are_hidden(text: str, polished: str) -> None:
    assert polished_text(sentence(text), SHORTER) == polished


@pytest.mark.parametrize(
    "text",
    [
        "谢谢大家。",
        "常常看看，天天慢慢。",
        "一个一个来。",
        "人人都有。",
        "三三得九，电话是二二三三五五。",
        "他告诉我我错了。",
        "我们讨论讨论，研究研究。",
        "非常非常好。",
        "哈哈哈哈。",
        "对对对。",
        "我们现在在开会。",
        "这是我，我很好。",
        "交给我们，我们会办。",
        "爸爸妈妈。",
        "是是非非。",
    ],
)
def test_doubled_words_with_a_meaning_stay(text: str) -> None:
    assert polished_text(sentence(text), SHORTER) == text


def test_a_pause_parts_clauses_like_a_mark() -> None:
    tokens = (
        Token("那", 0, 200, 0.9),
        Token("个", 200, 400, 0.9),
        Token("好", 900, 1100, 0.9, "。"),
    )
    assert polished_text(Sentence(tokens), PolishOptions(fillers=True)) == "好。"
    assert hidden_ranges(tokens, PolishOptions(fillers=True)) == ((0, 1),)


def test_what_is_written_otherwise_is_never_hidden() -> None:
    said = sentence("我我们", WrittenSpan(0, 0, "握", "hotword"))
    assert polished_text(said, SHORTER) == "握我们"


def test_everything_off_is_the_written_form() -> None:
    said = sentence("嗯，我我们用api三个", WrittenSpan(6, 7, "3个"))
    assert polished_text(said, PolishOptions()) == said.text
    assert hidden_ranges(said.tokens, PolishOptions()) == ()


_SPEECH = st.text("嗯呃啊我我们那个这就是，。、三3aAPI ", min_size=1, max_size=30)


@given(st.one_of(_SPEECH, st.text(min_size=1, max_size=30)))
def test_any_text_has_a_view_and_keeps_a_token(text: str) -> None:
    tokens = tokens_from_pieces([TimedPiece(text, 0, 200 * len(text), 0.9)])
    if not tokens:
        return
    ranges = hidden_ranges(tokens, ALL)
    covered = [index for first, last in ranges for index in range(first, last + 1)]
    assert covered == sorted(set(covered))
    assert len(covered) < len(tokens)
    assert polished_text(Sentence(tokens), ALL)
