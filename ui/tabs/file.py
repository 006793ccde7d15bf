"""The tab that transcribes one recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from ui.guard import Page, guarded, guarded_event
from ui.handlers import file as handlers
from ui.i18n import label
from ui.tabs.models import ModelPickers
from ui.tabs.parts import (
    POLL_S,
    MoreOptions,
    build_component,
    build_transcript_panel,
    queued,
    quiet,
)


@dataclass(frozen=True, slots=True)
class _Form:
    upload: gr.File
    recorded: gr.Audio
    sample: gr.Button
    hotwords: gr.Textbox
    more: MoreOptions
    start: gr.Button


OTHERS_S = 3.0
"""How often the list of other jobs is renewed."""


def build_file_tab(
    page: Page, demo: gr.Blocks, job: gr.BrowserState, pickers: ModelPickers
) -> gr.HTML:
    """Lay out and wire the tab; ``job`` holds the id of this browser's last job.

    Returns:
        The list of other jobs, whose ``open_batch`` is not wired yet.
    """
    with gr.Row(elem_classes=["tl-split"]):
        with gr.Column(elem_classes=["tl-side"], min_width=280):
            form = _build_form(pickers)
        with gr.Column(elem_classes=["tl-main"], min_width=280):
            others = build_component("jobs", "file-jobs", events="'attach' 'open_batch'")
            panel = build_transcript_panel(page, "file", empty="empty.hint", follows=True)
    have = gr.Number(0, visible=False)
    timer = gr.Timer(POLL_S, active=False)
    _wire_form(page, form, [job, panel, timer])
    _wire_job(page, demo, panel, job, have, timer)
    _wire_others(page, demo, others, [job, panel, timer])
    return others


def _build_form(pickers: ModelPickers) -> _Form:
    with gr.Column(elem_classes=["tl-card", "tl-form"], min_width=0):
        upload = gr.File(show_label=False, label=label("upload"), height=140, elem_id="file-upload")
        gr.Markdown(label("upload_hint"), elem_classes=["tl-hint"])
        with gr.Accordion(
            label("record"), open=False, elem_id="file-record", elem_classes=["tl-fold"]
        ):
            recorded = gr.Audio(
                sources=["microphone"],
                type="filepath",
                format="wav",
                show_label=False,
                editable=False,
                buttons=[],
                elem_id="file-microphone",
            )
        sample = gr.Button(label("sample"), size="sm", elem_id="file-sample")
        model, hotwords = pickers.build("file")
        more = pickers.build_more("file", model)
        start = gr.Button(label("start"), variant="primary", elem_id="file-start")
    return _Form(upload, recorded, sample, hotwords, more, start)


def _wire_form(page: Page, form: _Form, outputs: list[Any]) -> None:
    inputs = [form.upload, form.recorded, form.hotwords, *form.more.inputs]
    form.start.click(guarded(page, handlers.start), inputs, outputs, **queued())
    take_sample = guarded(page, handlers.take_sample)
    form.sample.click(take_sample, None, [form.upload, form.recorded], **quiet())
    form.upload.upload(None, None, form.recorded, js="() => null", api_visibility="private")
    form.recorded.stop_recording(None, None, form.upload, js="() => null", api_visibility="private")


def _wire_job(
    page: Page,
    demo: gr.Blocks,
    panel: gr.HTML,
    job: gr.BrowserState,
    have: gr.Number,
    timer: gr.Timer,
) -> None:
    shown = [panel, timer]
    count = "(job, have) => [job, tinglu.have('file-transcript', job)]"
    timer.tick(guarded(page, handlers.poll), [job, have], shown, js=count, **quiet())
    demo.load(guarded(page, handlers.reattach), job, shown, **quiet())
    panel.job_act(guarded_event(page, handlers.act), None, [job, *shown], **queued())


def _wire_others(page: Page, demo: gr.Blocks, others: gr.HTML, followed: list[Any]) -> None:
    look = guarded(page, handlers.others)
    demo.load(look, followed[0], others, **quiet())
    gr.Timer(OTHERS_S).tick(look, followed[0], others, **quiet())
    followed[0].change(look, followed[0], others, **quiet())
    others.attach(guarded_event(page, handlers.attach), None, followed, **queued())
