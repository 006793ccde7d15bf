"""Traditional to simplified Chinese without moving a character."""

from __future__ import annotations

_NAMES = {"升腾": ("昇", "昇腾")}
"""Simplified form, the character that tells the name from the word, and the name as it is."""


class Simplifier:
    """Loads OpenCC's tables once. Safe to share between threads."""

    def __init__(self) -> None:
        from opencc import OpenCC

        self._converter = OpenCC("t2s")

    def simplify(self, text: str) -> str:
        """Write a text in simplified characters.

        Returns:
            A text of the same length, so that times kept by character index stay right: where a
            phrase rule changes the length, the characters are converted one by one.
        """
        if text.isascii():
            return text
        converted = self._convert(text)
        if len(converted) != len(text):
            pairs = ((char, self._convert(char)) for char in text)
            converted = "".join(new if len(new) == 1 else char for char, new in pairs)
        return _with_names(text, converted)

    def _convert(self, text: str) -> str:
        """OpenCC takes valid UTF-8 without NUL only; other characters pass through unchanged."""
        if all(char != "\0" and not "\ud800" <= char <= "\udfff" for char in text):
            return str(self._converter.convert(text))
        return "".join(
            str(self._converter.convert(char))
            if char != "\0" and not "\ud800" <= char <= "\udfff"
            else char
            for char in text
        )


def _with_names(text: str, converted: str) -> str:
    """Names that keep a character which is simplified elsewhere: 昇腾 stays, 上昇 is 上升."""
    for word, (char, name) in _NAMES.items():
        if char not in text:
            continue
        start = converted.find(word)
        while start >= 0:
            if text[start] == char:
                converted = converted[:start] + name + converted[start + len(word) :]
            start = converted.find(word, start + 1)
    return converted
