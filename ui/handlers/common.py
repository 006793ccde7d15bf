"""Handlers that several tabs share. All take ``(page, locale, ...)`` and return plain values."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from asr_core.engine import LiveView, TranscribeOptions
from ui import view
from ui.guard import Page
from ui.view import View

MAX_HOTWORDS = 500


def options_from(hotwords: str, punctuation: bool, itn: bool, vad: str) -> TranscribeOptions:
    """The form's choices; ``vad`` is ``auto`` for the installation's setting."""
    words = tuple(dict.fromkeys(word.strip() for word in hotwords.splitlines() if word.strip()))
    return TranscribeOptions(
        vad=None if vad == "auto" else vad,
        itn=itn,
        punctuation=punctuation,
        hotwords=words[:MAX_HOTWORDS],
    )


def job_view(page: Page, locale: str, live: LiveView, have: int) -> View:
    """A running job's news, or the whole stored result once it is finished."""
    if not live.job.state.is_final:
        return view.live_view(live, have, locale)
    return view.record_view(page.engine.record(live.job.recording_id), locale)


def export_as(page: Page, _locale: str, event: Mapping[str, Any]) -> View:
    """Write one transcript and hand the file to the browser."""
    recording_id = str(event["recording"])
    path = page.engine.export(recording_id, str(event["format"]))
    return view.file_view("download", path, recording_id, time.time_ns())


def playback(page: Page, _locale: str, event: Mapping[str, Any]) -> Any:
    """The recording in a form that browsers play; nothing when it is gone."""
    recording_id = str(event["recording"])
    path = page.engine.playback(recording_id)
    if path is None:
        return gr.skip()
    return view.file_view("audio", path, recording_id, time.time_ns())


def recorded_name(path: str, now: time.struct_time, locale: str) -> str:
    """A name for a microphone recording: the visitor knows it by its time."""
    stem = "录音" if locale.startswith("zh") else "Recording"
    return f"{stem} {time.strftime('%Y-%m-%d %H.%M.%S', now)}{Path(path).suffix}"
