"""Dictation, history, header and system, by the handlers alone."""

from __future__ import annotations

import re

import gradio as gr
import pytest

from asr_core.engine import Engine
from asr_core.errors import AudioDecodeError, JobNotFoundError
from asr_core.results import TranscriptWarning
from asr_core.settings import Settings
from tests.seeding import fail, finish, queue, sentence, transcript
from tests.unit.runtime import smi_outputs
from tests.waiting import wait_until
from ui.guard import Page
from ui.handlers import dictation, models, system

SAID = transcript((sentence("今天天气很好", 0, marks="。"),))
SILENCE = transcript((), warnings=(TranscriptWarning("no_speech", "none"),))


def dictate(page, history, recording, text, *, result=SAID, append=True):
    """Record and look once it is transcribed. Returns status and what happens to the box."""
    job_id, *_ = dictation.recorded(page, "zh-CN", str(recording))
    finish(history, job_id, result)
    status, box, timer = dictation.poll(page, "zh-CN", job_id, text, append)
    assert (status["final"], timer.active) == (True, False)
    return status, box


def test_dictated_text_joins_the_box(page, history, recording):
    assert dictate(page, history, recording, "早上好。")[1] == "早上好。今天天气很好。"


def test_dictated_text_replaces_the_box_when_not_appending(page, history, recording):
    assert dictate(page, history, recording, "早上好。", append=False)[1] == "今天天气很好。"


def test_waiting_dictation_leaves_the_box_alone(page, recording):
    job_id, status, timer, _ = dictation.recorded(page, "zh-CN", str(recording))
    assert (status["state"], status["position"], timer.active) == ("queued", 1, True)
    status, box, _ = dictation.poll(page, "zh-CN", job_id, "早上好。", True)
    assert (status["state"], box) == ("queued", gr.skip())


def test_silence_gives_a_reason_and_leaves_the_box_alone(page, history, recording):
    status, shown = dictate(page, history, recording, "早上好。", result=SILENCE)
    assert status["warnings"] == ["没有检测到人声"]
    assert shown == gr.skip()


def test_failed_dictation_gives_a_reason_and_leaves_the_box_alone(page, history, recording):
    job_id, *_ = dictation.recorded(page, "zh-CN", str(recording))
    fail(history, job_id, AudioDecodeError("x", path="录音.wav", reason="empty"))
    status, box, timer = dictation.poll(page, "zh-CN", job_id, "早上好。", True)
    assert status["error"].startswith("“录音.wav”是空文件")
    assert (box, timer.active) == (gr.skip(), False)


def test_dictation_is_kept_in_the_history_as_such(page, engine, history, recording):
    dictate(page, history, recording, "")
    assert engine.history().entries[0].origin == "dictation"


def test_nothing_recorded_queues_nothing(page, engine):
    assert dictation.recorded(page, "zh-CN", None) == (gr.skip(), gr.skip(), gr.skip(), None)
    assert engine.active_jobs() == []


def test_recorder_is_ready_for_the_next_words(page, recording):
    *_, recorder = dictation.recorded(page, "zh-CN", str(recording))
    assert recorder is None


def test_clear_empties_the_box(page):
    assert dictation.clear(page, "zh-CN")[0] == ""


def test_header_tells_model_device_and_queue_before_anything_is_loaded(page, history, recording):
    queue(history, recording)
    view = system.header(page, "zh-CN")
    assert view["model"] == "Whisper base（内置）"
    assert (view["device"], view["threads"], view["state"]) == ("auto", 2, "loading")
    assert (view["queued"], view["embedded"], view["error"]) == (1, True, "")


def test_header_tells_why_the_engine_is_unavailable(tmp_path):
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    settings = Settings(home=tmp_path / "home", model_dir=nothing)
    with Engine(settings) as engine:
        engine.start()
        page = Page(engine, settings)
        wait_until(lambda: system.header(page, "zh-CN")["state"] == "unavailable")
        error = system.header(page, "zh-CN")["error"]
        cards = {card["id"]: card["rows"] for card in system.overview(page, "zh-CN")["cards"]}
    assert error == (
        f"设置指定的文件夹“{nothing}”里缺少模型“whisper-base”的文件：model.bin, config.json, "
        "tokenizer.json, vocabulary.txt。请补齐，或指定另一个文件夹"
    )
    assert cards["engine"][-1] == ["", error]


