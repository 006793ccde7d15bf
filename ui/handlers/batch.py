"""Handlers of the batch tab."""

from __future__ import annotations

import time
import uuid
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import gradio as gr

from asr_core.engine import (
    Batch,
    BatchItem,
    BatchRequest,
    Engine,
    ItemState,
    TranscribeOptions,
    Upload,
)
from asr_core.errors import BatchError
from ui.batch_view import (
    NO_BATCH,
    batch_view,
    folder_view,
    has_ended,
    item_view,
    recent_view,
    roots_view,
)
from ui.guard import Page, refusal
from ui.handlers.common import JOB_ACTIONS, options_from
from ui.view import View, file_view

FOLDER, UPLOAD = "folder", "upload"

RECENT = 20
"""Batches that can be chosen from."""

_BATCH_ACTIONS: dict[str, Callable[[Engine, str], object]] = {
    "pause": Engine.pause_batch,
    "resume": Engine.resume_batch,
    "cancel": Engine.cancel_batch,
    "retry": Engine.retry_batch,
}


@dataclass(frozen=True, slots=True)
class BatchForm:
    """The form's values, in the order of its components; text that was never seen is ``None``."""

    origin: str
    folder: str
    files: Sequence[str] | None
    formats: Sequence[str]
    on_existing: str
    output: str | None
    recursive: bool
    patterns: str | None
    watch: bool

    def request(self, options: TranscribeOptions) -> BatchRequest:
        """What it asks the engine for; a relative output folder lies in the chosen one."""
        if self.origin == UPLOAD:
            uploads = tuple(Upload(Path(path), Path(path).name) for path in self.files or ())
            return BatchRequest(
                options, uploads=uploads, formats=tuple(self.formats), on_existing=self.on_existing
            )
        source, output = Path(self.folder), (self.output or "").strip()
        return BatchRequest(
            options,
            source=source,
            output=source / output if output else None,
            formats=tuple(self.formats),
            on_existing=self.on_existing,
            recursive=self.recursive,
            patterns=tuple((self.patterns or "").split()),
            watch=self.watch,
        )


FIELDS = len(BatchForm.__dataclass_fields__)


def browse(page: Page, _locale: str, event: Mapping[str, Any]) -> View:
    """One folder of the server; without a path the only root, or all of them to choose from."""
    roots = page.engine.batch_roots()
    path = str(event.get("folder", ""))
    if not path and len(roots) != 1:
        return roots_view(roots)
    return folder_view(page.engine.browse(Path(path) if path else roots[0].path), roots)


def first_folder(page: Page, locale: str) -> View:
    """Where the browser of folders begins."""
    return browse(page, locale, {})


def start(page: Page, locale: str, *values: Any) -> tuple[View, gr.Timer, None]:
    """Start a batch from the form's fields and the choices of :func:`options_from`.

    Returns:
        The view of the batch, the running timer and the empty upload field.
    """
    form = BatchForm(*values[:FIELDS])
    if form.origin == UPLOAD and not form.files:
        raise refusal("page.no_file", locale)
    if form.origin == FOLDER and not form.folder:
        raise refusal("page.no_folder", locale)
    if not form.formats:
        raise refusal("page.no_format", locale)
    batch = page.engine.start_batch(form.request(options_from(*values[FIELDS:])))
    return *show(page, locale, {"batch": batch.id}), None


def poll(page: Page, locale: str, known: Mapping[str, Any] | None) -> tuple[View, gr.Timer]:
    """What has changed since the browser's last look.

    Args:
        known: what the table shows: ``batch``, the revision ``since`` which news are wanted,
            ``open`` with the states of rows that neither wait nor have ended, and whether the
            ``recent`` batches are wanted. Without a batch the newest one that runs is taken, else
            the newest.
    """
    asked = known or {}
    batch_id = str(asked.get("batch", ""))
    batch = _find(page, batch_id)
    if batch is None:
        return NO_BATCH, gr.Timer(active=False)
    is_other = batch.id != batch_id
    since = 0 if is_other else int(asked.get("since", 0))
    news = _news(page, locale, batch, since, asked.get("open") or {})
    if is_other or asked.get("recent"):
        news["recent"] = [recent_view(each) for each in page.engine.batches(RECENT)]
    return news, gr.Timer(active=not has_ended(batch))


