"""Handlers of the batch tab."""

from __future__ import annotations

import contextlib
import time
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from asr_core.engine import Job, JobState
from asr_core.errors import JobStateError
from ui import view
from ui.guard import Page, refusal
from ui.handlers.common import options_from
from ui.view import View

WITH_TEXT = (JobState.DONE, JobState.PARTIAL)


def start(
    page: Page, locale: str, paths: Sequence[str] | None, *choices: Any
) -> tuple[str, View, gr.Timer, None]:
    """Queue all files as one batch and empty the upload field.

    ``choices`` are what :func:`options_from` takes after the hotwords.
    """
    if not paths:
        raise refusal("page.no_file", locale)
    batch_id = uuid.uuid4().hex
    options = options_from("", *choices)
    for path in map(Path, paths):
        page.engine.submit(path, options, name=path.name, origin="batch", batch_id=batch_id)
    return batch_id, batch_view(page, locale, batch_id, ()), gr.Timer(active=True), None


def poll(
    page: Page, locale: str, batch_id: str, known: Sequence[str] | None
) -> tuple[View, gr.Timer]:
    """The rows that may have changed: all but those the browser knows as finished."""
    if not batch_id:
        return {"batch": "", "order": [], "rows": []}, gr.Timer(active=False)
    shown = batch_view(page, locale, batch_id, known or ())
    return shown, gr.Timer(active=shown["left"] > 0)


def cancel(page: Page, locale: str, batch_id: str) -> View:
    """Stop every job of the batch that is not finished."""
    for job in page.engine.jobs(batch_id):
        with contextlib.suppress(JobStateError):  # it has ended by itself
            page.engine.cancel(job.id)
    return batch_view(page, locale, batch_id, ())


def archive(page: Page, locale: str, event: Mapping[str, Any], batch_id: str) -> View:
    """All texts of the batch in one zip file."""
    format_name = str(event["format"])
    done = [job for job in page.engine.jobs(batch_id) if job.state in WITH_TEXT]
    if not done:
        raise refusal("page.no_text", locale)
    paths = [page.engine.export(job.recording_id, format_name) for job in done]
    target = page.settings.tmp / "exports" / uuid.uuid4().hex / f"tinglu-{format_name}.zip"
    return view.file_view("download", pack(paths, target), "", time.time_ns())


def pack(paths: Sequence[Path], target: Path) -> Path:
    """Write files into a new archive; a name that is taken gets a number."""
    target.parent.mkdir(parents=True)
    taken: set[str] = set()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in paths:
            name, number = path.name, 1
            while name in taken:
                number += 1
                name = f"{path.stem} ({number}){path.suffix}"
            taken.add(name)
            bundle.write(path, name)
    return target


def batch_view(page: Page, locale: str, batch_id: str, known: Sequence[str]) -> View:
    """Rows of a batch without those in ``known``; ``left`` counts the unfinished ones sent."""
    jobs = page.engine.jobs(batch_id)
    rows = [_row(page, locale, job) for job in jobs if job.id not in known]
    return {
        "batch": batch_id,
        "order": [job.id for job in jobs],
        "rows": rows,
        "left": sum(not row["final"] for row in rows),
    }


def _row(page: Page, locale: str, job: Job) -> View:
    live = page.engine.live(job.id)
    row = view.live_view(live, len(live.sentences), locale)
    has_text = live.job.state in WITH_TEXT
    row["preview"] = page.engine.record(job.recording_id).entry.preview if has_text else ""
    return row
