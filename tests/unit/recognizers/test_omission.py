from __future__ import annotations

import numpy as np
import pytest

from asr_core.audio.segmenter import Segment
from asr_core.recognizers.omission import is_doubtful, is_too_dense
from asr_core.results import Token


def segment(seconds: float) -> Segment:
    """Speech of this length at 10 s, padded by 300 ms on both sides."""
    start, samples = 160_000, int(seconds * 16_000)
    padded = np.zeros(samples + 9_600, np.float32)
    return Segment(start - 4_800, start + samples + 4_800, start, start + samples, padded)


def tokens(text: str, start_s: float, end_s: float) -> list[Token]:
    """One token a character, evenly spread."""
    edges_ms = np.linspace(start_s * 1000, end_s * 1000, len(text) + 1).astype(int).tolist()
    return [
        Token(char, edges_ms[place], edges_ms[place + 1], 0.9) for place, char in enumerate(text)
    ]


SENTENCE = "首先请产品部介绍一下上周的进展"


def test_ordinary_speech_is_believed() -> None:
    assert not is_doubtful(segment(3.5), tokens(SENTENCE, 10, 13.5))


@pytest.mark.parametrize(("seconds", "doubtful"), [(0.8, False), (1.2, True), (8.0, True)])
def test_speech_without_text_is_doubtful_unless_it_is_a_breath(
    seconds: float, doubtful: bool
) -> None:
    assert is_doubtful(segment(seconds), []) is doubtful


def test_an_end_that_is_missing_is_doubtful() -> None:
    assert is_doubtful(segment(8), tokens(SENTENCE, 10, 14))


def test_a_token_drawn_over_a_hole_is_doubtful() -> None:
    first, second = tokens(SENTENCE, 10, 13), tokens(SENTENCE, 17, 20)
    assert is_doubtful(segment(10), [*first, Token("嗯", 13_000, 17_000, 0.4), *second])


def test_a_beginning_that_is_missing_is_doubtful() -> None:
    assert is_doubtful(segment(8), tokens(SENTENCE, 13, 18))


def test_a_sentence_written_again_and_again_is_doubtful() -> None:
    written = tokens(SENTENCE * 3, 10, 13.5)
    assert is_too_dense(segment(3.5), written)
    assert is_doubtful(segment(3.5), written)


def test_an_announcer_is_not_too_dense() -> None:
    assert not is_too_dense(
        segment(4), tokens("八百标兵奔北坡北坡炮兵并排跑炮兵怕把标兵碰标兵怕碰炮", 10, 14)
    )
