"""The tab that compares a recognized text with what was said."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from asr_core.engine import DEFAULT_NORMALIZATIONS, NORMALIZATIONS
from ui.guard import Page, guarded
from ui.handlers import evaluate as handlers
from ui.i18n import label
from ui.tabs.parts import build_choice, build_component, queued, quiet

_WAIT = "(...values) => { tinglu.find('evaluate-result')?.wait(true); return values; }"
_DONE = "() => tinglu.find('evaluate-result')?.wait(false)"


@dataclass(frozen=True, slots=True)
class _Form:
    origin: gr.Radio
    stored: gr.Column
    query: gr.Textbox
    recording: gr.Dropdown
    pasted: gr.Textbox
    reference: gr.Textbox
    load: gr.UploadButton
    names: gr.CheckboxGroup
    start: gr.Button


def build_evaluate_tab(page: Page, tab: gr.Tab) -> None:
    """Lay out and wire the tab."""
    with gr.Row(elem_classes=["tl-split", "tl-split-wide"]):
        with gr.Column(elem_classes=["tl-side"], min_width=280):
            form = _build_form()
        with gr.Column(elem_classes=["tl-main"], min_width=280):
            result = build_component("compare", "evaluate-result")
    look = guarded(page, handlers.recordings)
    gr.on(
        [form.query.change, tab.select],
        look,
        [form.query, form.recording],
        form.recording,
        trigger_mode="always_last",
        **quiet(),
    )
    form.origin.change(
        guarded(page, handlers.choose_origin), form.origin, [form.stored, form.pasted], **quiet()
    )
    form.load.upload(guarded(page, handlers.load_reference), form.load, form.reference, **queued())
    inputs = [form.origin, form.recording, form.pasted, form.reference, form.names]
    compare = guarded(page, handlers.compare)
    compared = form.start.click(compare, inputs, result, js=_WAIT, **queued())
    compared.then(None, None, None, js=_DONE, api_visibility="private")


def _build_form() -> _Form:
    with gr.Column(elem_classes=["tl-card", "tl-form"], min_width=0):
        origin = build_choice(
            "evaluate_origin", "evaluate", [handlers.STORED, handlers.PASTED], bare=True
        )
        with gr.Column(elem_classes=["tl-part"], min_width=0) as stored:
            query = gr.Textbox(
                placeholder=label("search"),
                show_label=False,
                container=False,
                elem_id="evaluate-query",
                html_attributes=gr.InputHTMLAttributes(autocomplete="off", spellcheck=False),
            )
            recording = gr.Dropdown(
                [], value=None, label=label("evaluate_recording"), elem_id="evaluate-recording"
            )
        pasted = gr.Textbox(
            label=label("evaluate_pasted"),
            lines=5,
            max_lines=12,
            visible=False,
            elem_id="evaluate-pasted",
        )
        reference = gr.Textbox(
            label=label("evaluate_reference"),
            info=label("evaluate_reference_info"),
            lines=8,
            max_lines=16,
            elem_id="evaluate-reference",
        )
        load = gr.UploadButton(
            label("evaluate_load"), file_types=[".txt"], size="sm", elem_id="evaluate-load"
        )
        names = gr.CheckboxGroup(
            [(label(f"normalize_{name}"), name) for name in NORMALIZATIONS],
            value=list(DEFAULT_NORMALIZATIONS),
            label=label("evaluate_normalize"),
            info=label("evaluate_normalize_info"),
            elem_id="evaluate-normalize",
            elem_classes=["tl-chips"],
        )
        start = gr.Button(label("evaluate_start"), variant="primary", elem_id="evaluate-start")
    return _Form(origin, stored, query, recording, pasted, reference, load, names, start)
