"""Which recordings the visitor has chosen in the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asr_core.engine import HistorySelection
from ui.guard import Page
from ui.history_view import filters_from

Event = Mapping[str, Any]


def selection_from(event: Event) -> HistorySelection:
    """What was chosen: ``ids``, or with ``all`` everything that ``query`` and ``filters`` find."""
    if not event.get("all"):
        return HistorySelection(tuple(str(each) for each in event.get("ids") or ()))
    filters = filters_from(event.get("filters") or {})
    return HistorySelection(None, str(event.get("query", "")), filters)


def narrowed(page: Page, event: Event) -> HistorySelection:
    """As :func:`selection_from`, less what was taken out again (``without``)."""
    selection = selection_from(event)
    without = frozenset(event.get("without") or ())
    if not without:
        return selection
    ids = page.engine.select(selection)
    return HistorySelection(tuple(each for each in ids if each not in without))


def ids_from(page: Page, event: Event) -> tuple[str, ...]:
    """Every id of a selection."""
    return page.engine.select(narrowed(page, event))
