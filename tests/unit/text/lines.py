"""Sentences of every kind, for tests of what may be done to them."""

from __future__ import annotations

from hypothesis import strategies as st

from asr_core.results import Sentence, Token, WrittenSpan

WORDS = (
    "你",
    "好",
    "会",
    "议",
    "API",
    "GPU",
    "hello",
    "world",
    "3.5%",
    "三",
    "十",
    "👨‍👩‍👧",
    "שלום",
)
MARKS = ("", "", "", "，", "。", ",", "?", "·", "”", "……")
PIECES = (*WORDS, *MARKS, " ", "  ", "“", "'", '"', "-", "\u0301", "\u200d", "<b>", "e", "ß", "０")


@st.composite
def sentences(draw: st.DrawFn, *, start_ms: int = 0) -> Sentence:
    """One to twelve words with marks, gaps, doubtful ones, spans and things left out."""
    count = draw(st.integers(1, 12))
    tokens = []
    now = start_ms
    for _ in range(count):
        begin = now + draw(st.integers(0, 300))
        now = begin + draw(st.integers(0, 400))
        confidence = draw(st.sampled_from((0.25, 0.5, 0.75)))
        text, mark = draw(st.sampled_from(WORDS)), draw(st.sampled_from(MARKS))
        tokens.append(Token(text, begin, now, confidence, mark))
    return Sentence(
        tuple(tokens),
        draw(spans(count)),
        draw(st.sampled_from(("", "甲", "Bob"))),
        draw(st.booleans()),
    )


@st.composite
def spans(draw: st.DrawFn, count: int) -> tuple[WrittenSpan, ...]:
    found = []
    first = 0
    while first < count:
        length = draw(st.integers(0, 4))
        if length and first + length <= count:
            written = draw(st.sampled_from(("", "30", "胜太路", "API", "2025年", "x")))
            kind = draw(st.sampled_from(("number", "hotword", "polish", "edit")))
            found.append(WrittenSpan(first, first + length - 1, written, kind))
        first += length + 1
    return tuple(found)


typed = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
"""Anything a person may type."""


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """A text with a few pieces of it replaced."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 6)))
        text = text[:start] + draw(typed) + text[end:]
    return text
