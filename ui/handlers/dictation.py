"""Handlers of the dictation tab."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from asr_core.engine import JobState
from asr_core.errors import JobNotFoundError, RecordNotFoundError
from asr_core.results import join_sentences
from ui import view
from ui.guard import Page
from ui.handlers.common import options_from, recorded_name
from ui.view import View


def recorded(
    page: Page, locale: str, path: str | None, hotwords: str = "", model: str | None = None
) -> tuple[Any, Any, gr.Timer, None]:
    """Queue what was just recorded and make the recorder ready for the next words.

    Returns job id, status view, the running timer and the recorder's empty value.
    """
    if path is None:
        return gr.skip(), gr.skip(), gr.skip(), None
    name = recorded_name(path, time.localtime(), locale)
    options = replace(options_from(hotwords), model=model or "")
    job = page.engine.submit(Path(path), options, name=name, origin="dictation")
    return job.id, _status(page, locale, job.id), gr.Timer(active=True), None


def poll(
    page: Page, locale: str, job_id: str, text: str, append: bool
) -> tuple[Any, Any, gr.Timer]:
    """Status while it runs; at the end the text joins the box. Returns status, text, timer."""
    if not job_id:
        return gr.skip(), gr.skip(), gr.Timer(active=False)
    try:
        status = _status(page, locale, job_id)
    except (JobNotFoundError, RecordNotFoundError):
        return {"state": "idle"}, gr.skip(), gr.Timer(active=False)
    if not status["final"]:
        return status, gr.skip(), gr.skip()
    heard = status["text"]
    joined = join_sentences([text, heard]) if append else heard or text
    return status, joined if heard else gr.skip(), gr.Timer(active=False)


def clear(_page: Page, _locale: str) -> tuple[str, View]:
    """Empty the text box."""
    return "", {"state": "idle"}


def _status(page: Page, locale: str, job_id: str) -> View:
    live = page.engine.live(job_id)
    shown: View = view.live_view(live, len(live.sentences), locale)
    shown["text"] = join_sentences(sentence.text for sentence in live.sentences)
    if live.job.state in (JobState.DONE, JobState.PARTIAL):
        transcript = page.engine.record(live.job.recording_id).transcript
        if transcript is not None:
            shown["text"] = transcript.text
            shown["warnings"] = view.warning_texts(transcript, locale)
    return shown
