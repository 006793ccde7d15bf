"""Text that cannot break the line it stands on."""

from __future__ import annotations

import unicodedata

_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They turn round what follows them. Arabic and Hebrew are shown right without them."""


def one_line(text: str) -> str:
    """A text without line breaks, control characters and characters that UTF-8 or XML refuse.

    Nothing in it turns round what is written after it.

    Runs of such characters and of spaces become one space; both ends are trimmed.
    """
    if not text.isprintable():
        text = "".join(_printable(char) for char in text)
    return " ".join(text.split())


def _printable(char: str) -> str:
    if unicodedata.category(char) in ("Cc", "Zl", "Zp"):
        return " "
    if char in _DIRECTIONS:
        return ""
    if "\ud800" <= char <= "\udfff" or char in "\ufffe\uffff":
        return "\ufffd"
    return char


def clock(milliseconds: int, separator: str = ".") -> str:
    """``HH:MM:SS.mmm`` with at least two digits of hours."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{whole_clock(seconds * 1000)}{separator}{rest:03d}"


def whole_clock(milliseconds: int) -> str:
    """``HH:MM:SS``."""
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}"
