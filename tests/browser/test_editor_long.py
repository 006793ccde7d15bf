"""A transcript of five hours in the editor: what is drawn and found, and how soon it answers."""

from __future__ import annotations

import statistics

import pytest

from asr_core.results import Sentence, Token
from tests.browser.actions import expect, lines
from tests.browser.editing import (
    EVERY_MS,
    LONG_LINES,
    add,
    edit,
    is_saved,
    open_editor,
    stored,
    text_of,
)

pytestmark = [pytest.mark.browser, pytest.mark.model]

WORDS = "我们今天讨论项目进度以及下个季度的预算"
QUICK_MS = 100
WATCH = """() => {
    window.interactions = {};
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
            if (!entry.interactionId) continue;
            (window.interactions[entry.name] ||= []).push(entry.duration);
        }
    }).observe({type: "event", durationThreshold: 16});
}"""


def line(number: int) -> Sentence:
    """20 words, every tenth sentence with a doubtful one; the last of them bears its number."""
    start_ms = number * EVERY_MS
    words = [*WORDS, f"第{number}"]
    tokens = tuple(
        Token(
            word,
            start_ms + 150 * at,
            start_ms + 150 * (at + 1),
            0.3 if not number % 10 + at else 0.95,
        )
        for at, word in enumerate(words)
    )
    return Sentence(tokens, (), f"说话人{number // 9 % 3 + 1}")


def test_five_hours_are_edited_as_quickly_as_a_minute(served, visit, tmp_path):
    name = "五小时.wav"
    said = tuple(line(number) for number in range(LONG_LINES))
    recording = add(served, tmp_path, name, said)
    watched = visit(served.url)
    page = watched.page
    panel = open_editor(page, name)
    box = panel.locator(".tl-lines")
    assert lines(page, "history").count() < 80
    page.evaluate(WATCH)
    # To the end and to the middle; the place stays while rows are measured.
    lines(page, "history").first.focus()
    page.keyboard.press("End")
    expect(text_of(page, LONG_LINES - 1)).to_have_text(f"{WORDS}第{LONG_LINES - 1}")
    expect(lines(page, "history").last).to_be_in_viewport()
    expect(lines(page, "history").last.locator("time")).to_have_text("04:59:56")
    box.evaluate("box => { box.scrollTop = box.scrollHeight / 2; }")
    expect(text_of(page, 2500)).to_be_attached()
    edit(page, 2500)
    page.keyboard.type("改好了")
    is_saved(panel)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    # Found where nothing is drawn, and doubtful words too.
    page.keyboard.press("Control+f")
    page.keyboard.type("第4321")
    expect(panel.locator(".tl-find-count")).to_have_text("第 1 / 1 处")
    expect(text_of(page, 4321)).to_be_in_viewport()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(
        lines(page, "history").locator("visible=true").and_(page.locator(":focus"))
    ).to_have_attribute("data-index", "4330")
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    page.mouse.wheel(0, 4000)
    timed = page.evaluate("window.interactions")
    assert {"keydown", "keyup"} <= set(timed)
    assert {kind: statistics.median(times) for kind, times in timed.items()} == {
        kind: pytest.approx(0, abs=QUICK_MS) for kind in timed
    }
    kept = stored(served.settings, recording)
    assert kept[2500].text == f"{WORDS}第2500改好了"
    assert kept[:2500] == said[:2500]
    assert kept[2501:] == said[2501:]
    assert watched.problems == []
