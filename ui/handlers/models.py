"""Handlers for models: which one a form uses, and what the installation has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from asr_core.engine import ModelStatus
from asr_core.errors import AsrError
from asr_core.messages import describe, message
from ui import view
from ui.guard import Page
from ui.handlers.system import readable_bytes
from ui.i18n import optional_message
from ui.view import View

DEFAULT = ""
"""The choice of a form that takes the installation's default."""


def choices(page: Page, locale: str) -> list[tuple[str, str]]:
    """Titles and names of the recognizers that a form offers, the default first."""
    offered = []
    for model in page.engine.recognizers():
        title = _title(model, locale)
        if model.active:
            offered.append((message("page.model_default", locale, name=title), DEFAULT))
        else:
            offered.append((title, model.name))
    return offered


def offer(page: Page, locale: str, *chosen: str | None) -> tuple[Any, ...]:
    """Bring the forms up to date: for each the choice of a model, and the hint of its hotwords.

    Args:
        chosen: the model in each form.
    """
    offered = choices(page, locale)
    names = {name for _, name in offered}
    kept = [name if name in names else DEFAULT for name in chosen]
    hints = {name: hint(page, locale, name) for name in set(kept)}
    updates: list[Any] = []
    for name in kept:
        updates.append(gr.Dropdown(choices=offered, value=name, visible=len(offered) > 1))
        updates.append(hints[name])
    return tuple(updates)


def hint(page: Page, locale: str, name: str | None) -> Any:
    """What becomes of the hotwords of a form with that model."""
    use = page.engine.hotword_use(name or DEFAULT)
    text = message(f"page.hotwords_{use}", locale)
    return gr.Textbox(info=text, interactive=use != "none")


def extras(page: Page, locale: str, *chosen: str) -> tuple[Any, ...]:
    """What else models make possible in the forms: for each its detectors and punctuations.

    Args:
        chosen: detector and punctuation in each form, in turn.
    """
    offered = (("vad", vad_choices(page)), ("marks", marks_choices(page)))
    updates = []
    for place, value in enumerate(chosen):
        key, names = offered[place % 2]
        shown = [(message(f"ui.{key}_{name}", locale), name) for name in names]
        updates.append(gr.Radio(choices=shown, value=value if value in names else names[0]))
    return tuple(updates)


def vad_choices(page: Page) -> list[str]:
    """``auto`` for the installation's setting, what else it has, and ``off``."""
    known = {"off", page.settings.vad}
    others = [vad for vad in page.engine.vad_choices() if vad not in known]
    return ["auto", *others, "off"]


def marks_choices(page: Page) -> list[str]:
    """``auto`` for the installation's setting, and whose punctuation it has."""
    return ["auto", *page.engine.punctuation_choices()]


def listing(page: Page, locale: str, may_change: bool) -> View:
    """Every model, and what may be done about it."""
    return {
        "models": [_row(model, locale) for model in page.engine.models()],
        "locked": page.engine.default_setting,
        "may_change": may_change,
        "said": "",
        "is_fault": False,
        "typed": "",
    }


def use(page: Page, locale: str, event: Mapping[str, Any]) -> View:
    """Make a recognizer the default."""
    model = page.engine.use_model(str(event["name"]))
    said = message("page.model_used", locale, name=_title(model, locale))
    return {**listing(page, locale, True), "said": said}


def bring(page: Page, locale: str, event: Mapping[str, Any]) -> View:
    """Check a folder that was typed in, and take it if it holds a model; says what it found."""
    typed = str(event["folder"]).strip().strip("\"'")
    try:
        model = page.engine.add_model_folder(Path(typed))
    except AsrError as exc:
        said = describe(exc, locale)
        return {**listing(page, locale, True), "said": said, "is_fault": True, "typed": typed}
    known = optional_message(f"page.family_{model.family}", locale, model.family)
    said = message("page.folder_taken", locale, kind=known, runtime=model.runtime, name=model.title)
    return {**listing(page, locale, True), "said": said}


def forget(page: Page, locale: str, event: Mapping[str, Any]) -> View:
    """Let go of a folder that was typed in."""
    page.engine.forget_model_folder(str(event["name"]))
    return listing(page, locale, True)


def _title(model: ModelStatus, locale: str) -> str:
    return model.title if model.brought else view.model_title(model.name, locale, model.title)


def _row(model: ModelStatus, locale: str) -> View:
    return {
        "name": model.name,
        "title": _title(model, locale),
        "family": optional_message(f"page.family_{model.family}", locale, model.family),
        "licence": model.licence,
        "size": "" if model.size_bytes is None else readable_bytes(model.size_bytes),
        "state": model.state,
        "active": model.active,
        "backend": model.backend,
        "path": str(model.path),
        "brought": model.brought,
        "setting": model.setting,
        "may_use": model.is_recognizer and model.is_usable and not model.active,
        "may_install": not model.brought and not model.setting and not model.is_usable,
    }
