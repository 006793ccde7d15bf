"""Handlers of the history tab: its list, and what is done to one or several recordings.

The list sends everything as ``look`` and ``act`` events and waits for their answers, so a fault is
an answer too (see :func:`ui.guard.guarded_answer`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr

from asr_core.engine import HistorySort
from asr_core.errors import RecordNotFoundError
from ui.guard import Page
from ui.handlers import history_many as many
from ui.handlers.selection import ids_from
from ui.history_view import PAGE, entry_view, facets_view, filters_from, list_view, storage_view
from ui.view import View, record_view

Event = Mapping[str, Any]

_SORTS = {
    "newest": HistorySort("time", descending=True),
    "oldest": HistorySort("time", descending=False),
    "name": HistorySort("name", descending=False),
    "longest": HistorySort("length", descending=True),
    "shortest": HistorySort("length", descending=False),
}

MOST_UPDATED = 200
"""Rows that an answer brings as they are now; a page has fewer."""


def look(page: Page, locale: str, event: Event) -> View:
    """One page of what contains the query and passes the filters.

    Of the event: ``query``, ``filters``, ``sort`` and ``cursor``.
    """
    found = page.engine.history(
        str(event.get("query", "")),
        filters_from(event.get("filters") or {}),
        _SORTS.get(str(event.get("sort")), _SORTS["newest"]),
        cursor=str(event.get("cursor", "")),
        limit=PAGE,
    )
    return list_view(found, page.engine.bin_days, locale)


def sift(page: Page, locale: str, _event: Event) -> View:
    """What there is to filter by, which takes longer than a list among very many recordings."""
    return {"facets": facets_view(page.engine.facets(), locale)}


def open_entry(page: Page, locale: str, event: Event) -> View:
    """The whole transcript of one entry."""
    return record_view(page.engine.record(str(event["id"])), locale)


def jump(page: Page, locale: str, event: Event) -> tuple[gr.Tabs, View, View]:
    """Turn to this tab with a recording that was chosen elsewhere.

    Returns:
        The tabs, its transcript, and what is known about it.
    """
    recording_id = str(event["recording"])
    record = page.engine.record(recording_id)
    about = {"row": entry_view(page.engine.entry(recording_id), locale)}
    return gr.Tabs(selected="history"), record_view(record, locale), about


def act(page: Page, locale: str, event: Event) -> View:
    """Do what ``event["act"]`` names."""
    return _ACTS[str(event["act"])](page, locale, event)


def _tag(page: Page, locale: str, event: Event) -> View:
    """Give the selection tags (``add``) and take others away (``remove``)."""
    ids = ids_from(page, event)
    added, removed = list(event.get("add") or ()), list(event.get("remove") or ())
    if added:
        page.engine.tag(ids, added)
    if removed:
        page.engine.untag(ids, removed)
    return _changed(page, locale, ids) | {"tags": _tags(page)}


def _list_tags(page: Page, _locale: str, _event: Event) -> View:
    return {"tags": _tags(page)}


def _rename_tag(page: Page, _locale: str, event: Event) -> View:
    page.engine.rename_tag(str(event["name"]), str(event["new"]))
    return {"tags": _tags(page)}


def _delete_tag(page: Page, _locale: str, event: Event) -> View:
    page.engine.delete_tag(str(event["name"]))
    return {"tags": _tags(page)}


def _note(page: Page, locale: str, event: Event) -> View:
    recording_id = str(event["id"])
    page.engine.set_note(recording_id, str(event["note"]))
    return _changed(page, locale, (recording_id,))


def _rename(page: Page, locale: str, event: Event) -> View:
    recording_id = str(event["id"])
    page.engine.rename(recording_id, str(event["name"]))
    return _changed(page, locale, (recording_id,))


def _delete(page: Page, _locale: str, event: Event) -> View:
    """``undo`` are those that can be restored; ``gone`` says how many went."""
    ids = ids_from(page, event)
    restorable = page.engine.delete(ids)
    return {"undo": list(restorable), "gone": len(restorable) if page.engine.bin_days else len(ids)}


def _restore(page: Page, _locale: str, event: Event) -> View:
    return {"restored": list(page.engine.restore(ids_from(page, event)))}


def _purge(page: Page, _locale: str, event: Event) -> View:
    """Remove the selection for good, or the whole bin."""
    ids = None if event.get("whole") else ids_from(page, event)
    return {"purged": page.engine.purge(ids)}


def _storage(page: Page, _locale: str, _event: Event) -> View:
    return {"storage": storage_view(page.engine.storage())}


_ACTS: dict[str, Callable[[Page, str, Event], View]] = {
    "tag": _tag,
    "tags": _list_tags,
    "rename_tag": _rename_tag,
    "delete_tag": _delete_tag,
    "note": _note,
    "rename": _rename,
    "delete": _delete,
    "restore": _restore,
    "purge": _purge,
    "storage": _storage,
    "preview": many.preview_replace,
    "replace": many.replace,
    "undo_replace": many.undo_replace,
}


def _tags(page: Page) -> list[list[Any]]:
    return [[tag.name, tag.count] for tag in page.engine.tags()]


def _changed(page: Page, locale: str, ids: tuple[str, ...]) -> View:
    """The rows of recordings that were changed, as far as a page may show them."""
    rows = []
    for recording_id in ids[:MOST_UPDATED]:
        try:
            rows.append(entry_view(page.engine.entry(recording_id), locale))
        except RecordNotFoundError:
            continue  # it was removed at the same time
    return {"changed": rows}
