"""Parts that several tabs are built from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from ui import view
from ui.guard import Page, guarded_event
from ui.handlers import common
from ui.view import View, to_json

POLL_S = 1.0
"""How often a running job is asked for news."""


def quiet(**more: Any) -> dict[str, Any]:
    """Arguments of an event that runs beside the queue and shows no spinner."""
    return {"queue": False, "show_progress": "hidden", "api_visibility": "private", **more}


def queued(**more: Any) -> dict[str, Any]:
    """Arguments of an event that may take a moment."""
    return {"show_progress": "hidden", "api_visibility": "private", **more}


def build_component(
    kind: str, elem_id: str, *, events: str = "", value: View | None = None, **props: Any
) -> gr.HTML:
    """One of our own browser components (``assets/js``), which draws its value itself.

    The template holds no value on purpose: Gradio evaluates filled-in templates as code.

    Args:
        kind: name under which the script defines it.
        elem_id: its id, for other components and for tests.
        events: quoted names of the events that it sends, which Gradio looks up here.
        value: what it shows at first.
        props: whatever its script reads from ``props``.
    """
    call = f"tinglu.mount('{kind}', '{elem_id}', element, trigger, props, watch);"
    return gr.HTML(
        to_json(value) if value else None,
        html_template='<div class="tl-root"></div>',
        js_on_load=f"{call} /* {events} */",
        apply_default_css=False,
        elem_id=elem_id,
        elem_classes=["tl-component", f"tl-{kind}"],
        **props,
    )


@dataclass(frozen=True, slots=True)
class TranscriptPanel:
    """The transcript component and the carrier that brings it files."""

    transcript: gr.HTML
    carrier: gr.HTML

    def on_cancel(self, handler: Callable[..., Any], **wiring: Any) -> None:
        self.transcript.cancel_job(handler, **wiring)


def build_transcript_panel(page: Page, name: str, *, empty: str) -> TranscriptPanel:
    """Transcript with player and export.

    Args:
        page: the page it belongs to.
        name: its ids begin with it.
        empty: key of what it says while it shows nothing, without ``js.``.
    """
    transcript = build_component(
        "transcript",
        f"{name}-transcript",
        events="'cancel_job' 'export_as' 'playback'",
        formats=list(view.FORMATS),
        empty=empty,
    )
    carrier = build_component("carrier", f"{name}-carrier", target=f"{name}-transcript")
    transcript.export_as(guarded_event(page, common.export_as), None, carrier, **queued())
    transcript.playback(guarded_event(page, common.playback), None, carrier, **queued())
    return TranscriptPanel(transcript, carrier)
