"""Dictation with a microphone that hears a real voice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import soundfile

from tests.application import Application
from tests.browser.actions import PATIENCE_MS, expect, open_tab
from tests.browser.chromium import chromium_path

pytestmark = [pytest.mark.browser, pytest.mark.model, pytest.mark.slow]


@pytest.fixture
def speaking_browser(playwright: Any, sample: Path, tmp_path: Path) -> Iterator[Any]:
    """A browser whose microphone hears the first sentence of the sample once."""
    waveform, rate_hz = soundfile.read(sample, dtype="int16")
    heard = tmp_path / "heard.wav"
    soundfile.write(heard, waveform[: 4 * rate_hz], rate_hz)
    running = playwright.chromium.launch(
        executable_path=chromium_path(),
        args=[
            "--no-sandbox",
            "--use-fake-ui-for-media-stream",
            "--use-fake-device-for-media-stream",
            f"--use-file-for-fake-audio-capture={heard}%noloop",
        ],
    )
    yield running
    running.close()


def test_spoken_words_reach_the_text_box_and_join(
    served: Application, speaking_browser: Any
) -> None:
    context = speaking_browser.new_context(locale="zh-CN", permissions=["microphone"])
    page = context.new_page()
    page.goto(served.url)
    page.locator("#header .tl-dot-ready").wait_for(timeout=PATIENCE_MS)
    open_tab(page, "听写")
    box = page.locator("#dictation-text textarea")
    box.fill("会议记录：")
    recorder = page.locator("#dictation-microphone")
    recorder.get_by_role("button", name="录制").click()
    expect(recorder.get_by_text("0:04")).to_be_visible(timeout=30_000)
    recorder.get_by_role("button", name="停止").first.click()
    expect(box).to_have_value(re.compile("会议记录：.*今天的项目"), timeout=PATIENCE_MS)
    expect(recorder.get_by_role("button", name="录制")).to_be_visible()
    context.close()
