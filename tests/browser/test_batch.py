"""Batches in the browser: started, left alone, found again, stopped, tried again, downloaded."""

from __future__ import annotations

import itertools
import re
import shutil
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
    batch_row,
    chosen_folder_is_told,
    expect,
    open_folder,
    open_tab,
    row_action,
    start_batch,
    summary,
)

pytestmark = [pytest.mark.browser, pytest.mark.model, pytest.mark.slow]


@pytest.fixture
def fill(folder_application: Application, short_recording: Path) -> Callable[..., None]:
    """Lay a short recording, or the one that is given, below the server's folder.

    Each copy ends with a little more silence, since equal recordings are recognized only once.
    """
    numbers = itertools.count(1)

    def copy(*names: str, recording: Path = short_recording) -> None:
        waveform, rate_hz = soundfile.read(recording, dtype="int16")
        for name in names:
            target = folder_application.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            silence = np.zeros(100 * next(numbers), np.int16)
            soundfile.write(target, np.concatenate([waveform, silence]), rate_hz)

    return copy


def test_batch_goes_on_without_its_page_and_another_browser_shows_it(
    folder_application: Application, visit: Callable[..., Any], fill: Callable[..., None]
) -> None:
    root = folder_application.root
    stems = ("一月/开场", "一月/讨论", "二月/开场", "总结")
    fill("别的.wav", *(f"例会/{stem}.wav" for stem in stems))
    (root / "例会" / "坏.mp3").write_text("这不是录音", encoding="utf-8")
    page = visit(folder_application.url).page
    open_folder(page, "例会")
    chosen_folder_is_told(page, "共 5 个录音")
    page.locator("#batch-formats").get_by_text("SRT", exact=True).click()
    page.locator("#batch-start").click()
    expect(page.locator("#batch-rows .tl-is-running").first).to_be_visible(timeout=PATIENCE_MS)
    page.context.close()

    watched = visit(folder_application.url)
    page = watched.page
    open_tab(page, "批量")
    expect(batch_row(page, "一月/开场.wav")).to_be_visible()
    expect(summary(page)).to_contain_text("4/5 完成 · 1 失败", timeout=PATIENCE_MS)
    expect(batch_row(page, "坏.mp3")).to_contain_text("“坏.mp3”不是音频或视频文件")
    expect(batch_row(page, "一月/讨论.wav")).to_contain_text("讨论.txt、讨论.srt")
    expect(batch_row(page, "一月/讨论.wav")).to_contain_text("倍实时")
    expect(page).to_have_title("✕ 例会 4/5 — 听录")
    results = root / "例会" / "transcripts"
    found = {path.relative_to(results).as_posix() for path in results.rglob("*.*")}
    assert found == {f"{stem}.{kind}" for stem in stems for kind in ("txt", "srt")} | {
        "summary.csv"
    }
    with page.expect_download() as download:
        page.locator("#batch-rows .tl-export").click()
    with zipfile.ZipFile(download.value.path()) as packed:
        assert {*found} <= {*packed.namelist()}
        assert "今天的项目" in packed.read("二月/开场.txt").decode()
    assert watched.problems == []


def test_cancelled_batch_keeps_what_was_done_and_goes_on_when_tried_again(
    folder_application: Application,
    visit: Callable[..., Any],
    fill: Callable[..., None],
    long_recording: Path,
) -> None:
    fill("1 短.wav", "3 短.wav")
    fill("2 全天.flac", recording=long_recording)
    page = visit(folder_application.url).page
    open_tab(page, "批量")
    page.locator("#batch-start").click()
    running = batch_row(page, "2 全天.flac").locator(".tl-is-running")
    expect(running).to_be_visible(timeout=PATIENCE_MS)
    expect(batch_row(page, "2 全天.flac").get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="全部取消").click()
    expect(batch_row(page, "3 短.wav").locator(".tl-is-cancelled")).to_be_visible()
    stopped = batch_row(page, "2 全天.flac").locator(".tl-is-partial, .tl-is-cancelled")
    expect(stopped).to_be_visible(timeout=PATIENCE_MS)
    expect(batch_row(page, "1 短.wav").locator(".tl-is-done")).to_be_visible()
    written = folder_application.root / "transcripts" / "1 短.txt"
    assert "今天的项目" in written.read_text(encoding="utf-8")

    row_action(page, "3 短.wav", "retry").click()
    expect(batch_row(page, "3 短.wav").locator(".tl-is-done")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="重试未成功的").click()
    expect(running).to_be_visible(timeout=PATIENCE_MS)
    row_action(page, "2 全天.flac", "cancel").click()
    expect(stopped).to_be_visible(timeout=PATIENCE_MS)


