"""What users do on the page, for several files of tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.browser.chromium import playwright_api

expect = playwright_api().expect
expect.set_options(timeout=15_000)  # on a machine that is busy with other tests too

PATIENCE_MS = 240_000
"""Limit for anything that waits for the model."""

TABS = ("文件转写", "听写", "批量", "历史", "评测", "系统")


def open_tab(page: Any, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def lines(page: Any, panel: str = "file") -> Any:
    return page.locator(f"#{panel}-transcript .tl-line")


def line_count(page: Any, panel: str = "file") -> int:
    """All sentences of a transcript; the page holds those in sight only."""
    return int(lines(page, panel).first.get_attribute("aria-setsize"))


def line_at(page: Any, index: int, panel: str = "file") -> Any:
    """A sentence by its place in the transcript."""
    return page.locator(f"#{panel}-transcript .tl-line[data-index='{index}']")


def transcribe(page: Any, path: Path) -> None:
    page.locator("#file-upload input[type=file]").set_input_files(path)
    expect(page.locator("#file-upload .file-preview")).to_be_visible()
    page.locator("#file-start").click()


def start_batch(page: Any, *paths: Path) -> None:
    """Send files as a batch."""
    open_tab(page, "批量")
    origin = page.locator("#batch-origin")
    if origin.is_visible():
        origin.get_by_text("上传文件", exact=True).click()
    page.locator("#batch-upload input[type=file]").set_input_files(paths)
    expect(page.locator("#batch-upload .file-preview tr")).to_have_count(len(paths))
    page.locator("#batch-start").click()


def open_folder(page: Any, *names: str) -> None:
    """Go down to a folder of the server."""
    open_tab(page, "批量")
    for name in names:
        page.locator("#batch-folders .tl-folder").get_by_text(name, exact=True).click()
        expect(page.locator("#batch-folders [aria-current]")).to_have_text(name)


def batch_row(page: Any, name: str) -> Any:
    """The row of a file; ``name`` is the end of its path."""
    return page.locator("#batch-rows .tl-rows > .tl-row").filter(has_text=name)


def row_action(page: Any, name: str, action: str) -> Any:
    return batch_row(page, name).locator(f"[data-action={action}]")


def summary(page: Any) -> Any:
    return page.locator("#batch-rows .tl-summary")


def chosen_folder_is_told(page: Any, words: str) -> None:
    expect(page.locator("#batch-folders .tl-folder-facts")).to_contain_text(words)


def search(page: Any, query: str) -> Any:
    """Type into the search field of the history. Returns the entries that are listed."""
    open_tab(page, "历史")
    page.locator("#history-query input").fill(query)
    return page.locator("#history-rows .tl-entry[data-id]")


def open_entry(page: Any, name: str) -> Any:
    """Find a recording in the history by its name and open it. Returns the transcript."""
    entries = search(page, name)
    expect(entries).to_have_count(1)
    entries.locator(".tl-entry-open").click()
    panel = page.locator("#history-transcript")
    expect(panel.locator(".tl-name")).to_have_text(name)
    return panel


def playing_between(page: Any, panel: str, first_s: float, last_s: float) -> None:
    """Wait until the recording plays inside an interval."""
    page.wait_for_function(
        "([id, first, last]) => { const a = document.querySelector(`#${id}-transcript audio`);"
        " return a.currentTime >= first && a.currentTime < last && !a.paused; }",
        arg=[panel, first_s, last_s],
    )


def colours(page: Any, panel: str) -> list[str]:
    """What a drawn recording shows at 40 places from left to right: names of colours.

    ``accent`` was played, ``wave`` not yet, ``warn`` lacks words; empty where nothing is drawn.
    """
    return page.evaluate(
        """(panel) => {
            const canvas = document.querySelector(`#${panel}-transcript .tl-wave`);
            const copy = new OffscreenCanvas(canvas.width, canvas.height);
            const pen = copy.getContext("2d", {willReadFrequently: true});
            pen.drawImage(canvas, 0, 0);
            const names = {};
            for (const name of ["accent", "wave", "warn"]) {
                pen.fillStyle = getComputedStyle(canvas).getPropertyValue(`--tl-${name}`);
                names[pen.fillStyle] = name;
            }
            const width = canvas.width / 40;
            return Array.from({length: 40}, (_, place) => {
                const {data} = pen.getImageData(place * width, canvas.height / 2 - 1, width, 2);
                for (let i = 0; i < data.length; i += 4) {
                    if (data[i + 3] < 255) continue;
                    const number = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
                    const name = names[`#${number.toString(16).padStart(6, "0")}`];
                    if (name) return name;
                }
                return "";
            });
        }""",
        panel,
    )


def return_to(page: Any, url: str) -> None:
    """Load the page again after its server was away; it may be doing so by itself already."""
    try:
        page.goto(url)
    except playwright_api().Error as error:
        if "interrupted by another navigation" not in str(error):
            raise
        page.wait_for_load_state()
