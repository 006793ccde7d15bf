"""Hotwords after recognition: what is corrected, what is left alone, and what is told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.results import Sentence, Token, WrittenSpan
from asr_core.text.hotwords import FUZZY_DEFAULT, HotwordCorrector
from asr_core.text.tokens import TimedPiece, tokens_from_pieces

DATA = Path(__file__).resolve().parents[2] / "data" / "hotwords"
MISHEARD = re.compile(r"\[(.+?)>(.+?)\]")


def heard(text: str, confidence: float = 0.9) -> tuple[Token, ...]:
    return tokens_from_pieces([TimedPiece(text, 0, 200 * len(text), confidence)])


def corrected(text: str, words: Sequence[str], **options: object) -> str:
    tokens = heard(text)
    return Sentence(tokens, HotwordCorrector(words, **options).spans(tokens)).text


@cache
def lines(name: str) -> tuple[str, ...]:
    return tuple((DATA / name).read_text(encoding="utf-8").splitlines())


@cache
def sample_words() -> tuple[str, ...]:
    words = (word for line in lines("misheard.txt") for _, word in MISHEARD.findall(line))
    return tuple(dict.fromkeys(words))


def with_doubt(tokens: Sequence[Token], texts: str, confidence: float) -> tuple[Token, ...]:
    return tuple(replace(t, confidence=confidence) if t.text in texts else t for t in tokens)


def test_misheard_hotwords_of_the_sample_are_found() -> None:
    corrector = HotwordCorrector(sample_words())
    wanted = found = 0
    for line in lines("misheard.txt"):
        tokens = heard(MISHEARD.sub(r"\1", line))
        wanted += len(MISHEARD.findall(line))
        right = Sentence(tokens, corrector.spans(tokens)).text == MISHEARD.sub(r"\2", line)
        found += right * len(MISHEARD.findall(line))
    assert wanted == 41
    assert found >= 0.95 * wanted


def test_ordinary_text_of_the_sample_is_not_touched() -> None:
    corrector = HotwordCorrector(sample_words())
    changed = [line for line in lines("ordinary.txt") if corrector.spans(heard(line))]
    assert changed == []


@pytest.mark.parametrize(
    ("text", "words", "written"),
    [
        ("请含总先发言。", ["韩总"], "请韩总先发言。"),
        ("我们用的是坤鹏服务器", ["鲲鹏"], "我们用的是鲲鹏服务器"),
        ("他在行天科技上班", ["航天科技"], "他在航天科技上班"),
        ("请增国伟发言", ["曾国伟"], "请曾国伟发言"),
        ("章小明和李斯琪都来了", ["张晓明", "李思琪"], "张晓明和李思琪都来了"),
        ("部署在kubernetes上", ["Kubernetes"], "部署在Kubernetes上"),
        ("部署在Kubernetis上", ["Kubernetes"], "部署在Kubernetes上"),
        ("部署在Kuber netes上", ["Kubernetes"], "部署在Kubernetes上"),
        ("买了八块g p u", ["GPU"], "买了八块GPU"),
        ("买了a骨的基金", ["A股"], "买了A股的基金"),
        ("附近有五g机站", ["5G基站"], "附近有5G基站"),
        ("看三一五晚会", ["315晚会"], "看315晚会"),
        ("wifi断了", ["Wi-Fi"], "Wi-Fi断了"),
    ],
)
def test_what_sounds_like_a_hotword_is_written_so(
    text: str, words: list[str], written: str
) -> None:
    assert corrected(text, words) == written


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("公民的权力和义务", ["权利"]),
        ("包含总的费用在内", ["韩总"]),
        ("李工作了一整天", ["黎工"]),
        ("会议的时期和地点", ["诗琪"]),
        ("三三两两地走来", ["珊珊"]),
        ("it is a good day", ["IT"]),
        ("It is a good day", ["IT"]),
        ("Kubernetes on Kubernetes", ["Kubernetes"]),
        ("他有gpus和cpu", ["GPU"]),
        ("打二三一五晚会的电话", ["315晚会"]),
        ("The community is great", ["commodity"]),
    ],
)
def test_ordinary_words_stay(text: str, words: list[str]) -> None:
    tokens = heard(text)
    assert HotwordCorrector(words).spans(tokens) == ()


def test_a_doubtful_token_speaks_for_the_hotword_and_a_sure_one_against_it() -> None:
    tokens = heard("今天时期要来开会", 0.95)
    corrector = HotwordCorrector(["诗琪"])
    scores = [
        corrector.matches(with_doubt(tokens, "时期", confidence))[0].score
        for confidence in (0.99, 0.95, 0.3)
    ]
    assert scores == sorted(scores)
    assert scores[0] < 0.5 < scores[2]


def test_a_higher_threshold_changes_less() -> None:
    tokens = heard("请含总先发言")
    score = HotwordCorrector(["韩总"]).matches(tokens)[0].score
    assert HotwordCorrector(["韩总"], threshold=score + 0.001).spans(tokens) == ()
    assert HotwordCorrector(["韩总"], threshold=score - 0.001).spans(tokens) != ()


def test_fuzzy_pairs_are_a_choice() -> None:
    assert corrected("请联系刘立娜女士", ["刘丽娜"], fuzzy=frozenset()) == "请联系刘丽娜女士"
    assert corrected("请联系牛丽娜女士", ["刘丽娜"]) == "请联系刘丽娜女士"
    assert corrected("请联系牛丽娜女士", ["刘丽娜"], fuzzy=frozenset()) == "请联系牛丽娜女士"
    both = FUZZY_DEFAULT | {"f/h"}
    assert corrected("请联系胡莲花女士", ["傅莲花"]) == "请联系胡莲花女士"
    assert corrected("请联系胡莲花女士", ["傅莲花"], fuzzy=both) == "请联系傅莲花女士"


def test_one_wrong_syllable_is_forgiven_in_long_words_only() -> None:
    assert corrected("我们跟中科数光签约", ["中科曙光"]) == "我们跟中科曙光签约"
    assert corrected("我们跟中科烫光签约", ["中科曙光"]) == "我们跟中科曙光签约"
    assert corrected("我们跟中哭烫光签约", ["中科曙光"]) == "我们跟中哭烫光签约"
    assert corrected("请联系烫思琪女士", ["李思琪"]) == "请联系烫思琪女士"


def test_what_is_written_right_is_never_changed() -> None:
    words = ["韩总", "含总", "预音识别", "识别"]
    assert corrected("请含总和韩总发言", words) == "请含总和韩总发言"


def test_a_longer_hotword_may_contain_a_shorter_one_that_is_right() -> None:
    words = ["识别", "语音识别"]
    tokens = heard("这是预音识别系统")
    spans = HotwordCorrector(words).spans(tokens)
    assert spans == (WrittenSpan(2, 5, "语音识别", "hotword"),)


@pytest.mark.parametrize("text", ["请含。总要发言", "请含！总要发言"])
def test_no_word_spans_the_end_of_a_sentence(text: str) -> None:
    assert HotwordCorrector(["韩总"], threshold=0.0).spans(heard(text)) == ()


def test_no_word_spans_a_long_pause() -> None:
    together = (Token("含", 0, 200, 0.9), Token("总", 1400, 1600, 0.9))
    apart = (Token("含", 0, 200, 0.9), Token("总", 1401, 1600, 0.9))
    corrector = HotwordCorrector(["韩总"], threshold=0.0)
    assert corrector.spans(together) == (WrittenSpan(0, 1, "韩总", "hotword"),)
    assert corrector.spans(apart) == ()


def test_replacements_stand_wherever_the_wrong_words_do() -> None:
    corrector = HotwordCorrector(
        ["销记账本"], [("销机", "销记"), ("open ai", "OpenAI"), ("销机系统", "销记平台")]
    )
    tokens = heard("销机和Open AI，销机系统，销记账本。")
    spans = corrector.spans(tokens)
    assert [(span.written, span.kind) for span in spans] == [
        ("销记", "replacement"),
        ("OpenAI", "replacement"),
        ("销记平台", "replacement"),
    ]
    assert Sentence(tokens, spans).text == "销记和OpenAI，销记平台，销记账本。"


def test_replacements_keep_to_whole_tokens_and_out_of_hotwords() -> None:
    corrector = HotwordCorrector(["销机大王"], [("销机", "销记"), ("cat", "猫")])
    assert corrector.spans(heard("销机大王看category")) == ()


def test_dropping_a_span_undoes_it() -> None:
    tokens = heard("请含总先发言。")
    spans = HotwordCorrector(["韩总"]).spans(tokens)
    assert Sentence(tokens, spans).text == "请韩总先发言。"
    assert Sentence(tokens, spans).spoken_text == "请含总先发言。"
    assert Sentence(tokens, ()).text == "请含总先发言。"


def test_spoken_tells_where_hotwords_stand() -> None:
    tokens = heard("韩总用GPU，含总也用gpu。")
    assert HotwordCorrector(["韩总", "GPU"]).spoken(tokens) == ((0, 1, "韩总"), (3, 3, "GPU"))


def test_a_list_that_is_empty_changes_nothing() -> None:
    assert HotwordCorrector([]).spans(heard("请含总先发言。")) == ()
    assert HotwordCorrector(["韩总"]).spans(()) == ()


_SPEECH = st.text("韩含总张章小晓明GPUgpu五5的我。，", max_size=40)
_WORDS = st.lists(
    st.one_of(
        st.text("韩含总张章小晓明GPU5", min_size=1, max_size=5), st.text(min_size=1, max_size=6)
    ),
    max_size=6,
)


@given(
    text=st.one_of(_SPEECH, st.text(max_size=40)),
    words=_WORDS,
    replacements=st.lists(st.tuples(_SPEECH, st.text("甲乙a", min_size=1)), max_size=3),
    confidence=st.floats(allow_nan=True),
    threshold=st.floats(0, 1),
)
def test_spans_are_sorted_disjoint_and_keep_hotwords(
    text: str,
    words: list[str],
    replacements: list[tuple[str, str]],
    confidence: float,
    threshold: float,
) -> None:
    tokens = heard(text, confidence)
    corrector = HotwordCorrector(words, replacements, threshold=threshold)
    spans = corrector.spans(tokens)
    places = [place for span in spans for place in (span.first_token, span.last_token)]
    assert places == sorted(places)
    assert all(before.last_token < after.first_token for before, after in pairwise(spans))
    assert all(0 <= place < len(tokens) for place in places)
    assert {span.kind for span in spans} <= {"hotword", "replacement"}
    assert all(span.written in words for span in spans if span.kind == "hotword")
    for first, last, word in corrector.spoken(tokens):
        covering = [s for s in spans if s.first_token <= last and s.last_token >= first]
        assert all(s.first_token <= first and s.last_token >= last for s in covering)
        assert all(word in s.written for s in covering)


@given(st.lists(st.text(min_size=1, max_size=3), max_size=12), _WORDS)
def test_tokens_of_any_text_never_raise(texts: list[str], words: list[str]) -> None:
    tokens = [Token(text, 100 * n, 100 * n + 90, 0.5) for n, text in enumerate(texts)]
    HotwordCorrector(words, threshold=0.0).spans(tokens)
