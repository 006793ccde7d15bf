"""Handlers while the real model works on ten minutes of speech."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest

from asr_core.engine import Engine
from asr_core.settings import Settings
from tests.waiting import wait_until
from ui.guard import Page
from ui.handlers import dictation, file, system

pytestmark = [pytest.mark.model, pytest.mark.slow]

OPTIONS = ("", True, True, "auto")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Iterator[Page]:
    home = tmp_path_factory.mktemp("running") / "home"
    settings = Settings(home=home, model_dir=model_folder, threads=2, batch_windows=1)
    with Engine(settings) as engine:
        engine.start()
        yield Page(engine, settings)


@pytest.fixture(scope="module")
def job_id(page: Page, long_recording: Path) -> str:
    """A job with some sentences; it runs until the last test cancels it."""
    started, _, timer = file.start(page, "zh-CN", str(long_recording), None, *OPTIONS)
    assert timer.active
    wait_until(lambda: page.engine.live(started).sentences)
    return started


def text_of(lines) -> str:
    return "".join(piece[0] for line in lines for piece in line["written"])


def test_sentences_arrive_while_it_runs_and_only_the_new_ones_are_sent(page, job_id):
    lines, arrivals = [], 0

    def more_came() -> bool:
        nonlocal arrivals
        view, timer = file.poll(page, "zh-CN", job_id, len(lines))
        assert (view["state"], view["from"], timer.active) == ("running", len(lines), True)
        arrivals += bool(view["lines"])
        lines.extend(view["lines"])
        return arrivals == 3

    wait_until(more_came)
    assert text_of(lines).startswith("各位同事下午好")
    everything, _ = file.poll(page, "zh-CN", job_id, 0)
    assert everything["lines"][: len(lines)] == lines


def test_browser_that_lost_its_lines_gets_them_all_again(page, job_id):
    view, _ = file.poll(page, "zh-CN", job_id, 99_999)
    assert view["from"] == 0
    assert text_of(view["lines"]).startswith("各位同事下午好")


def test_reload_attaches_to_the_running_job_with_all_its_lines(page, job_id):
    view, timer = file.reattach(page, "zh-CN", job_id)
    assert (view["state"], view["name"], timer.active) == ("running", "长会议.flac", True)
    assert text_of(view["lines"]).startswith("各位同事下午好")


def test_progress_is_told(page, job_id):
    view, _ = file.poll(page, "zh-CN", job_id, 0)
    assert view["total_ms"] == 20 * 30_400
    assert 0 < view["done_ms"] < view["total_ms"]
    assert view["elapsed_ms"] > 0
    assert view["remaining_ms"] > 0


def test_header_names_the_model_that_is_loaded(page, job_id):
    view = system.header(page, "zh-CN")
    assert (view["model"], view["device"], view["threads"]) == ("Whisper base（内置）", "cpu", 2)
    assert view["state"] in ("busy", "ready")
    assert (view["embedded"], view["error"]) == (True, "")


def test_dictated_words_show_before_the_end_and_leave_the_box_alone(page, job_id):
    status, box, _ = dictation.poll(page, "zh-CN", job_id, "早上好。", True)
    assert status["text"].startswith("各位同事下午好")
    assert box == gr.skip()


def ask(page, job_id, action):
    return file.act(page, "zh-CN", {"job": job_id, "action": action})


def test_paused_job_keeps_its_lines_and_goes_on(page, job_id):
    assert ask(page, job_id, "pause")[1] == gr.skip()  # after its group of segments
    wait_until(lambda: file.poll(page, "zh-CN", job_id, 0)[0]["state"] == "paused")
    paused, timer = file.poll(page, "zh-CN", job_id, 0)
    assert timer.active
    assert text_of(paused["lines"]).startswith("各位同事下午好")
    assert paused["done_ms"] > 0
    ask(page, job_id, "resume")
    have = len(paused["lines"])
    wait_until(lambda: len(file.poll(page, "zh-CN", job_id, 0)[0]["lines"]) > have)


def test_job_that_is_not_shown_is_offered_with_its_progress(page, job_id):
    assert file.others(page, "zh-CN", job_id)["rows"] == []
    wait_until(lambda: file.others(page, "zh-CN", "")["rows"][0]["state"] == "running")
    row = file.others(page, "zh-CN", "")["rows"][0]
    assert (row["job"], row["name"]) == (job_id, "长会议.flac")
    assert 0 < row["done_ms"] < row["total_ms"]


def test_cancel_keeps_what_was_recognized(page, job_id):
    wait_until(lambda: file.poll(page, "zh-CN", job_id, 0)[0]["state"] == "running")
    followed, view, timer = ask(page, job_id, "cancel")
    assert (followed, view, timer.active) == (job_id, gr.skip(), True)
    shown, _ = file.poll(page, "zh-CN", job_id, 0)
    wait_until(lambda: file.poll(page, "zh-CN", job_id, 0)[0]["final"])
    view, timer = file.poll(page, "zh-CN", job_id, 0)
    assert (view["state"], timer.active) == ("partial", False)
    assert text_of(view["lines"]).startswith(text_of(shown["lines"]))
