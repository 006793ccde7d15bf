"""What every punctuation network offers, whatever runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from asr_core.runtime.session import Float32

MARKS = ("", "，", "。", "？", "！", "、", "；", "：")
"""Classes of a punctuation network in the order of its scores; the first is no mark."""


class PunctuationModel(Protocol):
    """Scores the mark after each word of a text of any length.

    A model is used by one thread at a time.
    """

    @property
    def name(self) -> str:
        """What warnings and reports call it."""
        ...

    def score(self, words: Sequence[str], pauses_ms: Sequence[int] | None) -> Float32:
        """Scores of the marks.

        Args:
            words: token texts: a Chinese character, a Latin word or a run of digits each.
            pauses_ms: silence after each word, milliseconds; ``None`` when it is not known.

        Returns:
            float32 (words, len(MARKS)): log-probabilities, with the decision thresholds of the
            model already in them, so that the largest is the choice; -1e4 for a mark that the
            model does not know.

        Raises:
            NormalizationError: the network failed.
        """
        ...
