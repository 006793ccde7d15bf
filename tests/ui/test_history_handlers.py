"""The history tab by its handlers: its list, and what is done with recordings."""

from __future__ import annotations

import csv
import json
import zipfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest

from asr_core.engine import Engine, JobState
from asr_core.errors import AudioDecodeError, JobStateError, RecordNotFoundError
from tests.seeding import MEETING, fail, finish, queue, sentence, transcript
from ui.guard import Page, guarded_answer, guarded_stream
from ui.handlers import history as history_tab
from ui.handlers.history_many import PREVIEWED, Exports

ZH = "zh-CN"
HOSTILE = "<img src=x onerror=alert(1)>"


def fill(history, recording, count):
    """Recordings ``会议 0.wav`` and so on. Returns their ids, the newest last."""
    jobs = [queue(history, recording, f"会议 {number}.wav") for number in range(count)]
    for job in jobs:
        finish(history, job.id)
    return [job.recording_id for job in jobs]


def look(page, query="", **event):
    return history_tab.look(page, ZH, {"query": query, **event})


def act(page, what, /, **event):
    return history_tab.act(page, ZH, {"act": what, **event})


def names(view):
    return [row["name"] for row in view["rows"]]


def test_pages_follow_one_another_by_their_cursors(page, history, recording):
    fill(history, recording, 53)
    first = look(page)
    rest = look(page, cursor=first["cursor"])
    assert (first["total"], first["exact"], len(first["rows"])) == (53, True, 50)
    assert (names(first)[0], first["rows"][0]["model"]) == ("会议 52.wav", "Whisper base（内置）")
    assert (names(rest), rest["cursor"]) == ([f"会议 {n}.wav" for n in (2, 1, 0)], "")


def test_search_marks_where_it_found_something(page, history, recording):
    fill(history, recording, 3)
    named = look(page, " 会议 1 ")
    assert [row["hits"] for row in named["rows"]] == [
        [["name", [["会议 1", True], [".wav", False]]]]
    ]
    in_text = look(page, "昇腾")["rows"][0]["hits"]
    assert [(field, [text for text, hit in pieces if hit]) for field, pieces in in_text] == [
        ("text", ["昇腾"])
    ]
    assert look(page, "没有这个词")["rows"] == []


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["乙.wav", "甲.wav"]),
        ({"states": ["failed"]}, ["乙.wav"]),
        ({"models": ["whisper-base"]}, ["甲.wav"]),
        ({"origins": ["batch"]}, ["乙.wav"]),
        ({"tags": ["重要"]}, ["甲.wav"]),
        ({"from_ms": 4_000_000_000_000}, []),
        ({"to_ms": 4_000_000_000_000, "from_ms": None}, ["乙.wav", "甲.wav"]),
        ({"shortest_ms": 20_000}, ["甲.wav"]),
        ({"longest_ms": 20_000}, ["乙.wav"]),
        ({"owner": ""}, ["乙.wav", "甲.wav"]),
        ({"deleted": True}, []),
    ],
)
def test_filters_as_the_page_sends_them(page, engine, history, recording, filters, found):
    first, second = (
        queue(history, recording, "甲.wav"),
        queue(history, recording, "乙.wav", origin="batch"),
    )
    finish(history, first.id)
    fail(history, second.id, AudioDecodeError("x", path="乙.wav", reason="damaged"))
    engine.tag([first.recording_id], ["重要"])
    assert names(look(page, filters=filters)) == found


def test_orders(page, history, recording):
    fill(history, recording, 2)
    assert names(look(page, sort="oldest")) == ["会议 0.wav", "会议 1.wav"]
    assert names(look(page, sort="name")) == ["会议 0.wav", "会议 1.wav"]
    assert names(look(page, sort="nonsense")) == ["会议 1.wav", "会议 0.wav"]


def test_what_there_is_to_filter_by(page, engine, history, recording):
    ids = fill(history, recording, 2)
    engine.tag(ids[:1], [HOSTILE])
    facets = history_tab.sift(page, ZH, {})["facets"]
    assert facets["models"] == [["whisper-base", "Whisper base（内置）", 2]]
    assert (facets["states"], facets["origins"]) == ([["done", "", 2]], [["file", "", 2]])
    assert (facets["tags"], facets["total"]) == ([[HOSTILE, HOSTILE, 1]], 2)


def test_every_end_of_a_job_is_shown(page, history, recording):
    jobs = [queue(history, recording, f"{number}.wav") for number in range(4)]
    finish(history, jobs[0].id, transcript(MEETING[:1], partial=True))
    fail(history, jobs[1].id, AudioDecodeError("x", path="1.wav", reason="damaged"))
    history.set_state(jobs[2].id, JobState.CANCELLED)
    states = [row["state"] for row in look(page)["rows"]]
    assert states == ["queued", "cancelled", "failed", "partial"]


