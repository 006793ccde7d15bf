"""From token numbers to words, and from hotwords to token numbers."""

from __future__ import annotations

import pytest

from asr_core.recognizers.tokenizer import MAX_HOTWORDS, ParaformerTokenizer
from asr_core.results import join_text
from asr_core.text.tokens import tokens_from_pieces
from tests.golden.paraformer_files import golden

TOKENS = (
    *("<blank>", "<s>", "</s>", "你", "好", "我", "说", "来", "用", "他", "在", "上", "一"),
    *("hello", "wor@@", "ld", "a", "b", "p", "ok", "i'm", "mo@@", "de@@", "l", "<unk>"),
)
SEGMENTATION = {"world": ("wor@@", "ld"), "hello": ("hello",), "gone": ("go@@", "ne")}


@pytest.fixture
def tokenizer() -> ParaformerTokenizer:
    return ParaformerTokenizer(TOKENS, SEGMENTATION)


def numbered(tokens: list[str]) -> list[tuple[int, int, int, float]]:
    return [
        (TOKENS.index(token), 100 * place, 100 * place + 90, 0.5)
        for place, token in enumerate(tokens)
    ]


def texts(tokenizer: ParaformerTokenizer, *tokens: str) -> list[str]:
    return [piece.text.strip() for piece in tokenizer.pieces(numbered(list(tokens)))]


def ids(*tokens: str) -> tuple[int, ...]:
    return tuple(TOKENS.index(token) for token in tokens)


@pytest.mark.parametrize("case", golden()["words"], ids=lambda case: "".join(case["tokens"]))
def test_words_and_times_are_those_of_funasr(tokenizer: ParaformerTokenizer, case: dict) -> None:
    pieces = tokenizer.pieces(numbered(case["tokens"]))
    assert [piece.text.strip() for piece in pieces] == case["words"]
    assert [[piece.start_ms, piece.end_ms] for piece in pieces] == case["times"]
    found = tokens_from_pieces(pieces)
    assert [token.text for token in found] == case["words"]
    assert [[token.start_ms, token.end_ms] for token in found] == case["times"]


def test_english_words_have_spaces_and_chinese_has_none(tokenizer: ParaformerTokenizer) -> None:
    pieces = tokenizer.pieces(numbered(["我", "说", "hello", "wor@@", "ld", "你", "好"]))
    line = join_text((token.text, "") for token in tokens_from_pieces(pieces))
    assert line == "我说hello world你好"


def test_an_unknown_token_leaves_the_times_of_the_others(tokenizer: ParaformerTokenizer) -> None:
    pieces = tokenizer.pieces(numbered(["你", "<unk>", "好"]))
    assert [(piece.text, piece.start_ms) for piece in pieces] == [("你", 0), ("好", 200)]


def test_half_a_word_is_kept(tokenizer: ParaformerTokenizer) -> None:
    assert texts(tokenizer, "wor@@", "你", "wor@@") == ["wor", "你", "wor"]


def test_marks_of_begin_and_end_are_not_spoken(tokenizer: ParaformerTokenizer) -> None:
    spoken = [token for number, token in enumerate(TOKENS) if tokenizer.is_spoken(number)]
    assert spoken == list(TOKENS[3:])


def test_a_word_is_as_sure_as_its_pieces(tokenizer: ParaformerTokenizer) -> None:
    wor, ld = ids("wor@@", "ld")
    piece = tokenizer.pieces([(wor, 0, 10, 0.4), (ld, 10, 30, 0.8)])[0]
    assert (piece.text, piece.start_ms, piece.end_ms) == (" world", 0, 30)
    assert piece.confidence == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("你好", ids("你", "好")),
        ("HELLO", ids("hello")),
        ("ｗｏｒｌｄ你", ids("wor@@", "ld", "你")),
        ("hello World", ids("hello", "wor@@", "ld")),
        ("App", ids("a", "p", "p")),
        ("I'm", ids("i'm")),
    ],
)
def test_hotwords_are_folded_and_divided(
    tokenizer: ParaformerTokenizer, word: str, expected: tuple[int, ...]
) -> None:
    encoded = tokenizer.encode_hotwords([word], 10)
    assert encoded.ids == (expected,)
    assert (encoded.shortened, encoded.left_out) == ((), ())


@pytest.mark.parametrize(("word", "left"), [("你𠮷好", "你好"), ("apx", "ap"), ("上2", "上")])
def test_unknown_characters_are_dropped_by_name(
    tokenizer: ParaformerTokenizer, word: str, left: str
) -> None:
    encoded = tokenizer.encode_hotwords([word, "好"], 10)
    assert encoded.ids == (ids(*left), ids("好"))
    assert encoded.shortened == (word,)


def test_what_cannot_be_used_is_named(tokenizer: ParaformerTokenizer) -> None:
    encoded = tokenizer.encode_hotwords(["𠮷", "你好我说", "，。", "gone", "你好"], 3)
    assert encoded.ids == (ids("你", "好"),)
    assert encoded.left_out == ("𠮷", "你好我说", "，。", "gone")


def test_the_same_word_twice_counts_once(tokenizer: ParaformerTokenizer) -> None:
    assert tokenizer.encode_hotwords(["hello", "Hello", "ＨＥＬＬＯ"], 10).ids == (ids("hello"),)


def test_more_than_five_hundred_are_left_out_by_name() -> None:
    characters = [chr(0x4E00 + place) for place in range(MAX_HOTWORDS + 3)]
    tokenizer = ParaformerTokenizer(["<blank>", "<s>", "</s>", *characters], {})
    encoded = tokenizer.encode_hotwords([*characters, characters[0]], 10)
    assert len(encoded.ids) == 500
    assert encoded.left_out == tuple(characters[MAX_HOTWORDS:])
