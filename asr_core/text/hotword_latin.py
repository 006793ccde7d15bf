"""Latin hotwords that a recognizer nearly spelled right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asr_core.results import Token

MIN_LETTERS = 5
"""Shorter words are only corrected in case and spacing."""

TWO_EDITS = 8
"""Words of so many letters may differ by two edits, shorter ones by one."""

MAX_TOKENS = 3
"""A Latin word may have been heard as so many."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """A run of Latin tokens that is one or two edits away from a hotword.

    Attributes:
        first_token, last_token: inclusive.
        word: index into the hotwords.
        edits: inserted, deleted or replaced letters.
        heard: the letters of the run, lower case.
    """

    first_token: int
    last_token: int
    word: int
    edits: int
    heard: str


class LatinIndex:
    """Finds near spellings by the words with one or two letters left out. Immutable."""

    def __init__(self, words: Sequence[str]) -> None:
        self._spellings = [_letters(word) for word in words]
        self._shortened: dict[str, list[int]] = {}
        for number, letters in enumerate(self._spellings):
            if len(letters) >= MIN_LETTERS:
                for key in _shortened(letters, _edits_allowed(len(letters))):
                    self._shortened.setdefault(key, []).append(number)

    def find(self, tokens: Sequence[Token], breaks: Sequence[bool]) -> Iterator[Spelling]:
        """Every near spelling; exact ones are left to others."""
        if not self._shortened:
            return
        letters = [_letters(token.text) for token in tokens]
        known: dict[str, list[tuple[int, int]]] = {}
        for first in range(len(tokens)):
            heard = ""
            for last in range(first, min(first + MAX_TOKENS, len(tokens))):
                if not letters[last]:
                    break
                heard += letters[last]
                if MIN_LETTERS - 1 <= len(heard) <= 42:
                    if heard not in known:
                        known[heard] = list(self._near(heard))
                    for word, edits in known[heard]:
                        yield Spelling(first, last, word, edits, heard)
                if breaks[last] or tokens[last].mark:
                    break

    def _near(self, heard: str) -> Iterator[tuple[int, int]]:
        words: dict[int, None] = {}
        for key in _shortened(heard, _edits_allowed(len(heard) + 1)):
            words.update(dict.fromkeys(self._shortened.get(key, ())))
        for word in words:
            spelling = self._spellings[word]
            edits = _distance(heard, spelling)
            if 0 < edits <= _edits_allowed(len(spelling)):
                yield word, edits


def _edits_allowed(letters: int) -> int:
    return 2 if letters >= TWO_EDITS else 1


def _letters(text: str) -> str:
    """The letters of a Latin word in lower case; empty for anything else."""
    folded = text.casefold().replace("-", "").replace("'", "")
    return folded if folded.isascii() and folded.isalpha() else ""


def _shortened(word: str, most: int) -> set[str]:
    """The word with up to ``most`` letters left out."""
    found = level = {word}
    for _ in range(most):
        level = {text[:place] + text[place + 1 :] for text in level for place in range(len(text))}
        found = found | level
    return found


def _distance(left: str, right: str) -> int:
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(left, right))
