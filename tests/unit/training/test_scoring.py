from __future__ import annotations

import numpy as np
import pytest

from asr_core.text.punctuation.base import MARKS
from asr_core.training.corpus import UNSURE
from asr_core.training.scoring import Part, best_biases, count, report

_ZERO = np.zeros(len(MARKS), dtype=np.float32)


def part_of(placed: str, wanted: str, *, weight: float = 1.0) -> Part:
    """One paragraph; ``_`` is no mark, ``~`` a place where any mark would be right."""
    scores = np.full((len(placed), len(MARKS)), -9.0, dtype=np.float32)
    for row, mark in enumerate(placed):
        scores[row, MARKS.index(mark.strip("_"))] = 0.0
    labels = [UNSURE if mark == "~" else MARKS.index(mark.strip("_")) for mark in wanted]
    last = np.arange(len(placed)) == len(placed) - 1
    return Part(scores, np.array(labels, dtype=np.uint8), last, weight)


def test_figures_are_those_of_hits_placed_and_wanted_marks() -> None:
    figures = count(part_of("，_，。？_。", "，，_？？_。"), _ZERO, last=True).figures()
    assert figures["，"] == pytest.approx(2 * 1 / (2 + 2))
    assert figures["。"] == pytest.approx(2 * 1 / (2 + 1), abs=1e-4)
    assert figures["？"] == pytest.approx(2 * 1 / (1 + 2), abs=1e-4)
    assert figures["micro"] == pytest.approx(2 * 3 / (5 + 5))
    assert figures["boundary"] == pytest.approx(2 * 4 / (5 + 5))


def test_marks_of_one_kind_count_as_one() -> None:
    figures = count(part_of("；：！，", "，，。："), _ZERO, last=True).figures()
    assert figures["micro"] == 1.0


def test_pause_marks_are_boundaries_and_unsure_places_want_nothing() -> None:
    figures = count(part_of("、_。", "_~。"), _ZERO, last=True).figures()
    assert figures["micro"] == 1.0
    assert figures["boundary"] == pytest.approx(2 / 3, abs=1e-4)


def test_the_last_mark_of_a_paragraph_may_be_left_out() -> None:
    part = part_of("，_。", "，_。")
    assert count(part, _ZERO, last=True).wanted.tolist() == [1, 1, 0]
    assert count(part, _ZERO, last=False).wanted.tolist() == [1, 0, 0]


def test_a_report_adds_parts_by_their_weight() -> None:
    parts = {"good": part_of("，_", "，_", weight=3.0), "bad": part_of("，_", "_，")}
    table = report(parts, _ZERO, last=True)
    assert table["good"]["micro"] == 1.0
    assert table["bad"]["micro"] == 0.0
    assert table["all"]["micro"] == pytest.approx(0.75)


def test_thresholds_find_marks_that_the_network_underrates() -> None:
    random = np.random.default_rng(0)
    labels = random.choice([0, 0, 0, 0, 1, 2], size=4000).astype(np.uint8)
    scores = np.full((4000, len(MARKS)), -8.0, dtype=np.float32)
    scores[:, :3] = random.normal(0.0, 0.4, (4000, 3))
    scores[np.arange(4000), labels] += 1.0
    scores[:, 0] += 1.2
    part = Part(scores, labels, np.zeros(4000, dtype=bool))
    biases = best_biases({"all": part})
    assert biases[0] == 0.0
    assert biases[1] > 0.5
    assert biases[2] > 0.5
    before = count(part, _ZERO, last=False).figures()
    after = count(part, biases, last=False).figures()
    assert after["micro"] > before["micro"] + 0.1
