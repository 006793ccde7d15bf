"""Handlers that several tabs share. All take ``(page, locale, ...)`` and return plain values."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from asr_core.engine import Engine, ExportOptions, Job, LiveView, TranscribeOptions
from asr_core.errors import AsrError
from ui import view
from ui.guard import Page
from ui.view import View

logger = logging.getLogger(__name__)

WRITTEN = ("dates", "clock", "percent", "polish", "model")
"""Choices of how a text is written, and by which model, in the order of the form."""

AUTO = "auto"
"""The choice of a form that leaves it to the program."""

OUTLINE_POINTS = 1500
"""Points of a drawn recording, whatever its length: more than a screen has columns to show."""


def to_front(engine: Engine, job_id: str) -> Job:
    """Let a waiting job run before all others."""
    highest = max((job.priority for job in engine.active_jobs()), default=0)
    return engine.prioritize(job_id, highest + 1)


JOB_ACTIONS: dict[str, Callable[[Engine, str], Job]] = {
    "pause": Engine.pause,
    "resume": Engine.resume,
    "cancel": Engine.cancel,
    "retry": Engine.retry,
    "first": to_front,
}
"""What can be asked of one job, by the name that the page's buttons send."""


def options_from(
    hotwords: str,
    punctuation: bool = True,
    itn: bool = True,
    vad: str = AUTO,
    channels: str = "mix",
    track: int = 0,
    *written: Any,
) -> TranscribeOptions:
    """The form's choices; ``auto`` and ``track`` 0 leave the choice to the program.

    Args:
        hotwords: one a line.
        punctuation: see :class:`TranscribeOptions`, as the others.
        written: whose punctuation, how dates, clock times and shares are written, what is
            polished, and which model recognizes.
    """
    marks, *chosen = written or (AUTO,)
    styles: dict[str, Any] = dict(zip(WRITTEN, chosen, strict=False))
    styles["polish"] = tuple(styles.get("polish") or ())
    styles["model"] = styles.get("model") or ""
    return TranscribeOptions(
        vad=None if vad == AUTO else vad,
        itn=itn,
        punctuation=punctuation,
        marks=None if marks == AUTO else marks,
        hotwords=hotword_lines(hotwords),
        channels=channels,
        track=track or None,
        **styles,
    )


def hotword_lines(text: str | None) -> tuple[str, ...]:
    """What the visitor typed, line by line, without empty lines and repetitions."""
    lines = (line.strip() for line in (text or "").splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))


def job_view(page: Page, locale: str, live: LiveView, have: int) -> View:
    """A running job's news, or the whole stored result once it is finished."""
    if not live.job.state.is_final:
        return view.live_view(live, have, locale)
    return view.record_view(page.engine.record(live.job.recording_id), locale)


def export_as(page: Page, locale: str, event: Mapping[str, Any]) -> View:
    """Write one transcript and hand the file to the browser.

    ``event["options"]``, where it is sent, holds fields of :class:`ExportOptions`.
    """
    recording_id = str(event["recording"])
    options = ExportOptions.from_fields(event.get("options") or {})
    path = page.engine.export(recording_id, str(event["format"]), options, locale=locale)
    return view.file_view("download", path, recording_id, time.time_ns())


def clip(page: Page, _locale: str, event: Mapping[str, Any]) -> View:
    """Cut a part out of a recording and hand the file to the browser.

    Of the event: ``recording``, ``start_ms``, ``end_ms`` and ``format`` (wav, mp3 or m4a).
    """
    recording_id = str(event["recording"])
    start_ms, end_ms = int(event["start_ms"]), int(event["end_ms"])
    path = page.engine.clip(recording_id, start_ms, end_ms, str(event["format"]))
    return view.file_view("download", path, recording_id, time.time_ns())


def playback(page: Page, _locale: str, event: Mapping[str, Any]) -> Any:
    """The recording in a form that browsers play; nothing when it is gone."""
    recording_id = str(event["recording"])
    path = page.engine.playback(recording_id)
    if path is None:
        return gr.skip()
    return view.file_view("audio", path, recording_id, time.time_ns())


def outline(page: Page, _locale: str, event: Mapping[str, Any]) -> Any:
    """What the player draws of a recording; nothing where that cannot be had.

    The player works without it, so a fault is no news for the visitor.
    """
    recording_id = str(event["recording"])
    end_ms = max(1, int(event["total_ms"]))
    try:
        points = page.engine.outline(recording_id, OUTLINE_POINTS, end_ms=end_ms)
    except AsrError as exc:
        logger.info("no outline recording=%s code=%s reason=%s", recording_id, exc.code, exc)
        return gr.skip()
    if points is None:
        return gr.skip()
    peaks = page.engine.peaks(recording_id)
    return view.outline_view(points, recording_id, time.time_ns(), peaks)


def recorded_name(path: str, now: time.struct_time, locale: str) -> str:
    """A name for a microphone recording: the visitor knows it by its time."""
    stem = "录音" if locale.startswith("zh") else "Recording"
    return f"{stem} {time.strftime('%Y-%m-%d %H.%M.%S', now)}{Path(path).suffix}"
