"""Handlers of the file tab."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import gradio as gr

from asr_core.errors import JobNotFoundError, RecordNotFoundError
from ui.guard import Page, refusal
from ui.handlers.common import job_view, options_from, recorded_name

EMPTY = {"state": "empty"}

SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample" / "例会片段.flac"
"""Half a minute of a synthetic meeting, to try the page with."""


def start(
    page: Page,
    locale: str,
    upload: str | None,
    recorded: str | None,
    *choices: Any,
) -> tuple[str, Any, gr.Timer]:
    """Queue the chosen recording with the choices that :func:`options_from` takes.

    Returns:
        Job id, transcript view and the running timer.
    """
    source = upload or recorded
    if source is None:
        raise refusal("page.no_file", locale)
    path = Path(source)
    name = path.name if upload else recorded_name(source, time.localtime(), locale)
    job = page.engine.submit(path, options_from(*choices), name=name)
    return job.id, job_view(page, locale, page.engine.live(job.id), 0), gr.Timer(active=True)


def poll(page: Page, locale: str, job_id: str, have: int) -> tuple[Any, gr.Timer]:
    """What is new since the browser showed ``have`` sentences; stops the timer at the end."""
    if not job_id:
        return gr.skip(), gr.Timer(active=False)
    try:
        live = page.engine.live(job_id)
        shown = job_view(page, locale, live, int(have))
    except (JobNotFoundError, RecordNotFoundError):
        return EMPTY, gr.Timer(active=False)
    return shown, gr.Timer(active=not live.job.state.is_final)


def reattach(page: Page, locale: str, job_id: str) -> tuple[Any, gr.Timer]:
    """After a reload: the job that this browser started last, running or finished."""
    return poll(page, locale, job_id, 0) if job_id else (EMPTY, gr.Timer(active=False))


def cancel(page: Page, locale: str, job_id: str) -> Any:
    """Ask the job to stop; the timer goes on until it has, and shows what was kept."""
    job = page.engine.cancel(job_id)
    if not job.state.is_final:
        return gr.skip()
    return job_view(page, locale, page.engine.live(job_id), 0)


def take_sample(_page: Page, _locale: str) -> tuple[str, None]:
    """Put the sample recording into the upload field and empty the microphone's."""
    return str(SAMPLE), None
