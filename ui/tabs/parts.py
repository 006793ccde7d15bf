"""Parts that several tabs are built from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from ui import view
from ui.guard import Page, guarded_event
from ui.handlers import common

POLL_S = 1.0
"""How often a running job is asked for news."""


def quiet(**more: Any) -> dict[str, Any]:
    """Arguments of an event that runs beside the queue and shows no spinner."""
    return {"queue": False, "show_progress": "hidden", "api_visibility": "private", **more}


def queued(**more: Any) -> dict[str, Any]:
    """Arguments of an event that may take a moment."""
    return {"show_progress": "hidden", "api_visibility": "private", **more}


class BrowserComponent(gr.HTML):
    """One of our own components (``assets/js``), which draws its value itself.

    The value travels as JSON text: Gradio's page would wrap every list of a long transcript in
    an observer of its own, which takes a minute for ten hours of speech. The template holds no
    value on purpose: Gradio evaluates filled-in templates as code.
    """

    def __init__(self, kind: str, elem_id: str, *, events: str = "", **options: Any) -> None:
        """Build the component.

        Args:
            kind: name under which the script defines it.
            elem_id: its id, for other components and for tests.
            events: quoted names of the events that it sends, which Gradio looks up here.
            options: a first ``value``, and whatever the script reads from ``props``.
        """
        call = f"tinglu.mount('{kind}', '{elem_id}', element, trigger, props, watch);"
        super().__init__(
            options.pop("value", None),
            html_template='<div class="tl-root"></div>',
            js_on_load=f"{call} /* {events} */",
            apply_default_css=False,
            elem_id=elem_id,
            elem_classes=["tl-component", f"tl-{kind}"],
            **options,
        )

    def postprocess(self, value: Any) -> str | None:
        """JSON text without ``<``, so that no text in it looks like markup to Gradio."""
        if value is None:
            return None
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c")


@dataclass(frozen=True, slots=True)
class TranscriptPanel:
    """The transcript component and the carrier that brings it files."""

    transcript: BrowserComponent
    carrier: BrowserComponent

    def on_cancel(self, handler: Callable[..., Any], **wiring: Any) -> None:
        self.transcript.cancel_job(handler, **wiring)


def build_transcript_panel(page: Page, name: str) -> TranscriptPanel:
    """Transcript with player and export; its ids begin with ``name``."""
    transcript = BrowserComponent(
        "transcript",
        f"{name}-transcript",
        events="'cancel_job' 'export_as' 'playback'",
        formats=list(view.FORMATS),
    )
    carrier = BrowserComponent("carrier", f"{name}-carrier", target=f"{name}-transcript")
    transcript.export_as(guarded_event(page, common.export_as), None, carrier, **queued())
    transcript.playback(guarded_event(page, common.playback), None, carrier, **queued())
    return TranscriptPanel(transcript, carrier)
