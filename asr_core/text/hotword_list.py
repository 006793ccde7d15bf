"""The user's hotword text: words for the recognizer and the corrector, and replacements."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from asr_core.text.pinyin import is_han

MAX_WORDS = 5000
"""More words than this are rejected; so are more replacements."""

MAX_UNITS = 10
"""Longest word, in Chinese characters, Latin words and numbers: what recognizers take."""

MAX_CHARS = 40
"""Longest word and longest side of a replacement, in characters."""

_ARROW = re.compile(r"\s*=+>\s*")
_SEPARATORS = re.compile(r"[\s,、;|]+")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_UNIT = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True)
class RejectedEntry:
    """Something in a hotword text that is not used.

    Attributes:
        text: as it stands in the list.
        reason: ``too_long``, ``no_word`` (no letter, too short a number), ``side_missing`` (nothing
            on one side of ``=>``) or ``too_many``.
    """

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class HotwordList:
    """What a hotword text says, in the user's order, without duplicates.

    Attributes:
        words: for the recognizer and the corrector.
        replacements: ``(wrong, right)``.
        rejected: what is not used, with the reason.
    """

    words: tuple[str, ...] = ()
    replacements: tuple[tuple[str, str], ...] = ()
    rejected: tuple[RejectedEntry, ...] = ()


def parse_hotwords(text: str) -> HotwordList:
    """Read a hotword text. Never raises.

    Words stand one a line or are separated by spaces, commas, semicolons or ``、``; a line
    ``错词 => 正确词`` is a replacement; ``#`` at the start of a line or behind a space begins a
    comment. Full-width letters and digits become half-width (NFKC). Of several replacements of
    the same wrong word the last one counts.
    """
    words: dict[str, None] = {}
    replacements: dict[str, str] = {}
    rejected: list[RejectedEntry] = []
    for line in text.splitlines():
        line = _COMMENT.sub("", unicodedata.normalize("NFKC", _printable(line))).strip()
        sides = _ARROW.split(line)
        if len(sides) > 1:
            reason = _replacement_fault(sides, replacements)
            if reason:
                rejected.append(RejectedEntry(line, reason))
            elif sides[0] != sides[1]:
                replacements[sides[0]] = sides[1]
            continue
        for word in filter(None, _SEPARATORS.split(line)):
            reason = _word_fault(word, words)
            if reason:
                rejected.append(RejectedEntry(word, reason))
            else:
                words[word] = None
    return HotwordList(tuple(words), tuple(replacements.items()), tuple(rejected))


def _printable(line: str) -> str:
    """Without controls, surrogates and invisible characters such as a byte order mark."""
    return "".join(c for c in line if c.isspace() or unicodedata.category(c)[0] != "C")


def _word_fault(word: str, words: dict[str, None]) -> str:
    if not _is_word(word):
        return "no_word"
    if count_units(word) > MAX_UNITS or len(word) > MAX_CHARS:
        return "too_long"
    return "too_many" if len(words) >= MAX_WORDS and word not in words else ""


def _replacement_fault(sides: list[str], replacements: dict[str, str]) -> str:
    if len(sides) != 2 or not all(sides) or not any(char.isalnum() for char in sides[0]):
        return "side_missing"
    if max(map(len, sides)) > MAX_CHARS:
        return "too_long"
    full = len(replacements) >= MAX_WORDS and sides[0] not in replacements
    return "too_many" if full else ""


def _is_word(word: str) -> bool:
    """A letter or Chinese character, or a number of three digits such as a phone service."""
    return any(char.isalpha() for char in word) or sum(c.isdigit() for c in word) >= 3


def count_units(word: str) -> int:
    """Length in Chinese characters, Latin words and numbers."""
    units = 0
    for run in _UNIT.findall(word):
        han = sum(1 for char in run if is_han(char))
        units += han + (len(run) > han)
    return units
