"""Short pieces of a text around the hits of a query."""

from __future__ import annotations

import itertools
import unicodedata

from asr_core.store.entries import HitField, Snippet
from asr_core.store.search import fold

SNIPPET_CHARS = 120
"""Longest snippet of a text, ellipses included."""

_LEAD_CHARS = 30
"""How much of a snippet stands before the hit."""


def snippet(field: HitField, text: str, query: str, *, whole: bool = False) -> Snippet | None:
    """The first hit of a query with what stands around it; ``None`` without a hit.

    Args:
        field: what the text is.
        text: of any length.
        query: not empty.
        whole: all of the text instead.
    """
    if whole:
        return _marked(field, text, query)
    first = _first_hit(text, fold(query))
    if first < 0:
        return None
    start, end = _window(len(text), first)
    marked = _marked(field, text[start:end], query)
    if marked is None:  # the hit is longer than the snippet
        marked = Snippet(field, _one_line(text[start:end]), ((first - start, end - start),))
    return _with_ellipses(marked, before=start > 0, after=end < len(text))


def preview(text: str, query: str = "") -> str:
    """Up to ``SNIPPET_CHARS`` characters around the first hit, from the start without one."""
    hit = _first_hit(text, fold(query)) if query else -1
    start, end = _window(len(text), max(hit, 0))
    return _shown(_one_line(text[start:end]), before=start > 0, after=end < len(text))


def _window(length: int, hit: int) -> tuple[int, int]:
    start = max(0, min(hit - _LEAD_CHARS, length - SNIPPET_CHARS))
    return start, min(start + SNIPPET_CHARS, length)


def _marked(field: HitField, text: str, query: str) -> Snippet | None:
    folded, wanted = fold(text), fold(query)
    places = range(len(text)) if len(folded) == len(text) else _unfolded(text)
    ranges: list[tuple[int, int]] = []
    at = folded.find(wanted)
    while at >= 0:
        start, end = places[at], places[at + len(wanted) - 1] + 1
        if ranges and start < ranges[-1][1]:
            start = ranges.pop()[0]
        ranges.append((start, end))
        at = folded.find(wanted, at + len(wanted))
    return Snippet(field, _one_line(text), tuple(ranges)) if ranges else None


def _unfolded(text: str) -> list[int]:
    """For each character of the folded text the one that it comes from."""
    return [index for index, char in enumerate(text) for _ in fold(char)]


def _first_hit(text: str, wanted: str) -> int:
    """Where the first hit begins in the unfolded text; -1 without one."""
    folded = fold(text)
    hit = folded.find(wanted)
    if hit < 0 or len(folded) == len(text):
        return hit
    # Some letters fold to two or three.
    ends = itertools.accumulate(len(fold(char)) for char in text)
    return next(index for index, end in enumerate(ends) if end > hit)


def _with_ellipses(marked: Snippet, *, before: bool, after: bool) -> Snippet:
    """The outermost characters give way to the ellipses; a hit keeps what is left of it."""
    text = _shown(marked.text, before=before, after=after)
    first, last = int(before), len(text) - int(after)
    ranges = [(max(start, first), min(end, last)) for start, end in marked.ranges]
    return Snippet(marked.field, text, tuple(part for part in ranges if part[0] < part[1]))


def _shown(text: str, *, before: bool, after: bool) -> str:
    inner = text[int(before) : len(text) - int(after)]
    return f"{'…' if before else ''}{inner}{'…' if after else ''}"


def _one_line(text: str) -> str:
    """The same number of characters, without line breaks and control characters."""
    if text.isprintable():
        return text
    return "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)
