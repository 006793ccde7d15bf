"""Handlers of the history tab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from ui import view
from ui.guard import Page
from ui.view import View


def search(page: Page, locale: str, query: str, offset: int = 0) -> View:
    """One page of the entries that match; all of them for an empty query."""
    query = query.strip()
    found = page.engine.history(query, limit=view.HISTORY_PAGE, offset=offset)
    if offset and not found.entries:
        return search(page, locale, query, max(0, offset - view.HISTORY_PAGE))
    return view.history_view(found, query, offset, locale)


def turn_page(page: Page, locale: str, event: Mapping[str, Any], query: str) -> View:
    return search(page, locale, query, max(0, int(event["offset"])))


def open_entry(page: Page, locale: str, event: Mapping[str, Any]) -> View:
    """The whole transcript of one entry."""
    return view.record_view(page.engine.record(str(event["id"])), locale)


def jump(page: Page, locale: str, event: Mapping[str, Any]) -> tuple[gr.Tabs, View]:
    """Turn to this tab with the transcript of a recording that was chosen elsewhere."""
    record = page.engine.record(str(event["recording"]))
    return gr.Tabs(selected="history"), view.record_view(record, locale)


def delete_entry(page: Page, locale: str, event: Mapping[str, Any], query: str) -> View:
    """Delete one recording with everything that belongs to it, and show the list again."""
    page.engine.delete([str(event["id"])])
    return search(page, locale, query, max(0, int(event["offset"])))