def show(page: Page, locale: str, event: Mapping[str, Any]) -> tuple[View, gr.Timer]:
    """The batch that was chosen from the list."""
    return poll(page, locale, {"batch": str(event["batch"]), "recent": True})


def jump(page: Page, locale: str, event: Mapping[str, Any]) -> tuple[gr.Tabs, View, gr.Timer]:
    """Turn to this tab with a batch that was chosen elsewhere."""
    return gr.Tabs(selected="batch"), *show(page, locale, event)


def act(page: Page, locale: str, event: Mapping[str, Any]) -> tuple[View, gr.Timer]:
    """Pause, resume, cancel or retry all of a batch."""
    _BATCH_ACTIONS[str(event["action"])](page.engine, str(event["batch"]))
    return show(page, locale, event)


def act_on_row(page: Page, locale: str, event: Mapping[str, Any]) -> tuple[View, gr.Timer]:
    """Pause, resume, cancel or retry one file."""
    action = str(event["action"])
    if action == "retry":
        page.engine.retry_batch_item(str(event["batch"]), int(event["number"]))
    else:
        JOB_ACTIONS[action](page.engine, str(event["job"]))
    return poll(page, locale, event)


def archive(page: Page, locale: str, event: Mapping[str, Any]) -> View:
    """Everything that has text, in one zip with the tree of the batch and its summary."""
    batch = _find(page, str(event["batch"]))
    if batch is None:
        raise refusal("page.no_text", locale)
    chosen = str(event["format"])
    formats = (chosen,) if chosen else batch.formats
    path = page.engine.batch_archive(batch.id, formats, locale=locale)
    return file_view("download", path, "", time.time_ns())


def export_row(page: Page, locale: str, event: Mapping[str, Any]) -> View:
    """One file's result; a zip where the batch has several formats and none was chosen.

    It bears the name of the file in the batch: equal recordings share one text, and that has the
    name of the first.
    """
    batch_id, chosen, number = str(event["batch"]), str(event["format"]), int(event["number"])
    items = page.engine.batch_items(batch_id)
    item = next((item for item in items if item.number == number), None)
    if item is None:
        raise BatchError(f"no file {number} in the batch", reason="not_found")
    formats = (chosen,) if chosen else page.engine.batch(batch_id).formats
    stem = PurePosixPath(item.path).stem
    paths = [
        _named(page.engine.export(item.recording_id, name, locale=locale), stem) for name in formats
    ]
    if len(paths) > 1:
        target = page.settings.tmp / "exports" / uuid.uuid4().hex / f"{stem}.zip"
        paths = [pack(paths, target)]
    return file_view("download", paths[0], item.recording_id, time.time_ns())


def _named(path: Path, stem: str) -> Path:
    """Give a file another stem, where a name of that length may be."""
    try:
        return path.rename(path.with_name(f"{stem}{path.suffix}"))
    except OSError:
        return path


def pack(paths: Sequence[Path], target: Path) -> Path:
    """Write files of different names into a new archive."""
    target.parent.mkdir(parents=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in paths:
            bundle.write(path, path.name)
    return target


def _find(page: Page, batch_id: str) -> Batch | None:
    """The batch, or the newest running one, or the newest; ``None`` where there is none."""
    if batch_id:
        try:
            return page.engine.batch(batch_id)
        except BatchError:
            pass  # its table is gone, so the page shows another one
    recent = page.engine.batches(RECENT)
    running = [batch for batch in recent if not has_ended(batch)]
    return next(iter([*running, *recent]), None)


def _news(page: Page, locale: str, batch: Batch, since: int, shown: Mapping[str, str]) -> View:
    """A batch with the rows that the browser does not have as they are; ``whole`` with all."""
    items = page.engine.batch_items(batch.id, since)
    changed = [item for item in items if item.revision > since or _is_news(item, shown)]
    return {
        "batch": batch_view(batch, locale),
        "rows": [item_view(item, locale) for item in changed],
        "since": max([since, *(item.revision for item in items)]),
        "whole": since == 0,
    }


def _is_news(item: BatchItem, shown: Mapping[str, str]) -> bool:
    """Whether an item without a new revision looks other than in the browser."""
    waiting = ItemState.QUEUED.value
    return item.state is ItemState.RUNNING or shown.get(str(item.number), waiting) != item.state
