"""Dictation, batch, history, header and system, by the handlers alone."""

from __future__ import annotations

import zipfile
from pathlib import Path

import gradio as gr
import pytest

from asr_core.engine import TranscribeOptions
from asr_core.errors import AudioDecodeError, JobNotFoundError, RecordNotFoundError
from asr_core.results import TranscriptWarning
from tests.fakes.scripted_engine import Script, sentence
from ui.handlers import batch, dictation, history, system

SAID = Script(sentences=(sentence("今天天气很好", 0, marks="。"),))


def dictate(page, recording, text, append=True):
    """Record and poll to the end. Returns the last status and what happens to the box."""
    job_id, *_ = dictation.recorded(page, "zh-CN", str(recording))
    for _ in range(20):
        status, box, _ = dictation.poll(page, "zh-CN", job_id, text, append)
        if status["final"]:
            return status, box
    raise AssertionError("the job did not finish")


def test_dictated_text_joins_the_box(page, engine, recording):
    engine.script = SAID
    assert dictate(page, recording, "早上好。")[1] == "早上好。今天天气很好。"


def test_dictated_text_replaces_the_box_when_not_appending(page, engine, recording):
    engine.script = SAID
    assert dictate(page, recording, "早上好。", append=False)[1] == "今天天气很好。"


def test_words_show_while_they_are_recognized(page, engine, recording):
    engine.script = Script(hold_after=1)
    job_id, *_ = dictation.recorded(page, "zh-CN", str(recording))
    for _ in range(3):
        status, box, _ = dictation.poll(page, "zh-CN", job_id, "", True)
    assert status["text"] == "各位同事下午好今天的项目例会现在开始。"
    assert box == gr.skip()


def test_silence_gives_a_reason_and_leaves_the_box_alone(page, engine, recording):
    engine.script = Script(sentences=(), warnings=(TranscriptWarning("no_speech", "none"),))
    status, shown = dictate(page, recording, "早上好。")
    assert status["warnings"] == ["没有检测到人声"]
    assert shown == gr.skip()


def test_dictation_is_kept_in_the_history_as_such(page, engine, recording):
    dictate(page, recording, "")
    assert engine.history().entries[0].origin == "dictation"


def test_nothing_recorded_queues_nothing(page, engine):
    assert dictation.recorded(page, "zh-CN", None) == (gr.skip(), gr.skip(), gr.skip(), None)
    assert engine.active_jobs() == []


def test_recorder_is_ready_for_the_next_words(page, recording):
    *_, recorder = dictation.recorded(page, "zh-CN", str(recording))
    assert recorder is None


def test_clear_empties_the_box(page):
    assert dictation.clear(page, "zh-CN")[0] == ""


def start_batch(page, recording, count=3):
    paths = []
    for number in range(count):
        folder = recording.parent / str(number)
        folder.mkdir()
        paths.append(str(folder / recording.name))
        Path(paths[-1]).write_bytes(recording.read_bytes())
    return batch.start(page, "zh-CN", paths, True, True)


def finish_batch(page, batch_id):
    rows = {}
    for _ in range(60):
        known = [job for job, row in rows.items() if row["final"]]
        view, timer = batch.poll(page, "zh-CN", batch_id, known)
        rows.update({row["job"]: row for row in view["rows"]})
        if not timer.active:
            return rows
    raise AssertionError("the batch did not finish")


def test_batch_queues_every_file_in_order_and_empties_the_field(page, engine, recording):
    batch_id, view, timer, field = start_batch(page, recording)
    assert [job.id for job in engine.jobs(batch_id)] == view["order"]
    assert (len(view["rows"]), timer.active, field) == (3, True, None)


def test_batch_without_files_says_what_to_do(page):
    with pytest.raises(gr.Error, match="请先选择一个文件"):
        batch.start(page, "zh-CN", [], True, True)


def test_batch_rows_end_with_a_preview(page, recording):
    batch_id, *_ = start_batch(page, recording)
    rows = finish_batch(page, batch_id)
    assert {row["state"] for row in rows.values()} == {"done"}
    assert all(row["preview"].startswith("各位同事") for row in rows.values())


def test_rows_that_the_browser_knows_as_finished_are_not_sent_again(page, recording):
    batch_id, view, _, _ = start_batch(page, recording)
    finish_batch(page, batch_id)
    again, _ = batch.poll(page, "zh-CN", batch_id, view["order"][:2])
    assert [row["job"] for row in again["rows"]] == view["order"][2:]


def test_failed_file_of_a_batch_tells_why(page, engine, recording):
    engine.script = Script(error=AudioDecodeError("x", path="例会.wav", reason="not_audio"))
    batch_id, *_ = start_batch(page, recording, count=1)
    (row,) = finish_batch(page, batch_id).values()
    assert row["error"] == "“例会.wav”不是音频或视频文件，请确认文件内容"


def test_cancel_all_ends_the_batch(page, recording):
    batch_id, *_ = start_batch(page, recording)
    batch.cancel(page, "zh-CN", batch_id)
    assert {row["state"] for row in finish_batch(page, batch_id).values()} == {"cancelled"}


