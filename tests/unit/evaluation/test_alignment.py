"""An alignment leads from one text to the other in the fewest steps."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.evaluation import alignment
from asr_core.evaluation.alignment import Edit, align
from asr_core.text.scoring import ErrorRate
from tests.unit.text.test_scoring import plain_distance

short = st.text("今天气好", max_size=10)


def rebuilt(reference: str, hypothesis: str) -> str:
    """The hypothesis, put together by the operations of the alignment alone."""
    text = ""
    for part in align(reference, hypothesis).operations:
        same = part.kind is Edit.EQUAL
        text += (
            reference[part.start : part.end]
            if same
            else hypothesis[part.other_start : part.other_end]
        )
    return text


@given(short, short)
def test_operations_turn_one_text_into_the_other(reference: str, hypothesis: str) -> None:
    found = align(reference, hypothesis)
    assert rebuilt(reference, hypothesis) == hypothesis
    assert found.counts.errors == plain_distance(reference, hypothesis)
    assert found.counts.reference_chars == len(reference)
    edges = [0, *(part.end for part in found.operations)]
    assert [part.start for part in found.operations] == edges[:-1]
    assert edges[-1] == len(reference)


@given(short, short)
def test_kinds_say_what_their_parts_are(reference: str, hypothesis: str) -> None:
    for part in align(reference, hypothesis).operations:
        said = reference[part.start : part.end]
        heard = hypothesis[part.other_start : part.other_end]
        if part.kind is Edit.EQUAL:
            assert said == heard != ""
        elif part.kind is Edit.SUBSTITUTION:
            assert len(said) == len(heard) > 0
        else:
            assert (said == "") is (part.kind is Edit.INSERTION)
            assert (heard == "") is (part.kind is Edit.DELETION)


def test_counts() -> None:
    assert align("今天天气好", "今天气号").counts == ErrorRate(1, 1, 0, 5)
    assert align("", "多").counts == ErrorRate(0, 0, 1, 0)
    assert align("少", "").counts == ErrorRate(0, 1, 0, 1)


def test_equal_characters_among_differences_are_found() -> None:
    assert align("甲乙丙丁戊", "甲乙戊己").counts == ErrorRate(0, 2, 1, 5)
    assert align("甲乙", "乙甲").counts == ErrorRate(0, 1, 1, 2)


def test_places_beside_each_other() -> None:
    found = align("甲乙丙丁戊", "甲乙戊己")
    assert found.boundaries(1) == (1, 1)
    assert found.boundaries(2) == (2, 4)
    assert found.boundaries(3) == (5, 5)
    assert found.boundaries(4) == (5, 5)


@pytest.mark.parametrize(
    ("start", "end", "image"),
    [(0, 1, (0, 1)), (1, 3, (1, 3)), (2, 3, (2, 3)), (3, 4, (3, 6)), (4, 5, (6, 7))],
)
def test_image_of_a_part(start: int, end: int, image: tuple[int, int]) -> None:
    found = align("甲乙丙5丁", "甲乙丙二十五丁")
    assert found.image(start, end) == image


def test_only_a_part_in_one_piece_is_equal() -> None:
    found = align("甲乙丙丁", "甲乙新丙丁")
    assert found.is_equal(0, 2)
    assert found.is_equal(2, 4)
    assert not found.is_equal(1, 3)


def noisy(text: str, every: int, chars: str, chance: random.Random) -> str:
    """One substitution, deletion or insertion in every so many characters."""
    changed = list(text)
    for at in range(0, len(changed), every):
        changed[at] = chance.choice(["", chance.choice(chars), changed[at] + chance.choice(chars)])
    return "".join(changed)


def test_long_texts_are_cut_without_losing_the_shortest_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(7)  # noqa: S311 - the same every time
    chars = "".join(map(chr, range(0x4E00, 0x4E00 + 1500)))
    reference = "".join(chance.choice(chars) for _ in range(3000))
    hypothesis = noisy(reference, 12, chars, chance)
    whole = align(reference, hypothesis)
    monkeypatch.setattr(alignment, "_EXACT_CELLS", 40_000)
    monkeypatch.setattr(alignment, "_PIECE_CHARS", 150)
    cut = align(reference, hypothesis)
    assert cut.counts.errors == whole.counts.errors
    assert rebuilt(reference, hypothesis) == hypothesis
    strange = "".join(chance.choice(chars) for _ in range(3000))
    assert rebuilt(reference, strange) == strange


def test_hundred_thousand_characters_are_aligned() -> None:
    chance = random.Random(3)  # noqa: S311 - the same every time
    chars = "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))
    reference = "".join(chance.choice(chars) for _ in range(100_000))
    hypothesis = reference[:40_000] + reference[40_500:]
    assert align(reference, hypothesis).counts == ErrorRate(0, 500, 0, 100_000)
