"""The tab that turns the microphone into text."""

from __future__ import annotations

import gradio as gr

from ui.guard import Page, guarded
from ui.handlers import dictation as handlers
from ui.i18n import label
from ui.tabs.models import ModelPickers
from ui.tabs.parts import POLL_S, build_component, queued, quiet


def build_dictation_tab(page: Page, pickers: ModelPickers) -> None:
    with gr.Row(elem_classes=["tl-split"]):
        with gr.Column(elem_classes=["tl-side"], min_width=280):
            with gr.Column(elem_classes=["tl-card", "tl-form"], min_width=0):
                recorded = gr.Audio(
                    sources=["microphone"],
                    type="filepath",
                    format="wav",
                    label=label("microphone"),
                    show_label=False,
                    editable=False,
                    buttons=[],
                    elem_id="dictation-microphone",
                )
                gr.Markdown(label("dictation_hint"), elem_classes=["tl-hint"])
                append = gr.Checkbox(
                    True,
                    label=label("append"),
                    elem_classes=["tl-switch"],
                    elem_id="dictation-append",
                )
                model, hotwords = pickers.build("dictation")
            build_component("insecure", "dictation-insecure")
        with (
            gr.Column(elem_classes=["tl-main"], min_width=280),
            gr.Column(elem_classes=["tl-card", "tl-form"], min_width=0),
        ):
            status = build_component("dictation", "dictation-status", value={"state": "idle"})
            text = gr.Textbox(
                label=label("dictation_text"),
                placeholder=label("dictation_placeholder"),
                lines=14,
                max_lines=30,
                buttons=["copy"],
                interactive=True,
                elem_id="dictation-text",
            )
            clear = gr.Button(label("clear"), size="sm", elem_id="dictation-clear")
    job = gr.State("")
    timer = gr.Timer(POLL_S, active=False)
    start = guarded(page, handlers.recorded)
    inputs, outputs = [recorded, hotwords, model], [job, status, timer, recorded]
    recorded.stop_recording(start, inputs, outputs, **queued())
    poll = guarded(page, handlers.poll)
    timer.tick(poll, [job, text, append], [status, text, timer], **quiet())
    clear.click(guarded(page, handlers.clear), None, [text, status], **quiet())
