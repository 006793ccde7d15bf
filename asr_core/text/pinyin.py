"""Syllables of Chinese characters: pinyin without tones, and the pairs that speakers mix up.

Knows nothing of tokens or hotwords. pypinyin is loaded at the first reading.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cache
from pathlib import Path

FUZZY_DEFAULT = frozenset({"n/l", "zh/z", "ch/c", "sh/s", "ing/in", "eng/en"})
"""Pairs of initials or finals that are taken for one sound unless the user says otherwise."""

FUZZY_PAIRS = FUZZY_DEFAULT | {"ang/an", "f/h", "r/l"}
"""Every pair that can be chosen."""

_INITIALS = (("zh", "z"), ("ch", "c"), ("sh", "s"), ("n", "l"), ("r", "l"), ("f", "h"))
_FINALS = (("ing", "in"), ("eng", "en"), ("ang", "an"))

SECOND_READINGS = Path(__file__).resolve().parents[2] / "assets" / "hotwords" / "readings.txt"


def is_han(char: str) -> bool:
    """Whether a character is a Chinese ideograph."""
    return "一" <= char <= "鿿" or "㐀" <= char <= "䶿" or "𠀀" <= char <= "𳑿" or char == "〇"


@cache
def readings(char: str) -> tuple[str, ...]:
    """Every syllable that a Chinese character can stand for, the usual one first.

    Returns:
        Lower-case pinyin without tones, ``v`` for ü; empty for a character without a reading.
    """
    from pypinyin import Style, pinyin

    found = pinyin(char, style=Style.NORMAL, heteronym=True, errors="ignore")
    return tuple(dict.fromkeys(syllable for syllable in found[0] if syllable)) if found else ()


@cache
def usual_syllables(char: str) -> frozenset[str]:
    """The readings of a character that people meet: not those of names and old texts alone."""
    return frozenset({*readings(char)[:1], *_second_readings().get(char, ())})


def usual_readings(text: str) -> tuple[str, ...]:
    """One syllable for each character of a text of Chinese characters, as it is read there."""
    from pypinyin import Style, lazy_pinyin

    found = lazy_pinyin(text, style=Style.NORMAL)
    if len(found) == len(text):
        return tuple(found)
    return tuple(next(iter(readings(char)), char) for char in text)


@cache
def fold_syllable(syllable: str, fuzzy: Set[str]) -> str:
    """Write the sounds of the chosen pairs alike: ``zhang`` and ``zang`` become the same.

    Args:
        fuzzy: a frozenset of names from ``FUZZY_PAIRS``.
    """
    for long, short in _INITIALS:
        if f"{long}/{short}" in fuzzy and syllable.startswith(long) and syllable != long:
            syllable = short + syllable[len(long) :]
    for long, short in _FINALS:
        if f"{long}/{short}" in fuzzy and syllable.endswith(long):
            syllable = syllable[: -len(long)] + short
    return syllable


@cache
def _second_readings() -> dict[str, tuple[str, ...]]:
    lines = (line.split() for line in SECOND_READINGS.read_text(encoding="utf-8").splitlines())
    return {char: tuple(sounds) for char, *sounds in lines}
