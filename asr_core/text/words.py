"""What a person typed, cut into words and what stands between them, without losing a character."""

from __future__ import annotations

import unicodedata

from asr_core.text.tokens import is_wide

_SYMBOLS = frozenset("%‰@_&*#/\\‱℃°")
_INNER = frozenset(".,:'’-")
_JOINER = "\u200d"


def cut_words(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Cut a text into words, each with what stands between it and the next one.

    A word is a Chinese character, an emoji, or a run of letters, digits and symbols of a script
    that is written with spaces. Time is linear in the length of the text.

    Returns:
        What stands before the first word, and ``(word, behind)`` pairs. All together, in order,
        are the text.
    """
    places: list[tuple[int, int]] = []
    start, end, last_is_wide = 0, -1, False  # of the word that still goes on
    for index, char in enumerate(text):
        goes_on = end == index
        if _is_extension(char):
            end += goes_on
        elif goes_on and (text[index - 1] == _JOINER or _joins(text, index, last_is_wide)):
            end, last_is_wide = index + 1, is_wide(char)
        elif _is_word(char):
            if end > start:
                places.append((start, end))
            start, end, last_is_wide = index, index + 1, is_wide(char)
    if end > start:
        places.append((start, end))
    if not places:
        return text, []
    following = [*(place[0] for place in places[1:]), len(text)]
    words = [
        (text[first:last], text[last:after])
        for (first, last), after in zip(places, following, strict=True)
    ]
    return text[: places[0][0]], words


def clings(before: str, after: str) -> bool:
    """Whether two pieces of text make one character together, like the parts of an emoji."""
    return bool(before and after) and (_is_extension(after[0]) or before[-1] == _JOINER)


def has_word(text: str) -> bool:
    """Whether a text is more than marks and spaces."""
    return any(_is_word(char) for char in text)


def _joins(text: str, index: int, last_is_wide: bool) -> bool:
    """Whether a character goes on with the word before it, which ends in a wide one or not."""
    if last_is_wide or is_wide(text[index]):
        return False
    return _is_word(text[index]) or _is_inner(text, index)


def _is_word(char: str) -> bool:
    if _is_extension(char):
        return False
    return char.isalnum() or char in _SYMBOLS or unicodedata.category(char)[0] == "S"


def _is_extension(char: str) -> bool:
    """Combining marks, variation selectors, the joiner of emoji and skin tones."""
    return unicodedata.category(char)[0] == "M" or char == _JOINER or "🏻" <= char <= "🏿"


def _is_inner(text: str, index: int) -> bool:
    """A point, hyphen or apostrophe inside a word or number: ``3.5``, ``10:30``, ``don't``."""
    if text[index] not in _INNER or not 0 < index < len(text) - 1:
        return False
    before, after = text[index - 1], text[index + 1]
    if text[index] in ",:":
        return before.isdigit() and after.isdigit()
    return all(char.isalnum() and not is_wide(char) for char in (before, after))
