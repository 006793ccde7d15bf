"""A batch from its files to its results: what lies in the output folder and what the table says."""

import csv
import shutil
import sqlite3
import threading
import types
from contextlib import closing
from pathlib import Path

import pytest

from asr_core.errors import AudioDecodeError, BatchError, JobStateError
from asr_core.export.registry import export
from asr_core.jobs import batch_keeper, outputs
from asr_core.jobs.batch_model import BatchRequest, BatchState, ItemState
from asr_core.results import Transcript
from asr_core.store.batch_rows import BatchRow
from asr_core.transcription.options import TranscribeOptions
from tests.unit.jobs.office import Office, parts, tree, write
from tests.waiting import wait_until

DONE, SKIPPED, FAILED = ItemState.DONE, ItemState.SKIPPED, ItemState.FAILED


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_the_tree_is_kept_in_the_output_folder(office: Office, source: Path) -> None:
    write(source, a="甲", b__c="乙", b__d__e="丙")
    batch = office.run(source, formats=("txt", "srt"))
    assert batch.state is BatchState.DONE
    assert batch.output == source / "transcripts"
    found = tree(batch.output)
    assert {name: found[name] for name in found if name.endswith("txt")} == {
        "a.txt": "甲",
        "b/c.txt": "乙",
        "b/d/e.txt": "丙",
    }
    assert sorted(name for name in found if name.endswith("srt")) == [
        "a.srt",
        "b/c.srt",
        "b/d/e.srt",
    ]
    assert parts(source, office.settings.home) == []


def test_the_table_tells_each_file(office: Office, source: Path) -> None:
    write(source, good="好", worse="bad")
    batch = office.run(source)
    good, bad = office.items(batch)
    assert (good.path, good.state, good.outputs) == ("good.wav", DONE, ("good.txt",))
    assert (good.duration_ms, good.done_ms, good.processing_ms) == (4_000, 4_000, 400)
    assert good.speed == 10.0
    assert (bad.path, bad.state, bad.error_code) == ("worse.wav", FAILED, "audio_decode")
    assert bad.error_details["reason"] == "not_audio"
    assert batch.items == {DONE: 1, FAILED: 1}
    assert (batch.duration_ms, batch.done_ms, batch.remaining_ms) == (4_000, 4_000, 0)


def test_one_bad_file_stops_no_other(office: Office, source: Path) -> None:
    write(source, a="bad", b="乙", c="bad", d="丁")
    batch = office.run(source)
    assert list(office.states(batch).values()) == [FAILED, DONE, FAILED, DONE]
    assert tree(source / "transcripts") == {"b.txt": "乙", "d.txt": "丁"}


def test_the_summary_is_a_table_in_words(office: Office, source: Path) -> None:
    write(source, a="甲", b="bad")
    (source / "=1+1.wav").write_text("公式", encoding="utf-8")
    office.run(source)
    path = source / "transcripts" / "summary.csv"
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    rows = {row["文件"]: row for row in table(path)}
    assert rows["a.wav"] == {
        "文件": "a.wav",
        "状态": "完成",
        "时长": "00:00:04",
        "用时（秒）": "0.4",
        "倍速": "10.0",
        "结果文件": "a.txt",
        "说明": "",
    }
    assert rows["b.wav"]["状态"] == "失败"
    assert "不是音频或视频文件" in rows["b.wav"]["说明"]
    assert "'=1+1.wav" in rows  # no spreadsheet takes it for a formula


@pytest.mark.parametrize(("locale", "told"), [("zh-CN", "\n时长："), ("en", "\nLength: ")])
def test_documents_speak_the_language_of_the_installation(
    tmp_path: Path, source: Path, locale: str, told: str
) -> None:
    write(source, a="甲")
    with Office(tmp_path / locale, locale=locale) as office:
        batch = office.run(source, formats=("md",))
    assert told in (batch.output / "a.md").read_text(encoding="utf-8")


def test_a_summary_of_somebody_else_is_left_alone(office: Office, source: Path) -> None:
    output = source / "transcripts"
    output.mkdir()
    (output / "summary.csv").write_text("我的表", encoding="utf-8")
    write(source, a="甲")
    office.run(source)
    office.run(source)
    assert (output / "summary.csv").read_text(encoding="utf-8") == "我的表"
    assert sorted(path.name for path in output.glob("*.csv")) == ["summary (2).csv", "summary.csv"]
    assert table(output / "summary (2).csv")[0]["状态"] == "已跳过"