def test_archive_holds_one_file_each_even_for_equal_names(page, recording):
    batch_id, *_ = start_batch(page, recording)
    finish_batch(page, batch_id)
    sent = batch.archive(page, "zh-CN", {"format": "txt"}, batch_id)
    with zipfile.ZipFile(sent["path"]) as packed:
        names = packed.namelist()
        assert names == ["例会.txt", "例会 (2).txt", "例会 (3).txt"]
        assert packed.read(names[2]).decode().startswith("各位同事")


def test_archive_of_nothing_says_so(page, engine, recording):
    engine.script = Script(hold_after=0)
    batch_id, *_ = start_batch(page, recording, count=1)
    with pytest.raises(gr.Error, match="没有可下载的文字"):
        batch.archive(page, "zh-CN", {"format": "txt"}, batch_id)


def fill(engine, recording, count):
    for number in range(count):
        job = engine.submit(recording, TranscribeOptions(), name=f"会议 {number}.wav")
        while not engine.live(job.id).job.state.is_final:
            pass


def test_history_lists_the_newest_first_in_pages(page, engine, recording):
    fill(engine, recording, 53)
    first = history.search(page, "zh-CN", "")
    rest = history.turn_page(page, "zh-CN", {"offset": 50}, "")
    assert (first["total"], len(first["rows"]), len(rest["rows"])) == (53, 50, 3)
    assert first["rows"][0]["name"] == "会议 52.wav"
    assert first["rows"][0]["model"] == "Whisper base（内置）"


def test_history_search_finds_names_and_texts(page, engine, recording):
    fill(engine, recording, 3)
    assert [row["name"] for row in history.search(page, "zh-CN", " 会议 1 ")["rows"]] == [
        "会议 1.wav"
    ]
    assert history.search(page, "zh-CN", "昇腾芯片")["total"] == 3
    assert history.search(page, "zh-CN", "没有这个词")["rows"] == []


def test_opening_an_entry_shows_its_transcript(page, engine, recording):
    fill(engine, recording, 1)
    view = history.open_entry(page, "zh-CN", {"id": engine.history().entries[0].id})
    assert (view["name"], len(view["lines"])) == ("会议 0.wav", 5)


def test_opening_a_deleted_entry_is_an_error_of_its_own(page):
    with pytest.raises(RecordNotFoundError):
        history.open_entry(page, "zh-CN", {"id": "f" * 32})


def test_delete_removes_the_entry_and_shows_the_list_again(page, engine, recording):
    fill(engine, recording, 2)
    entry = engine.history().entries[0]
    view = history.delete_entry(page, "zh-CN", {"id": entry.id, "offset": 0}, "")
    assert [row["name"] for row in view["rows"]] == ["会议 0.wav"]


def test_deleting_the_last_entry_of_a_page_turns_back(page, engine, recording):
    fill(engine, recording, 51)
    oldest = engine.history(offset=50).entries[0]
    view = history.delete_entry(page, "zh-CN", {"id": oldest.id, "offset": 50}, "")
    assert (view["offset"], len(view["rows"])) == (0, 50)


def test_header_tells_model_device_and_state(page):
    view = system.header(page, "zh-CN")
    assert view["model"] == "Whisper base（内置）"
    assert (view["device"], view["threads"], view["state"]) == ("cpu", 2, "ready")
    assert view["embedded"] is True


def test_header_tells_why_the_engine_is_unavailable(page, engine):
    engine.state, engine.error_code = "unavailable", "model_missing"
    expected = "模型“whisper-base”尚未安装，请运行 ./run.sh models install whisper-base"
    assert system.header(page, "zh-CN")["error"] == expected


@pytest.mark.parametrize("locale", ["zh-CN", "en"])
def test_overview_names_folders_memory_and_models(page, settings, locale):
    view = system.overview(page, locale)
    cards = {card["id"]: card["rows"] for card in view["cards"]}
    assert [str(settings.recordings), "0 B"] in [row[1:] for row in cards["data"]]
    assert any(row[1] == "5.0 GB / 8.0 GB" for row in cards["machine"])
    assert cards["versions"][-1][0] == "MindSpore"
    assert view["models"][0]["active"] is True


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "2 KB"), (145_217_532, "138 MB"), (5 << 30, "5.0 GB")],
)
def test_readable_bytes(count, text):
    assert system.readable_bytes(count) == text


def test_cancelling_an_unknown_batch_changes_nothing(page):
    assert batch.cancel(page, "zh-CN", "0" * 32)["order"] == []


def test_polling_an_unknown_dictation_goes_back_to_idle(page):
    status, _, timer = dictation.poll(page, "zh-CN", "0" * 32, "", True)
    assert (status["state"], timer.active) == ("idle", False)


def test_unknown_job_is_reported_by_the_engine(engine):
    with pytest.raises(JobNotFoundError):
        engine.live("0" * 32)
