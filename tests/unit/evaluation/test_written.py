"""Numbers are judged in the form in which the reader sees them."""

from __future__ import annotations

import pytest

from asr_core.evaluation.written import NumberScore, score_numbers


@pytest.mark.parametrize(
    ("written", "heard", "score"),
    [
        ("共25台，占85%。", "共二十五台占百分之八十五", NumberScore(2, 2, 2, 2, 0)),
        ("共二十五台占85%", "共二十五台占百分之八十五", NumberScore(2, 1, 2, 1, 0)),
        ("共35台，占85%", "共三十五台占百分之八十五", NumberScore(2, 1, 1, 1, 1)),
        ("共25台，占80.5%", "共二十五台占百分之八十五", NumberScore(2, 1, 2, 1, 1)),
        ("工25台站85%", "工二十五台站百分之八十五", NumberScore(2, 2, 2, 2, 0)),
        ("", "", NumberScore(2, 0, 0, 0, 0)),
    ],
)
def test_numbers_of_one_text(written: str, heard: str, score: NumberScore) -> None:
    spoken = "共二十五台占百分之八十五"
    assert score_numbers("共25台，占85%", spoken, written, heard) == score


def test_digits_where_none_belong_are_extra() -> None:
    assert score_numbers("我们一起去", "我们一起去", "我们1起去", "我们一起去") == NumberScore(
        extra=1
    )


def test_scores_add_up() -> None:
    assert NumberScore(1, 1, 1, 1, 0) + NumberScore(2, 0, 1, 0, 3) == NumberScore(3, 1, 2, 1, 3)
