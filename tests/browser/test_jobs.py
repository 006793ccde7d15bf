"""Recordings that the real model transcribes, followed in the browser."""

from __future__ import annotations

import re
import zipfile
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
    lines,
    open_entry,
    open_tab,
    playing_between,
    start_batch,
    transcribe,
)
from tests.material import repeat

pytestmark = [pytest.mark.browser, pytest.mark.model, pytest.mark.slow]


@pytest.fixture
def short_recording(sample: Path, tmp_path: Path) -> Path:
    """The first sentence of the sample."""
    waveform, rate_hz = soundfile.read(sample, dtype="int16")
    path = tmp_path / "例会 第一场.wav"
    soundfile.write(path, waveform[: 4 * rate_hz], rate_hz)
    return path


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
    kept = lines(page).count()
    open_entry(page, long_recording.name)
    expect(lines(page, "history")).to_have_count(kept)


def test_batch_shows_results_downloads_them_and_survives_a_reload(
    served: Application, visit: Callable[..., Any], short_recording: Path, tmp_path: Path
) -> None:
    page = visit(served.url).page
    second = tmp_path / "第二场.wav"
    second.write_bytes(short_recording.read_bytes())
    start_batch(page, short_recording, second)
    rows = page.locator("#batch-rows tbody tr")
    expect(rows.locator(".tl-is-done")).to_have_count(2, timeout=PATIENCE_MS)
    expect(page.locator("#batch-rows .tl-name")).to_have_text("完成 2 / 2")
    expect(rows.nth(1)).to_contain_text("今天的项目")
    with page.expect_download() as download:
        page.locator("#batch-rows .tl-export").click()
    with zipfile.ZipFile(download.value.path()) as packed:
        assert sorted(packed.namelist()) == ["例会 第一场.txt", "第二场.txt"]
        assert "今天的项目" in packed.read("第二场.txt").decode()
    page.reload()
    open_tab(page, "批量")
    expect(rows).to_have_count(2)


def test_batch_can_be_cancelled(
    served: Application,
    visit: Callable[..., Any],
    long_recording: Path,
    short_recording: Path,
    tmp_path: Path,
) -> None:
    page = visit(served.url).page
    first = tmp_path / "全天.flac"
    first.write_bytes(long_recording.read_bytes())
    start_batch(page, first, short_recording)
    rows = page.locator("#batch-rows tbody tr")
    expect(rows.nth(0).locator(".tl-is-running")).to_be_visible(timeout=PATIENCE_MS)
    expect(rows.nth(1).locator(".tl-is-queued")).to_be_visible()
    page.get_by_role("button", name="全部取消").click()
    expect(rows.nth(1).locator(".tl-is-cancelled")).to_be_visible()
    ended = rows.nth(0).locator(".tl-is-partial, .tl-is-cancelled")
    expect(ended).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator("#batch-rows .tl-name")).to_have_text("完成 2 / 2")
