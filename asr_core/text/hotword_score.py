"""How sure it is that a hotword was said where something else is written.

The evidence is a sum, in nats, of

- sound: what each difference in pronunciation costs;
- doubt: how much less the recognizer was sure of the changed tokens than it usually is; nothing
  where all tokens have the same confidence;
- context: how much less probable the written text is than the same text with the hotword in it.
  What is ordinary as it stands is probable, so little speaks against it;
- words: that the run is a word, or that it cuts a word at one of its edges, speaks against it;
- crowd: the longer the list, the more of its words sound like something by chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asr_core.results import Token
from asr_core.text.hotword_context import BREAK, UNKNOWN, CommonText
from asr_core.text.hotword_index import Sound, Text

_LONGEST_CLASS = 4


@dataclass(frozen=True, slots=True)
class Weights:
    """What the evidence is worth; fitted by logistic regression to rewritten encyclopedia and news.

    Attributes:
        base: by the length of the hotword: 2, 3, 4 and more atoms.
        gain: of each nat that the hotword makes the text more probable.
        strange: of each nat of the mean log-probability of the run and what follows it.
        rare: of each atom that takes a less usual reading.
        fuzzy: of each atom that differs by a fuzzy pair.
        other: of a syllable that sounds different.
        word: where the run is an ordinary word.
        cut: for each edge where it cuts one.
        mark: of each mark inside the run.
        doubt: of each nat of doubt.
        prior: log-probability of some hotword at a token, for words that the context does not know.
        listed: what a hotword that the context knows gains because the user listed it, nats.
        crowd: how many hotwords of 2, 3 and more atoms are usual; half of them counts as least.
    """

    base: tuple[float, float, float] = (0.7, 0.5, -0.5)
    gain: float = 0.26
    strange: float = 0.26
    rare: float = -4.7
    fuzzy: float = -1.5
    other: float = -3.7
    word: float = -1.65
    cut: float = -1.5
    mark: float = -2.0
    doubt: float = 1.2
    prior: float = -8.0
    listed: float = 1.0
    crowd: tuple[int, int, int] = (65, 25, 200)


WEIGHTS = Weights()


def doubts(tokens: Sequence[Token]) -> npt.NDArray[np.float64]:
    """Log-odds that a token is wrong, against the average of the list; 0 where all are equal."""
    confidence = np.array([token.confidence for token in tokens], np.float64)
    confidence = np.nan_to_num(confidence, nan=0.5).clip(0.02, 0.98)
    if not len(tokens) or np.ptp(confidence) < 0.01:
        return np.zeros(len(tokens))
    wrong = 1 - confidence
    usual = wrong.mean()
    odds: npt.NDArray[np.float64] = np.log(wrong / confidence) - math.log(usual / (1 - usual))
    return odds.clip(-2.0, 4.0)


class Judge:
    """Scores runs of one text."""

    def __init__(
        self, text: Text, words: Sequence[str], common: CommonText, weights: Weights = WEIGHTS
    ) -> None:
        self._text = text
        self._words = words
        self._common = common
        self._weights = weights
        self._doubts = doubts(text.tokens)
        lengths = Counter(_length_class(len(word)) for word in words)
        self._crowd = [
            math.log(max(lengths[size], usual / 2) / usual)
            for size, usual in enumerate(weights.crowd)
        ]
        self._ids = [BREAK, BREAK]
        self._place: list[int] = []
        for token, stops in zip(text.tokens, text.breaks, strict=True):
            self._place.append(len(self._ids))
            self._ids.append(common.id_of(token.text))
            if stops:
                self._ids.append(BREAK)
        self._ids += [BREAK, BREAK]
        self._pairs, self._triples = common.words(self._ids)

    def doubt(self, tokens: Sequence[int]) -> float:
        """Mean doubt of some tokens, nats."""
        return float(self._doubts[list(tokens)].mean())

    def evidence(self, sounds: Sequence[Sound]) -> list[float]:
        """For each run what speaks for the hotword; 0 is as likely as not."""
        return [
            context + self._sound(sound) + self._boundaries(sound)
            for context, sound in zip(self._context(sounds), sounds, strict=True)
        ]

    def _sound(self, sound: Sound) -> float:
        weights, text = self._weights, self._text
        marks = sum(1 for token in text.tokens[sound.first_token : sound.last_token] if token.mark)
        size = _length_class(
            text.first_atom[sound.last_token + 1] - text.first_atom[sound.first_token]
        )
        return (
            weights.base[size]
            - self._crowd[size]
            + weights.rare * sound.rare
            + weights.fuzzy * sound.fuzzy
            + weights.other * sound.other
            + weights.mark * marks
            + weights.doubt * self.doubt(sound.changed)
        )

    def _boundaries(self, sound: Sound) -> float:
        first, last = self._place[sound.first_token], self._place[sound.last_token]
        cuts = sum(
            self._pairs[edge - 1] or self._triples[edge - 2] or self._triples[edge - 1]
            for edge in (first, last + 1)
        )
        whole = {1: self._pairs, 2: self._triples}.get(last - first)
        is_word = whole is not None and whole[first]
        return self._weights.cut * cuts + self._weights.word * is_word

    def _context(self, sounds: Sequence[Sound]) -> list[float]:
        rows: list[Sequence[int]] = []
        ends: list[int] = [0]
        sizes: list[int] = []
        for sound in sounds:
            first, last = self._place[sound.first_token], self._place[sound.last_token]
            before = self._ids[first - 2 : first]
            after = self._ids[last + 1 : last + 3]
            heard = self._ids[first : last + 1]
            meant = [self._common.id_of(char) for char in self._words[sound.word]]
            sizes.append(len(heard) + 2)
            for line in (
                [*before, *heard, *after],
                [*before, *meant, *after],
                [UNKNOWN, UNKNOWN, *after],
            ):
                rows += [line[place : place + 3] for place in range(len(line) - 2)]
                ends.append(len(rows))
        sums = np.concatenate([[0.0], np.cumsum(self._common.log_probs(rows), dtype=np.float64)])
        heard_log, meant_log, after_log = np.diff(sums[ends]).reshape(-1, 3).T
        weights = self._weights
        likely = np.logaddexp(meant_log + weights.listed, after_log + weights.prior)
        strange = heard_log / np.array(sizes)
        evidence: list[float] = (
            weights.gain * (likely - heard_log) + weights.strange * strange
        ).tolist()
        return evidence


def score(evidence: float) -> float:
    """Evidence as a number in (0, 1); 0 nats are 0.5."""
    return 1 / (1 + math.exp(min(max(-evidence, -50.0), 50.0)))


def _length_class(atoms: int) -> int:
    return min(max(atoms, 2), _LONGEST_CLASS) - 2
