"""Handlers of the tab that compares a text with a reference."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from asr_core.engine import HistoryEntry
from ui.compare_view import compare_view
from ui.guard import Page, refusal
from ui.view import View

STORED, PASTED = "stored", "pasted"

CHOICES = 100
"""Recordings that can be chosen from; the search finds the others."""

MOST_CHARS = 300_000
"""Longest text that is compared: more than ten hours of speech hold."""

_MOST_FILE_BYTES = 4 * MOST_CHARS
_ENCODINGS = ("utf-8-sig", "gb18030")


def recordings(page: Page, _locale: str, query: str | None, chosen: str | None) -> dict[str, Any]:
    """Recordings with a text whose name or text contains the query, newest first.

    What is chosen already stays among them. The choice itself is left alone: by the time of the
    answer it may be another one.
    """
    found = page.engine.history((query or "").strip(), limit=CHOICES).entries
    choices = [(_title(entry), entry.id) for entry in found if entry.preview]
    known = {value for _, value in choices}
    if chosen and chosen not in known:
        choices += [(_title(page.engine.record(chosen).entry), chosen)]
    return gr.update(choices=choices)


def choose_origin(_page: Page, _locale: str, origin: str) -> tuple[gr.Column, gr.Textbox]:
    """Show the fields of one origin."""
    return gr.Column(visible=origin == STORED), gr.Textbox(visible=origin == PASTED)


def load_reference(_page: Page, locale: str, path: str | None) -> str:
    """The text of a file, in UTF-8 or a Chinese encoding."""
    if not path:
        raise refusal("evaluate.file_unreadable", locale)
    content = Path(path).read_bytes()
    if len(content) > _MOST_FILE_BYTES:
        raise refusal("evaluate.too_long", locale)
    for encoding in _ENCODINGS:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise refusal("evaluate.file_unreadable", locale)


def compare(
    page: Page,
    locale: str,
    origin: str,
    recording: str | None,
    pasted: str | None,
    reference: str | None,
    names: Sequence[str],
) -> View:
    """Compare the chosen or pasted text with the reference."""
    if not (reference or "").strip():
        raise refusal("evaluate.no_reference", locale)
    if origin == STORED and not recording:
        raise refusal("evaluate.no_recording", locale)
    if origin == PASTED and not (pasted or "").strip():
        raise refusal("evaluate.no_text", locale)
    if max(len(reference or ""), len(pasted or "")) > MOST_CHARS:
        raise refusal("evaluate.too_long", locale)
    comparison = page.engine.compare(
        reference or "",
        recording_id=recording or "" if origin == STORED else "",
        hypothesis=pasted or "" if origin == PASTED else "",
        normalizations=tuple(names),
    )
    return compare_view(page.engine, comparison)


def _title(entry: HistoryEntry) -> str:
    """Name and day, since names repeat."""
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.created_ms / 1000))
    return f"{entry.name} · {day}"
