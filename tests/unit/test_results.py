"""The written form is read off the tokens and their spans."""

from __future__ import annotations

import pytest

from asr_core.results import Sentence, Token, WrittenSpan


def heard(*words: str) -> tuple[Token, ...]:
    """One token a word; a mark at its end is its mark."""
    return tuple(
        Token(
            word.rstrip("，。、？") or word,
            100 * at,
            100 * at + 90,
            0.9,
            word[len(word.rstrip("，。、？")) :],
        )
        for at, word in enumerate(words)
    )


@pytest.mark.parametrize(
    ("words", "spans", "written"),
    [
        (("嗯，", "我", "来。"), [(0, 0, "")], "我来。"),
        (("我", "呃，", "来。"), [(1, 1, "")], "我，来。"),
        (("我、", "呃，", "来。"), [(1, 1, "")], "我，来。"),
        (("我。", "呃，", "来。"), [(1, 1, "")], "我。来。"),
        (("来", "了", "嗯。"), [(2, 2, "")], "来了。"),
        (("嗯", "嗯。"), [(0, 1, "")], ""),
        (("三", "十", "个，", "嗯。"), [(0, 1, "30"), (3, 3, "")], "30个。"),
        (("use", "the", "api."), [(2, 2, "API.")], "use the API."),
    ],
)
def test_what_is_left_out_leaves_its_mark(words, spans, written):
    made = tuple(WrittenSpan(*span, "polish") for span in spans)
    sentence = Sentence(heard(*words), made)
    assert sentence.text == written
    assert Sentence(sentence.tokens).text == sentence.spoken_text


@pytest.mark.parametrize(
    ("words", "plain", "spaced"),
    [
        (("用", "GPU", "算"), "用GPU算", "用 GPU 算"),
        (("用，", "GPU", "算。"), "用，GPU算。", "用，GPU 算。"),
        (("see", "you", "吧"), "see you吧", "see you 吧"),
        (("涨", "5%", "了"), "涨5%了", "涨 5% 了"),
        (("我", "们"), "我们", "我们"),
        (("GPU",), "GPU", "GPU"),
    ],
)
def test_a_space_parts_chinese_and_latin_on_request(words, plain, spaced):
    tokens = heard(*words)
    assert Sentence(tokens).text == plain
    assert Sentence(tokens, spaced=True).text == spaced
    assert Sentence(tokens, spaced=True).spoken_text == plain
