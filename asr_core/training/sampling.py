"""Windows of text for the training, with simulated pauses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asr_core.text.punctuation.vocabulary import (
    END,
    RARE,
    START,
    Int32,
    pause_ids,
)
from asr_core.training.corpus import UNSURE, Corpus, Paragraphs

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]

_PAUSED = {0: 0.05, 1: 0.62, 2: 0.85, 3: 0.85, 4: 0.8, 5: 0.35, 6: 0.75, 7: 0.6}
"""How often a speaker pauses after each mark; elsewhere the pause is next to nothing."""
_TYPICAL_MS = {0: 260, 1: 330, 2: 620, 3: 620, 4: 560, 5: 180, 6: 480, 7: 380}
"""The median of those pauses."""


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """How windows are drawn.

    Attributes:
        length: units in a window, with the boundaries of texts.
        rows: windows in a batch.
        whole: the part of windows that is packed with whole paragraphs, each with its start and
            end; the others are cut out of consecutive paragraphs that run together.
        margin: units next to a cut whose marks are not learnt.
        timed: the part of windows with pauses.
        forgotten: the part of words that is replaced by the rare one.
        forgotten_pairs: the part of pairs that is taken for rare.
        patience: after so many readings a source is drawn half as often as at first.
    """

    length: int = 192
    rows: int = 20
    whole: float = 0.65
    margin: int = 6
    timed: float = 0.4
    forgotten: float = 0.02
    forgotten_pairs: float = 0.1
    patience: float = 8.0


@dataclass(frozen=True, slots=True)
class Batch:
    """One step's windows; every array has shape (length, rows).

    Attributes:
        units: int32 numbers of the vocabulary.
        pairs: int32, the pair of each unit and the next.
        pauses: int32 classes of the pause after each unit, 0 where it is not known.
        labels: int32 marks after each unit; 0 where the weight is 0.
        weights: float32, 1 where the mark is learnt, else 0.
    """

    units: Int32
    pairs: Int32
    pauses: Int32
    labels: Int32
    weights: Float32


class Sampler:
    """Draws batches; batch ``n`` is the same whenever it is drawn.

    Args:
        corpus: what to draw from.
        options: how.
        seed: other seeds give other batches.
    """

    def __init__(self, corpus: Corpus, options: SamplingOptions, seed: int) -> None:
        used = [
            (corpus.training[source.name], source.share)
            for source in corpus.sources
            if len(corpus.training[source.name]) and source.share > 0
        ]
        shares = np.array([share for _, share in used])
        self._parts = [part for part, _ in used]
        self._shares = shares / shares.sum()
        self._lengths = np.array([len(part.units) for part in self._parts])
        self._vocabulary = corpus.vocabulary
        self._options = options
        self._seed = seed

    def batch(self, number: int) -> Batch:
        """The batch of one step."""
        options = self._options
        random = np.random.default_rng((self._seed, number))
        shape = (options.rows, options.length)
        shares = self._shares_at(number)
        units = np.zeros(shape, dtype=np.int32)
        labels = np.full(shape, UNSURE, dtype=np.uint8)
        for row in range(options.rows):
            if random.random() < options.whole:
                self._pack(random, shares, units[row], labels[row])
            else:
                self._cut(random, shares, units[row], labels[row])
        timed = random.random((options.rows, 1)) < options.timed
        pauses = np.where(timed, simulated_pauses(labels, random), 0)
        pauses[(units == START) | (units == END)] = 0
        pauses[:, :-1][units[:, 1:] == END] = 0
        known = labels != UNSURE
        pairs = self._vocabulary.pair_ids(units)
        pairs[random.random(shape) < options.forgotten_pairs] = 0
        words = (units != START) & (units != END)
        units[words & (random.random(shape) < options.forgotten)] = RARE
        return Batch(
            units=_turned(units),
            pairs=_turned(pairs),
            pauses=_turned(pauses.astype(np.int32)),
            labels=_turned(np.where(known, labels, 0).astype(np.int32)),
            weights=_turned(known.astype(np.float32)),
        )

    def _shares_at(self, number: int) -> Float64:
        """Shares at one step: what is scarce is read less and less, before it is known by heart."""
        units = number * self._options.rows * self._options.length
        readings = self._shares * units / self._lengths
        shares: Float64 = self._shares / (1.0 + readings / self._options.patience)
        shares /= shares.sum()
        return shares

    def _draw(self, random: np.random.Generator, shares: Float64) -> Paragraphs:
        return self._parts[int(random.choice(len(self._parts), p=shares))]

    def _pack(
        self,
        random: np.random.Generator,
        shares: Float64,
        units: Int32,
        labels: npt.NDArray[np.uint8],
    ) -> None:
        """Fill a row with paragraphs of any source; the last one may be cut."""
        length = len(units)
        place = 0
        while place < length:
            part = self._draw(random, shares)
            number = int(random.integers(len(part)))
            first, last = int(part.starts[number]), int(part.starts[number + 1])
            skipped = 0
            if last - first + 2 > length:  # only a piece of it fits anyway
                skipped = int(random.integers(last - first + 2 - length + 1))
            text = np.concatenate([[START], part.units[first:last], [END]])[skipped:]
            marks = np.concatenate([[UNSURE], part.labels[first:last], [UNSURE]])[skipped:]
            marks = marks.copy()
            if skipped:
                marks[: self._options.margin] = UNSURE
            fits = min(length - place, len(text))
            units[place : place + fits] = text[:fits]
            labels[place : place + fits] = marks[:fits]
            if fits < len(text):
                labels[max(length - self._options.margin, place) :] = UNSURE
            place += fits

    def _cut(
        self,
        random: np.random.Generator,
        shares: Float64,
        units: Int32,
        labels: npt.NDArray[np.uint8],
    ) -> None:
        """Fill a row with running text of one source."""
        part = self._draw(random, shares)
        length, margin = len(units), self._options.margin
        if len(part.units) <= length:
            self._pack(random, shares, units, labels)
            return
        first = int(random.integers(len(part.units) - length + 1))
        units[:] = part.units[first : first + length]
        labels[:] = part.labels[first : first + length]
        labels[:margin] = UNSURE
        labels[length - margin :] = UNSURE


def simulated_pauses(labels: npt.NDArray[np.uint8], random: np.random.Generator) -> Int32:
    """Classes of pauses as speakers might make them, and recognizers measure them.

    Every row is a speaker of their own: fast or slow, with more or fewer pauses at marks, more
    or fewer hesitations between them.

    Args:
        labels: uint8 (rows, length) marks.
        random: the source of chance.
    """
    rows, length = labels.shape
    marks = np.where(labels == UNSURE, 0, labels)
    often = np.array([_PAUSED[mark] for mark in range(len(_PAUSED))])[marks]
    typical = np.array([_TYPICAL_MS[mark] for mark in range(len(_TYPICAL_MS))])[marks]
    diligence = random.uniform(0.35, 1.1, (rows, 1))
    hesitation = random.uniform(0.1, 2.5, (rows, 1))
    often = often * np.where(marks == 0, hesitation, diligence)
    pace = np.exp(random.normal(0.0, 0.35, (rows, 1)))
    paused = random.random((rows, length)) < often
    long = typical * pace * np.exp(random.normal(0.0, 0.6, (rows, length)))
    short = np.maximum(random.normal(-10.0, 40.0, (rows, length)), 0.0)
    return pause_ids(np.where(paused, long, short))


def _turned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(array.T)
