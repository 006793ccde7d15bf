"""Which recordings a list of the history has, page by page.

A page is found in one of two ways. What is known to be few – a rare query, a narrow filter – is
collected and put in order. All else is dense enough to be met soon on a walk along the index of
the order that is asked for; on the way the index of grams tells what may contain a query, or, where
nearly everything does, the texts themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlite_utils

from asr_core.store import search
from asr_core.store.dates import day_ranges
from asr_core.store.entries import NEWEST_FIRST, NO_FILTERS, HistoryFilters, HistorySort
from asr_core.store.rows import to_json

FEW = 2_000
"""Up to this many are collected, and counted where they are the hits of a query."""

FEW_READ = 500
"""The same where the text of each hit has to be read to be sure."""

SPARSE = 20_000
"""Up to this many hits of a query are looked up in the index of grams during a walk: finding all of
them takes less time than reading the texts between two of them."""

_MANY_DATED = 20_000
"""Up to this many are collected that are of the days that a query names."""

CHUNK = 500
"""Recordings that are found at a time where all of them are wanted."""

_Values = dict[str, Any]

_SORT_COLUMNS = {
    "time": "r.created_ms",
    "name": "r.name_key",
    "length": "coalesce(r.duration_ms, 0)",
}
_SORT_INDEXES = {
    "time": "recordings_time",
    "name": "recordings_name",
    "length": "recordings_length",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a list is asked for; ``query`` as it was typed."""

    query: str = ""
    filters: HistoryFilters = NO_FILTERS
    sort: HistorySort = NEWEST_FIRST

    @property
    def words(self) -> str:
        """The query as it is compared."""
        return search.fold(self.query.strip())

    @property
    def few(self) -> int:
        """Hits up to which all are collected."""
        return min(FEW, FEW_READ) if len(self.words) > search.LONGEST_GRAM else FEW

    @property
    def mark(self) -> str:
        """Tells cursors of this list from those of others."""
        return hashlib.sha256(repr(self).encode("utf-8", "replace")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Found:
    """Numbers of recordings in order; see HistoryPage for the rest."""

    numbers: tuple[int, ...]
    total: int
    is_exact: bool
    cursor: str


def find(db: sqlite_utils.Database, wanted: Wanted, *, cursor: str = "", limit: int = 50) -> Found:
    """One page of a list, with how many there are.

    Args:
        db: to read from.
        wanted: what is looked for.
        cursor: of the page before.
        limit: at least 1.
    """
    few = _few(db, wanted)
    rows = _page(db, wanted, few, cursor, limit)
    total, is_exact = _count(db, wanted, few)
    return Found(
        numbers=tuple(row[0] for row in rows[:limit]),
        total=total,
        is_exact=is_exact,
        cursor=_cursor(wanted, rows[limit - 1]) if len(rows) > limit else "",
    )


def every(db: sqlite_utils.Database, wanted: Wanted, cursor: str = "") -> tuple[list[int], str]:
    """A larger part of a list without counting it, and the cursor of the part that follows."""
    rows = _page(db, wanted, _few(db, wanted), cursor, CHUNK)
    more = _cursor(wanted, rows[CHUNK - 1]) if len(rows) > CHUNK else ""
    return [row[0] for row in rows[:CHUNK]], more


def _few(db: sqlite_utils.Database, wanted: Wanted) -> list[int] | None:
    """All numbers of the list in any order, if they are few."""
    if wanted.filters != NO_FILTERS:
        narrow = _by_filters(db, wanted.filters)
        if narrow is not None:
            return narrow if not wanted.words else _containing(db, wanted.words, narrow)
    return _by_query(db, wanted) if wanted.words else None


def _by_filters(db: sqlite_utils.Database, filters: HistoryFilters) -> list[int] | None:
    values: _Values = {"few": FEW + 1}
    source = _narrowest(filters, values)
    where = _conditions(filters, values)
    sql = f"SELECT r.number FROM {source} WHERE {where} LIMIT :few"  # noqa: S608 - our words
    found = [row[0] for row in db.execute(sql, values)]
    return found if len(found) <= FEW else None


def _narrowest(filters: HistoryFilters, values: _Values) -> str:
    """Where to look for what passes some filters."""
    if filters.tags:
        values["first_tag"] = search.fold(filters.tags[0])
        return (
            "(SELECT number FROM recording_tags"
            " WHERE tag_id = (SELECT id FROM tags WHERE key = :first_tag)) AS tagged"
            " CROSS JOIN recordings r ON r.number = tagged.number"
        )
    if filters.deleted:
        return "recordings r INDEXED BY recordings_bin"
    if filters.from_ms is not None or filters.to_ms is not None:
        return "recordings r INDEXED BY recordings_time"
    if filters.shortest_ms is not None or filters.longest_ms is not None:
        return "recordings r INDEXED BY recordings_length"
    return "recordings r INDEXED BY recordings_facets"


def _containing(db: sqlite_utils.Database, words: str, numbers: Sequence[int]) -> list[int]:
    """Those of some recordings that contain a query."""
    values: _Values = {"numbers": to_json([*numbers])}
    join, condition = _having(db, words, values)
    sql = (
        "SELECT r.number FROM json_each(:numbers) AS known"  # noqa: S608 - our words
        f" CROSS JOIN recordings r ON r.number = known.value{join} WHERE {condition}"
    )
    return [row[0] for row in db.execute(sql, values)]


def _by_query(db: sqlite_utils.Database, wanted: Wanted) -> list[int] | None:
    """What contains the query and passes the filters, if that is few."""
    values: _Values = {"few": wanted.few + 1, "terms": search.match(wanted.words)}
    where = _conditions(wanted.filters, values)
    source = "search_grams CROSS JOIN recordings r ON r.number = search_grams.rowid"
    if len(wanted.words) > search.LONGEST_GRAM:
        source += " CROSS JOIN search_texts s ON s.number = r.number"
        values["words"] = wanted.words
        where += f" AND {_CONTAINS}"
    sql = (
        f"SELECT r.number FROM {source}"  # noqa: S608 - our words
        f" WHERE search_grams MATCH :terms AND {where} LIMIT :few"
    )
    found = {row[0] for row in db.execute(sql, values)}
    dates = _dated(db, wanted.words, values)
    if not dates:
        return list(found) if len(found) <= wanted.few else None
    scope = "" if wanted.filters.deleted else "INDEXED BY recordings_time"
    values["many"] = _MANY_DATED + 1
    sql = (
        f"SELECT r.number FROM recordings r {scope}"  # noqa: S608 - our words
        f" WHERE {_conditions(wanted.filters, values)} AND ({dates}) LIMIT :many"
    )
    dated = {row[0] for row in db.execute(sql, values)}
    is_few = len(found) <= wanted.few and len(dated) <= _MANY_DATED
    return list(found | dated) if is_few else None


def _page(
    db: sqlite_utils.Database,
    wanted: Wanted,
    few: Sequence[int] | None,
    cursor: str,
    limit: int,
) -> list[tuple[int, Any]]:
    """Numbers with what they are ordered by, one more than the limit if there are more."""
    key, order = _SORT_COLUMNS[wanted.sort.key], "DESC" if wanted.sort.descending else "ASC"
    values: _Values = {"limit": limit + 1}
    if few is not None:
        values["numbers"] = to_json([*few])
        source = "json_each(:numbers) AS known CROSS JOIN recordings r ON r.number = known.value"
        where = "true"
    else:
        scope = "" if wanted.filters.deleted else f"INDEXED BY {_SORT_INDEXES[wanted.sort.key]}"
        source = f"recordings r {scope}"
        where = _conditions(wanted.filters, values)
        if wanted.words:
            join, condition = _having(db, wanted.words, values)
            source += join
            where += f" AND {condition}"
    start = _started(wanted, cursor)
    if start is not None:
        values |= {"key": start[0], "number": start[1]}
        where += f" AND ({key}, r.number) {'<' if wanted.sort.descending else '>'} (:key, :number)"
    sql = (
        f"SELECT r.number, {key} FROM {source} WHERE {where}"  # noqa: S608 - our words
        f" ORDER BY {key} {order}, r.number {order} LIMIT :limit"
    )
    return db.execute(sql, values).fetchall()


def _count(
    db: sqlite_utils.Database, wanted: Wanted, few: Sequence[int] | None
) -> tuple[int, bool]:
    if few is not None:
        return len(few), True
    if wanted.words:
        return wanted.few, False
    values: _Values = {}
    source = _narrowest(wanted.filters, values)
    where = _conditions(wanted.filters, values)
    sql = f"SELECT count(*) FROM {source} WHERE {where}"  # noqa: S608 - our words
    return int(db.execute(sql, values).fetchone()[0]), True


def _conditions(filters: HistoryFilters, values: _Values) -> str:
    """What a row ``r`` has to be like; fills in what the condition compares with."""
    parts = ["r.part_of IS NULL", "r.state <> ''"]
    parts.append(f"r.deleted_ms IS {'NOT ' if filters.deleted else ''}NULL")
    limits = {
        "from_ms": ("r.created_ms >=", filters.from_ms),
        "to_ms": ("r.created_ms <", filters.to_ms),
        "shortest_ms": ("coalesce(r.duration_ms, 0) >=", filters.shortest_ms),
        "longest_ms": ("coalesce(r.duration_ms, 0) <=", filters.longest_ms),
    }
    for name, (comparison, limit) in limits.items():
        if limit is not None:
            parts.append(f"{comparison} :{name}")
            values[name] = limit
    choices = {
        "model": filters.models,
        "state": [state.value for state in filters.states],
        "origin": filters.origins,
    }
    if filters.owner is not None:
        choices["owner"] = ["", filters.owner]
    for column, allowed in choices.items():
        if allowed:
            parts.append(f"r.{column} IN (SELECT value FROM json_each(:{column}))")  # noqa: S608
            values[column] = to_json([*allowed])
    for index, tag in enumerate(filters.tags):
        parts.append(
            "EXISTS (SELECT 1 FROM recording_tags WHERE number = r.number AND"  # noqa: S608
            f" tag_id = (SELECT id FROM tags WHERE key = :tag{index}))"
        )
        values[f"tag{index}"] = search.fold(tag)
    return " AND ".join(parts)


_CONTAINS = "(instr(s.text, :words) OR instr(s.name, :words) OR instr(s.facts, :words))"


def _having(db: sqlite_utils.Database, words: str, values: _Values) -> tuple[str, str]:
    """What to join rows ``r`` with, and the condition that one contains a query."""
    if _is_sparse(db, words):
        return "", _indexed(db, words, values)
    return " CROSS JOIN search_texts s ON s.number = r.number", _contains(db, words, values)


def _contains(db: sqlite_utils.Database, words: str, values: _Values) -> str:
    """The condition that a row ``r`` with its texts ``s`` contains a query."""
    values["words"] = words
    dates = _dated(db, words, values)
    return f"({_CONTAINS} OR {dates})" if dates else _CONTAINS


def _is_sparse(db: sqlite_utils.Database, words: str) -> bool:
    """Whether the index has few enough candidates for a query."""
    sql = (
        "SELECT count(*) FROM"
        " (SELECT 1 FROM search_grams WHERE search_grams MATCH :terms LIMIT :sparse)"
    )
    values = {"terms": search.match(words), "sparse": SPARSE + 1}
    return bool(db.execute(sql, values).fetchone()[0] <= SPARSE)


def _indexed(db: sqlite_utils.Database, words: str, values: _Values) -> str:
    """As :func:`_contains` without ``s``; texts are read only of what the index names."""
    values["terms"] = search.match(words)
    found = "r.number IN (SELECT rowid FROM search_grams WHERE search_grams MATCH :terms)"
    if len(words) > search.LONGEST_GRAM:
        values["words"] = words
        found += f" AND (SELECT {_CONTAINS} FROM search_texts s WHERE s.number = r.number)"  # noqa: S608
    dates = _dated(db, words, values)
    return f"(({found}) OR {dates})" if dates else f"({found})"


def _dated(db: sqlite_utils.Database, words: str, values: _Values) -> str:
    """The condition that a row ``r`` is of the day that a query names; empty: it names none."""
    parts = []
    for index, (from_ms, to_ms) in enumerate(day_ranges(db, words)):
        values |= {f"day{index}": from_ms, f"night{index}": to_ms}
        parts.append(f"r.created_ms >= :day{index} AND r.created_ms < :night{index}")
    return " OR ".join(f"({part})" for part in parts)


def _cursor(wanted: Wanted, row: tuple[int, Any]) -> str:
    number, key = row
    shown = key.hex() if isinstance(key, bytes) else str(key)
    return f"{wanted.mark}.{shown}.{number}"


def _started(wanted: Wanted, cursor: str) -> tuple[Any, int] | None:
    """The place behind which a page begins; ``None`` for the first page."""
    mark, _, place = cursor.partition(".")
    key, _, number = place.partition(".")
    if mark != wanted.mark:
        return None
    try:
        return bytes.fromhex(key) if wanted.sort.key == "name" else int(key), int(number)
    except ValueError:
        return None


def numbers_of(db: sqlite_utils.Database, ids: Sequence[str]) -> Iterator[int]:
    """Numbers of recordings that are listed or in the bin, newest first."""
    sql = (
        "SELECT r.number FROM json_each(:ids) AS known"
        " CROSS JOIN recordings r ON r.id = known.value"
        " WHERE r.part_of IS NULL AND r.state <> ''"
        " ORDER BY r.created_ms DESC, r.number DESC"
    )
    for (number,) in db.execute(sql, {"ids": to_json([*ids])}).fetchall():
        yield number


def ids_of(db: sqlite_utils.Database, numbers: Sequence[int]) -> list[str]:
    """Ids of recordings, in the order of their numbers here."""
    sql = (
        "SELECT r.id FROM json_each(?) AS known"
        " CROSS JOIN recordings r ON r.number = known.value ORDER BY known.key"
    )
    return [row[0] for row in db.execute(sql, [to_json([*numbers])])]
