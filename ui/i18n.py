"""Which language a visitor reads, and the tables that the page and its scripts use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from asr_core.messages import load_messages, message

ENGLISH = "en"
CHINESE = "zh-CN"
SCRIPT_PREFIX = "js."
LABEL_PREFIX = "ui."

_UPLOAD_TEXTS = {
    "upload_text.drop_file": "ui.drop_files",
    "upload_text.click_to_upload": "ui.click_to_choose",
}
"""Gradio's own keys and which of our labels replaces them."""


def label(key: str) -> Any:
    """A label that the browser translates; ``key`` without the ``ui.`` prefix."""
    return gr.I18n()(f"{LABEL_PREFIX}{key}")


def build_i18n() -> gr.I18n:
    """Tables of all labels for ``launch(i18n=)``, and our words for Gradio's upload area."""
    tables = {}
    for name in (CHINESE, ENGLISH):
        table = _part(name, LABEL_PREFIX)
        tables[name] = table | {own: table[ours] for own, ours in _UPLOAD_TEXTS.items()}
    return gr.I18n(**tables)


def script_messages() -> dict[str, dict[str, str]]:
    """Per locale, the texts that our own scripts show, keys without their prefix."""
    cut = len(SCRIPT_PREFIX)
    return {
        name: {key[cut:]: text for key, text in _part(name, SCRIPT_PREFIX).items()}
        for name in (CHINESE, ENGLISH)
    }


def locale_of(headers: Mapping[str, str], default: str) -> str:
    """The table for a visitor: Chinese of any region, else English; ``default`` if unstated."""
    first = headers.get("accept-language", "").split(",")[0].strip().lower()
    if not first or first.startswith("*"):
        return default
    return CHINESE if first.startswith("zh") else ENGLISH


def optional_message(key: str, locale: str, fallback: str, **values: object) -> str:
    """The sentence for a key that a newer engine may use before the table has it."""
    return message(key, locale, **values) if key in load_messages(locale) else fallback


def _part(locale: str, prefix: str) -> dict[str, str]:
    return {key: text for key, text in load_messages(locale).items() if key.startswith(prefix)}
