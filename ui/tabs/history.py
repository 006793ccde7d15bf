"""The tab that finds, opens and deletes stored recordings."""

from __future__ import annotations

import gradio as gr

from ui.guard import Page, guarded, guarded_event
from ui.handlers import history as handlers
from ui.i18n import label
from ui.tabs.parts import build_component, build_transcript_panel, queued, quiet


def build_history_tab(page: Page, tab: gr.Tab) -> gr.HTML:
    """Lay out and wire the tab. Returns its transcript."""
    with gr.Row(elem_classes=["tl-split", "tl-split-wide"]):
        with (
            gr.Column(elem_classes=["tl-side"], min_width=280),
            gr.Column(elem_classes=["tl-card", "tl-form"], min_width=0),
        ):
            query = gr.Textbox(
                placeholder=label("search"),
                show_label=False,
                container=False,
                elem_id="history-query",
                html_attributes=gr.InputHTMLAttributes(autocomplete="off", spellcheck=False),
            )
            rows = build_component(
                "history",
                "history-rows",
                events="'open_entry' 'delete_entry' 'turn_page'",
                target="history-transcript",
            )
        with gr.Column(elem_classes=["tl-main"], min_width=280):
            panel = build_transcript_panel(page, "history", empty="history.choose")
    search = guarded(page, handlers.search)
    # One event for both, so that the answer to an older query never replaces that to a newer one.
    gr.on([query.change, tab.select], search, query, rows, trigger_mode="always_last", **quiet())
    rows.turn_page(guarded_event(page, handlers.turn_page), query, rows, **quiet())
    rows.delete_entry(guarded_event(page, handlers.delete_entry), query, rows, **queued())
    rows.open_entry(guarded_event(page, handlers.open_entry), None, panel.transcript, **queued())
    return panel.transcript
