"""How well marks are placed, and the thresholds that place them best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from asr_core.text.punctuation.base import MARKS

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Labels = npt.NDArray[np.uint8]

NONE, COMMA, STOP, QUESTION, PAUSE_MARK = 0, 1, 2, 3, 4
"""What marks count as: nothing, ``，；：``, ``。！``, ``？``, ``、``."""

_MERGED = np.array([NONE, COMMA, STOP, QUESTION, STOP, PAUSE_MARK, COMMA, COMMA])
_COUNTED = {"，": COMMA, "。": STOP, "？": QUESTION}


@dataclass(frozen=True, slots=True)
class Part:
    """One group of paragraphs that is judged.

    Attributes:
        log_probs: float32 (words, len(MARKS)) of the network, without thresholds.
        labels: uint8 (words,): the marks of the text; any other number is no mark.
        last: bool (words,): the last word of each paragraph.
        weight: how much one word of it counts beside those of other parts.
    """

    log_probs: Float32
    labels: Labels
    last: npt.NDArray[np.bool_]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Counts:
    """Weighted counts of hits, of marks that were placed, of marks that were wanted.

    Attributes:
        hits: (3,) for ``，。？``.
        placed: (3,).
        wanted: (3,).
        boundaries: hits, placed and wanted of any mark at a place.
    """

    hits: Float64
    placed: Float64
    wanted: Float64
    boundaries: Float64

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.hits + other.hits,
            self.placed + other.placed,
            self.wanted + other.wanted,
            self.boundaries + other.boundaries,
        )

    def figures(self) -> dict[str, float]:
        """F1 of each mark, of all three (``micro``) and of boundaries, rounded to 4 places."""
        scores = {
            mark: _f1(self.hits[i], self.placed[i], self.wanted[i])
            for i, mark in enumerate(_COUNTED)
        }
        scores["micro"] = _f1(self.hits.sum(), self.placed.sum(), self.wanted.sum())
        scores["boundary"] = _f1(*self.boundaries)
        return {name: round(float(score), 4) for name, score in scores.items()}


def count(part: Part, biases: Float32, *, last: bool) -> Counts:
    """Judge one part.

    Args:
        part: what the network said and what the text has.
        biases: (len(MARKS),) added to the log-probabilities.
        last: whether the last mark of each paragraph counts.
    """
    chosen = (part.log_probs + biases).argmax(axis=1)
    counted = np.ones(len(chosen), dtype=bool) if last else ~part.last
    placed = _MERGED[chosen[counted]]
    labels = part.labels[counted]
    wanted = _MERGED[np.where(labels < len(MARKS), labels, 0)]
    kinds = list(_COUNTED.values())
    return Counts(
        hits=part.weight * np.array([((placed == k) & (wanted == k)).sum() for k in kinds]),
        placed=part.weight * np.array([(placed == k).sum() for k in kinds]),
        wanted=part.weight * np.array([(wanted == k).sum() for k in kinds]),
        boundaries=part.weight * _boundaries(placed, wanted),
    )


def report(
    parts: Mapping[str, Part], biases: Float32, *, last: bool
) -> dict[str, dict[str, float]]:
    """Figures of each part and, as ``all``, of all together by their weights."""
    alone = {name: replace(part, weight=1.0) for name, part in parts.items()}
    table = {name: count(part, biases, last=last).figures() for name, part in alone.items()}
    counts = {name: count(part, biases, last=last) for name, part in parts.items()}
    table["all"] = total(counts).figures()
    return table


def total(counts: Mapping[str, Counts]) -> Counts:
    """All counts together."""
    summed = Counts(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3))
    for counted in counts.values():
        summed = summed + counted
    return summed


def best_biases(parts: Mapping[str, Part], *, stop_weight: float = 0.35) -> Float32:
    """Biases with which the marks of validation texts are found best.

    Coordinate ascent on the micro F1 of ``，。？`` and, with some weight, the F1s of ``。``, of
    ``？`` and of boundaries; the last mark of a paragraph does not count. Marks that count as
    another one share its bias.

    Args:
        parts: validation texts.
        stop_weight: the weight of each of those three beside the micro F1.
    """
    biases = np.zeros(len(MARKS), dtype=np.float32)
    best = _worth(parts, biases, stop_weight)
    for step in (0.5, 0.25, 0.1, 0.1, 0.05):
        for group in ((1, 6, 7), (2, 4), (3,), (5,), (0,)):
            best = _climb(parts, biases, group, step, best, stop_weight)
    shifted: Float32 = biases - biases[0]
    return shifted


def _climb(
    parts: Mapping[str, Part],
    biases: Float32,
    group: tuple[int, ...],
    step: float,
    best: float,
    stop_weight: float,
) -> float:
    """Move the biases of a group, in place, as long as that helps."""
    for move in (step, -step):
        while True:
            biases[list(group)] += move
            worth = _worth(parts, biases, stop_weight)
            if worth <= best:
                biases[list(group)] -= move
                break
            best = worth
    return best


def _worth(parts: Mapping[str, Part], biases: Float32, stop_weight: float) -> float:
    figures = total({name: count(part, biases, last=False) for name, part in parts.items()})
    scores = figures.figures()
    return scores["micro"] + stop_weight * (scores["。"] + scores["？"] + scores["boundary"])


def _boundaries(placed: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> Float64:
    """A place is a boundary if it has any mark."""
    has, wants = placed != NONE, wanted != NONE
    return np.array([(has & wants).sum(), has.sum(), wants.sum()], dtype=np.float64)


def _f1(hits: float, placed: float, wanted: float) -> float:
    return 2.0 * hits / (placed + wanted) if placed + wanted else 0.0
