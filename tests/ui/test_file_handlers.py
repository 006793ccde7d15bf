"""The file tab: from a chosen recording to its transcript, by the handlers alone."""

from __future__ import annotations

import base64
from pathlib import Path

import gradio as gr
import numpy as np
import pytest

from asr_core.engine import JobState, TranscribeOptions
from asr_core.errors import AudioDecodeError, JobStateError
from tests.seeding import MEETING, fail, finish, transcript
from ui.handlers import common, file

OPTIONS = ("", True, True, "auto")


def start(page, recording, *options):
    return file.start(page, "zh-CN", str(recording), None, *(options or OPTIONS))


@pytest.fixture
def finished(page, history, recording):
    """Job and recording id of a transcribed upload."""
    job_id, view, _ = start(page, recording)
    finish(history, job_id)
    return job_id, view["recording"]


def test_start_queues_the_upload_under_its_own_name(page, engine, recording):
    job_id, view, timer = start(page, recording)
    assert (view["job"], view["name"], timer.active) == (job_id, "例会.wav", True)
    assert [job.id for job in engine.active_jobs()] == [job_id]


def test_upload_is_kept_when_the_browsers_copy_goes_away(page, engine, recording):
    content = recording.read_bytes()
    _, view, _ = start(page, recording)
    recording.unlink()
    assert engine.record(view["recording"]).path.read_bytes() == content


def test_start_without_a_file_says_what_to_do(page):
    with pytest.raises(gr.Error, match="请先选择一个文件"):
        file.start(page, "zh-CN", None, None, *OPTIONS)


def test_microphone_recording_gets_a_name_people_recognize(page, engine, recording):
    file.start(page, "zh-CN", None, str(recording), *OPTIONS)
    assert engine.active_jobs()[0].name.startswith("录音 2")


def test_choices_reach_the_job(page, engine, recording):
    start(page, recording, " 昇腾 \n\n鲲鹏\n昇腾\n", False, False, "off", "split", 2)
    options = engine.active_jobs()[0].options
    assert options.hotwords == ("昇腾", "鲲鹏")
    assert (options.vad, options.punctuation, options.itn) == ("off", False, False)
    assert (options.channels, options.track) == ("split", 2)


def test_untouched_choices_are_the_defaults():
    untouched = ("", True, True, "auto", "mix", 0, "auto", "words", "words", "sign", [])
    assert common.options_from(*untouched) == TranscribeOptions()
    assert common.options_from(*untouched[:6]) == TranscribeOptions()


def test_how_the_text_is_written_is_chosen():
    chosen = ("tagger", "dash", "digits", "words", ["fillers", "spacing"])
    options = common.options_from("", True, True, "auto", "mix", 0, *chosen)
    assert (options.marks, options.dates, options.clock) == ("tagger", "dash", "digits")
    assert (options.percent, options.polish) == ("words", ("fillers", "spacing"))


def test_no_hotword_is_left_out_on_the_way():
    lines = [*(f"词{number}" for number in range(600)), "生态路 => 胜太路"]
    assert common.options_from("\n".join(lines)).hotwords == tuple(lines)


def test_waiting_jobs_tell_their_places_in_the_queue(page, recording):
    views = [start(page, recording)[1] for _ in range(2)]
    assert [(view["state"], view["position"]) for view in views] == [("queued", 1), ("queued", 2)]


def test_finished_job_shows_everything_and_stops_the_timer(page, finished):
    job_id, _ = finished
    view, timer = file.poll(page, "zh-CN", job_id, 0)
    assert (view["state"], timer.active, view["playable"]) == ("done", False, True)
    lines = view["lines"]
    assert len(lines) == len(MEETING)
    assert "".join(piece[0] for piece in lines[1]["written"]) == "我们邀请了26位用户进行试用，"
    assert "".join(piece[0] for piece in lines[1]["spoken"]) == "我们邀请了二十六位用户进行试用，"


def test_finished_job_replaces_what_the_browser_has(page, finished):
    view, _ = file.poll(page, "zh-CN", finished[0], 3)
    assert (view["from"], len(view["lines"])) == (0, len(MEETING))


def test_reload_attaches_to_a_waiting_job(page, recording):
    job_id, _, _ = start(page, recording)
    view, timer = file.reattach(page, "zh-CN", job_id)
    assert (view["state"], timer.active) == ("queued", True)


