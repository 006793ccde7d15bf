"""The application as users start it: ``app.py``, the embedded model, a real browser."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests.browser.conftest import chromium_path
from tests.conftest import ROOT, unused_port

pytestmark = [pytest.mark.browser, pytest.mark.model, pytest.mark.slow]

playwright_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
expect = playwright_api.expect

PATIENCE_MS = 240_000


@dataclass
class Application:
    """``app.py`` in a process of its own; may be stopped, killed and started again."""

    home: Path
    model: Path
    port: int
    process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        environ = {**os.environ, "ASR_HOME": str(self.home), "ASR_MODEL_DIR": str(self.model)}
        with (self.home / "log").open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [sys.executable, "app.py", "--port", str(self.port)],
                cwd=ROOT,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        line = self.process.stdout.readline()
        assert self.url in line, (self.home / "log").read_text(encoding="utf-8")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Returns the exit status; 0 when it was not running."""
        if self.process is None:
            return 0
        self.process.send_signal(number)
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.process = None
        return status


@pytest.fixture
def application(tmp_path: Path, model_folder: Path) -> Iterator[Application]:
    home = tmp_path / "home"
    home.mkdir()
    running = Application(home, model_folder, unused_port())
    running.start()
    yield running
    running.stop(signal.SIGKILL)


def transcribe(page: Any, path: Path) -> None:
    page.locator("#file-upload input[type=file]").set_input_files(path)
    expect(page.locator("#file-upload .file-preview")).to_be_visible()
    page.locator("#file-start").click()


def long_recording(sample: Path, target: Path, times: int) -> Path:
    waveform, rate_hz = soundfile.read(sample, dtype="int16")
    soundfile.write(target, np.tile(waveform, times), rate_hz)
    return target


def test_sample_becomes_text_that_plays_from_a_click(
    application: Application, visit: Callable[..., Any]
) -> None:
    watched = visit(application.url)
    page = watched.page
    page.locator("#file-sample").click()
    expect(page.locator("#file-upload .file-preview")).to_be_visible()
    page.locator("#file-start").click()
    panel = page.locator("#file-transcript")
    expect(panel.locator(".tl-is-done")).to_be_visible(timeout=PATIENCE_MS)
    expect(panel).to_contain_text("今天的项目")
    expect(panel).to_contain_text(re.compile(r"26\s*位"))
    expect(panel).to_contain_text("Whisper base（内置） · CPU")
    line = panel.locator(".tl-line").nth(2)
    stamp = line.locator("time").inner_text()
    line.locator("time").click()
    hours, minutes, seconds = map(int, stamp.split(":"))
    page.wait_for_function(
        "start => { const a = document.querySelector('#file-transcript audio');"
        " return a.currentTime >= start && a.currentTime < start + 6; }",
        arg=3600 * hours + 60 * minutes + seconds,
    )
    with page.expect_download() as download:
        panel.locator(".tl-export").click()
    assert download.value.suggested_filename == "例会片段.txt"
    assert "今天的项目" in Path(download.value.path()).read_text(encoding="utf-8")
    assert (watched.problems, watched.foreign) == ([], [])


def test_file_that_is_no_recording_is_refused_by_its_name(
    application: Application, visit: Callable[..., Any], tmp_path: Path
) -> None:
    wrong = tmp_path / "会议纪要.mp3"
    wrong.write_text("这不是录音", encoding="utf-8")
    page = visit(application.url).page
    transcribe(page, wrong)
    panel = page.locator("#file-transcript")
    expect(panel.locator(".tl-is-failed")).to_be_visible(timeout=PATIENCE_MS)
    expect(panel.get_by_role("alert")).to_contain_text("“会议纪要.mp3”")


def test_cancelled_recording_keeps_its_text_in_the_history(
    application: Application, visit: Callable[..., Any], sample: Path, tmp_path: Path
) -> None:
    page = visit(application.url).page
    transcribe(page, long_recording(sample, tmp_path / "长会议.flac", 20))
    panel = page.locator("#file-transcript")
    expect(panel.locator(".tl-line").first).to_be_visible(timeout=PATIENCE_MS)
    panel.get_by_role("button", name="取消").click()
    expect(panel.locator(".tl-is-partial")).to_be_visible(timeout=PATIENCE_MS)
    kept = panel.locator(".tl-line").count()
    page.get_by_role("tab", name="历史").click()
    page.locator("#history-rows .tl-entry-open").first.click()
    expect(page.locator("#history-transcript .tl-line")).to_have_count(kept)


def test_killed_server_goes_on_with_the_job_and_the_page_finds_it_again(
    application: Application, visit: Callable[..., Any], sample: Path, tmp_path: Path
) -> None:
    page = visit(application.url).page
    transcribe(page, long_recording(sample, tmp_path / "例会.flac", 4))
    panel = page.locator("#file-transcript")
    expect(panel.locator(".tl-is-running")).to_be_visible(timeout=PATIENCE_MS)
    application.stop(signal.SIGKILL)
    application.start()
    page.goto(application.url)
    expect(panel.locator(".tl-is-done")).to_be_visible(timeout=PATIENCE_MS)
    expect(panel.locator(".tl-name")).to_have_text("例会.flac")
    assert panel.locator(".tl-line").count() >= 12


def test_terminated_server_ends_cleanly(application: Application) -> None:
    assert application.stop(signal.SIGTERM) == 0


def test_interrupt_ends_cleanly(application: Application) -> None:
    assert application.stop(signal.SIGINT) == 0


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
    application: Application, speaking_browser: Any
) -> None:
    context = speaking_browser.new_context(locale="zh-CN", permissions=["microphone"])
    page = context.new_page()
    page.goto(application.url)
    page.locator("#header .tl-dot-ready").wait_for(timeout=PATIENCE_MS)
    page.get_by_role("tab", name="听写").click()
    box = page.locator("#dictation-text textarea")
    box.fill("会议记录：")
    recorder = page.locator("#dictation-microphone")
    recorder.get_by_role("button", name="录制").click()
    expect(recorder.get_by_text("0:04")).to_be_visible(timeout=30_000)
    recorder.get_by_role("button", name="停止").first.click()
    expect(box).to_have_value(re.compile("会议记录：.*今天的项目"), timeout=PATIENCE_MS)
    expect(recorder.get_by_role("button", name="录制")).to_be_visible()
    context.close()


def test_page_serves_without_a_model_and_says_what_to_do(tmp_path: Path, browser: Any) -> None:
    home, nothing = tmp_path / "home", tmp_path / "nothing"
    home.mkdir()
    nothing.mkdir()
    running = Application(home, nothing, unused_port())
    running.start()
    page = browser.new_context(locale="zh-CN").new_page()
    page.goto(running.url)
    chip = page.locator("#header .tl-chip")
    expect(chip.locator(".tl-dot-unavailable")).to_be_visible(timeout=PATIENCE_MS)
    expect(chip).to_contain_text("whisper-base")
    page.context.close()
    running.stop()
