"""The tab that shows the installation, and the header line above all tabs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gradio as gr

from ui.guard import Page, guarded
from ui.handlers import system as handlers
from ui.i18n import label
from ui.tabs.models import ModelPickers, build_model_section
from ui.tabs.parts import build_component, quiet

REFRESH_S = 3.0


def build_header(page: Page, demo: gr.Blocks) -> None:
    chip = build_component("header", "header")
    show = guarded(page, handlers.header)
    demo.load(show, None, chip, **quiet())
    gr.Timer(REFRESH_S).tick(show, None, chip, **quiet())


def build_system_tab(page: Page, tab: gr.Tab, pickers: ModelPickers) -> None:
    with gr.Column(elem_classes=["tl-page"]):
        models = gr.Column(min_width=0)
        cards = build_component("system", "system-cards")
        refresh = gr.Button(label("refresh"), size="sm", elem_id="system-refresh")
    show = guarded(page, handlers.overview)
    tab.select(show, None, cards, **quiet())
    refresh.click(show, None, cards, **quiet())
    with models:
        redraw = functools.partial(_draw, show, cards)
        build_model_section(page, pickers, [tab.select, refresh.click], redraw)


def _draw(show: Callable[..., Any], cards: gr.HTML, event: Callable[..., Any]) -> None:
    event(show, None, cards, **quiet())