def test_reload_shows_the_finished_job(page, finished):
    view, timer = file.reattach(page, "zh-CN", finished[0])
    assert (view["state"], len(view["lines"]), timer.active) == ("done", len(MEETING), False)


def test_reload_after_the_record_was_deleted_starts_empty(page, engine, finished):
    job_id, recording_id = finished
    engine.delete([recording_id])
    engine.purge()
    shown, timer = file.reattach(page, "zh-CN", job_id)
    assert (shown, timer.active) == (file.EMPTY, False)


def test_first_visit_starts_empty(page):
    shown, timer = file.reattach(page, "zh-CN", "")
    assert (shown, timer.active) == (file.EMPTY, False)


def ask(page, job_id, action):
    return file.act(page, "zh-CN", {"job": job_id, "action": action})


def test_cancelling_a_waiting_job_ends_it_at_once(page, recording):
    job_id, _, _ = start(page, recording)
    _, view, timer = ask(page, job_id, "cancel")
    assert (view["state"], view["final"], view["lines"]) == ("cancelled", True, [])
    assert timer.active is False


def test_cancelling_a_finished_job_is_an_error_of_its_own(page, finished):
    with pytest.raises(JobStateError):
        ask(page, finished[0], "cancel")


def test_paused_job_waits_for_the_user_and_can_go_on(page, recording):
    job_id, _, _ = start(page, recording)
    followed, view, timer = ask(page, job_id, "pause")
    assert (followed, view["state"], view["final"], timer.active) == (job_id, "paused", False, True)
    assert ask(page, job_id, "resume")[1]["state"] == "queued"


def test_running_job_is_asked_and_followed_until_it_stops(page, history, recording):
    job_id, _, _ = start(page, recording)
    history.set_state(job_id, JobState.RUNNING)
    with pytest.raises(JobStateError):  # another process runs it
        ask(page, job_id, "pause")


@pytest.mark.parametrize("ending", ["failed", "cancelled", "partial"])
def test_what_did_not_end_well_is_tried_again_and_followed(page, history, recording, ending):
    job_id, _, _ = start(page, recording)
    if ending == "failed":
        fail(history, job_id, AudioDecodeError("x", path="坏.mp3", reason="damaged"))
    elif ending == "partial":
        finish(history, job_id, transcript(MEETING[:2], partial=True))
    else:
        ask(page, job_id, "cancel")
    again, view, timer = ask(page, job_id, "retry")
    assert again != job_id
    assert (view["job"], view["state"], timer.active) == (again, "queued", True)


def test_finished_job_is_not_tried_again(page, finished):
    with pytest.raises(JobStateError):
        ask(page, finished[0], "retry")


def test_put_first_it_is_next(page, recording):
    ids = [start(page, recording)[0] for _ in range(3)]
    assert ask(page, ids[2], "first")[1]["position"] == 1
    assert ask(page, ids[1], "first")[1]["position"] == 1
    assert file.poll(page, "zh-CN", ids[0], 0)[0]["position"] == 3


def test_unknown_action_does_nothing_to_a_job(page, recording):
    job_id, _, _ = start(page, recording)
    with pytest.raises(KeyError):
        ask(page, job_id, "close")
    assert file.poll(page, "zh-CN", job_id, 0)[0]["state"] == "queued"


def test_another_browser_is_offered_what_waits_and_can_follow_it(page, recording):
    ids = [start(page, recording)[0] for _ in range(2)]
    offered = file.others(page, "zh-CN", "")
    assert [(row["job"], row["name"], row["position"]) for row in offered["rows"]] == [
        (ids[0], "例会.wav", 1),
        (ids[1], "例会.wav", 2),
    ]
    followed, view, timer = file.attach(page, "zh-CN", {"job": ids[1]})
    assert (followed, view["position"], timer.active) == (ids[1], 2, True)


def test_followed_ended_and_dictated_jobs_are_not_offered(page, engine, history, recording):
    followed, ended, other = (start(page, recording)[0] for _ in range(3))
    engine.submit(recording, TranscribeOptions(), origin="dictation")
    finish(history, ended)
    assert [row["job"] for row in file.others(page, "zh-CN", followed)["rows"]] == [other]


def test_long_list_of_jobs_is_counted_not_listed(page, recording):
    for _ in range(file.OTHERS + 3):
        start(page, recording)
    offered = file.others(page, "zh-CN", "")
    assert (len(offered["rows"]), offered["total"]) == (file.OTHERS, file.OTHERS + 3)


