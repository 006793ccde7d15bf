"""The history, as plain JSON values for its list on the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from asr_core.editing import Preview, ReplacePreview
from asr_core.engine import (
    HistoryEntry,
    HistoryFacets,
    HistoryFilters,
    HistoryPage,
    JobState,
    StorageUse,
)
from ui.view import View, model_title

PAGE = 50
"""Entries on one page of the list."""

LINES = 3
"""Sentences that a preview shows of each recording."""


def filters_from(sent: Mapping[str, Any]) -> HistoryFilters:
    """Filters as the page sends them: what is not there does not narrow."""

    def number(name: str) -> int | None:
        value = sent.get(name)
        return None if value is None else int(value)

    def words(name: str) -> tuple[str, ...]:
        return tuple(str(word) for word in sent.get(name) or ())

    return HistoryFilters(
        from_ms=number("from_ms"),
        to_ms=number("to_ms"),
        shortest_ms=number("shortest_ms"),
        longest_ms=number("longest_ms"),
        models=words("models"),
        states=tuple(JobState(word) for word in words("states")),
        origins=words("origins"),
        tags=words("tags"),
        owner=str(sent["owner"]) if sent.get("owner") else None,
        deleted=bool(sent.get("deleted")),
    )


def entry_view(entry: HistoryEntry, locale: str) -> View:
    """A row of the list; hits as ``[text, is_hit]`` pieces."""
    return {
        "id": entry.id,
        "name": entry.name,
        "origin": entry.origin,
        "created_ms": entry.created_ms,
        "duration_ms": entry.duration_ms,
        "state": entry.state.value,
        "model": model_title(entry.model, locale) if entry.model else "",
        "preview": entry.preview,
        "owner": entry.owner,
        "tags": list(entry.tags),
        "note": entry.note,
        "hits": [[hit.field, [list(piece) for piece in hit.pieces]] for hit in entry.hits],
        "deleted_ms": entry.deleted_ms,
        "audio_removed_ms": entry.audio_removed_ms,
        "size_bytes": entry.size_bytes,
    }


def list_view(found: HistoryPage, bin_days: int, locale: str) -> View:
    """One page of the list."""
    return {
        "rows": [entry_view(entry, locale) for entry in found.entries],
        "total": found.total,
        "exact": found.is_exact,
        "cursor": found.cursor,
        "bin_days": bin_days,
    }


def facets_view(facets: HistoryFacets, locale: str) -> View:
    """What the list can be filtered by: ``[value, words, count]`` each."""
    return {
        "models": [[name, model_title(name, locale), count] for name, count in facets.models],
        "states": [[state.value, "", count] for state, count in facets.states],
        "origins": [[name, "", count] for name, count in facets.origins],
        "owners": [[name, name, count] for name, count in facets.owners],
        "tags": [[tag.name, tag.name, tag.count] for tag in facets.tags],
        "total": facets.total,
        "deleted": facets.deleted,
    }


def storage_view(use: StorageUse) -> View:
    """What the history takes on the disk, in bytes."""
    return {
        "owners": [
            [each.owner, each.recordings, each.audio_bytes + each.peaks_bytes]
            for each in use.owners
        ],
        "audio": use.audio_bytes,
        "deleted": sum(each.deleted for each in use.owners),
        "bin": sum(each.deleted_bytes for each in use.owners),
        "database": use.database_bytes,
        "free": use.free_bytes,
    }


def replace_view(found: Iterable[ReplacePreview], rest: int) -> View:
    """What replacing would do.

    Args:
        found: a part of the recordings with hits.
        rest: recordings that were not looked at.
    """
    shown = [
        {
            "id": each.recording_id,
            "name": each.name,
            "stamp": each.stamp,
            "hits": each.hits,
            "lines": [_changed(line) for line in each.previews[:LINES]],
            "more": max(len(each.previews) - LINES, 0),
        }
        for each in found
    ]
    return {"found": shown, "hits": sum(each["hits"] for each in shown), "rest": rest}


def _changed(line: Preview) -> list[list[list[Any]]]:
    return [pieces(line.before, line.hits), pieces(line.after, line.places)]


def pieces(text: str, ranges: Sequence[tuple[int, int]]) -> list[list[Any]]:
    """A text as ``[text, is_marked]``; ranges are sorted and disjoint."""
    cut: list[list[Any]] = []
    done = 0
    for start, end in ranges:
        cut += [[text[done:start], False], [text[start:end], True]]
        done = end
    cut.append([text[done:], False])
    return [piece for piece in cut if piece[0]]