def test_patterns_and_recursion_choose_the_files(office: Office, source: Path) -> None:
    write(source, a="甲", b__c="乙")
    (source / "A.MP3").write_text("丙", encoding="utf-8")
    (source / "notes.txt").write_text("笔记", encoding="utf-8")
    (source / ".hidden.wav").write_text("藏", encoding="utf-8")

    def found(**words: object) -> list[str]:
        return sorted(office.states(office.run(source, on_existing="rename", **words)))

    assert found() == ["A.MP3", "a.wav", "b/c.wav"]
    assert found(recursive=False) == ["A.MP3", "a.wav"]
    assert found(patterns=("*.mp3",)) == ["A.MP3"]
    assert found(patterns=("b/*", "*.TXT"), recursive=True, output=source / "out") == [
        *("b/c.wav", "notes.txt"),
        *sorted(f"transcripts/{name}" for name in tree(source / "transcripts")),
    ]


def test_the_output_folder_is_no_source(office: Office, source: Path) -> None:
    write(source, a="甲", transcripts__b="乙")
    assert office.states(office.run(source)) == {"a.wav": DONE}


def test_files_run_in_natural_order(office: Office, source: Path) -> None:
    write(source, 会议10="十", 会议2="二", 会议1="一")
    office.run(source)
    assert office.read == ["一", "二", "十"]


def test_an_empty_folder_is_a_finished_batch(office: Office, source: Path) -> None:
    batch = office.run(source)
    assert (batch.state, batch.total) == (BatchState.DONE, 0)


