"""The batch tab by its handlers: what may be asked for, and what is shown of folders and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from asr_core.engine import (
    Batch,
    BatchItem,
    BatchState,
    Engine,
    FolderView,
    ItemState,
    Root,
    TranscribeOptions,
)
from asr_core.errors import BatchError
from tests.seeding import queue, write_tone
from ui import batch_view
from ui.guard import Page
from ui.handlers import batch, file

CHOICES = ("", True, True, "auto", "mix", 0)


@pytest.fixture
def root(tmp_path):
    """A permitted folder with recordings, beside one that is not permitted."""
    folder = tmp_path / "录音"
    for name in ("一月/开场.wav", "一月/深/讨论.wav", "总结.wav"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_tone(folder / name, seconds=0.5)
    (tmp_path / "人事").mkdir()
    write_tone(tmp_path / "人事" / "面谈.wav", seconds=0.5)
    (folder / "捷径").symlink_to(tmp_path / "人事")
    return folder


@pytest.fixture
def settings(settings, root):
    return replace(settings, batch_roots=(root,))


def start(page, folder="", **fields):
    """Start with a folder; ``fields`` replace those of the form."""
    values = {
        "origin": "folder",
        "folder": str(folder),
        "files": None,
        "formats": ["txt"],
        "on_existing": "skip",
        "output": "",
        "recursive": True,
        "patterns": "",
        "watch": False,
    }
    return batch.start(page, "zh-CN", *{**values, **fields}.values(), *CHOICES)


def look(page, folder):
    return batch.browse(page, "zh-CN", {"folder": str(folder)})


def test_browser_of_folders_begins_in_the_only_root(page, root):
    view = batch.first_folder(page, "zh-CN")
    assert (view["path"], view["crumbs"]) == (str(root), [["录音", str(root)]])
    assert view["folders"] == [["一月", str(root / "一月")]]
    assert (view["recordings"], view["complete"], view["chosen"]) == (3, True, True)


def test_way_back_up_is_shown(page, root):
    crumbs = look(page, root / "一月" / "深")["crumbs"]
    assert [name for name, _ in crumbs] == ["录音", "一月", "深"]
    assert [path for _, path in crumbs] == [
        str(root),
        str(root / "一月"),
        str(root / "一月" / "深"),
    ]


def test_several_roots_are_offered_side_by_side_and_none_is_chosen(settings, root, tmp_path):
    second = tmp_path / "客服"
    second.mkdir()
    both = replace(settings, batch_roots=(root, second))
    with Engine(both) as engine:
        page = Page(engine, both)
        view = batch.first_folder(page, "zh-CN")
        assert [name for name, _ in view["folders"]] == ["录音", "客服"]
        assert (view["path"], view["chosen"]) == ("", False)
        assert look(page, second)["crumbs"] == [["", ""], ["客服", str(second)]]
        with pytest.raises(gr.Error, match="请先打开一个文件夹"):
            start(page)


@pytest.mark.parametrize(
    "forged", ["/", "/etc", "人事", "../人事", "录音/../人事", "录音/捷径", "\0", "~"]
)
def test_nothing_outside_the_roots_is_seen_or_read(page, tmp_path, forged):
    path = tmp_path / forged
    with pytest.raises(BatchError):
        look(page, path)
    with pytest.raises(BatchError):
        start(page, path)
    assert batch.poll(page, "zh-CN", {})[0] == batch_view.NO_BATCH


@pytest.mark.parametrize("output", ["../..", "/tmp/elsewhere", "../人事", "捷径/neu"])  # noqa: S108
def test_results_are_written_inside_the_roots_only(page, root, output):
    with pytest.raises(BatchError):
        start(page, root, output=output)
    assert batch.poll(page, "zh-CN", {})[0] == batch_view.NO_BATCH


def test_results_go_below_the_folder_unless_another_is_named(page, root):
    assert start(page, root)[0]["batch"]["output"] == str(root / "transcripts")
    inside = start(page, root / "一月", output=" 文字/新 ")[0]["batch"]
    assert inside["output"] == str(root / "一月" / "文字" / "新")
    elsewhere = start(page, root / "一月", output=str(root / "全部文字"))[0]["batch"]
    assert elsewhere["output"] == str(root / "全部文字")


def test_choices_reach_the_batch(page, engine, root):
    view, timer, field = start(
        page,
        root,
        formats=["srt", "docx"],
        on_existing="rename",
        recursive=False,
        patterns=" *.wav  2024*/*.m4a ",
        watch=True,
    )
    made = engine.batch(view["batch"]["id"])
    assert (made.formats, made.on_existing, made.recursive) == (("srt", "docx"), "rename", False)
    assert (made.patterns, made.watch) == (("*.wav", "2024*/*.m4a"), True)
    assert made.options == TranscribeOptions(model="whisper-base")
    assert (timer.active, field) == (True, None)


def test_options_that_were_never_opened_are_the_defaults(page, engine, root):
    view, *_ = start(page, root, output=None, patterns=None)
    made = engine.batch(view["batch"]["id"])
    assert (made.output, made.patterns) == (root / "transcripts", ())


def test_what_is_missing_is_asked_for(page, root):
    with pytest.raises(gr.Error, match="请先选择一个文件"):
        start(page, origin="upload", files=[])
    with pytest.raises(gr.Error, match="请先打开一个文件夹"):
        start(page)
    with pytest.raises(gr.Error, match="请至少选择一种输出格式"):
        start(page, root, formats=[])


def test_sent_files_are_a_batch_without_a_folder(page, engine, recording):
    view, _, field = start(page, origin="upload", files=[str(recording)], output="/etc", watch=True)
    made = engine.batch(view["batch"]["id"])
    assert (made.source, made.output, made.watch, made.name) == (None, None, False, "例会.wav")
    assert (view["batch"]["output"], field) == ("", None)


def test_newest_running_batch_is_shown_to_whoever_comes(page, engine, root, recording):
    first = start(page, root)[0]["batch"]["id"]
    second = start(page, origin="upload", files=[str(recording)])[0]["batch"]["id"]
    view, timer = batch.poll(page, "zh-CN", None)
    assert (view["batch"]["id"], timer.active) == (second, True)
    assert [entry["id"] for entry in view["recent"]] == [second, first]
    engine.cancel_batch(second)
    assert batch.poll(page, "zh-CN", {})[0]["batch"]["id"] == first
    engine.cancel_batch(first)
    view, timer = batch.poll(page, "zh-CN", {})
    assert (view["batch"]["id"], timer.active) == (second, False)


def test_table_that_is_gone_gives_way_to_another(page, root):
    there = start(page, root)[0]["batch"]["id"]
    view, _ = batch.poll(page, "zh-CN", {"batch": "0" * 32, "since": 99})
    assert (view["batch"]["id"], view["whole"]) == (there, True)


def test_recent_batches_are_sent_on_request_only(page, root):
    known = {"batch": start(page, root)[0]["batch"]["id"], "since": 1}
    assert "recent" not in batch.poll(page, "zh-CN", known)[0]
    assert len(batch.poll(page, "zh-CN", {**known, "recent": True})[0]["recent"]) == 1


def test_batch_is_paused_resumed_and_cancelled_as_a_whole(page, root):
    batch_id = start(page, root)[0]["batch"]["id"]

    def ask(action):
        view, timer = batch.act(page, "zh-CN", {"batch": batch_id, "action": action})
        return view["batch"]["state"], timer.active

    assert ask("pause") == ("paused", True)
    assert ask("resume")[0] in ("planning", "running")
    assert ask("cancel") == ("cancelled", False)


def test_running_batch_is_offered_on_the_file_tab_and_opens_here(page, history, root, recording):
    batch_id = start(page, root)[0]["batch"]["id"]
    for _ in range(2):
        queue(history, recording, origin="batch", batch_id=batch_id)
    offered = file.others(page, "zh-CN", "")
    assert [(row["batch"], row["name"]) for row in offered["rows"]] == [(batch_id, "录音")]
    tabs, view, timer = batch.jump(page, "zh-CN", {"batch": batch_id})
    assert (tabs.selected, view["batch"]["id"], timer.active) == ("batch", batch_id, True)


def test_archive_of_nothing_says_so(page, root):
    batch_id = start(page, root)[0]["batch"]["id"]
    with pytest.raises(BatchError):
        batch.archive(page, "zh-CN", {"batch": batch_id, "format": "txt"})


ITEM = BatchItem(7, "一月/开场.wav", ItemState.QUEUED, job_id="j", revision=3)


@pytest.mark.parametrize(
    ("item", "shown", "is_news"),
    [
        (ITEM, {}, False),  # waits, as the browser takes for granted
        (ITEM, {"7": "running"}, True),
        (replace(ITEM, state=ItemState.RUNNING), {"7": "running"}, True),  # it moves
        (replace(ITEM, state=ItemState.PAUSED), {"7": "paused"}, False),
        (replace(ITEM, state=ItemState.PAUSED), {}, True),
    ],
)
def test_rows_that_look_the_same_are_not_sent_again(item, shown, is_news):
    assert batch._is_news(item, shown) is is_news


def test_row_tells_the_reason_in_the_visitors_language():
    failed = replace(
        ITEM,
        state=ItemState.FAILED,
        error_code="audio_decode",
        error_details={"path": "开场.wav", "reason": "damaged"},
    )
    assert batch_view.item_view(failed, "zh-CN")["error"].startswith("“开场.wav”已损坏")
    assert batch_view.item_view(failed, "en")["error"].startswith("“开场.wav” is damaged")
    assert batch_view.item_view(ITEM, "en")["error"] == ""


BATCH = Batch(
    id="b",
    name="录音",
    source=Path("/r"),
    output=Path("/r/transcripts"),
    formats=("txt",),
    on_existing="skip",
    options=TranscribeOptions(),
    recursive=True,
    patterns=(),
    watch=True,
    created_ms=1,
    state=BatchState.RUNNING,
)


def test_sums_stand_above_the_table():
    some = {ItemState.DONE: 3, ItemState.SKIPPED: 1, ItemState.FAILED: 1, ItemState.QUEUED: 2}
    made = replace(BATCH, items=some)
    view = batch_view.batch_view(made, "zh-CN")
    assert (view["total"], view["ended"], view["good"], view["final"]) == (7, 5, 4, False)
    assert (view["counts"], view["watching"]) == (
        {"done": 3, "skipped": 1, "failed": 1, "queued": 2},
        True,
    )


@pytest.mark.parametrize(
    ("state", "items", "ended"),
    [
        (BatchState.CANCELLED, {ItemState.DONE: 1, ItemState.RUNNING: 1}, False),
        (BatchState.CANCELLED, {ItemState.DONE: 1, ItemState.PARTIAL: 1}, True),
        (BatchState.RUNNING, {ItemState.DONE: 1}, False),
        (BatchState.DONE, {}, True),
    ],
)
def test_cancelled_batch_is_followed_until_what_runs_has_stopped(state, items, ended):
    assert batch_view.has_ended(replace(BATCH, state=state, items=items)) is ended


def test_root_inside_a_root_is_named_by_the_inner_one():
    roots = (Root(Path("/a"), "甲"), Root(Path("/a/b"), "乙"))
    folder = FolderView(Path("/a/b/c"), Path("/a/b"), (), 0, 0)
    crumbs = batch_view.folder_view(folder, roots)["crumbs"]
    assert crumbs == [["", ""], ["乙", "/a/b"], ["c", "/a/b/c"]]
