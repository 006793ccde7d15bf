"""Transcripts to edit, for the tests of the editor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asr_core.results import Sentence
from asr_core.settings import Settings
from tests.application import Application
from tests.browser.actions import PATIENCE_MS, expect, lines, search
from tests.seeding import MEETING, finish, open_history, queue, transcript, write_tone

HOURS_MS = 18_000_000
EVERY_MS = 3_600
LONG_LINES = HOURS_MS // EVERY_MS


def add(
    application: Application, folder: Path, name: str, sentences: Sequence[Sentence] = MEETING
) -> str:
    """Put a transcribed recording into the history. Returns its id."""
    length_ms = max(24_000, sentences[-1].end_ms)
    with open_history(application.settings) as history:
        job = queue(history, write_tone(folder / "tone.wav"), name)
        finish(history, job.id, transcript(sentences, duration_ms=length_ms))
        return job.recording_id


def stored(settings: Settings, recording_id: str) -> tuple[Sentence, ...]:
    """The sentences as they are kept."""
    with open_history(settings) as history:
        found = history.record(recording_id).transcript
    return found.sentences if found else ()


def open_editor(page: Any, name: str) -> Any:
    """Open a recording of the history and wait until it can be edited. Returns the panel."""
    entries = search(page, name)
    expect(entries).to_have_count(1, timeout=PATIENCE_MS)
    entries.locator(".tl-entry-open").click()
    panel = page.locator("#history-transcript")
    expect(panel.locator(".tl-name")).to_have_text(name, timeout=PATIENCE_MS)
    expect(panel.locator(".tl-editable")).to_be_visible(timeout=PATIENCE_MS)
    return panel


def text_of(page: Any, index: int) -> Any:
    """The text of a sentence, whether it is drawn or not."""
    return lines(page, "history").and_(page.locator(f"[data-index='{index}']")).locator(".tl-text")


def edit(page: Any, index: int) -> None:
    """Open a sentence with the keyboard; the caret is at its end."""
    text_of(page, index).locator("..").focus()
    page.keyboard.press("Enter")
    expect(text_of(page, index)).to_be_focused()


def is_saved(panel: Any) -> None:
    expect(panel.locator(".tl-saved")).to_have_text("已保存")
