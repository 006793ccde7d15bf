"""Traditional to simplified Chinese without moving a character."""

from __future__ import annotations


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
        if len(converted) == len(text):
            return converted
        pairs = ((char, self._convert(char)) for char in text)
        return "".join(new if len(new) == 1 else char for char, new in pairs)

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
