"""Handlers of the history tab that go through many recordings: export, find and replace."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from asr_core.engine import (
    CancelToken,
    ExportOptions,
    ExportProgress,
    ExportResult,
    HistorySelection,
)
from asr_core.errors import AsrError, TranscriptionCancelled
from asr_core.messages import describe, error_message
from ui.guard import Page
from ui.handlers.selection import ids_from, narrowed
from ui.history_view import replace_view
from ui.view import View, file_view

PREVIEWED = 100
"""Recordings with hits that are replaced in at a time."""

_LOOKED_AT = 20
"""Recordings that are searched between two looks at how many were found."""


@dataclass(frozen=True, slots=True)
class Exports:
    """Exports of many recordings that are under way on this page."""

    _tokens: dict[str, CancelToken] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(
        self, page: Page, locale: str, event: Mapping[str, Any]
    ) -> Generator[View, None, None]:
        """Write a selection into one file; yields how far it is, and the file at the end.

        Of the event: the selection, ``key`` to stop it by, ``kind``, ``formats`` and ``options``.
        """
        key, token = str(event["key"]), CancelToken()
        news: queue.SimpleQueue[ExportProgress | None] = queue.SimpleQueue()
        with self._lock:
            self._tokens[key] = token
        try:
            with ThreadPoolExecutor(1) as worker:
                work: Future[ExportResult] = worker.submit(
                    page.engine.export_many,
                    narrowed(page, event),
                    tuple(event.get("formats") or ()),
                    kind=event.get("kind", "zip"),
                    options=ExportOptions.from_fields(event.get("options") or {}),
                    locale=locale,
                    on_progress=news.put,
                    cancel=token,
                )
                work.add_done_callback(lambda _: news.put(None))
                try:
                    while (progress := news.get()) is not None:
                        yield {"key": key, "done": progress.done, "total": progress.total}
                finally:
                    token.cancel()  # nobody waits for it any more
            yield {"key": key, **_outcome(work)}
        finally:
            with self._lock:
                del self._tokens[key]

    def stop(self, _page: Page, _locale: str, event: Mapping[str, Any]) -> View:
        """Let an export end without a file."""
        with self._lock:
            token = self._tokens.get(str(event["key"]))
        if token is not None:
            token.cancel()
        return {"stopped": token is not None}


def _outcome(work: Future[ExportResult]) -> View:
    try:
        result = work.result()
    except TranscriptionCancelled:
        return {"cancelled": True}
    return {
        "file": file_view("download", result.path, "", time.time_ns()),
        "written": result.written,
        "skipped": result.skipped,
        "size": result.size_bytes,
    }


def preview_replace(page: Page, _locale: str, event: Mapping[str, Any]) -> View:
    """Where the selection has ``find``, and what ``put`` in its place would make of it."""
    ids, find, case = ids_from(page, event), str(event["find"]), bool(event.get("case"))
    if len(ids) > _LOOKED_AT:
        containing = frozenset(page.engine.select(HistorySelection(None, find)))
        ids = tuple(each for each in ids if each in containing)
    found: list[Any] = []
    looked = 0
    while looked < len(ids) and len(found) < PREVIEWED:
        some = ids[looked : looked + _LOOKED_AT]
        found += page.engine.preview_replace(some, find, str(event["put"]), case=case)
        looked += len(some)
    return replace_view(found, len(ids) - looked)


def replace(page: Page, locale: str, event: Mapping[str, Any]) -> View:
    """Replace what a preview showed; ``stamps`` are of the preview, by recording."""
    stamps = {str(key): str(stamp) for key, stamp in event["stamps"].items()}
    case = bool(event.get("case"))
    outcomes = page.engine.replace_text(stamps, str(event["find"]), str(event["put"]), case=case)
    done = [each for each in outcomes if each.result is not None]
    refused = [
        [each.recording_id, error_message(each.error_code, each.error_details, locale)]
        for each in outcomes
        if each.result is None
    ]
    return {
        "hits": sum(each.hits for each in done),
        "replaced": {each.recording_id: each.result.stamp for each in done if each.result},
        "refused": refused,
    }


def undo_replace(page: Page, locale: str, event: Mapping[str, Any]) -> View:
    """Take a replacement back wherever nothing was changed since."""
    undone, refused = [], []
    for recording_id, stamp in event["stamps"].items():
        try:
            page.engine.undo_edit(str(recording_id), str(stamp))
        except AsrError as exc:
            refused.append([str(recording_id), describe(exc, locale)])
        else:
            undone.append(str(recording_id))
    return {"undone": undone, "refused": refused}