def test_batch_and_single_files_are_paused_and_resumed(
    folder_application: Application,
    visit: Callable[..., Any],
    fill: Callable[..., None],
    long_recording: Path,
) -> None:
    fill("1 全天.flac", recording=long_recording)
    fill("2 短.wav", "3 短.wav")
    page = visit(folder_application.url).page
    open_tab(page, "批量")
    page.locator("#batch-start").click()
    first = batch_row(page, "1 全天.flac")
    expect(first.locator(".tl-is-running")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="全部暂停").click()
    paused = page.locator("#batch-rows .tl-rows .tl-is-paused")
    expect(paused).to_have_count(3, timeout=PATIENCE_MS)
    expect(page).to_have_title(re.compile("^已暂停 · "))
    row_action(page, "3 短.wav", "resume").click()
    expect(batch_row(page, "3 短.wav").locator(".tl-is-done")).to_be_visible(timeout=PATIENCE_MS)
    expect(paused).to_have_count(2)
    page.reload()
    open_tab(page, "批量")
    expect(paused).to_have_count(2)
    row_action(page, "1 全天.flac", "cancel").click()
    expect(first.locator(".tl-is-partial, .tl-is-cancelled")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="全部继续").click()
    expect(batch_row(page, "2 短.wav").locator(".tl-is-done")).to_be_visible(timeout=PATIENCE_MS)


def is_refused(page: Any) -> None:
    """The page says so; the message is closed."""
    toast = page.locator(".toast-body")
    expect(toast).to_contain_text("不在允许的文件夹内")
    page.locator(".toast-close").click()
    expect(toast).to_have_count(0)


def test_nothing_outside_the_permitted_folder_is_seen_or_read(
    folder_application: Application,
    visit: Callable[..., Any],
    fill: Callable[..., None],
    short_recording: Path,
) -> None:
    fill("例会/开场.wav")
    root = folder_application.root
    secret = root.parent / "人事"
    secret.mkdir()
    shutil.copyfile(short_recording, secret / "面谈.wav")
    (root / "例会" / "捷径").symlink_to(secret)
    page = visit(folder_application.url).page
    open_folder(page, "例会")
    chosen_folder_is_told(page, "共 1 个录音")
    shortcut = root / "例会" / "捷径"
    for forged in (secret, root / ".." / "人事", shortcut, Path("/etc"), Path("人事")):
        page.evaluate("folder => tinglu.find('batch-folders').go(folder)", str(forged))
        is_refused(page)
        expect(page.locator("#batch-folders [aria-current]")).to_have_text("例会")
        page.evaluate("folder => { tinglu.find('batch-folders').path = folder; }", str(forged))
        page.locator("#batch-start").click()
        is_refused(page)
    page.locator("#batch-folder-options > button").click()
    page.locator("#batch-output textarea, #batch-output input").fill(str(secret))
    page.evaluate("folder => { tinglu.find('batch-folders').path = folder; }", str(root / "例会"))
    page.locator("#batch-start").click()
    is_refused(page)
    expect(page.locator("#batch-rows .tl-empty").get_by_text("还没有批量任务")).to_be_visible()
    assert [path.name for path in secret.iterdir()] == ["面谈.wav"]


def test_sent_files_are_transcribed_opened_and_downloaded(
    served: Application, visit: Callable[..., Any], short_recording: Path, tmp_path: Path
) -> None:
    page = visit(served.url).page
    second, packed = tmp_path / "第二场.wav", tmp_path / "两场.zip"
    waveform, rate_hz = soundfile.read(short_recording, dtype="int16")
    soundfile.write(second, waveform[100:], rate_hz)  # another recording, with the same words
    with zipfile.ZipFile(packed, "w") as bundle:
        bundle.write(short_recording, "三月/第三场.wav")
    start_batch(page, short_recording, second, packed)
    expect(summary(page)).to_contain_text("3/3 完成", timeout=PATIENCE_MS)
    expect(batch_row(page, "三月/第三场.wav").locator(".tl-is-done")).to_be_visible()
    with page.expect_download() as download:
        row_action(page, "第二场.wav", "download").click()
    assert download.value.suggested_filename == "第二场.txt"
    assert "今天的项目" in Path(download.value.path()).read_text(encoding="utf-8")
    with page.expect_download() as download:
        page.locator("#batch-rows .tl-export").click()
    with zipfile.ZipFile(download.value.path()) as results:
        names = results.namelist()
        assert "summary.csv" in names
        assert any(name.endswith("三月/第三场.txt") for name in names)
    row_action(page, "第二场.wav", "open").click()
    panel = page.locator("#history-transcript")
    expect(panel.locator(".tl-name")).to_contain_text("第二场.wav")
    expect(panel.locator(".tl-lines")).to_contain_text("今天的项目")
    open_tab(page, "批量")
    expect(page.locator("#batch-rows .tl-recent")).to_contain_text("例会 第一场.wav · 3/3")


def test_earlier_batches_stay_and_can_be_chosen(
    folder_application: Application, visit: Callable[..., Any], fill: Callable[..., None]
) -> None:
    fill("一月/甲.wav", "二月/乙.wav", "二月/丙.wav")
    page = visit(folder_application.url).page
    for folder, count in (("一月", "1/1"), ("二月", "2/2")):
        open_folder(page, folder)
        page.locator("#batch-start").click()
        expect(summary(page)).to_contain_text(f"{count} 完成", timeout=PATIENCE_MS)
        page.locator("#batch-folders .tl-crumb").first.click()
    page = visit(folder_application.url, size=(390, 844)).page
    open_tab(page, "批量")
    recent = page.locator("#batch-rows .tl-recent")
    expect(recent.locator("option")).to_have_count(2)
    expect(recent.locator("option").first).to_contain_text("二月 · 2/2")
    recent.select_option(index=1)
    expect(batch_row(page, "甲.wav")).to_be_visible()
    expect(batch_row(page, "乙.wav")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
