"""Reads HTML reports strictly."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_VOID = frozenset({"meta", "br"})
_OUTSIDE = re.compile(r"(?:https?:)?//|url\(|@import|<script|<link|<img", re.IGNORECASE)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[str] = []
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def checked_page(text: str) -> list[list[str]]:
    """Cells of all rows of a page that is well formed and loads nothing."""
    page = _Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert page.seen[:2] == ["html", "head"]
    assert not _OUTSIDE.search(text)
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text
    return page.rows
