"""What the punctuation network of our own reads: units, pairs of units, classes of pauses.

Training and inference share this module, so that both see a text in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from asr_core.errors import ModelIntegrityError

Int32 = npt.NDArray[np.int32]

RARE, START, END = 0, 1, 2
"""Units that are no word: any rare character, the true start and the true end of a text."""

SPECIAL = ("<rare>", "<start>", "<end>")
SHAPES = (
    *("<digit>", "<digits2>", "<digits3>", "<digits4>", "<digits>", "<decimal>", "<percent>"),
    *("<letter>", "<latin3>", "<latin6>", "<latin>", "<mixed>", "<symbol>"),
)
"""Classes of words that have no unit of their own."""

PAUSE_EDGES_MS = (30, 80, 150, 250, 400, 600, 900, 1400, 2500)
"""A pause of at least edge ``i`` and below edge ``i + 1`` is of class ``i + 2``."""

PAUSE_CLASSES = len(PAUSE_EDGES_MS) + 2
"""Class 0 is a pause that is not known, class 1 is none."""


@dataclass(frozen=True)
class Vocabulary:
    """Numbers for words and for pairs of neighbouring words.

    Attributes:
        units: what has a number; begins with ``SPECIAL`` and ``SHAPES``. Latin is lower case.
        pair_keys: frequent pairs as ``first * len(units) + second``, ascending.
    """

    units: tuple[str, ...]
    pair_keys: tuple[int, ...]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {unit: number for number, unit in enumerate(self.units)}

    @cached_property
    def _keys(self) -> npt.NDArray[np.int64]:
        return np.array(self.pair_keys, dtype=np.int64)

    def unit_ids(self, words: Sequence[str]) -> Int32:
        """Numbers of words, int32 (words,)."""
        index = self._index
        found = (index.get(word) for word in words)
        numbers = [
            self._other(word) if number is None else number
            for word, number in zip(words, found, strict=True)
        ]
        return np.array(numbers, dtype=np.int32)

    def _other(self, word: str) -> int:
        shape = word_shape(word)
        return self._index.get(word.lower(), self._index[shape] if shape else RARE)

    def pair_ids(self, unit_ids: Int32) -> Int32:
        """For each unit the number of its pair with the next one, 0 where that is rare.

        Args:
            unit_ids: int32 (..., units); pairs run along the last axis.

        Returns:
            int32 of the same shape; the last of each row is 0.
        """
        pairs = np.zeros(unit_ids.shape, dtype=np.int32)
        if not self.pair_keys or unit_ids.shape[-1] < 2:
            return pairs
        wanted = unit_ids[..., :-1].astype(np.int64) * len(self.units) + unit_ids[..., 1:]
        place = np.searchsorted(self._keys, wanted)
        place[place == len(self._keys)] = 0
        pairs[..., :-1] = np.where(self._keys[place] == wanted, place + 1, 0)
        return pairs

    def write(self, path: Path) -> None:
        """Write the vocabulary as JSON, which :meth:`read` reads."""
        content = {"units": self.units, "pairs": self.pair_keys}
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        path.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        """Read a vocabulary.

        Raises:
            OSError: the file cannot be read.
            ModelIntegrityError: it is no vocabulary.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            units = tuple(str(unit) for unit in content["units"])
            pairs = tuple(int(key) for key in content["pairs"])
        except (ValueError, KeyError, TypeError) as exc:
            raise ModelIntegrityError(
                f"{path.name} is no vocabulary: {exc}", name=path.name, path=str(path)
            ) from exc
        if units[: len(SPECIAL) + len(SHAPES)] != (*SPECIAL, *SHAPES):
            raise ModelIntegrityError(
                f"{path.name} lacks the special units", name=path.name, path=str(path)
            )
        return cls(units, pairs)


def pause_ids(pauses_ms: npt.ArrayLike) -> Int32:
    """Classes of known pauses; a negative one counts as none."""
    edges = np.array(PAUSE_EDGES_MS)
    return (np.searchsorted(edges, np.asarray(pauses_ms), side="right") + 1).astype(np.int32)


def word_shape(word: str) -> str:
    """The class of a word without a unit of its own; "" for a character that is only rare."""
    if not word.isascii():
        return "" if word[:1].isalpha() else "<symbol>"
    if word.isdigit():
        return ("<digit>", "<digits2>", "<digits3>", "<digits4>", "<digits>")[min(len(word), 5) - 1]
    if word.endswith(("%", "‰")):
        return "<percent>"
    if word.isalpha():
        if len(word) == 1:
            return "<letter>"
        return "<latin3>" if len(word) <= 3 else "<latin6>" if len(word) <= 6 else "<latin>"
    if any(char.isdigit() for char in word):
        return "<mixed>" if any(char.isalpha() for char in word) else "<decimal>"
    return "<latin>" if any(char.isalpha() for char in word) else "<symbol>"
