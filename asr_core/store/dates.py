"""Days that a query names."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import sqlite_utils

_DAY = re.compile(
    r"(?:(?P<year>\d{4})\s*[-/.年]\s*)?(?P<month>\d{1,2})\s*[-/.月]\s*(?P<day>\d{1,2})\s*[日号]?"
)
_MONTH = re.compile(r"(?P<year>\d{4})\s*[-/.年]\s*(?P<month>\d{1,2})\s*月?")
_MOST_YEARS = 30


def day_ranges(db: sqlite_utils.Database, query: str) -> list[tuple[int, int]]:
    """From when to when the days last that a query names, in local time.

    Args:
        db: a day without a year is looked for in every year that has recordings.
        query: ``2026-11-30``, ``2026年11月30日``, ``11月30日``, ``11-30``, or with its year a whole
            month: ``2026-11``, ``2026年11月``.

    Returns:
        Half-open ranges of Unix time in milliseconds; empty if the query is no date.
    """
    day = _DAY.fullmatch(query)
    if day and not (day["year"] is None and "." in query):
        years = [int(day["year"])] if day["year"] else _years(db)
        ranges = [_range(year, int(day["month"]), int(day["day"])) for year in years]
        return [found for found in ranges if found is not None]
    month = _MONTH.fullmatch(query)
    found = _range(int(month["year"]), int(month["month"]), None) if month else None
    return [] if found is None else [found]


def day_text(created_ms: int) -> str:
    """The local day of a moment as ``2026-11-30``."""
    return datetime.fromtimestamp(created_ms / 1000).astimezone().strftime("%Y-%m-%d")


def _range(year: int, month: int, day: int | None) -> tuple[int, int] | None:
    """The day, or the whole month without one; ``None`` if the calendar has no such day."""
    try:
        start = datetime(year, month, day or 1)
        days = timedelta(days=1 if day else 32)
        end = start + days if day else (start + days).replace(day=1)
        return _unix_ms(start), _unix_ms(end)
    except (ValueError, OverflowError, OSError):
        return None


def _unix_ms(local: datetime) -> int:
    return int(local.timestamp() * 1000)


def _years(db: sqlite_utils.Database) -> list[int]:
    years = []
    for order in ("ASC", "DESC"):
        sql = f"SELECT created_ms FROM recordings ORDER BY number {order} LIMIT 1"  # noqa: S608
        years += [datetime.fromtimestamp(row[0] / 1000).year for row in db.execute(sql)]
    return list(range(max(min(years), max(years) - _MOST_YEARS), max(years) + 1)) if years else []