def test_pause_stops_between_groups_and_resume_goes_on(
    office: Office, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The time left passes while a group runs; here it stands still.
    clock = types.SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr("asr_core.jobs.runner.time", clock)
    write(source, a="慢甲", b="乙")
    batch = office.start(source)
    wait_until(office.holding.is_set)
    wait_until(lambda: len(office.items(batch)) == 2)
    assert office.desk.get(batch.id).remaining_ms is None
    running = office.items(batch)[0]
    assert (running.state, running.done_ms, running.remaining_ms) == (
        ItemState.RUNNING,
        1_000,
        1_500,
    )
    office.desk.pause(batch.id)
    wait_until(lambda: set(office.states(batch).values()) == {ItemState.PAUSED})
    assert office.desk.get(batch.id).state is BatchState.PAUSED
    office.release.set()
    office.desk.resume(batch.id)
    assert office.finish(batch).items == {DONE: 2}
    assert tree(source / "transcripts") == {"a.txt": "慢甲", "b.txt": "乙"}


def test_a_paused_batch_takes_no_more_files(tmp_path: Path, source: Path) -> None:
    office = Office(tmp_path / "home")
    office.prepare()
    write(source, a="甲")
    batch = office.start(source)
    office.desk.pause(batch.id)
    office.desk.open()
    try:
        assert office.desk.get(batch.id).state is BatchState.PAUSED
        assert office.items(batch) == ()
        office.runner.start()
        office.desk.resume(batch.id)
        assert office.finish(batch).items == {DONE: 1}
    finally:
        office.close()


def test_cancel_keeps_the_text_so_far_and_retry_finishes(office: Office, source: Path) -> None:
    write(source, a="慢甲", b="乙")
    batch = office.start(source)
    wait_until(office.holding.is_set)
    wait_until(lambda: len(office.items(batch)) == 2)
    office.desk.cancel(batch.id)
    wait_until(lambda: all(item.state.is_final for item in office.items(batch)))
    first, second = office.items(batch)
    assert (first.state, second.state) == (ItemState.PARTIAL, ItemState.CANCELLED)
    assert office.history.record(first.recording_id).transcript.text == "慢"
    assert tree(source / "transcripts") == {}
    office.release.set()
    office.desk.retry(batch.id)
    assert office.finish(batch).items == {DONE: 2}
    assert tree(source / "transcripts") == {"a.txt": "慢甲", "b.txt": "乙"}


def test_a_single_file_is_tried_again(office: Office, source: Path) -> None:
    write(source, a="甲")
    broken = source / "b.wav"
    broken.write_text("bad", encoding="utf-8")
    batch = office.run(source)
    with pytest.raises(JobStateError):
        office.desk.retry_item(batch.id, 1)
    broken.unlink()
    broken.write_text("乙", encoding="utf-8")
    office.desk.retry_item(batch.id, 2)
    wait_until(lambda: office.states(batch)["b.wav"] is DONE)
    assert office.finish(batch).items == {DONE: 2}
    assert tree(source / "transcripts") == {"a.txt": "甲", "b.txt": "乙"}


@pytest.mark.parametrize("in_place", [True, False])
def test_another_try_takes_the_file_as_it_is_now(
    office: Office, source: Path, in_place: bool
) -> None:
    write(source, a="bad", b="bad")
    batch = office.run(source)
    for name in ("a", "b"):
        if not in_place:
            (source / f"{name}.wav").unlink()
        write(source, **{name: name})
    office.desk.retry(batch.id)
    assert office.finish(batch).items == {DONE: 2}
    assert tree(source / "transcripts") == {"a.txt": "a", "b.txt": "b"}
    assert office.run(source).items == {SKIPPED: 2}


def test_results_may_lie_beside_their_recordings(office: Office, source: Path) -> None:
    write(source, a="甲", b__c="乙")
    assert office.run(source, output=source).items == {DONE: 2}
    assert office.run(source, output=source).items == {SKIPPED: 2}
    assert (source / "b" / "c.txt").read_text(encoding="utf-8-sig").strip() == "乙"
    assert (source / "summary.csv").is_file()


def test_a_file_that_was_not_readable_is_tried_again(
    office: Office, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(source, a="甲", b="乙")
    real = office.history.add_recording

    def refuse(path: Path, **words: object) -> str:
        if path.name == "a.wav":
            raise AudioDecodeError("no permission", path=path.name, reason="unreadable")
        return real(path, **words)

    monkeypatch.setattr(office.history, "add_recording", refuse)
    batch = office.run(source)
    assert office.states(batch) == {"a.wav": FAILED, "b.wav": DONE}
    with pytest.raises(BatchError) as refused:
        office.desk.retry_item(batch.id, 1)
    assert refused.value.details["reason"] == "missing"
    monkeypatch.undo()
    office.desk.retry(batch.id)
    assert office.finish(batch).items == {DONE: 2}


def test_only_changes_are_sent_again(office: Office, source: Path) -> None:
    write(source, a="甲", b="慢乙")
    batch = office.start(source)
    wait_until(office.holding.is_set)
    wait_until(lambda: office.items(batch)[0].state is DONE)
    newest = max(item.revision for item in office.items(batch))
    assert [item.path for item in office.desk.items(batch.id, newest)] == ["b.wav"]
    office.release.set()
    office.finish(batch)
    newest = max(item.revision for item in office.items(batch))
    assert office.desk.items(batch.id, newest) == ()


def test_the_folder_of_another_batch_is_busy(office: Office, source: Path) -> None:
    write(source, a="慢甲")
    first = office.start(source)
    with pytest.raises(BatchError) as refused:
        office.start(source)
    assert refused.value.details["reason"] == "busy"
    other = office.start(source, output=source.parent / "其他", on_existing="rename")
    office.release.set()
    office.finish(first)
    office.finish(other)
    assert office.run(source).items == {SKIPPED: 1}


def test_two_starts_at_once_are_one_batch(office: Office, source: Path) -> None:
    write(source, a="甲")
    barrier = threading.Barrier(6)
    told: list[str] = []

    def start() -> None:
        barrier.wait()
        try:
            office.start(source)
            told.append("started")
        except BatchError as exc:
            told.append(str(exc.details["reason"]))

    office.desk.close()  # nothing ends meanwhile
    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["busy"] * 5 + ["started"]


def test_a_batch_that_ended_does_not_come_back_beside_another(office: Office, source: Path) -> None:
    write(source, a="bad")
    first = office.run(source)
    write(source, a="慢甲")
    office.start(source)
    with pytest.raises(BatchError) as refused:
        office.desk.retry(first.id)
    assert refused.value.details["reason"] == "busy"
    office.release.set()


def test_earlier_batches_stay_listed(office: Office, source: Path) -> None:
    write(source, a="甲")
    first = office.run(source)
    second = office.run(source)
    assert [batch.id for batch in office.desk.recent()] == [second.id, first.id]
    assert [batch.id for batch in office.desk.recent(1)] == [second.id]
    with pytest.raises(BatchError) as unknown:
        office.desk.get("0" * 32)
    assert unknown.value.details["reason"] == "not_found"


def test_wrong_words_are_refused(office: Office, source: Path) -> None:
    for words, reason in (
        ({"formats": ("txt", "xlsx")}, "formats"),
        ({"formats": ()}, "formats"),
        ({"on_existing": "ask"}, "on_existing"),
    ):
        with pytest.raises(BatchError) as refused:
            office.start(source, **words)
        assert refused.value.details["reason"] == reason
    with pytest.raises(BatchError) as refused:
        office.start(None)
    assert refused.value.details["reason"] == "empty"
    with pytest.raises(BatchError) as refused:
        office.start(source / "没有")
    assert refused.value.details["reason"] == "missing"


def test_an_output_that_cannot_be_written_is_refused_before_the_start(
    office: Office, source: Path
) -> None:
    write(source, a="甲")
    (source / "transcripts").write_text("a file, no folder", encoding="utf-8")
    with pytest.raises(BatchError) as refused:
        office.start(source)
    assert refused.value.details["reason"] == "not_writable"
    assert office.desk.recent() == ()
    assert office.read == []


def test_a_full_disk_fails_the_file_and_its_text_is_written_later(
    office: Office, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(source, a="甲", b="乙")
    real = outputs.stage

    def full(folder: Path, place: Path, content: bytes) -> Path:
        if place.name == "a.txt":
            raise outputs.write_error(folder, OSError(28, "No space left on device"))
        return real(folder, place, content)

    monkeypatch.setattr(outputs, "stage", full)
    batch = office.run(source)
    first, second = office.items(batch)
    assert (first.state, first.error_details["reason"]) == (FAILED, "disk_full")
    assert second.state is DONE
    monkeypatch.undo()
    office.desk.retry_item(batch.id, 1)
    wait_until(lambda: office.states(batch)["a.wav"] is DONE)
    assert tree(source / "transcripts") == {"a.txt": "甲", "b.txt": "乙"}
    assert office.read == ["甲", "乙"]  # the text was in the history


def test_a_source_that_vanishes_costs_nothing_that_was_found(office: Office, source: Path) -> None:
    write(source, a="慢甲", b="乙")
    output = source.parent / "out"
    batch = office.start(source, output=output)
    wait_until(office.holding.is_set)
    wait_until(lambda: len(office.items(batch)) == 2)
    shutil.rmtree(source)
    office.release.set()
    assert office.finish(batch).items == {DONE: 2}
    assert tree(output) == {"a.txt": "慢甲", "b.txt": "乙"}


def test_a_source_that_vanishes_before_the_walk_is_told(tmp_path: Path, source: Path) -> None:
    office = Office(tmp_path / "home")
    office.prepare()
    batch = office.start(source, output=tmp_path / "out")
    shutil.rmtree(source)
    office.desk.open()
    try:
        ended = office.finish(batch)
    finally:
        office.close()
    assert (ended.state, ended.error_code, ended.error_details["reason"]) == (
        BatchState.DONE,
        "batch",
        "missing",
    )


def test_an_output_folder_that_vanishes_is_made_again_only_on_its_own_disk(
    office: Office, source: Path
) -> None:
    write(source, a="慢甲")
    output = source.parent / "disk" / "out"
    batch = office.start(source, output=output)
    wait_until(office.holding.is_set)
    shutil.rmtree(output)
    office.release.set()
    assert office.finish(batch).items == {DONE: 1}
    assert tree(output) == {"a.txt": "慢甲"}
    office.release.clear()
    again = office.start(source, output=output, on_existing="rename")
    wait_until(office.holding.is_set)
    shutil.rmtree(output.parent)
    office.release.set()
    office.finish(again)
    (item,) = office.items(again)
    assert (item.state, item.error_details["reason"]) == (FAILED, "missing")
    assert not output.parent.exists()


def test_the_archive_keeps_the_tree(office: Office, source: Path, tmp_path: Path) -> None:
    write(source, a="甲", b__a="乙", c="bad")
    batch = office.run(source)
    shutil.unpack_archive(office.desk.archive(batch.id, ("txt", "md")), tmp_path / "zip")
    assert sorted(tree(tmp_path / "zip")) == ["a.md", "a.txt", "b/a.md", "b/a.txt"]
    assert tree(tmp_path / "zip")["b/a.txt"] == "乙"
    assert len(table(tmp_path / "zip" / "summary.csv")) == 3
    with pytest.raises(BatchError) as refused:
        office.desk.archive(batch.id, ("xlsx",))
    assert refused.value.details["reason"] == "formats"


def test_an_archive_without_any_text_is_refused(office: Office, source: Path) -> None:
    write(source, a="bad")
    batch = office.run(source)
    with pytest.raises(BatchError) as refused:
        office.desk.archive(batch.id, ("txt",))
    assert refused.value.details["reason"] == "empty"


def test_a_recording_deleted_from_the_history_leaves_its_row(office: Office, source: Path) -> None:
    write(source, a="甲")
    batch = office.run(source)
    office.history.delete([office.items(batch)[0].recording_id])
    (item,) = office.items(batch)
    assert (item.state, item.recording_id, item.outputs) == (DONE, "", ("a.txt",))
    assert office.desk.get(batch.id).state is BatchState.DONE


def test_a_watched_folder_takes_files_when_they_stop_growing(office: Office, source: Path) -> None:
    write(source, a="甲")
    batch = office.start(source, watch=True)
    wait_until(lambda: office.states(batch) == {"a.wav": DONE})
    write(source, b__c="乙")
    (source / "empty.wav").touch()
    wait_until(lambda: office.states(batch) == {"a.wav": DONE, "b/c.wav": DONE})
    write(source, a="甲改了")
    wait_until(lambda: len(office.items(batch)) == 3 and office.items(batch)[2].state is DONE)
    assert tree(source / "transcripts") == {"a.txt": "甲改了", "b/c.txt": "乙"}
    assert office.desk.get(batch.id).state is BatchState.RUNNING
    office.desk.cancel(batch.id)
    assert office.finish(batch).state is BatchState.CANCELLED
    assert office.read == ["甲", "乙", "甲改了"]


def test_a_file_that_grows_is_not_taken(tmp_path: Path, source: Path) -> None:
    write(source, a="甲")
    with Office(tmp_path / "home", watch_s=3600) as office:
        batch = office.start(source, watch=True)
        wait_until(lambda: office.store.get(batch.id).planned)
        assert office.items(batch) == ()


def test_the_same_words_go_on_with_what_a_command_left(tmp_path: Path, source: Path) -> None:
    write(source, a="甲", b="乙")
    request = BatchRequest(TranscribeOptions(), source=source)
    office = Office(tmp_path / "home", queue="cli")
    office.open(run=False)
    left = office.desk.take_up(request)
    wait_until(lambda: len(office.items(left)) == 2)
    office.close()
    make_abandoned(office.settings.database)
    office.open()
    try:
        again = office.desk.take_up(request)
        assert again.id == left.id
        assert office.finish(again).items == {DONE: 2}
    finally:
        office.close()
    assert office.read == ["甲", "乙"]


def test_other_words_end_what_a_command_left(tmp_path: Path, source: Path) -> None:
    write(source, a="甲")
    request = BatchRequest(TranscribeOptions(), source=source)
    office = Office(tmp_path / "home", queue="cli")
    office.open(run=False)
    left = office.desk.take_up(request)
    wait_until(lambda: len(office.items(left)) == 1)
    office.close()
    make_abandoned(office.settings.database)
    office.open(run=False)
    try:
        again = office.desk.take_up(BatchRequest(TranscribeOptions(itn=False), source=source))
        office.runner.start()
        assert office.finish(again).items == {DONE: 1}
        assert office.desk.get(left.id).state is BatchState.CANCELLED
        assert office.states(left) == {"a.wav": ItemState.CANCELLED}
    finally:
        office.close()
    assert office.read == ["甲"]


def make_abandoned(database: Path) -> None:
    """As if the process that worked on the batches had died."""
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("UPDATE batches SET owner = '999999999-1'")


def test_a_fault_of_the_program_costs_one_file(
    office: Office, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(source, a="甲", b="乙", c="丙")
    real = office.history.add_recording

    def stumble(path: Path, **words: object) -> str:
        if path.name == "a.wav":
            raise ZeroDivisionError
        return real(path, **words)

    def trip(transcript: Transcript, format_name: str, *, title: str, locale: str) -> bytes:
        if title == "b.wav":
            raise ZeroDivisionError
        return export(transcript, format_name, title=title, locale=locale)

    monkeypatch.setattr(office.history, "add_recording", stumble)
    monkeypatch.setattr("asr_core.jobs.batch_results.export", trip)
    batch = office.run(source)
    assert office.states(batch) == {"a.wav": FAILED, "b.wav": FAILED, "c.wav": DONE}
    for item in office.items(batch)[:2]:
        assert item.error_code == "internal"
        assert len(item.error_details["error_id"]) == 8


def test_a_fault_in_one_batch_stops_no_other(
    office: Office, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = batch_keeper.candidates

    def stumble(batch: BatchRow, *rest: object) -> object:
        if batch.source == source:
            raise ZeroDivisionError
        return real(batch, *rest)

    monkeypatch.setattr(batch_keeper, "candidates", stumble)
    monkeypatch.setattr(batch_keeper, "_RETRY_S", 0.05)
    write(source, a="甲")
    stuck = office.start(source)
    other = office.run(write(source.parent / "别处", b="乙"))
    assert other.items == {DONE: 1}
    assert office.desk.get(stuck.id).state is BatchState.PLANNING
    monkeypatch.undo()
    assert office.finish(stuck).items == {DONE: 1}
