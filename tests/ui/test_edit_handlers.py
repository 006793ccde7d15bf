"""What the editor's script asks for and gets."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from tests.seeding import MEETING, finish, queue, sentence, transcript, write_tone
from ui import view
from ui.guard import guarded_call
from ui.handlers import edit

FIX = sentence("升腾芯片", 20_000, spans=[(0, 1, "昇腾", "replacement")])


@pytest.fixture
def recording_id(history, tmp_path) -> str:
    job = queue(history, write_tone(tmp_path / "例会.wav"))
    finish(history, job.id, transcript((*MEETING, FIX)))
    return job.recording_id


@pytest.fixture
def ask(page, recording_id):
    """Ask as the script does; the answer is parsed."""
    call = guarded_call(page, edit.edit)
    request = SimpleNamespace(headers={"accept-language": "zh-CN"})

    def asked(op, **data):
        return json.loads(call({"op": op, "recording": recording_id, **data}, request))

    return asked


def test_every_answer_brings_the_stamp_for_the_next_edit(ask):
    opened = ask("open")
    assert (opened["revision"], opened["total"], opened["can_undo"]) == (0, 6, False)
    done = ask("text", stamp=opened["stamp"], position=0, text="大家好。")
    ((first, removed, lines),) = done["changes"]
    assert (first, removed, "".join(piece[0] for piece in lines[0]["written"])) == (
        0,
        1,
        "大家好。",
    )
    halves = ask("split", stamp=done["stamp"], position=0, offset=2)
    assert (halves["total"], len(halves["changes"][0][2])) == (7, 2)
    joined = ask("merge", stamp=halves["stamp"], position=0, count=2)
    named = ask("speaker", stamp=joined["stamp"], position=0, count=2, speaker="甲")
    renamed = ask("rename", stamp=named["stamp"], old="甲", speaker="乙")
    sure = ask("confirm", stamp=renamed["stamp"], position=3, first=6, last=7)
    assert all(piece[2] != view.DOUBTFUL for piece in sure["changes"][0][2][0]["written"])
    gone = ask("remove", stamp=sure["stamp"], position=1, count=1)
    back = ask("undo", stamp=gone["stamp"])
    assert (back["total"], back["can_redo"]) == (6, True)
    assert ask("redo", stamp=back["stamp"])["total"] == 5


def test_a_correction_taken_back_renews_the_hotword_report(ask):
    done = ask("drop", stamp=ask("open")["stamp"], position=5, first=0)
    assert "".join(piece[0] for piece in done["changes"][0][2][0]["written"]) == "升腾芯片"
    assert done["words"] == []
    assert ask("restore", stamp=done["stamp"], revision=0)["words"] == []


def test_a_stale_edit_is_refused_with_what_happened_since(ask):
    stamp = ask("open")["stamp"]
    ask("remove", stamp=stamp, position=1, count=1)
    fault = ask("text", stamp=stamp, position=3, text="旧")["error"]
    assert fault["code"] == "edit_conflict"
    assert fault["details"]["changes"] == [[1, 1, 0]]
    assert fault["text"] == "文本已在别处被修改，您的改动没有覆盖它"
    replaced = ask("replace", stamp=stamp, query="用户", text="客户")["error"]
    assert replaced["code"] == "edit_conflict"


def test_replacing_follows_its_preview(ask):
    found = ask("preview", query="用户", text="客户👥", stamp="")
    assert (found["hits"], [line["position"] for line in found["lines"]]) == (2, [1, 2])
    assert found["lines"][0]["places"] == [[8, 11]]
    done = ask("replace", stamp=found["stamp"], query="用户", text="客户👥")
    assert [change[:2] for change in done["changes"]] == [[1, 1], [2, 1]]
    assert ask("preview", query="用户", text="", stamp="") == {"hits": 0, "stamp": "", "lines": []}


def test_versions_are_named_compared_and_restored(ask):
    stamp = ask("open")["stamp"]
    done = ask("text", stamp=stamp, position=0, text="大家好。")
    versions = ask("name", stamp=done["stamp"], name=" 第一版 ")["versions"]
    assert [(one["name"], one["current"]) for one in versions] == [("第一版", True), ("", False)]
    (change,) = ask("diff", before=0, after=versions[0]["revision"])["differences"]
    assert (change["start"], change["who"]) == (400, ["", ""])
    assert ask("restore", stamp=done["stamp"], revision=0)["kind"] == "restore"
    record = ask("load")
    assert record["lines"][:5] == [view.sentence_view(line) for line in MEETING]


def test_faults_are_answers_in_the_visitors_language(ask):
    fault = ask("name", stamp=ask("open")["stamp"], name=" ")["error"]
    assert (fault["code"], fault["details"]) == ("edit", {"reason": "name"})
    assert ask("nonsense")["error"]["code"] == "internal"


def test_a_part_is_recognized_again_as_a_proposal(ask):
    choices = ask("choices")
    assert (choices["hotwords"], choices["models"][0][1]) == ([], "")
    part = {"start_ms": 400, "end_ms": 4_000, "hotwords": "昇腾\n", "model": ""}
    asked = ask("retranscribe", **part)
    assert (asked["final"], asked["lines"], asked["start_ms"]) == (False, [], 400)
    assert ask("proposal", job=asked["job"])["state"] == "queued"
    early = ask("accept", stamp=ask("open")["stamp"], job=asked["job"])["error"]
    assert early["details"] == {"reason": "not_ready"}
    assert ask("dismiss", job=asked["job"]) == {}
