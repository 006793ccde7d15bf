"""Starting, stopping and killing the application while somebody uses it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.application import Application, unused_port
from tests.browser.actions import (
    PATIENCE_MS,
    expect,
    line_count,
    lines,
    open_entry,
    return_to,
    search,
    transcribe,
)
from tests.material import repeat

pytestmark = [pytest.mark.browser, pytest.mark.model, pytest.mark.slow]


def test_killed_server_goes_on_with_the_job_and_the_page_finds_it_again(
    application: Application, visit: Callable[..., Any], sample: Path, tmp_path: Path
) -> None:
    page = visit(application.url).page
    transcribe(page, repeat(sample, tmp_path / "例会.flac", 4))
    panel = page.locator("#file-transcript")
    expect(panel.locator(".tl-is-running")).to_be_visible(timeout=PATIENCE_MS)
    application.stop(signal.SIGKILL)
    application.start()
    return_to(page, application.url)
    expect(panel.locator(".tl-is-done")).to_be_visible(timeout=PATIENCE_MS)
    expect(panel.locator(".tl-name")).to_have_text("例会.flac")
    assert line_count(page) >= 12


def test_a_record_is_found_in_the_history_after_a_restart(
    application: Application, visit: Callable[..., Any], sample: Path
) -> None:
    page = visit(application.url).page
    transcribe(page, sample)
    expect(page.locator("#file-transcript .tl-is-done")).to_be_visible(timeout=PATIENCE_MS)
    said = lines(page).all_inner_texts()
    application.stop()
    application.start()
    page = visit(application.url).page
    expect(search(page, "用户进行")).to_have_count(1)
    panel = open_entry(page, sample.name)
    expect(panel).to_contain_text("今天的项目")
    assert lines(page, "history").all_inner_texts() == said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["terminate", "interrupt"])
def test_asked_to_end_the_server_ends_cleanly(application: Application, number: int) -> None:
    assert application.stop(number) == 0


def test_page_serves_without_a_model_and_says_what_to_do(tmp_path: Path, browser: Any) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    running = Application(tmp_path / "home", nothing, unused_port())
    running.start()
    page = browser.new_context(locale="zh-CN").new_page()
    page.goto(running.url)
    chip = page.locator("#header .tl-chip")
    expect(chip.locator(".tl-dot-unavailable")).to_be_visible(timeout=PATIENCE_MS)
    expect(chip).to_contain_text("缺少模型“whisper-base”的文件：model.bin, config.json")
    page.context.close()
    running.stop()