def test_following_a_job_that_is_gone_starts_empty(page):
    _, view, timer = file.attach(page, "zh-CN", {"job": "0" * 32})
    assert (view, timer.active) == (file.EMPTY, False)


def test_partial_result_keeps_its_text(page, history, recording):
    job_id, _, _ = start(page, recording)
    finish(history, job_id, transcript(MEETING[:2], partial=True))
    view, timer = file.poll(page, "zh-CN", job_id, 0)
    assert (view["state"], len(view["lines"]), timer.active) == ("partial", 2, False)


def test_job_whose_process_ended_keeps_the_page_waiting(page, history, recording):
    job_id, _, _ = start(page, recording)
    history.set_state(job_id, JobState.RUNNING)
    history.set_state(job_id, JobState.INTERRUPTED)
    view, timer = file.poll(page, "zh-CN", job_id, 0)
    assert (view["state"], view["final"], timer.active) == ("interrupted", False, True)


def test_failed_job_tells_the_reason_in_the_visitors_language(page, history, recording):
    job_id, _, _ = start(page, recording)
    fail(history, job_id, AudioDecodeError("x", path="坏.mp3", reason="damaged"))
    chinese, _ = file.poll(page, "zh-CN", job_id, 0)
    english, _ = file.poll(page, "en", job_id, 0)
    assert chinese["error"] == "“坏.mp3”已损坏，没有可解码的内容，请重新导出"
    assert english["error"].startswith("“坏.mp3” is damaged")


def test_sample_is_a_recording_that_exists(page):
    path, recorded = file.take_sample(page, "zh-CN")
    assert Path(path).stat().st_size > 100_000
    assert recorded is None


def test_export_hands_over_a_file_under_the_recordings_name(page, settings, finished):
    sent = common.export_as(page, "zh-CN", {"recording": finished[1], "format": "srt"})
    assert (sent["kind"], sent["name"]) == ("download", "例会.srt")
    written = Path(sent["path"])
    assert written.is_relative_to(settings.tmp)
    assert "我们邀请了26位用户进行试用" in written.read_text(encoding="utf-8")


def test_the_same_export_twice_is_sent_twice(page, finished):
    event = {"recording": finished[1], "format": "txt"}
    first, second = (common.export_as(page, "zh-CN", event) for _ in range(2))
    assert first["serial"] != second["serial"]


def test_playback_gives_the_recording(page, recording):
    _, view, _ = start(page, recording)
    sent = common.playback(page, "zh-CN", {"recording": view["recording"]})
    assert (sent["kind"], sent["recording"]) == ("audio", view["recording"])
    assert Path(sent["path"]).read_bytes() == recording.read_bytes()


def test_recording_that_is_gone_is_not_playable(page, engine, finished):
    job_id, recording_id = finished
    engine.record(recording_id).path.unlink()
    assert common.playback(page, "zh-CN", {"recording": recording_id}) == gr.skip()
    assert file.poll(page, "zh-CN", job_id, 0)[0]["playable"] is False


def outline(page, recording_id, total_ms):
    event = {"recording": recording_id, "total_ms": total_ms}
    return common.outline(page, "zh-CN", event)


def test_outline_draws_the_length_that_the_player_shows(page, finished):
    # A tone of two seconds in a player of four.
    sent = outline(page, finished[1], 4000)
    assert (sent["kind"], sent["recording"]) == ("outline", finished[1])
    lows, highs = np.frombuffer(base64.b64decode(sent["points"]), np.int8).reshape(-1, 2).T
    assert len(highs) == common.OUTLINE_POINTS
    half = common.OUTLINE_POINTS // 2
    assert (set(lows[20 : half - 20]), set(highs[20 : half - 20])) == ({-3}, {3})
    assert (set(lows[half:]), set(highs[half:])) == ({0}, {0})


def test_the_same_outline_twice_is_sent_twice(page, finished):
    first, second = (outline(page, finished[1], 2000) for _ in range(2))
    assert first["serial"] != second["serial"]


def test_the_player_does_without_an_outline(page, engine, recording, finished):
    waiting = start(page, recording)[1]["recording"]
    assert outline(page, waiting, 2000) == gr.skip()
    engine.record(finished[1]).path.write_text("no sound")
    assert outline(page, finished[1], 2000) == gr.skip()
    engine.delete([finished[1]])
    engine.purge()
    assert outline(page, finished[1], 0) == gr.skip()
