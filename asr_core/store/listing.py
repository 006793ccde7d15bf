"""Rows of recordings as entries of a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlite_utils

from asr_core.jobs.model import JobState
from asr_core.store import search
from asr_core.store.dates import day_ranges, day_text
from asr_core.store.entries import HistoryEntry, Snippet
from asr_core.store.facts import facts_of, tag_names
from asr_core.store.rows import to_json
from asr_core.store.snippets import SNIPPET_CHARS, preview, snippet

_WHOLE_TEXT = 2**31 - 1

_WHOLE_FACTS = frozenset({"hotword", "speaker", "tag"})


def entries(
    db: sqlite_utils.Database, numbers: Sequence[int], query: str = ""
) -> list[HistoryEntry]:
    """What a list shows of some recordings, in the order of their numbers here.

    Args:
        db: to read from.
        numbers: of recordings that have a job; others are passed over.
        query: what they were found by.
    """
    words = search.fold(query.strip())
    sql = """
        SELECT r.*, coalesce(substr(t.text, 1, :chars), '') AS text,
               coalesce(instr(s.facts, :words), 0) AS in_facts
        FROM json_each(:numbers) AS known
        CROSS JOIN recordings r ON r.number = known.value
        LEFT JOIN search_texts s ON s.number = r.number
        LEFT JOIN transcripts t
               ON t.id = (SELECT max(id) FROM transcripts WHERE recording_id = r.id)
        WHERE r.state <> '' ORDER BY known.key
    """
    # The hit of a query may be anywhere; without one a little more than the preview tells
    # whether it is cut.
    chars = _WHOLE_TEXT if words else SNIPPET_CHARS + 1
    values = {"numbers": to_json([*numbers]), "chars": chars, "words": words}
    ranges = day_ranges(db, words) if words else []
    return [_entry(db, row, query.strip(), ranges) for row in [*db.query(sql, values)]]


def _entry(
    db: sqlite_utils.Database,
    row: Mapping[str, Any],
    query: str,
    ranges: Sequence[tuple[int, int]],
) -> HistoryEntry:
    hits = tuple(_hits(db, row, query, ranges)) if query else ()
    in_text = next((hit.text for hit in hits if hit.field == "text"), None)
    return HistoryEntry(
        id=row["id"],
        name=row["name"],
        origin=row["origin"],
        created_ms=row["created_ms"],
        duration_ms=row["duration_ms"] or 0,
        state=JobState(row["state"]),
        model=row["model"],
        preview=preview(row["text"]) if in_text is None else in_text,
        owner=row["owner"],
        tags=tag_names(db, row["number"]),
        note=row["note"],
        hits=hits,
        deleted_ms=row["deleted_ms"],
        audio_removed_ms=row["audio_removed_ms"],
        size_bytes=row["size_bytes"] if row["stored_name"] is not None else 0,
    )


def _hits(
    db: sqlite_utils.Database,
    row: Mapping[str, Any],
    query: str,
    ranges: Sequence[tuple[int, int]],
) -> Iterator[Snippet]:
    """Where the query stands, one hit a field and thing."""
    possible = [
        snippet("name", row["name"], query, whole=True),
        snippet("text", row["text"], query),
    ]
    if row["in_facts"]:
        possible += [
            snippet(fact.field, fact.text, query, whole=fact.field in _WHOLE_FACTS)
            for fact in facts_of(db, row["number"])
        ]
    yield from (hit for hit in possible if hit is not None)
    if any(from_ms <= row["created_ms"] < to_ms for from_ms, to_ms in ranges):
        day = day_text(row["created_ms"])
        yield Snippet("date", day, ((0, len(day)),))