def test_opening_shows_the_transcript(page, history, recording):
    (entry,) = fill(history, recording, 1)
    assert history_tab.open_entry(page, ZH, {"id": entry})["name"] == "会议 0.wav"
    tabs, view, about = history_tab.jump(page, ZH, {"recording": entry})
    assert (tabs.selected, view["recording"]) == ("history", entry)
    assert (about["row"]["id"], about["row"]["tags"]) == (entry, [])
    with pytest.raises(RecordNotFoundError):
        history_tab.open_entry(page, ZH, {"id": "f" * 32})


def test_tags_are_given_and_taken(page, history, recording):
    ids = fill(history, recording, 3)
    given = act(page, "tag", ids=ids[:2], add=["重要", HOSTILE, "ملف"])
    assert [sorted(row["tags"]) for row in given["changed"]] == [
        sorted(["重要", HOSTILE, "ملف"])
    ] * 2
    assert dict(given["tags"]) == {"重要": 2, HOSTILE: 2, "ملف": 2}
    taken = act(page, "tag", ids=ids[:1], remove=["重要"])
    assert dict(taken["tags"])["重要"] == 1


def test_tags_are_renamed_merged_and_deleted(page, history, recording):
    ids = fill(history, recording, 2)
    act(page, "tag", ids=ids[:1], add=["旧"])
    act(page, "tag", ids=ids[1:], add=["新"])
    assert act(page, "rename_tag", name="旧", new="新")["tags"] == [["新", 2]]
    assert act(page, "tags")["tags"] == [["新", 2]]
    assert act(page, "delete_tag", name="新")["tags"] == []


def test_notes_and_names(page, history, recording):
    (entry,) = fill(history, recording, 1)
    noted = act(page, "note", id=entry, note=f" {HOSTILE}\n第二行 ")["changed"][0]
    assert noted["note"] == f"{HOSTILE}\n第二行"
    renamed = act(page, "rename", id=entry, name="最终/版\n👩‍💻.wav")["changed"][0]
    assert "/" not in renamed["name"]
    assert renamed["name"].endswith("👩‍💻.wav")


def test_deleting_can_be_undone(page, engine, history, recording):
    ids = fill(history, recording, 3)
    done = act(page, "delete", ids=ids[:2])
    assert (sorted(done["undo"]), done["gone"]) == (sorted(ids[:2]), 2)
    assert names(look(page)) == ["会议 2.wav"]
    in_bin = look(page, filters={"deleted": True})
    assert (len(in_bin["rows"]), history_tab.sift(page, ZH, {})["facets"]["deleted"]) == (2, 2)
    assert in_bin["rows"][0]["deleted_ms"] > 0
    assert in_bin["bin_days"] == engine.bin_days > 0
    assert sorted(act(page, "restore", ids=done["undo"])["restored"]) == sorted(ids[:2])
    assert look(page)["total"] == 3


def test_the_bin_is_emptied_one_by_one_or_whole(page, history, recording):
    ids = fill(history, recording, 3)
    act(page, "delete", ids=ids)
    assert act(page, "purge", ids=ids[:1])["purged"] == 1
    assert act(page, "purge", whole=True)["purged"] == 2
    assert look(page, filters={"deleted": True})["rows"] == []


def test_deleting_what_waits_is_refused(page, history, recording):
    job = queue(history, recording)
    with pytest.raises(JobStateError):
        act(page, "delete", ids=[job.recording_id])
    assert look(page)["total"] == 1


def test_all_that_match_are_chosen_less_some(page, history, recording):
    ids = fill(history, recording, 12)
    act(page, "tag", all=True, query="会议 1", without=[ids[1]], add=["批"])
    assert sorted(names(look(page, filters={"tags": ["批"]}))) == ["会议 10.wav", "会议 11.wav"]


def test_storage_is_told(page, history, recording):
    ids = fill(history, recording, 2)
    act(page, "delete", ids=ids[:1])
    storage = act(page, "storage")["storage"]
    size = recording.stat().st_size
    assert (storage["audio"], storage["bin"], storage["deleted"]) == (2 * size, size, 1)
    assert storage["database"] > 0 < storage["free"]


def export(page, **event):
    return list(Exports().write(page, ZH, {"key": "k", **event}))


def test_a_selection_goes_into_a_zip(page, history, recording):
    ids = fill(history, recording, 3)
    waiting = queue(history, recording, "等.wav").recording_id
    *news, last = export(page, ids=[*ids, waiting], kind="zip", formats=["txt", "srt"])
    assert news[0]["key"] == "k"
    assert (last["written"], last["skipped"], last["file"]["kind"]) == (3, 1, "download")
    with zipfile.ZipFile(last["file"]["path"]) as bundle:
        assert len(bundle.namelist()) == 6


