"""Tokens and hotwords in the same small pieces, so that they can be compared.

An atom is one Chinese character, one letter, one digit or one symbol. ``G P U``, ``gpu`` and
``GPU`` have the same atoms; ``五``, ``武`` and ``5`` sound alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from asr_core.results import Token
from asr_core.text.pinyin import fold_syllable, is_han, readings, usual_readings

MAX_PAUSE_MS = 1200
"""No word spans a longer pause."""

SENTENCE_ENDS = frozenset("。！？；….!?;")
"""No word goes on behind one of these marks."""

_DIGIT_OF = dict(zip("零一二三四五六七八九〇幺", "012345678901", strict=True))
_NUMERALS = frozenset(_DIGIT_OF) | frozenset("两十百千万亿")
_DIGIT_READINGS = {
    **{"0": ("ling",), "1": ("yi", "yao"), "2": ("er",), "3": ("san",), "4": ("si",)},
    **{"5": ("wu",), "6": ("liu",), "7": ("qi",), "8": ("ba",), "9": ("jiu",)},
}
_SILENT = re.compile(r"[\s\-_'’·•・]|(?<!\d)\.|\.(?!\d)")


@dataclass(frozen=True, slots=True)
class Atom:
    """Attributes:
    text: the character; Latin letters in lower case.
    sounds: what it can be pronounced as, the usual one first: syllables, or the upper-case letter
        or symbol itself.
    keys: ``sounds`` with the fuzzy pairs folded.
    """

    text: str
    sounds: tuple[str, ...]
    keys: frozenset[str]

    @property
    def is_syllable(self) -> bool:
        return self.sounds[0].islower()

    def same(self, heard: Atom) -> bool:
        """The same character, or the Chinese numeral of a digit."""
        return self.text == heard.text or self.text == _DIGIT_OF.get(heard.text)

    @property
    def is_numeral(self) -> bool:
        return self.text.isdigit() or self.text in _NUMERALS


@cache
def atom_of(char: str, fuzzy: frozenset[str]) -> Atom:
    """The atom of one character."""
    return _make(char, _sounds(char), fuzzy)


def atoms_of(text: str, fuzzy: frozenset[str]) -> tuple[Atom, ...]:
    """The atoms of a token: hyphens, apostrophes and points of abbreviations are silent."""
    if len(text) == 1:
        return (atom_of(text.casefold()[:1], fuzzy),)
    folded = _SILENT.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return tuple(atom_of(char, fuzzy) for char in folded)


def atoms_of_word(word: str, fuzzy: frozenset[str]) -> tuple[Atom, ...]:
    """The atoms of a hotword; a character of several readings is first read as in this word."""
    atoms: list[Atom] = []
    for run in re.findall(r"[㐀-鿿〇𠀀-𳑿]+|[^㐀-鿿〇𠀀-𳑿]+", word):
        if not is_han(run[0]):
            atoms += atoms_of(run, fuzzy)
            continue
        for char, usual in zip(run, usual_readings(run), strict=True):
            atoms.append(_make(char, tuple(dict.fromkeys((usual, *_sounds(char)))), fuzzy))
    return tuple(atoms)


def breaks_after(tokens: Sequence[Token]) -> list[bool]:
    """For each token whether no word may go on behind it."""
    following = [*tokens[1:], None]
    return [
        token.mark[-1:] in SENTENCE_ENDS
        or (after is not None and after.start_ms - token.end_ms > MAX_PAUSE_MS)
        for token, after in zip(tokens, following, strict=False)
    ]


def _sounds(char: str) -> tuple[str, ...]:
    if is_han(char):
        return readings(char) or (char,)
    return _DIGIT_READINGS.get(char) or (char.upper(),)


def _make(char: str, sounds: tuple[str, ...], fuzzy: frozenset[str]) -> Atom:
    return Atom(char, sounds, frozenset(fold_syllable(sound, fuzzy) for sound in sounds))
