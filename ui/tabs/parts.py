"""Parts that several tabs are built from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from asr_core.engine import EXPORT_CHOICES, POLISHES
from ui import view
from ui.guard import Page, guarded_call, guarded_event
from ui.handlers import common, edit, models
from ui.i18n import label
from ui.view import View, to_json

_OUTLINES = 4  # at once; a visitor whose recording has its peaks passes one that is decoded
_TRACKS = 9  # audio tracks offered for a video

POLL_S = 1.0
"""How often a running job is asked for news."""

EACH = "multiple"
"""Trigger mode of events that carry data of their own. With ``always_last`` Gradio sends those of
the event that was on its way once more, instead of those of the one that waited for it."""


def quiet(**more: Any) -> dict[str, Any]:
    """Arguments of an event that runs beside the queue and shows no spinner."""
    return {"queue": False, "show_progress": "hidden", "api_visibility": "private", **more}


def queued(**more: Any) -> dict[str, Any]:
    """Arguments of an event that may take a moment."""
    return {"show_progress": "hidden", "api_visibility": "private", **more}


def build_component(
    kind: str,
    elem_id: str,
    *,
    events: str = "",
    value: View | None = None,
    calls: Sequence[Callable[..., Any]] = (),
    **props: Any,
) -> gr.HTML:
    """One of our own browser components (``assets/js``), which draws its value itself.

    The template holds no value on purpose: Gradio evaluates filled-in templates as code.

    Args:
        kind: name under which the script defines it.
        elem_id: its id, for other components and for tests.
        events: quoted names of the events that it sends, which Gradio looks up here.
        value: what it shows at first.
        calls: functions that its script awaits by their names.
        props: whatever its script reads from ``props``.
    """
    server = "server" if calls else "null"
    call = f"tinglu.mount('{kind}', '{elem_id}', element, trigger, props, watch, {server});"
    return gr.HTML(
        to_json(value) if value else None,
        html_template='<div class="tl-root"></div>',
        js_on_load=f"{call} /* {events} */",
        apply_default_css=False,
        elem_id=elem_id,
        elem_classes=["tl-component", f"tl-{kind}"],
        server_functions=list(calls) or None,
        **props,
    )


@dataclass(frozen=True, slots=True)
class MoreOptions:
    """Choices that few recordings need."""

    punctuation: gr.Checkbox
    itn: gr.Checkbox
    vad: gr.Radio
    channels: gr.Radio
    track: gr.Dropdown
    written: tuple[Any, ...]

    @property
    def inputs(self) -> list[Any]:
        """In the order of :func:`ui.handlers.common.options_from`."""
        return [self.punctuation, self.itn, self.vad, self.channels, self.track, *self.written]


def build_more_options(page: Page, name: str, model: gr.Dropdown) -> MoreOptions:
    """A closed box with the choices; their ids begin with ``name``. The model stands above it."""
    with gr.Accordion(label("more"), open=False, elem_id=f"{name}-more", elem_classes=["tl-fold"]):
        punctuation = build_switch("punctuation", name)
        marks = build_choice("marks", name, models.marks_choices(page))
        itn = build_switch("itn", name)
        dates = build_choice("dates", name, ["words", "dash"], bare=True)
        clock = build_choice("clock", name, ["words", "digits"], bare=True)
        percent = build_choice("percent", name, ["sign", "words"], bare=True)
        polish = gr.CheckboxGroup(
            [(label(f"polish_{choice}"), choice) for choice in POLISHES],
            label=label("polish"),
            elem_id=f"{name}-polish",
            elem_classes=["tl-chips"],
        )
        channels = build_choice("channels", name, ["mix", "split"])
        vad = build_choice("vad", name, models.vad_choices(page))
        track = gr.Dropdown(
            [(label("track_default"), 0), *range(1, _TRACKS + 1)],
            value=0,
            filterable=False,
            label=label("track"),
            info=label("track_info"),
            elem_id=f"{name}-track",
        )
    return MoreOptions(
        punctuation, itn, vad, channels, track, (marks, dates, clock, percent, polish, model)
    )


def build_hotwords(name: str) -> gr.Textbox:
    """The list of hotwords; its id is ``name-hotwords``."""
    return gr.Textbox(
        label=label("hotwords"),
        info=label("hotwords_info"),
        placeholder=label("hotwords_example"),
        lines=3,
        max_lines=8,
        elem_id=f"{name}-hotwords",
    )


def build_switch(key: str, name: str, *, on: bool = True) -> gr.Checkbox:
    """A choice between on and off; its id is ``name-key``."""
    return gr.Checkbox(on, label=label(key), elem_id=f"{name}-{key}", elem_classes=["tl-switch"])


def build_choice(
    key: str, name: str, values: list[str], *, bare: bool = False, visible: bool = True
) -> gr.Radio:
    """One of a few side by side; the first one at first. Its id is ``name-key``.

    A ``bare`` one shows neither its name nor an explanation.
    """
    return gr.Radio(
        [(label(f"{key}_{value}"), value) for value in values],
        value=values[0],
        label=label(key),
        info=None if bare else label(f"{key}_info"),
        show_label=not bare,
        visible=visible,
        elem_id=f"{name}-{key}",
        elem_classes=["tl-choice"],
    )


def build_transcript_panel(page: Page, name: str, *, empty: str, follows: bool = False) -> gr.HTML:
    """Transcript with player, editor and export.

    Args:
        page: the page it belongs to.
        name: its ids begin with it.
        empty: key of what it says while it shows nothing, without ``js.``.
        follows: it follows a job, which can be paused, cancelled and tried again there.
    """
    transcript = build_component(
        "transcript",
        f"{name}-transcript",
        events="'job_act' 'export_as' 'clip' 'playback' 'outline'",
        calls=[guarded_call(page, edit.edit)],
        formats=list(view.FORMATS),
        heeds={name: list(fields) for name, fields in EXPORT_CHOICES.items()},
        actions=follows,
        empty=empty,
    )
    carrier = build_component("carrier", f"{name}-carrier", target=f"{name}-transcript")
    # A carrier of its own: of two values that arrive at once, a component shows the later one.
    waves = build_component("carrier", f"{name}-waves", target=f"{name}-transcript")
    transcript.export_as(guarded_event(page, common.export_as), None, carrier, **queued())
    transcript.clip(guarded_event(page, common.clip), None, carrier, **queued())
    # A visitor may open the next recording while an earlier one is still being decoded.
    many = queued(trigger_mode=EACH)
    transcript.playback(guarded_event(page, common.playback), None, carrier, **many)
    outline = guarded_event(page, common.outline)
    transcript.outline(outline, None, waves, **many, concurrency_limit=_OUTLINES)
    return transcript
