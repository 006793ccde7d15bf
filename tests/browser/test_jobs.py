"""Recordings that the real model transcribes, followed in the browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests.application import Application
from tests.browser.actions import (
    PATIENCE_MS,
    colours,
    expect,
    line_at,
    line_count,
    lines,
    open_entry,
    playing_between,
    transcribe,
)
from tests.material import repeat

pytestmark = [pytest.mark.browser, pytest.mark.model, pytest.mark.slow]


def test_sample_becomes_text_that_plays_from_a_click(
    served: Application, visit: Callable[..., Any]
) -> None:
    watched = visit(served.url)
    page = watched.page
    page.locator("#file-sample").click()
    expect(page.locator("#file-upload .file-preview")).to_be_visible()
    page.locator("#file-start").click()
    panel = page.locator("#file-transcript")
    expect(panel.locator(".tl-is-done")).to_be_visible(timeout=PATIENCE_MS)
    expect(panel).to_contain_text("今天的项目")
    expect(panel).to_contain_text(re.compile(r"26\s*位"))
    expect(panel).to_contain_text("Whisper base（内置） · CPU")
    expect(panel.locator(".tl-drawn .tl-wave")).to_be_visible()
    assert colours(page, "file") == ["wave"] * 40
    line = lines(page).nth(2)
    hours, minutes, seconds = map(int, line.locator("time").inner_text().split(":"))
    start_s = 3600 * hours + 60 * minutes + seconds
    line.locator("time").click()
    playing_between(page, "file", start_s, start_s + 6)
    expect(line).to_have_attribute("aria-current", "true")
    with page.expect_download() as download:
        panel.locator(".tl-export").click()
    assert download.value.suggested_filename == "例会片段.txt"
    assert "今天的项目" in Path(download.value.path()).read_text(encoding="utf-8")
    assert (watched.problems, watched.foreign) == ([], [])


def test_upload_shows_progress_then_text_that_plays_from_a_click(
    served: Application, visit: Callable[..., Any], sample: Path, tmp_path: Path
) -> None:
    watched = visit(served.url)
    page = watched.page
    transcribe(page, repeat(sample, tmp_path / "周会 两遍.flac", 2))
    panel = page.locator("#file-transcript")
    expect(panel.get_by_role("progressbar")).to_be_visible(timeout=PATIENCE_MS)
    expect(lines(page).first).to_contain_text("各位同事", timeout=PATIENCE_MS)
    expect(panel.locator(".tl-is-done")).to_be_visible(timeout=PATIENCE_MS)
    expect(panel.locator(".tl-name")).to_have_text("周会 两遍.flac")
    # The second turn of the sample begins at 30.4 s.
    again = lines(page).filter(has_text="各位同事").nth(1)
    again.locator("time").click()
    playing_between(page, "file", 29, 37)
    expect(again).to_have_attribute("aria-current", "true")
    assert (watched.problems, watched.foreign) == ([], [])


def silent(path: Path) -> None:
    soundfile.write(path, np.zeros(16_000 * 3, np.int16), 16_000, format="WAV")


def no_recording(path: Path) -> None:
    path.write_text("这不是录音", encoding="utf-8")


def empty(path: Path) -> None:
    path.touch()


@pytest.mark.parametrize(
    ("name", "write", "words"),
    [
        ("静音.wav", silent, "没有检测到人声"),
        ("会议纪要.mp3", no_recording, "“会议纪要.mp3”不是音频或视频文件，请确认文件内容"),
        ("没录上.mp3", empty, "“没录上.mp3”是空文件（0 字节），请重新导出或重新上传"),
    ],
)
def test_files_without_speech_tell_why(
    served: Application,
    visit: Callable[..., Any],
    tmp_path: Path,
    name: str,
    write: Callable[[Path], None],
    words: str,
) -> None:
    write(tmp_path / name)
    page = visit(served.url).page
    transcribe(page, tmp_path / name)
    expect(page.locator("#file-transcript")).to_contain_text(words, timeout=PATIENCE_MS)
    expect(lines(page)).to_have_count(0)


def test_running_job_survives_a_reload_and_keeps_its_text_when_cancelled(
    served: Application, visit: Callable[..., Any], long_recording: Path
) -> None:
    page = visit(served.url, size=(1440, 600)).page
    transcribe(page, long_recording)
    panel = page.locator("#file-transcript")
    expect(lines(page).first).to_be_visible(timeout=PATIENCE_MS)
    page.reload()
    expect(lines(page).first).to_contain_text("各位同事", timeout=PATIENCE_MS)
    expect(panel.locator(".tl-is-running")).to_be_visible()
    expect(panel.get_by_role("progressbar")).to_be_visible()
    page.wait_for_function(
        "() => { const box = document.querySelector('#file-transcript .tl-lines');"
        " return box.scrollHeight > box.clientHeight + 80"
        " && box.scrollHeight - box.scrollTop - box.clientHeight < 80; }",
        timeout=PATIENCE_MS,
    )
    panel.get_by_role("button", name="取消").click()
    expect(panel.locator(".tl-is-partial")).to_be_visible(timeout=PATIENCE_MS)
    expect(panel.locator(".tl-note")).to_contain_text("任务被取消")
    kept = line_count(page)
    open_entry(page, long_recording.name)
    expect(lines(page, "history").first).to_have_attribute("aria-setsize", str(kept))


def test_closed_page_loses_nothing_and_another_browser_takes_the_job_up(
    served: Application, visit: Callable[..., Any], long_recording: Path
) -> None:
    first = visit(served.url).page
    transcribe(first, long_recording)
    expect(lines(first).first).to_be_visible(timeout=PATIENCE_MS)
    first.context.close()
    page = visit(served.url).page
    others = page.locator("#file-jobs")
    expect(others.locator("summary")).to_have_text("正在进行 1 个任务")
    others.locator(".tl-other-open", has_text=long_recording.name).click()
    expect(lines(page).first).to_contain_text("各位同事", timeout=PATIENCE_MS)
    expect(page).to_have_title(re.compile(rf"^\d+% · {long_recording.name} — 听录$"))
    expect(others.locator("summary")).to_be_hidden()
    page.reload()
    expect(lines(page).first).to_contain_text("各位同事", timeout=PATIENCE_MS)
    page.locator("#file-transcript [data-action=cancel]").click()
    expect(page.locator("#file-transcript .tl-is-partial")).to_be_visible(timeout=PATIENCE_MS)


def test_job_is_paused_goes_on_is_cancelled_and_tried_again(
    served: Application, visit: Callable[..., Any], long_recording: Path
) -> None:
    page = visit(served.url).page
    transcribe(page, long_recording)
    panel = page.locator("#file-transcript")
    expect(lines(page).first).to_be_visible(timeout=PATIENCE_MS)
    panel.locator("[data-action=pause]").click()
    expect(panel.locator(".tl-is-paused")).to_be_visible(timeout=PATIENCE_MS)
    kept = line_count(page)
    expect(panel.locator(".tl-meta")).to_contain_text("已转写")
    expect(page).to_have_title(f"已暂停 · {long_recording.name} — 听录")
    panel.locator("[data-action=resume]").click()
    expect(line_at(page, kept)).to_be_visible(timeout=PATIENCE_MS)
    panel.locator("[data-action=cancel]").click()
    expect(panel.locator(".tl-is-partial")).to_be_visible(timeout=PATIENCE_MS)
    kept = line_count(page)
    panel.locator("[data-action=retry]").click()
    expect(line_at(page, kept)).to_be_visible(timeout=PATIENCE_MS)
    panel.locator("[data-action=cancel]").click()
    expect(panel.locator(".tl-is-partial")).to_be_visible(timeout=PATIENCE_MS)


def test_waiting_job_tells_its_place_and_can_be_put_first(
    served: Application, visit: Callable[..., Any], long_recording: Path, short_recording: Path
) -> None:
    page = visit(served.url).page
    panel = page.locator("#file-transcript")
    for path in (long_recording, long_recording, short_recording):
        transcribe(page, path)
        expect(panel.locator(".tl-name")).to_have_text(path.name)
        page.locator("#file-upload button[aria-label=清除]").click()
    expect(panel.locator(".tl-meta")).to_contain_text("排队第 2 位")
    panel.locator("[data-action=first]").click()
    expect(panel.locator(".tl-meta")).to_contain_text("排队第 1 位")
    page.locator("#file-jobs summary").click()
    for _ in range(2):
        page.locator("#file-jobs .tl-other-open").first.click()
        expect(panel.locator(".tl-name")).to_have_text(long_recording.name)
        panel.locator("[data-action=cancel]").click()
        ended = panel.locator(".tl-is-partial, .tl-is-cancelled")
        expect(ended).to_be_visible(timeout=PATIENCE_MS)


def test_list_of_jobs_shows_although_the_transcript_is_not_there_yet(
    served: Application, visit: Callable[..., Any]
) -> None:
    """The page's parts are mounted in no fixed order."""
    watched = visit(served.url)
    shown = watched.page.evaluate(
        """() => {
            const element = document.createElement("div");
            element.innerHTML = '<div class="tl-root"></div>';
            const row = { job: "1", name: "例会.wav", state: "running", total_ms: 6, done_ms: 0 };
            const value = JSON.stringify({ rows: [row], total: 1 });
            const nothing = () => {};
            tinglu.find = nothing;
            tinglu.mount("jobs", "early", element, nothing, { value }, nothing, {});
            const box = element.querySelector("details");
            return [box.open, box.hidden, box.querySelector(".tl-other-name").textContent];
        }"""
    )
    assert shown == [True, False, "例会.wav"]
    assert watched.problems == []
