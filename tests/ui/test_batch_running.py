"""A batch that the real model transcribes, by the handlers of the tab."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile

from asr_core.engine import Engine
from asr_core.errors import BatchError
from asr_core.settings import Settings
from tests.waiting import wait_until
from ui.guard import Page
from ui.handlers import batch
from ui.handlers import history as history_tab

pytestmark = pytest.mark.model

NAMES = ("一月/开场.wav", "一月/讨论.wav", "总结.wav")


@pytest.fixture(scope="module")
def root(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first sentence of the sample, three times, and a file that is no recording."""
    folder = tmp_path_factory.mktemp("server") / "例会"
    waveform, rate_hz = soundfile.read(sample, dtype="int16")
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(folder / name, waveform[: 4 * rate_hz], rate_hz)
    (folder / "坏.mp3").write_text("这不是录音", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def page(
    root: Path, model_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Page]:
    home = tmp_path_factory.mktemp("home")
    settings = Settings(home=home, model_dir=model_folder, threads=2, batch_roots=(root,))
    with Engine(settings) as engine:
        engine.start()
        yield Page(engine, settings)


def run(page: Page, root: Path, formats: tuple[str, ...] = ("txt", "srt"), existing: str = "skip"):
    """Start a batch of the folder and follow it to its end as a browser does: rows by number."""
    form = ("folder", str(root), None, list(formats), existing, "", True, "", False)
    view, timer, _ = batch.start(page, "zh-CN", *form, "", True, True, "auto", "mix", 0)
    rows = {row["n"]: row for row in view["rows"]}
    known = {"batch": view["batch"]["id"], "since": view["since"]}

    def ended() -> bool:
        nonlocal view, timer
        moving = {str(n): row["state"] for n, row in rows.items() if row["state"] == "running"}
        view, timer = batch.poll(page, "zh-CN", {**known, "open": moving})
        known["since"] = view["since"]
        rows.update({row["n"]: row for row in view["rows"]})
        return not timer.active

    wait_until(ended)
    return view["batch"], {row["path"]: row for row in rows.values()}


@pytest.fixture(scope="module")
def ended(page: Page, root: Path):
    """The batch after its end, and its rows by path."""
    return run(page, root)


def test_rows_that_were_followed_tell_what_became_of_every_file(ended, root):
    view, rows = ended
    assert (view["state"], view["good"], view["total"]) == ("done", 3, 4)
    assert {path: row["state"] for path, row in rows.items()} == {
        **dict.fromkeys(NAMES, "done"),
        "坏.mp3": "failed",
    }
    assert rows["坏.mp3"]["error"] == "“坏.mp3”不是音频或视频文件，请确认文件内容"
    assert rows["一月/讨论.wav"]["outputs"] == ["一月/讨论.txt", "一月/讨论.srt"]
    assert rows["一月/讨论.wav"]["speed"] > 0
    written = root / "transcripts" / "一月" / "讨论.txt"
    assert "今天的项目" in written.read_text(encoding="utf-8")


def test_archive_keeps_the_tree_and_has_the_summary(page, ended):
    view, _ = ended
    sent = batch.archive(page, "zh-CN", {"batch": view["id"], "format": ""})
    assert (sent["kind"], Path(sent["path"]).suffix) == ("download", ".zip")
    with zipfile.ZipFile(sent["path"]) as packed:
        names = packed.namelist()
        table = packed.read("summary.csv")
    assert {"一月/讨论.txt", "一月/讨论.srt", "总结.txt"} <= set(names)
    assert table.startswith(b"\xef\xbb\xbf")
    assert "不是音频或视频文件" in table.decode("utf-8-sig")


def test_archive_of_another_format_is_made_from_the_texts(page, ended):
    view, _ = ended
    sent = batch.archive(page, "zh-CN", {"batch": view["id"], "format": "vtt"})
    with zipfile.ZipFile(sent["path"]) as packed:
        assert "一月/讨论.vtt" in packed.namelist()


def test_archive_speaks_the_language_of_the_page(page, ended):
    view, _ = ended
    sent = batch.archive(page, "en", {"batch": view["id"], "format": "md"})
    with zipfile.ZipFile(sent["path"]) as packed:
        assert "\nLength: " in packed.read("一月/讨论.md").decode()
        assert "the text of the same recording was in" in packed.read("summary.csv").decode()


def test_one_files_result_is_a_file_or_a_zip_of_all_formats(page, ended):
    view, rows = ended
    row = {"batch": view["id"], "number": rows["总结.wav"]["n"]}
    one = batch.export_row(page, "zh-CN", {**row, "format": "srt"})
    assert (one["name"], one["kind"]) == ("总结.srt", "download")
    every = batch.export_row(page, "zh-CN", {**row, "format": ""})
    assert every["name"] == "总结.zip"
    with zipfile.ZipFile(every["path"]) as packed:
        assert packed.namelist() == ["总结.txt", "总结.srt"]


def test_result_of_a_file_that_is_not_there_is_refused(page, ended):
    with pytest.raises(BatchError):
        batch.export_row(page, "zh-CN", {"batch": ended[0]["id"], "number": 99, "format": "txt"})


def test_finished_row_opens_in_the_history(page, ended):
    _, rows = ended
    recording_id = rows["总结.wav"]["recording"]
    tabs, view, about = history_tab.jump(page, "zh-CN", {"recording": recording_id})
    assert (tabs.selected, view["state"]) == ("history", "done")
    assert "今天的项目" in "".join(piece[0] for line in view["lines"] for piece in line["written"])
    row = about["row"]
    assert (row["id"], row["origin"], row["state"]) == (recording_id, "batch", "done")
    # All three files have the same content: they are one recording, with the first one's name.
    assert (row["name"], row["note"], row["tags"]) == ("开场.wav", "", [])


def test_failed_row_is_tried_again(page, ended):
    view, rows = ended
    event = {"batch": view["id"], "number": rows["坏.mp3"]["n"], "job": rows["坏.mp3"]["job"]}
    shown, timer = batch.act_on_row(page, "zh-CN", {**event, "action": "retry"})
    assert timer.active
    assert shown["batch"]["final"] is False
    wait_until(lambda: batch.poll(page, "zh-CN", {"batch": view["id"]})[0]["batch"]["final"])


def test_done_work_is_skipped_the_next_time(page, ended, root):
    view, rows = run(page, root)
    assert view["counts"]["skipped"] >= len(NAMES)
    assert rows["总结.wav"]["note"] == "already_done"
    recent = batch.poll(page, "zh-CN", {"batch": view["id"], "recent": True})[0]["recent"]
    assert [entry["id"] for entry in recent] == [view["id"], ended[0]["id"]]
