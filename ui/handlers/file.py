"""Handlers of the file tab."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from asr_core.engine import Batch, JobState
from asr_core.errors import BatchError, JobNotFoundError, RecordNotFoundError
from ui import view
from ui.guard import Page, refusal
from ui.handlers.common import JOB_ACTIONS, job_view, options_from, recorded_name
from ui.view import View

EMPTY = {"state": "empty"}

OTHERS = 8
"""Other jobs that are listed by name."""

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


def attach(page: Page, locale: str, event: Mapping[str, Any]) -> tuple[str, Any, gr.Timer]:
    """Follow another job of the server."""
    job_id = str(event["job"])
    return job_id, *poll(page, locale, job_id, 0)


def act(page: Page, locale: str, event: Mapping[str, Any]) -> tuple[Any, Any, gr.Timer]:
    """Pause, resume, cancel, retry a job or put it first.

    What runs stops after its group of segments; the timer goes on until it has, and shows what
    was kept.

    Returns:
        Id of the job to follow from now on, its view and the timer.
    """
    job = JOB_ACTIONS[str(event["action"])](page.engine, str(event["job"]))
    if job.state is JobState.RUNNING:
        return job.id, gr.skip(), gr.Timer(active=True)
    return job.id, *poll(page, locale, job.id, 0)


def others(page: Page, _locale: str, job_id: str) -> View:
    """Running and waiting jobs of the server but the one that is shown; a batch is one of them."""
    jobs = [job for job in page.engine.active_jobs() if job.id != job_id and job.queue == "files"]
    single = [job for job in jobs if not job.batch_id]
    # Asked for one by one: the sums of earlier batches, which have ended, would cost the most.
    batches = [_batch(page, batch_id) for batch_id in dict.fromkeys(job.batch_id for job in jobs)]
    rows = [view.batch_row(batch) for batch in batches if batch]
    total = len(rows) + len(single)
    rows += [view.job_row(page.engine.live(job.id)) for job in single[: max(0, OTHERS - len(rows))]]
    return {"rows": rows[:OTHERS], "total": total}


def _batch(page: Page, batch_id: str) -> Batch | None:
    with contextlib.suppress(BatchError):
        return page.engine.batch(batch_id) if batch_id else None
    return None


def take_sample(_page: Page, _locale: str) -> tuple[str, None]:
    """Put the sample recording into the upload field and empty the microphone's."""
    return str(SAMPLE), None
