"""The character error rate is the textbook's."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.text.scoring import ErrorRate, cer, count_edits, normalize_for_cer


def plain_distance(reference: str, hypothesis: str) -> int:
    """Fewest edits, straight from the definition."""

    @functools.cache
    def best(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        across = best(i - 1, j - 1) + (reference[i - 1] != hypothesis[j - 1])
        return min(across, best(i - 1, j) + 1, best(i, j - 1) + 1)

    return best(len(reference), len(hypothesis))


@given(st.text("今天气好", max_size=9), st.text("今天气好", max_size=9))
def test_counts_agree_with_the_definition(reference: str, hypothesis: str) -> None:
    counted = count_edits(reference, hypothesis)
    assert counted.reference_chars == len(reference)
    assert counted.errors == plain_distance(reference, hypothesis)
    assert counted.insertions - counted.deletions == len(hypothesis) - len(reference)
    assert min(counted.substitutions, counted.deletions, counted.insertions) >= 0


def test_counts_of_several_texts_add_up() -> None:
    assert ErrorRate(1, 2, 3, 10) + ErrorRate(4, 0, 1, 5) == ErrorRate(5, 2, 4, 15)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("今天天气好", "今天天气好", ErrorRate(0, 0, 0, 5)),
        ("今天天气好", "今天气号", ErrorRate(1, 1, 0, 5)),
        ("好", "好的呀", ErrorRate(0, 0, 2, 1)),
        ("", "", ErrorRate(0, 0, 0, 0)),
        ("", "多", ErrorRate(0, 0, 1, 0)),
        ("语音，识别。", "語音 识别", ErrorRate(0, 0, 0, 4)),
        ("ＡＢＣ１２", "abc12", ErrorRate(0, 0, 0, 5)),
    ],
)
def test_error_rate(reference: str, hypothesis: str, expected: ErrorRate) -> None:
    assert cer(reference, hypothesis) == expected


def test_rate_is_errors_per_reference_character() -> None:
    assert cer("今天天气好", "今天气号").rate == pytest.approx(0.4)
    assert cer("好", "好的呀").rate == pytest.approx(2.0)
    assert cer("", "").rate == 0.0
    assert cer("", "多").rate == 1.0


def test_normalization_keeps_letters_and_digits() -> None:
    assert normalize_for_cer(" Hello，World！ 2025年…《後來》") == "helloworld2025年后来"


def test_long_texts_are_counted_exactly() -> None:
    reference = "".join(chr(0x4E00 + index % 997) for index in range(3000))
    hypothesis = reference[:1000] + reference[1010:2000] + "中" + reference[2000:]
    assert count_edits(reference, hypothesis) == ErrorRate(0, 10, 1, 3000)