def test_everything_goes_into_a_table(page, history, recording):
    fill(history, recording, 3)
    last = export(page, all=True, query="会议", kind="csv")[-1]
    with Path(last["file"]["path"]).open(encoding="utf-8-sig", newline="") as table:
        rows = list(csv.reader(table))
    assert len(rows) == 4


def test_an_export_is_stopped(page, history, recording):
    ids = fill(history, recording, 3)
    exports = Exports()
    views = exports.write(page, ZH, {"key": "k", "ids": ids, "kind": "zip", "formats": ["txt"]})
    next(views)
    assert exports.stop(page, ZH, {"key": "k"}) == {"stopped": True}
    list(views)
    assert exports.stop(page, ZH, {"key": "k"}) == {"stopped": False}


def test_an_export_that_nobody_waits_for_ends(page, history, recording):
    ids = fill(history, recording, 3)
    exports = Exports()
    views = exports.write(page, ZH, {"key": "k", "ids": ids, "kind": "jsonl"})
    next(views)
    views.close()
    assert exports.stop(page, ZH, {"key": "k"}) == {"stopped": False}


def test_replacing_shows_what_it_does_and_can_be_undone(page, engine, history, recording):
    ids = fill(history, recording, 2)
    wanted = {"ids": ids, "find": "昇腾", "put": HOSTILE}
    seen = act(page, "preview", **wanted)
    assert (seen["hits"], len(seen["found"]), seen["rest"]) == (2, 2, 0)
    before, after = seen["found"][0]["lines"][0]
    assert [piece for piece in before if piece[1]] == [["昇腾", True]]
    assert [piece for piece in after if piece[1]] == [[HOSTILE, True]]
    stamps = {each["id"]: each["stamp"] for each in seen["found"]}
    done = act(page, "replace", **wanted, stamps=stamps)
    assert (done["hits"], sorted(done["replaced"]), done["refused"]) == (2, sorted(ids), [])
    assert look(page, HOSTILE)["total"] == 2
    stale = act(page, "replace", **wanted, stamps=stamps)
    assert (stale["hits"], len(stale["refused"])) == (0, 2)
    assert "修改过" in stale["refused"][0][1] or "被修改" in stale["refused"][0][1]
    undone = act(page, "undo_replace", stamps=done["replaced"])
    assert (sorted(undone["undone"]), undone["refused"]) == (sorted(ids), [])
    assert look(page, "昇腾")["total"] == 2
    assert act(page, "undo_replace", stamps=done["replaced"])["undone"] == []


def test_replacing_goes_on_in_parts(page, history, recording):
    other = transcript((sentence("没有那个词", 0, marks="。"),))
    ids = fill(history, recording, PREVIEWED + 1)
    for number in range(20):
        job = queue(history, recording, f"别的 {number}.wav")
        finish(history, job.id, other)
    seen = act(page, "preview", all=True, find="昇腾", put="")
    assert (len(seen["found"]), seen["rest"]) == (PREVIEWED, 1)
    assert {each["id"] for each in seen["found"]} < set(ids)


def request(language="zh-CN"):
    return SimpleNamespace(headers={"accept-language": language})


def event(**data):
    return gr.EventData(None, data)


def test_a_fault_is_an_answer(page, history, recording):
    (entry,) = fill(history, recording, 1)
    call = guarded_answer(page, history_tab.act)
    sent = event(act="rename", id=entry, name=" ", serial=7)
    assert json.loads(call(request(), sent)) == {"error": "名称不能为空", "serial": 7}
    unknown = json.loads(call(request("en"), event(act="nonsense", serial=8)))
    assert (unknown["serial"], "nonsense" in unknown["error"]) == (8, False)
    done = json.loads(call(request(), event(act="rename", id=entry, name="好.wav", serial=9)))
    assert (done["serial"], done["changed"][0]["name"]) == (9, "好.wav")


def test_a_fault_ends_a_stream(page, history, recording):
    fill(history, recording, 1)
    call = guarded_stream(page, Exports().write)
    views = [json.loads(v) for v in call(request(), event(key="k", ids=[], kind="csv", serial=3))]
    assert views[-1]["serial"] == 3
    assert views[-1]["error"]
    sent = event(key="k", all=True, kind="zip", formats=["txt"], serial=4)
    assert all("error" not in json.loads(view) for view in call(request(), sent))


def test_today_is_found_by_its_date(page, history, recording):
    fill(history, recording, 1)
    day = datetime.now().strftime("%Y-%m-%d")
    assert [field for field, _ in look(page, day)["rows"][0]["hits"]] == ["date"]


def test_without_a_bin_deleting_is_for_good(settings, history, recording):
    ids = fill(history, recording, 2)
    bare = replace(settings, bin_days=0)
    with Engine(bare) as engine:
        page = Page(engine, bare)
        assert act(page, "delete", ids=ids) == {"undo": [], "gone": 2}
        assert look(page)["bin_days"] == 0
