"""Substring search over names, texts and facts, for queries from one character on.

Every character and every overlapping pair and triple of characters of the case-folded name, text
and facts (hotwords, speakers, note, tags) is a token of a full-text index. Up to three characters
are answered by the index alone; for longer queries the index gives the candidates and ``instr``
verifies them.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import sqlite_utils

from asr_core.store.facts import facts_of
from asr_core.store.rows import encodable
from asr_core.text.rewrite import common_start

LONGEST_GRAM = 3
"""Characters in the longest index token; verifying common longer queries reads every hit's text."""

_FEW_GRAMS = 2_000
"""Up to this many terms are looked for one by one in a whole text."""

_MAX_TERMS = 64
"""Index terms looked up for one query; verification covers the rest of a very long one."""

_BORDER = "\x1f"
"""Stands before every fact, and in nothing that is compared."""


@dataclass(frozen=True, slots=True)
class _Document:
    """What one recording is found by, folded."""

    name: str
    text: str
    facts: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.name, self.text, *self.facts)


def fold(text: str) -> str:
    """The form that is compared, of queries as of what they search."""
    return encodable(text).replace(_BORDER, "\ufffd").casefold()


def put(db: sqlite_utils.Database, number: int, name: str, text: str) -> None:
    """Make one recording findable by these and by its facts, in place of what it had before."""
    _write(db, number, _Document(fold(name), fold(text), _facts(db, number)))


def put_name(db: sqlite_utils.Database, number: int, name: str) -> None:
    """Make one recording findable by its name and facts; a text that it already has stays."""
    known = _read(db, number)
    _write(db, number, _Document(fold(name), known.text if known else "", _facts(db, number)))


def replace_text(db: sqlite_utils.Database, number: int, text: str, *, facts: bool = True) -> None:
    """Make a recording that is known findable by another text and by its facts as they are now.

    Args:
        facts: whether they may have changed.
    """
    known = _read(db, number)
    if known is not None:
        now = _facts(db, number) if facts else known.facts
        _write(db, number, _Document(known.name, fold(text), now))


def refresh(db: sqlite_utils.Database, number: int) -> None:
    """Make a recording that is known findable by its name and facts as they are now."""
    row = db.execute("SELECT name FROM recordings WHERE number = ?", (number,)).fetchone()
    if row is not None and _read(db, number) is not None:
        put_name(db, number, row[0])


def remove(db: sqlite_utils.Database, number: int) -> None:
    """Forget one recording; nothing happens when it is not known."""
    known = _read(db, number)
    if known is None:
        return
    # An index without content is told what it held, exactly as it was inserted.
    _tell_vanished(db, number, _terms(known.parts))
    db.execute("DELETE FROM search_texts WHERE number = ?", (number,))


def match(folded: str) -> str:
    """The index query for a folded one: the grams of the longest size that it has."""
    terms = dict.fromkeys(_grams(folded, min(len(folded), LONGEST_GRAM)))
    return " AND ".join(itertools.islice(terms, _MAX_TERMS))


def _read(db: sqlite_utils.Database, number: int) -> _Document | None:
    sql = "SELECT name, text, facts FROM search_texts WHERE number = ?"
    row = db.execute(sql, (number,)).fetchone()
    return None if row is None else _Document(row[0], row[1], tuple(row[2].split(_BORDER)[1:]))


def _facts(db: sqlite_utils.Database, number: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fold(fact.text) for fact in facts_of(db, number)))


def _write(db: sqlite_utils.Database, number: int, new: _Document) -> None:
    """Store a document; the index is only told which terms vanish and appear.

    So a small change of a long text is cheap.
    """
    facts = "".join(_BORDER + fact for fact in new.facts)
    old = _read(db, number)
    if old is None:
        db.execute(
            "INSERT INTO search_texts (number, name, text, facts) VALUES (?, ?, ?, ?)",
            (number, new.name, new.text, facts),
        )
        _tell_appeared(db, number, _terms(new.parts))
        return
    if old == new:
        return
    _tell_vanished(db, number, _only_in(old, new))
    _tell_appeared(db, number, _only_in(new, old))
    db.execute(
        "UPDATE search_texts SET name = ?, text = ?, facts = ? WHERE number = ?",
        (new.name, new.text, facts, number),
    )


def _tell_vanished(db: sqlite_utils.Database, number: int, terms: str) -> None:
    sql = "INSERT INTO search_grams (search_grams, rowid, grams) VALUES ('delete', ?, ?)"
    db.execute(sql, (number, terms))


def _tell_appeared(db: sqlite_utils.Database, number: int, terms: str) -> None:
    db.execute("INSERT INTO search_grams (rowid, grams) VALUES (?, ?)", (number, terms))


def _only_in(one: _Document, other: _Document) -> str:
    """Index terms of one document that the other one does not have."""
    grams = _around(one.text, *_changed(one.text, other.text))
    if one.name != other.name:
        grams |= _around(one.name, 0, len(one.name))
    for fact in set(one.facts) - set(other.facts):
        grams |= _around(fact, 0, len(fact))
    if len(grams) > _FEW_GRAMS:
        known = {gram for part in other.parts for gram in _around(part, 0, len(part))}
        left: Collection[str] = grams - known
    else:
        left = [gram for gram in grams if not any(gram in part for part in other.parts)]
    return " ".join(sorted(_term(gram) for gram in left))


def _changed(one: str, other: str) -> tuple[int, int]:
    """The characters of a text from the first to the last difference from another one."""
    start = common_start(one, other)
    tail = common_start(one[start:][::-1], other[start:][::-1])
    return start, len(one) - tail


def _around(text: str, start: int, end: int) -> set[str]:
    """Runs of characters that touch or span the place from ``start`` to ``end``."""
    return {
        text[place : place + size]
        for size in range(1, LONGEST_GRAM + 1)
        for place in range(max(0, start - size + 1), min(end, len(text) - size + 1))
    }


def _terms(parts: Iterable[str]) -> str:
    """Every index term of a document, once."""
    sizes = range(1, LONGEST_GRAM + 1)
    return " ".join(
        sorted({term for part in parts for size in sizes for term in _grams(part, size)})
    )


def _grams(text: str, size: int) -> Iterator[str]:
    """Every run of ``size`` characters, as one index token.

    Characters are written as hexadecimal numbers, so that punctuation and emoji count too.
    """
    codes = [f"{ord(char):x}" for char in text]
    for start in range(len(codes) - size + 1):
        yield "x".join(codes[start : start + size])


def _term(gram: str) -> str:
    return "x".join(f"{ord(char):x}" for char in gram)
