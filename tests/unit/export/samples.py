"""Transcripts to export, and strategies that make odd ones."""

from __future__ import annotations

from hypothesis import strategies as st

from asr_core.results import (
    Coverage,
    ModelInfo,
    Sentence,
    Token,
    Transcript,
    TranscriptWarning,
    WrittenSpan,
)

MODEL = ModelInfo("whisper-base", "ctranslate2 int8", "cpu")


def sentence(text: str, start_ms: int = 0, *, step_ms: int = 200, speaker: str = "") -> Sentence:
    """One token a character; a mark goes to the character before it."""
    tokens: list[Token] = []
    for char in text:
        if char in "，。？！、":
            last = tokens.pop()
            tokens.append(Token(last.text, last.start_ms, last.end_ms, last.confidence, char))
        else:
            begin = start_ms + len(tokens) * step_ms
            tokens.append(Token(char, begin, begin + step_ms, 0.9))
    return Sentence(tuple(tokens), speaker=speaker)


def transcript(*sentences: Sentence, duration_ms: int = 60_000) -> Transcript:
    return Transcript(sentences, duration_ms, "zh", MODEL, 6000)


def meeting() -> Transcript:
    """Two sentences, one with a written number and one with a Latin word."""
    first = sentence("用户有二十六位，很满意。", 1000)
    first = Sentence(first.tokens, (WrittenSpan(3, 5, "26"),))
    second = Sentence(
        (
            Token("用", 5000, 5200, 0.5),
            Token("Tinglu", 5200, 5900, 0.75),
            Token("吧", 5900, 6000, 1.0, "！"),
        )
    )
    return Transcript(
        (first, second),
        125_000,
        "zh",
        MODEL,
        12_345,
        Coverage(100_000, 98_000, ((7000, 9000),)),
        (
            TranscriptWarning("gap", "2 s of speech gave no text"),
            TranscriptWarning("truncated", "damaged", ((7000, 8000),)),
        ),
    )


odd_text = st.one_of(
    st.text(min_size=1, max_size=12),
    st.text("今天ab1\n\r\t <>&-=+@|*_[]`'\",;:😀👨‍👩ش\u202e\u2028\0", min_size=1, max_size=12),
    st.sampled_from(["-->", "--", ">", "=1+1", "WEBVTT", "NOTE", "{\\b1}", "x" * 60, "[00:01.00]"]),
)


@st.composite
def transcripts(draw: st.DrawFn, texts: st.SearchStrategy[str] = odd_text) -> Transcript:
    """Any transcript that keeps the contract of ``results``: ordered, disjoint token times."""
    position = 0
    sentences = []
    for _ in range(draw(st.integers(0, 3))):
        tokens = []
        for _ in range(draw(st.integers(1, 24))):
            start = position + draw(st.sampled_from([0, 0, 0, 50, 700, 3000]))
            position = start + draw(st.sampled_from([0, 1, 150, 300, 9000]))
            mark = draw(st.sampled_from(["", "", "", "，", "。", "、", ",", "……"]))
            tokens.append(Token(draw(texts), start, position, draw(st.floats(0, 1)), mark))
        first = draw(st.integers(0, len(tokens) - 1))
        last = draw(st.integers(first, min(first + 4, len(tokens) - 1)))
        spans = (WrittenSpan(first, last, draw(texts)),) if draw(st.booleans()) else ()
        sentences.append(Sentence(tuple(tokens), spans, draw(st.sampled_from(["", "甲"]))))
    return transcript(*sentences, duration_ms=position + draw(st.integers(0, 3000)))
