"""The tab that transcribes many recordings at once."""

from __future__ import annotations

import gradio as gr

from ui import view
from ui.guard import Page, guarded, guarded_event
from ui.handlers import batch as handlers
from ui.i18n import label
from ui.tabs.parts import POLL_S, build_component, build_more_options, queued, quiet


def build_batch_tab(page: Page, demo: gr.Blocks, batch: gr.BrowserState) -> None:
    """Lay out and wire the tab; ``batch`` holds the id of this browser's last batch."""
    with gr.Row(elem_classes=["tl-split"]):
        with (
            gr.Column(elem_classes=["tl-side"], min_width=280),
            gr.Column(elem_classes=["tl-card", "tl-form"], min_width=0),
        ):
            files = gr.File(
                label=label("uploads"),
                show_label=False,
                file_count="multiple",
                height=180,
                elem_id="batch-upload",
            )
            gr.Markdown(label("batch_hint"), elem_classes=["tl-hint"])
            more = build_more_options(page, "batch")
            start = gr.Button(label("start_batch"), variant="primary", elem_id="batch-start")
        with gr.Column(elem_classes=["tl-main"], min_width=280):
            rows = build_component(
                "batch",
                "batch-rows",
                events="'cancel_all' 'archive'",
                formats=list(view.FORMATS),
            )
            carrier = build_component("carrier", "batch-carrier", target="batch-rows")
    known = gr.JSON([], visible=False)
    timer = gr.Timer(POLL_S, active=False)
    inputs = [files, *more.inputs]
    start.click(guarded(page, handlers.start), inputs, [batch, rows, timer, files], **queued())
    poll = guarded(page, handlers.poll)
    count = "(batch, known) => [batch, tinglu.known('batch-rows', batch)]"
    timer.tick(poll, [batch, known], [rows, timer], js=count, **quiet())
    demo.load(poll, [batch, known], [rows, timer], **quiet())
    rows.cancel_all(guarded(page, handlers.cancel), batch, rows, **quiet())
    rows.archive(guarded_event(page, handlers.archive), batch, carrier, **queued())
