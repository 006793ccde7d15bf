"""Substring search over names and texts, for queries from one character on.

Every character and every overlapping pair and triple of characters of the case-folded name and
text is a token of a full-text index. Up to three characters are answered by the index alone; for
longer queries the index gives the candidates and ``instr`` verifies them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import sqlite_utils

from asr_core.store.rows import encodable
from asr_core.text.rewrite import common_start

PREVIEW_CHARS = 120
"""Longest preview, ellipses included."""

_LEAD_CHARS = 30
"""How much of a preview stands before the hit."""

_LONGEST_GRAM = 3
"""Characters in the longest index token; verifying common longer queries reads every hit's text."""

_FEW_GRAMS = 2_000
"""Up to this many terms are looked for one by one in a whole text."""

_MAX_TERMS = 64
"""Index terms looked up for one query; verification covers the rest of a very long one."""


def fold(text: str) -> str:
    """The form that is compared, of queries as of what they search."""
    return encodable(text).casefold()


def put(db: sqlite_utils.Database, number: int, name: str, text: str) -> None:
    """Make one recording findable, in place of what it had before."""
    remove(db, number)
    folded = fold(name), fold(text)
    db.execute("INSERT INTO search_texts (number, name, text) VALUES (?, ?, ?)", (number, *folded))
    db.execute(
        "INSERT INTO search_grams (rowid, grams) VALUES (?, ?)", (number, _document(*folded))
    )


def put_name(db: sqlite_utils.Database, number: int, name: str) -> None:
    """Make one recording findable by its name; a text that it already has stays."""
    known = db.execute("SELECT 1 FROM search_texts WHERE number = ?", (number,)).fetchone()
    if known is None:
        put(db, number, name, "")


def replace_text(db: sqlite_utils.Database, number: int, text: str) -> None:
    """Make one recording findable by another text; what it is not known by stays as it was.

    The index is only told which terms vanish and appear, so a small change of a long text is cheap.
    """
    row = db.execute("SELECT name, text FROM search_texts WHERE number = ?", (number,)).fetchone()
    if row is None:
        return
    name, old, new = row[0], row[1], fold(text)
    start, end, new_end = _changed(old, new)
    vanished = _missing(old, start, end, (name, new))
    appeared = _missing(new, start, new_end, (name, old))
    db.execute(
        "INSERT INTO search_grams (search_grams, rowid, grams) VALUES ('delete', ?, ?)",
        (number, vanished),
    )
    db.execute("INSERT INTO search_grams (rowid, grams) VALUES (?, ?)", (number, appeared))
    db.execute("UPDATE search_texts SET text = ? WHERE number = ?", (new, number))


def remove(db: sqlite_utils.Database, number: int) -> None:
    """Forget one recording; nothing happens when it is not known."""
    row = db.execute("SELECT name, text FROM search_texts WHERE number = ?", (number,)).fetchone()
    if row is None:
        return
    # An index without content is told what it held, exactly as it was inserted.
    db.execute(
        "INSERT INTO search_grams (search_grams, rowid, grams) VALUES ('delete', ?, ?)",
        (number, _document(*row)),
    )
    db.execute("DELETE FROM search_texts WHERE number = ?", (number,))


def find(db: sqlite_utils.Database, query: str, limit: int, offset: int) -> tuple[list[int], int]:
    """Recordings whose name or text contains the query, whatever the case of its letters.

    Args:
        query: not empty; spaces count.
        limit: how many to return.
        offset: how many to skip.

    Returns:
        Recording numbers, newest first, and how many match in all.
    """
    folded = fold(query)
    source = "search_grams WHERE search_grams MATCH :terms"
    if len(folded) > _LONGEST_GRAM:
        source = (
            "search_grams CROSS JOIN search_texts s ON s.number = search_grams.rowid"
            " WHERE search_grams MATCH :terms"
            " AND (instr(s.text, :query) OR instr(s.name, :query))"
        )
    values = {"terms": _match(folded), "query": folded, "limit": limit, "offset": offset}
    page = f"SELECT search_grams.rowid FROM {source} ORDER BY search_grams.rowid DESC"  # noqa: S608
    rows = db.execute(f"{page} LIMIT :limit OFFSET :offset", values).fetchall()
    total: int = db.execute(f"SELECT count(*) FROM {source}", values).fetchone()[0]  # noqa: S608
    return [row[0] for row in rows], total


def preview(text: str, query: str = "") -> str:
    """Up to ``PREVIEW_CHARS`` characters around the first hit, from the start without one."""
    hit = _hit(text, fold(query)) if query else -1
    start = max(0, min(hit - _LEAD_CHARS, len(text) - PREVIEW_CHARS))
    lead = "…" if start else ""
    end = start + PREVIEW_CHARS
    if end >= len(text):
        return lead + text[start + len(lead) :]
    return lead + text[start + len(lead) : end - 1] + "…"


def _hit(text: str, folded_query: str) -> int:
    """Where the query starts in the unfolded text; -1 without a hit."""
    folded = fold(text)
    hit = folded.find(folded_query)
    if hit < 0 or len(folded) == len(text):
        return hit
    # Some letters fold to two or three.
    ends = itertools.accumulate(len(char.casefold()) for char in text)
    return next(index for index, end in enumerate(ends) if end > hit)


def _document(name: str, text: str) -> str:
    sizes = range(1, _LONGEST_GRAM + 1)
    return " ".join(sorted({gram for size in sizes for gram in _grams(name, text, size)}))


def _changed(old: str, new: str) -> tuple[int, int, int]:
    """The characters between the first and the last difference: from, to in each of the texts."""
    start = common_start(old, new)
    tail = common_start(old[start:][::-1], new[start:][::-1])
    return start, len(old) - tail, len(new) - tail


def _missing(text: str, start: int, end: int, others: tuple[str, str]) -> str:
    """Index terms that touch the characters ``start`` to ``end`` and stand in no other text."""
    grams = {
        text[place : place + size]
        for size in range(1, _LONGEST_GRAM + 1)
        for place in range(max(0, start - size + 1), min(end, len(text) - size + 1))
    }
    if len(grams) > _FEW_GRAMS:
        known = {
            other[place : place + size]
            for other in others
            for size in range(1, _LONGEST_GRAM + 1)
            for place in range(len(other) - size + 1)
        }
        left = grams - known
    else:
        left = {gram for gram in grams if not any(gram in other for other in others)}
    return " ".join(sorted(term for gram in left for term in _grams(gram, "", len(gram))))


def _match(folded: str) -> str:
    """The index query: the grams of the longest size that the query has."""
    terms = dict.fromkeys(_grams(folded, "", min(len(folded), _LONGEST_GRAM)))
    return " AND ".join(itertools.islice(terms, _MAX_TERMS))


def _grams(name: str, text: str, size: int) -> Iterator[str]:
    """Every run of ``size`` characters inside the name or the text, as one index token.

    Characters are written as hexadecimal numbers, so that punctuation and emoji count too.
    """
    for part in (name, text):
        codes = [f"{ord(char):x}" for char in part]
        for start in range(len(codes) - size + 1):
            yield "x".join(codes[start : start + size])
