"""The tab that compares a text with a reference, by the handlers alone."""

from __future__ import annotations

import json

import gradio as gr
import pytest

from asr_core.engine import DEFAULT_NORMALIZATIONS, NORMALIZATIONS
from asr_core.errors import RecordNotFoundError
from asr_core.messages import LOCALES, load_messages
from tests.seeding import finish, queue, transcript
from ui.compare_view import KINDS
from ui.handlers import evaluate
from ui.view import to_json

SAID = "各位同事下午好，今天的项目立会现在开始。"
MARKUP = "<img src=x onerror=alert(1)>"


def compared(page, reference, *, pasted="", recording=None, names=DEFAULT_NORMALIZATIONS):
    origin = evaluate.STORED if recording else evaluate.PASTED
    return evaluate.compare(page, "zh-CN", origin, recording, pasted, reference, list(names))


def stored(history, recording, name="例会.wav"):
    """The meeting as a transcript of the history. Returns the recording's id."""
    job = queue(history, recording, name)
    finish(history, job.id, transcript())
    return job.recording_id


def test_pasted_texts_are_compared_piece_by_piece(page):
    view = compared(page, "今天，例会开始。好", pasted="今天立会开始了")
    assert view["pieces"] == [
        [KINDS["equal"], "今天", "", "，"],
        [KINDS["replace"], "例", "立", ""],
        [KINDS["equal"], "会开始", "", "。"],
        [KINDS["replace"], "好", "了", ""],
    ]
    assert (view["rate"], view["chars"], view["substitutions"]) == ("28.57", 7, 2)
    assert view["confusions"][0][:3] == ["例", "立", 1]
    assert view["confusions"][0][3] == [["今天", "例", "立", "会开始好"]]
    assert ["例会", 1, 1] in view["suggestions"]
    assert view["empty"] is False


def test_a_stored_transcript_is_compared_as_the_reader_sees_it(page, history, recording):
    chosen = stored(history, recording)
    view = compared(page, page.engine.record(chosen).transcript.spoken_text, recording=chosen)
    assert (view["rate"], view["confusions"], view["suggestions"]) == ("0.00", [], [])
    strict = compared(
        page, page.engine.record(chosen).transcript.spoken_text, recording=chosen, names=[]
    )
    assert strict["substitutions"] + strict["deletions"] > 0


def test_a_recording_without_text_counts_as_missing(page, history, recording):
    job = queue(history, recording)
    view = compared(page, "今天开会", recording=job.recording_id)
    assert (view["rate"], view["deletions"], view["empty"]) == ("100.00", 4, True)


def test_a_deleted_recording_is_told(page):
    with pytest.raises(RecordNotFoundError):
        compared(page, "今天", recording="0" * 32)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ((evaluate.PASTED, None, "好", " "), "no_reference"),
        ((evaluate.PASTED, None, "好", None), "no_reference"),
        ((evaluate.STORED, None, "好", "好"), "no_recording"),
        ((evaluate.PASTED, "1", " ", "好"), "no_text"),
        ((evaluate.PASTED, None, "好", "好" * (evaluate.MOST_CHARS + 1)), "too_long"),
        ((evaluate.PASTED, None, "好" * (evaluate.MOST_CHARS + 1), "好"), "too_long"),
    ],
)
def test_what_is_missing_is_asked_for(page, values, key):
    with pytest.raises(gr.Error) as caught:
        evaluate.compare(page, "zh-CN", *values, [])
    assert caught.value.message == load_messages("zh-CN")[f"evaluate.{key}"]


def test_hostile_texts_travel_as_texts(page):
    view = compared(page, f"甲{MARKUP}", pasted=f"{MARKUP}乙", names=[])
    sent = to_json(view)
    assert "<" not in sent
    assert json.loads(sent) == view
    assert MARKUP.replace(" ", "") in "".join(p[1] for p in view["pieces"]).replace(" ", "")


def test_recordings_with_text_are_offered_newest_first(page, history, recording):
    first = stored(history, recording, "甲.wav")
    second = stored(history, recording, "乙.wav")
    queue(history, recording, "丙.wav")
    offered = evaluate.recordings(page, "zh-CN", "", None)
    assert [value for _, value in offered["choices"]] == [second, first]
    assert offered["choices"][0][0].startswith("乙.wav · 20")
    assert "value" not in offered


def test_the_search_narrows_and_keeps_what_is_chosen(page, history, recording):
    first = stored(history, recording, "甲.wav")
    second = stored(history, recording, "乙.wav")
    offered = evaluate.recordings(page, "zh-CN", " 甲 ", second)
    assert [value for _, value in offered["choices"]] == [first, second]
    assert "value" not in offered


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
def test_references_are_read_from_files(page, tmp_path, encoding):
    path = tmp_path / "参考.txt"
    path.write_bytes("今天，开会。\n".encode(encoding))
    assert evaluate.load_reference(page, "zh-CN", str(path)) == "今天，开会。\n"


@pytest.mark.parametrize("content", [b"\xff\xff\xff", b"\0\0RIFF\0", b"x" * 1_200_001])
def test_other_files_are_refused(page, tmp_path, content):
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    with pytest.raises(gr.Error):
        evaluate.load_reference(page, "zh-CN", str(path))


def test_origin_shows_its_own_fields(page):
    column, box = evaluate.choose_origin(page, "zh-CN", evaluate.PASTED)
    assert (column.visible, box.visible) == (False, True)
    column, box = evaluate.choose_origin(page, "zh-CN", evaluate.STORED)
    assert (column.visible, box.visible) == (True, False)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_normalization_has_a_name(locale):
    table = load_messages(locale)
    for name in NORMALIZATIONS:
        assert table[f"ui.normalize_{name}"]
        assert table[f"evaluate.name.{name}"]
