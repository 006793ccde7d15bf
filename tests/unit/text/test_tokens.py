"""Users get one token list with honest times, and sentences that read well."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.results import Token
from asr_core.text.tokens import (
    TimedPiece,
    split_sentences,
    text_width,
    tokens_from_pieces,
)


def pieces(*texts: str) -> list[TimedPiece]:
    """Pieces without a gap, 100 ms for each character."""
    made, position = [], 0
    for text in texts:
        made.append(TimedPiece(text, position, position + 100 * len(text), 0.9))
        position += 100 * len(text)
    return made


def spelled(*texts: str) -> list[str]:
    return [token.text + token.mark for token in tokens_from_pieces(pieces(*texts))]


def spoken(text: str, *, gap_after: dict[int, int] | None = None) -> list[Token]:
    """One token a character, 200 ms each; ``gap_after`` adds silence after a character."""
    tokens, position = [], 0
    for index, char in enumerate(text):
        tokens.append(Token(char, position, position + 200, 0.9))
        position += 200 + (gap_after or {}).get(index, 0)
    return tokens


@pytest.mark.parametrize(
    ("given_pieces", "expected"),
    [
        (("今天天气",), ["今", "天", "天", "气"]),
        ((" Hello", "，", "今天"), ["Hello，", "今", "天"]),
        (("2025", "年"), ["2025", "年"]),
        (("3", ".5", "倍"), ["3.5", "倍"]),
        (("85", "%", "的"), ["85%", "的"]),
        (("305", ",", "334", "人。"), ["305,334", "人。"]),
        (("5", "G", "网络"), ["5G", "网", "络"]),
        (("PM", "2", ".", "5", "超标"), ["PM2.5", "超", "标"]),
        (("It's", " state", "-of", "-the-art"), ["It's", "state-of-the-art"]),
        (("Hello", ",", " world", "."), ["Hello,", "world."]),
        (("温度", "-5", "度"), ["温", "度", "-5", "度"]),
        (("９", "８", "％"), ["98%"]),
        (("3:30", "开始"), ["3:30", "开", "始"]),
        (("2025/11/29",), ["2025/11/29"]),
        (("👨‍👩‍👧好👍🏽",), ["👨‍👩‍👧", "好", "👍🏽"]),
        (("好�的\u200b",), ["好", "的"]),
        (("，。",), []),
        (("", "  "), []),
    ],
)
def test_what_a_token_is(given_pieces: tuple[str, ...], expected: list[str]) -> None:
    assert spelled(*given_pieces) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("，你好,世界.", ["你", "好，", "世", "界。"]),
        ("真的？！。", ["真", "的？"]),
        ("好。，", ["好。"]),
        ("一、，二", ["一，", "二"]),
        ("他说：“好。”", ["他", "说：", "好。"]),
        ("《三体》（上）", ["三", "体", "上"]),
        ("等等...", ["等", "等……"]),
        ("我用iPhone,你呢?", ["我", "用", "iPhone，", "你", "呢？"]),
        ("约翰·史密斯", ["约", "翰·", "史", "密", "斯"]),
    ],
)
def test_marks_follow_the_token_before_them(text: str, expected: list[str]) -> None:
    assert spelled(text) == expected


def test_a_long_piece_spreads_its_time_over_its_characters() -> None:
    tokens = tokens_from_pieces([TimedPiece("今天，好", 1000, 1900, 0.8)])
    assert [(t.start_ms, t.end_ms) for t in tokens] == [(1000, 1300), (1300, 1600), (1600, 1900)]
    assert [t.confidence for t in tokens] == pytest.approx([0.8] * 3)


def test_parts_of_a_word_are_merged_by_their_characters() -> None:
    tokens = tokens_from_pieces([TimedPiece(" Ti", 0, 200, 0.9), TimedPiece("nglu", 250, 600, 0.6)])
    assert [(t.text, t.start_ms, t.end_ms) for t in tokens] == [("Tinglu", 0, 600)]
    assert tokens[0].confidence == pytest.approx((2 * 0.9 + 4 * 0.6) / 6)


def test_broken_times_are_mended() -> None:
    tokens = tokens_from_pieces(
        [
            TimedPiece("一", -300, 200, 0.5),
            TimedPiece("二", 500, 900, 7.0),
            TimedPiece("三", 700, 600, float("nan")),
        ]
    )
    assert [(t.start_ms, t.end_ms) for t in tokens] == [(0, 200), (500, 700), (700, 700)]
    assert [t.confidence for t in tokens] == [0.5, 1.0, 0.0]


any_pieces = st.lists(
    st.builds(
        TimedPiece,
        st.one_of(st.text(max_size=8), st.text("今天二百，。,.?! a1-'%“”", max_size=8)),
        st.integers(-500, 50_000),
        st.integers(-500, 50_000),
        st.floats(0, 1),
    ),
    max_size=12,
)


@settings(deadline=None)
@given(any_pieces)
def test_times_are_ordered_and_no_letter_is_lost(given_pieces: list[TimedPiece]) -> None:
    tokens = tokens_from_pieces(given_pieces)
    times = [moment for token in tokens for moment in (token.start_ms, token.end_ms)]
    assert times == sorted(times)
    assert all(moment >= 0 for moment in times)
    assert all(token.text and not any(c.isspace() for c in token.text) for token in tokens)
    assert all(0 <= token.confidence <= 1 for token in tokens)
    letters = [char for piece in given_pieces for char in piece.text if char.isalnum()]
    kept = [char for token in tokens for char in token.text if char.isalnum()]
    assert kept == [_half_width(char) for char in letters]


def _half_width(char: str) -> str:
    return chr(ord(char) - 0xFEE0) if "！" <= char <= "～" else char


def test_a_sentence_ends_at_its_mark_and_at_a_long_pause() -> None:
    tokens = tokens_from_pieces(pieces("你好。", "今天开会，", "讨论；", "好"))
    assert ["".join(t.text for t in s) for s in split_sentences(tokens)] == [
        "你好",
        "今天开会讨论",
        "好",
    ]
    paused = spoken("先生你好我们开始", gap_after={3: 1201})
    assert [len(sentence) for sentence in split_sentences(paused)] == [4, 4]
    assert [len(sentence) for sentence in split_sentences(paused, max_pause_ms=1201)] == [8]


def test_a_long_sentence_is_cut_at_its_last_comma_that_fits() -> None:
    tokens = tokens_from_pieces(pieces("春" * 20 + "，" + "夏" * 15 + "，" + "秋" * 30))
    sentences = split_sentences(tokens, max_chars=50)
    assert [len(sentence) for sentence in sentences] == [35, 30]


def test_a_long_sentence_without_marks_is_cut_at_its_longest_pause() -> None:
    tokens = spoken("声" * 30, gap_after={14: 300, 17: 500})
    assert [len(s) for s in split_sentences(tokens, max_chars=20)] == [18, 12]


def test_a_cut_never_falls_into_a_number() -> None:
    tokens = spoken("共" * 14 + "三百五十万元" + "钱" * 10)
    sentences = split_sentences(tokens, max_chars=18)
    assert any("三百五十万元" in "".join(t.text for t in s) for s in sentences)


@settings(deadline=None)
@given(any_pieces, st.integers(0, 2000), st.integers(1, 30))
def test_splitting_never_loses_a_token(
    given_pieces: list[TimedPiece], max_pause_ms: int, max_chars: int
) -> None:
    tokens = tokens_from_pieces(given_pieces)
    sentences = split_sentences(tokens, max_pause_ms=max_pause_ms, max_chars=max_chars)
    assert tuple(token for sentence in sentences for token in sentence) == tokens
    assert all(
        len(sentence) == 1 or text_width("".join(t.text + t.mark for t in sentence)) <= max_chars
        for sentence in sentences
    )
