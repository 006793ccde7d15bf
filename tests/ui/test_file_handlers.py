"""The file tab: from a chosen recording to its transcript, by the handlers alone."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
import pytest

from asr_core.engine import JobState
from asr_core.errors import AudioDecodeError
from tests.fakes.scripted_engine import MEETING, Script
from ui.handlers import common, file

OPTIONS = ("", True, True, "auto")


def start(page, recording, *options):
    return file.start(page, "zh-CN", str(recording), None, *(options or OPTIONS))


def finish(page, job_id):
    """Poll as the browser does, adding each delta to what it shows."""
    lines = []
    for _ in range(50):
        view, timer = file.poll(page, "zh-CN", job_id, len(lines))
        lines[view["from"] :] = view["lines"]
        if not timer.active:
            return view, lines
    raise AssertionError("the job did not finish")


def test_start_queues_the_upload_under_its_own_name(page, engine, recording):
    job_id, view, timer = start(page, recording)
    assert (view["job"], view["name"], timer.active) == (job_id, "例会.wav", True)
    assert [job.id for job in engine.active_jobs()] == [job_id]


def test_start_without_a_file_says_what_to_do(page):
    with pytest.raises(gr.Error, match="请先选择一个文件"):
        file.start(page, "zh-CN", None, None, *OPTIONS)


def test_microphone_recording_gets_a_name_people_recognize(page, engine, recording):
    file.start(page, "zh-CN", None, str(recording), *OPTIONS)
    assert engine.active_jobs()[0].name.startswith("录音 2")


def test_choices_reach_the_job(page, engine, recording):
    start(page, recording, " 昇腾 \n\n鲲鹏\n昇腾\n", False, False, "off")
    options = engine.active_jobs()[0].options
    assert options.hotwords == ("昇腾", "鲲鹏")
    assert (options.vad, options.punctuation, options.itn) == ("off", False, False)


def test_automatic_segmentation_leaves_the_choice_to_the_installation():
    assert common.options_from("", True, True, "auto").vad is None


def test_hotwords_beyond_the_limit_are_left_out():
    words = "\n".join(f"词{number}" for number in range(600))
    assert len(common.options_from(words, True, True, "auto").hotwords) == 500


def test_sentences_arrive_one_by_one_and_only_the_new_ones_are_sent(page, engine, recording):
    job_id, view, _ = start(page, recording)
    sizes = []
    have = 0
    while not view["final"]:
        view, _ = file.poll(page, "zh-CN", job_id, have)
        if not view["final"]:
            sizes.append(len(view["lines"]))
            assert view["from"] == have
            have += len(view["lines"])
    assert max(sizes) == 1
    assert len(view["lines"]) == len(MEETING)


def test_finished_job_shows_everything_and_stops_the_timer(page, recording):
    job_id, _, _ = start(page, recording)
    view, lines = finish(page, job_id)
    assert view["state"] == "done"
    assert "".join(piece[0] for piece in lines[1]["written"]) == "我们邀请了26位用户进行试用，"
    assert "".join(piece[0] for piece in lines[1]["spoken"]) == "我们邀请了二十六位用户进行试用，"
    assert view["playable"] is True


def test_browser_that_lost_its_lines_gets_them_all_again(page, engine, recording):
    engine.script = Script(hold_after=3)
    job_id, _, _ = start(page, recording)
    for _ in range(6):
        view, _ = file.poll(page, "zh-CN", job_id, 99)
    assert view["from"] == 0
    assert len(view["lines"]) == 3


def test_reload_attaches_to_the_running_job(page, engine, recording):
    engine.script = Script(hold_after=2)
    job_id, _, _ = start(page, recording)
    for _ in range(4):
        file.poll(page, "zh-CN", job_id, 0)
    view, timer = file.reattach(page, "zh-CN", job_id)
    assert (view["state"], len(view["lines"]), timer.active) == ("running", 2, True)


def test_reload_after_the_record_was_deleted_starts_empty(page, engine, recording):
    job_id, view, _ = start(page, recording)
    finish(page, job_id)
    engine.delete([view["recording"]])
    shown, timer = file.reattach(page, "zh-CN", job_id)
    assert (shown, timer.active) == (file.EMPTY, False)


def test_first_visit_starts_empty(page):
    shown, timer = file.reattach(page, "zh-CN", "")
    assert (shown, timer.active) == (file.EMPTY, False)


def test_cancel_keeps_what_was_recognized(page, engine, recording):
    engine.script = Script(hold_after=2)
    job_id, _, _ = start(page, recording)
    for _ in range(4):
        file.poll(page, "zh-CN", job_id, 0)
    file.cancel(page, "zh-CN", job_id)
    view, lines = finish(page, job_id)
    assert (view["state"], len(lines)) == (JobState.PARTIAL.value, 2)


def test_failed_job_tells_the_reason_in_the_visitors_language(page, engine, recording):
    engine.script = Script(error=AudioDecodeError("x", path="坏.mp3", reason="damaged"))
    job_id, _, _ = start(page, recording)
    chinese, _ = file.poll(page, "zh-CN", job_id, 0)
    english, _ = file.poll(page, "en", job_id, 0)
    assert chinese["error"] == "“坏.mp3”已损坏，没有可解码的内容，请重新导出"
    assert english["error"].startswith("“坏.mp3” is damaged")


def test_waiting_job_tells_its_place_in_the_queue(page, engine, recording):
    engine.script = Script(wait_looks=3)
    _, view, _ = start(page, recording)
    assert (view["state"], view["position"]) == ("queued", 1)


def test_sample_is_a_recording_that_exists(page):
    path, recorded = file.take_sample(page, "zh-CN")
    assert Path(path).stat().st_size > 100_000
    assert recorded is None


def test_export_hands_over_a_file_under_the_recordings_name(page, recording):
    job_id, view, _ = start(page, recording)
    finish(page, job_id)
    sent = common.export_as(page, "zh-CN", {"recording": view["recording"], "format": "srt"})
    assert (sent["kind"], sent["name"]) == ("download", "例会.srt")
    assert Path(sent["path"]).is_file()


def test_the_same_export_twice_is_sent_twice(page, recording):
    job_id, view, _ = start(page, recording)
    finish(page, job_id)
    event = {"recording": view["recording"], "format": "txt"}
    first, second = (common.export_as(page, "zh-CN", event) for _ in range(2))
    assert first["serial"] != second["serial"]


def test_playback_gives_the_recording(page, recording):
    _, view, _ = start(page, recording)
    sent = common.playback(page, "zh-CN", {"recording": view["recording"]})
    assert (sent["kind"], sent["recording"]) == ("audio", view["recording"])
