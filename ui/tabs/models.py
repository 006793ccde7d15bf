"""Choosing a model: the list of a form, and the section of the system tab."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from ui.guard import Page, guarded, guarded_admin, guarded_with_rights
from ui.handlers import models as handlers
from ui.i18n import label
from ui.tabs.parts import (
    MoreOptions,
    build_component,
    build_hotwords,
    build_more_options,
    queued,
    quiet,
)


class ModelPickers:
    """The choices of a model on all forms, each with the hotwords beside it."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._models: list[gr.Dropdown] = []
        self._parts: list[Any] = []
        self._extras: list[gr.Radio] = []

    def build(self, name: str) -> tuple[gr.Dropdown, gr.Textbox]:
        """A choice and a list of hotwords; their ids are ``name-model`` and ``name-hotwords``.

        The choice is not shown where there is only one model.
        """
        offered = handlers.choices(self._page, self._page.settings.locale)
        model = gr.Dropdown(
            offered,
            value=handlers.DEFAULT,
            filterable=False,
            visible=len(offered) > 1,
            label=label("model"),
            elem_id=f"{name}-model",
        )
        hotwords = build_hotwords(name)
        model.change(guarded(self._page, handlers.hint), model, hotwords, **quiet())
        self._models.append(model)
        self._parts += [model, hotwords]
        return model, hotwords

    def build_more(self, name: str, model: gr.Dropdown) -> MoreOptions:
        """The other choices of a form; some of them need a model."""
        more = build_more_options(self._page, name, model)
        self._extras += [more.vad, more.written[0]]
        return more

    def refresh(self, event: Any) -> None:
        """Bring all forms up to date whenever something happens."""
        event(guarded(self._page, handlers.offer), self._models, self._parts, **quiet())
        event(guarded(self._page, handlers.extras), self._extras, self._extras, **quiet())


def build_model_section(
    page: Page, pickers: ModelPickers, events: list[Any], after: Callable[[Any], object]
) -> None:
    """The list of models, drawn anew at each of the events; ``after`` wires what a change does."""
    models = build_component("models", "system-models", events="'use_model' 'bring' 'forget'")
    show = guarded_with_rights(page, handlers.listing)
    for event in events:
        event(show, None, models, **quiet())
    for send, handler in (
        (models.use_model, handlers.use),
        (models.bring, handlers.bring),
        (models.forget, handlers.forget),
    ):
        done = send(guarded_admin(page, handler), None, models, **queued())
        pickers.refresh(done.success)
        after(done.success)
