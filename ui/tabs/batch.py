"""The tab that transcribes many recordings at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from ui import view
from ui.guard import Page, guarded, guarded_event
from ui.handlers import batch as handlers
from ui.i18n import label
from ui.tabs.models import ModelPickers
from ui.tabs.parts import (
    EACH,
    POLL_S,
    build_choice,
    build_component,
    build_switch,
    queued,
    quiet,
)

FORM = "batch-form"
_FOLDER_ONLY = "tl-folder-only"
_UPLOAD_ONLY = "tl-upload-only"


@dataclass(frozen=True, slots=True)
class _Form:
    origin: gr.Radio
    folders: gr.HTML | None
    folder: gr.Textbox
    files: gr.File
    inputs: list[Any]
    start: gr.Button


def build_batch_tab(
    page: Page, demo: gr.Blocks, tab: gr.Tab, pickers: ModelPickers
) -> tuple[gr.HTML, gr.Timer]:
    """Lay out and wire the tab.

    Returns:
        The table, whose ``open_row`` is not wired yet, and the timer that keeps it up to date.
    """
    with gr.Row(elem_classes=["tl-split"]):
        with gr.Column(elem_classes=["tl-side"], min_width=280):
            form = _build_form(page, pickers)
        with gr.Column(elem_classes=["tl-main"], min_width=280):
            rows = build_component(
                "batch",
                "batch-rows",
                events="'batch_act' 'row_act' 'open_row' 'archive' 'export_row' 'show_batch'",
            )
            carrier = build_component("carrier", "batch-carrier", target="batch-rows")
    timer = gr.Timer(POLL_S, active=False)
    _wire_form(page, demo, form, [rows, timer, form.files])
    _wire_rows(page, demo, tab, rows, timer)
    many = queued(trigger_mode=EACH)
    rows.archive(guarded_event(page, handlers.archive), None, carrier, **queued())
    rows.export_row(guarded_event(page, handlers.export_row), None, carrier, **many)
    return rows, timer


def _build_form(page: Page, pickers: ModelPickers) -> _Form:
    """Without configured folders only files can be sent, and nothing speaks of folders."""
    has_roots = bool(page.engine.batch_roots())
    origins = [handlers.FOLDER, handlers.UPLOAD] if has_roots else [handlers.UPLOAD]
    with gr.Column(elem_classes=["tl-card", "tl-form"], min_width=0, elem_id=FORM):
        origin = build_choice("origin", "batch", origins, bare=True, visible=has_roots)
        folders = None
        if has_roots:
            folders = build_component("folders", "batch-folders", events="'browse'")
        files = _build_upload(has_roots)
        formats = gr.CheckboxGroup(
            [(name.upper(), name) for name in view.FORMATS],
            value=["txt"],
            label=label("formats"),
            elem_id="batch-formats",
            elem_classes=["tl-chips"],
        )
        existing = gr.Dropdown(
            [(label(f"existing_{choice}"), choice) for choice in ("skip", "overwrite", "rename")],
            value="skip",
            filterable=False,
            label=label("existing"),
            elem_id="batch-existing",
        )
        folder_fields = _build_folder_options(has_roots)
        model, hotwords = pickers.build("batch")
        more = pickers.build_more("batch", model)
        start = gr.Button(label("start_batch"), variant="primary", elem_id="batch-start")
    folder = gr.Textbox("", visible=False)
    chosen = [origin, folder, files, formats, existing, *folder_fields]
    inputs = [*chosen, hotwords, *more.inputs]
    return _Form(origin, folders, folder, files, inputs, start)


def _build_upload(has_roots: bool) -> gr.File:
    with gr.Column(elem_classes=["tl-part", _UPLOAD_ONLY if has_roots else ""], min_width=0):
        files = gr.File(
            label=label("uploads"),
            show_label=False,
            file_count="multiple",
            height=180,
            elem_id="batch-upload",
        )
        gr.Markdown(label("batch_hint"), elem_classes=["tl-hint"])
    return files


def _build_folder_options(has_roots: bool) -> list[Any]:
    """Output folder, depth, patterns and watching, as :class:`BatchForm` orders them."""
    with gr.Accordion(
        label("folder_options"),
        open=False,
        visible=has_roots,
        elem_id="batch-folder-options",
        elem_classes=["tl-fold", _FOLDER_ONLY],
    ):
        output = gr.Textbox(
            label=label("output"),
            info=label("output_info"),
            placeholder="transcripts",
            max_lines=1,
            elem_id="batch-output",
        )
        recursive = build_switch("recursive", "batch")
        patterns = gr.Textbox(
            label=label("patterns"),
            info=label("patterns_info"),
            placeholder="*.wav 2024*/*.m4a",
            max_lines=1,
            elem_id="batch-patterns",
        )
        watch = build_switch("watch", "batch", on=False)
        gr.Markdown(label("watch_hint"), elem_classes=["tl-hint"])
    return [output, recursive, patterns, watch]


def _wire_form(page: Page, demo: gr.Blocks, form: _Form, outputs: list[Any]) -> None:
    # What is transcribed is the folder that is seen.
    seen = "(origin, _, ...rest) => [origin, tinglu.folder('batch-folders'), ...rest]"
    inputs = form.inputs
    form.start.click(guarded(page, handlers.start), inputs, outputs, js=seen, **queued())
    if form.folders is None:
        return
    turn = f"(origin) => {{ tinglu.origin('{FORM}', origin); }}"
    form.origin.change(None, form.origin, None, js=turn, api_visibility="private")
    browse = guarded_event(page, handlers.browse)
    form.folders.browse(browse, None, form.folders, **queued(trigger_mode=EACH))
    demo.load(guarded(page, handlers.first_folder), None, form.folders, **quiet())


def _wire_rows(page: Page, demo: gr.Blocks, tab: gr.Tab, rows: gr.HTML, timer: gr.Timer) -> None:
    known = gr.JSON({}, visible=False)
    shown = [rows, timer]
    poll = guarded(page, handlers.poll)
    count = "() => [tinglu.known('batch-rows')]"
    timer.tick(poll, known, shown, js=count, **quiet())
    # No browser remembers a batch: whoever comes sees the newest that runs.
    demo.load(poll, known, shown, **quiet())
    tab.select(poll, known, shown, js=count, **quiet())
    rows.show_batch(guarded_event(page, handlers.show), None, shown, **quiet())
    rows.batch_act(guarded_event(page, handlers.act), None, shown, **queued())
    many = queued(trigger_mode=EACH)
    rows.row_act(guarded_event(page, handlers.act_on_row), None, shown, **many)