@pytest.mark.parametrize("locale", ["zh-CN", "en"])
def test_overview_names_folders_and_memory(page, history, settings, recording, locale):
    queue(history, recording)
    view = system.overview(page, locale)
    cards = {card["id"]: card["rows"] for card in view["cards"]}
    size = system.readable_bytes(recording.stat().st_size)
    assert [str(settings.recordings), size] in [row[1:] for row in cards["data"]]
    assert any(re.fullmatch(r"[\d.]+ [MG]B / [\d.]+ [GT]B", row[1]) for row in cards["machine"])
    assert {"tinglu", "gradio"} <= {row[0] for row in cards["versions"]}


@pytest.mark.parametrize("locale", ["zh-CN", "en"])
def test_models_are_listed_with_what_may_be_done(page, settings, locale):
    view = models.listing(page, locale, True)
    rows = {row["name"]: row for row in view["models"]}
    assert list(rows)[:2] == ["whisper-base", "seaco-paraformer"]
    assert (rows["whisper-base"]["active"], rows["seaco-paraformer"]["active"]) == (True, False)
    assert (rows["whisper-base"]["size"], rows["ct-punc"]["size"]) == ("141 MB", "")
    lacking = rows["seaco-paraformer"]
    told = (lacking["state"], lacking["may_install"], lacking["may_use"], lacking["path"])
    assert told == ("missing", True, False, str(settings.models / "seaco-paraformer"))


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "2 KB"), (145_217_532, "138 MB"), (5 << 30, "5.0 GB")],
)
def test_readable_bytes(count, text):
    assert system.readable_bytes(count) == text


def test_polling_an_unknown_dictation_goes_back_to_idle(page):
    status, _, timer = dictation.poll(page, "zh-CN", "0" * 32, "", True)
    assert (status["state"], timer.active) == ("idle", False)


def test_unknown_job_is_reported_by_the_engine(engine):
    with pytest.raises(JobNotFoundError):
        engine.live("0" * 32)


def npu_rows(page, locale="zh-CN"):
    """What the card of the devices says."""
    cards = {card["id"]: card for card in system.overview(page, locale)["cards"]}
    return cards["npu"]["rows"]


def command(folder, monkeypatch, script):
    """A command ``npu-smi`` that is found before any other."""
    path = folder / "npu-smi"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_machine_without_devices_says_so_calmly(page, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert npu_rows(page) == [["状态", "本机没有昇腾设备"]]


def test_devices_are_shown_as_they_are_now(page, tmp_path, monkeypatch):
    (tmp_path / "table").write_text(smi_outputs.CHIP_910B, encoding="utf-8")
    command(tmp_path, monkeypatch, f"cat '{tmp_path}/table'")
    assert npu_rows(page) == [
        ["910B3 0/0", "OK · 51 °C · 98 W · 计算核 37% · 内存 5120 / 65536 MB"],
        ["910B3 1/0", "Alarm · 49 °C · 99 W · 计算核 0% · 内存 4096 / 65536 MB"],
    ]
    assert npu_rows(page, "en")[0][1].endswith("cores 37% · memory 5120 / 65536 MB")


def test_what_a_device_does_not_tell_is_left_out(page, tmp_path, monkeypatch):
    (tmp_path / "table").write_text(smi_outputs.CHIP_310P_DUAL, encoding="utf-8")
    command(tmp_path, monkeypatch, f"cat '{tmp_path}/table'")
    assert npu_rows(page)[2] == ["310P3 32768/0", "Critical · 计算核 0% · 内存 0 / 44000 MB"]


@pytest.mark.parametrize("script", ["exit 1", "echo nothing"])
def test_a_command_that_tells_nothing_is_unknown(page, tmp_path, monkeypatch, script):
    command(tmp_path, monkeypatch, script)
    assert npu_rows(page) == [["状态", "状态未知：npu-smi 没有给出可用的回答"]]
