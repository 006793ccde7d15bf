"""Many transcripts in one file: complete, named apart, whole or not at all."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import ExportError, SettingsError, TranscriptionCancelled
from asr_core.export.many import ManyExport
from asr_core.export.options import ExportOptions
from asr_core.export.progress import ExportProgress
from asr_core.export.registry import export
from asr_core.export.zip_stream import ZipStream
from asr_core.jobs.model import JobState
from asr_core.store import finding
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.entries import HistoryFilters, HistorySelection
from asr_core.store.history import History
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.options import TranscribeOptions
from tests.seeding import sentence, transcript

ALL = HistorySelection()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "home" / "history.db")
    yield database
    database.close()


@pytest.fixture
def history(database: Database, tmp_path: Path) -> History:
    return History(database, tmp_path / "home" / "recordings")


@pytest.fixture
def archive(database: Database, tmp_path: Path) -> Archive:
    return Archive(database, tmp_path / "home" / "recordings")


def add(history: History, tmp_path: Path, name: str, text: str | None, speaker: str = "") -> str:
    """A recording whose text this is; without one it failed."""
    source = tmp_path / "source.wav"
    source.write_bytes(name.encode("utf-8", "replace"))
    recording_id = history.add_recording(source, name=name, origin="file", keep="none")
    job = history.add_job(recording_id, TranscribeOptions())
    history.set_state(job.id, JobState.RUNNING)
    if text is None:
        history.set_state(job.id, JobState.FAILED)
    else:
        lines = (sentence(text, 0, marks="。", speaker=speaker),)
        history.save_transcript(job.id, transcript(lines), JobState.DONE)
    return recording_id


def test_a_zip_has_a_file_for_each_text_and_format(
    archive: Archive, history: History, tmp_path: Path
) -> None:
    add(history, tmp_path, "例会.m4a", "今天开会")
    add(history, tmp_path, "坏的.m4a", None)
    second = add(history, tmp_path, "访谈.wav", "你好", speaker="甲")
    target = tmp_path / "out" / "all.zip"
    result = ManyExport(archive, "zip", ("txt", "srt", "txt")).write(ALL, target)
    assert (result.path, result.written, result.skipped) == (target, 2, 1)
    assert result.size_bytes == target.stat().st_size
    with zipfile.ZipFile(target) as bundle:
        assert bundle.testzip() is None
        assert bundle.namelist() == ["访谈.txt", "访谈.srt", "例会.txt", "例会.srt"]
        assert bundle.read("例会.txt").decode() == "今天开会。\n"
        record = history.record(second)
        assert record.transcript is not None
        assert bundle.read("访谈.srt") == export(record.transcript, "srt", title="访谈.wav")
        info = bundle.getinfo("例会.txt")
        assert (info.compress_type, info.external_attr >> 16) == (zipfile.ZIP_DEFLATED, 0o100644)
    assert [path.name for path in target.parent.iterdir()] == ["all.zip"]


def test_names_in_a_zip_are_unique_and_safe(
    archive: Archive, history: History, tmp_path: Path
) -> None:
    names = ["会议.m4a", "会议.wav", "会议 (2).wav", "A.wav", "a.wav", "..", "con.wav", "<b>.wav"]
    for name in names:
        add(history, tmp_path, name, "好")
    target = tmp_path / "all.zip"
    ManyExport(archive, "zip", ("txt", "docx")).write(ALL, target)
    with zipfile.ZipFile(target) as bundle:
        found = bundle.namelist()
    assert len({name.casefold() for name in found}) == len(found) == 2 * len(names)
    assert not [name for name in found if set(name) & set('/\\<>:"|?*') or name.startswith(".")]
    stems = [name.rpartition(".")[0] for name in found]
    assert all(stems.count(stem) == 2 for stem in stems)
    assert "_con.txt" in found


def test_names_in_a_zip_follow_the_template(
    archive: Archive, history: History, tmp_path: Path
) -> None:
    for _ in range(2):
        add(history, tmp_path, "例会.m4a", "好")
    options = ExportOptions(name="{model} {name}")
    ManyExport(archive, "zip", ("txt",), options).write(ALL, tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as bundle:
        assert bundle.namelist() == ["whisper-base 例会.txt", "whisper-base 例会 (2).txt"]
    with pytest.raises(SettingsError):
        ManyExport(archive, "zip", ("txt",), ExportOptions(name="{nothing}"))


def test_documents_in_a_zip_are_in_the_language_of_the_reader(
    archive: Archive, history: History, tmp_path: Path
) -> None:
    add(history, tmp_path, "a.wav", "一")
    ManyExport(archive, "zip", ("md",), locale="en").write(ALL, tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as bundle:
        assert "Model: " in bundle.read("a.md").decode()


def test_csv_has_a_safe_row_for_each_text(
    archive: Archive, history: History, tmp_path: Path
) -> None:
    add(history, tmp_path, "=cmd|calc.wav", '+1"，a', speaker="-甲")
    plain = add(history, tmp_path, "例会.wav", "你好")
    archive.set_note(plain, "@SUM(A1)\n第二行")
    archive.tag([plain], ["乙", "甲"])
    target = tmp_path / "all.csv"
    assert ManyExport(archive, "csv").write(ALL, target).written == 2
    raw = target.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    assert (rows[0]["name"], rows[0]["tags"], rows[0]["length"]) == (
        *("例会.wav", "乙、甲", "00:00:24"),
    )
    assert rows[0]["note"] == "'@SUM(A1) 第二行"
    assert (rows[1]["name"], rows[1]["text"]) == ("'=cmd|calc.wav", "'+1\"，a。")
    assert rows[1]["speakers"] == "'-甲"


def test_jsonl_has_a_line_for_each_text(archive: Archive, history: History, tmp_path: Path) -> None:
    strange = "<script>\u202e😀\u2028行"
    recording_id = add(history, tmp_path, "例会.wav", strange, speaker="甲")
    add(history, tmp_path, "访谈.wav", "你好")
    target = tmp_path / "all.jsonl"
    ManyExport(archive, "jsonl").write(HistorySelection(query="😀"), target)
    lines = target.read_bytes().split(b"\n")
    assert len(lines) == 2
    found = json.loads(lines[0])
    stored = history.record(recording_id).transcript
    assert stored is not None
    assert (found["name"], found["text"]) == ("例会.wav", stored.text)
    assert set(strange) <= set(found["text"])
    assert found["speakers"] == ["甲"]
    assert found["duration_ms"] == 24_000


def test_the_form_that_was_chosen_is_written(
    archive: Archive, history: History, tmp_path: Path
) -> None:
    recording_id = add(history, tmp_path, "例会.wav", "二十六位", speaker="甲")
    job = history.add_job(recording_id, TranscribeOptions())
    history.set_state(job.id, JobState.RUNNING)
    lines = (sentence("二十六位", 0, spans=[(0, 2, "26")], speaker="甲"),)
    history.save_transcript(job.id, transcript(lines), JobState.DONE)
    for form, text in (("written", "26位"), ("spoken", "二十六位")):
        options = ExportOptions(form=form, speakers=False)
        ManyExport(archive, "jsonl", options=options).write(ALL, tmp_path / "all.jsonl")
        found = json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))
        assert (found["text"], found["speakers"]) == (text, [])


def test_what_is_in_the_bin_stays_out_unless_it_is_asked_for(
    archive: Archive, history: History, tmp_path: Path
) -> None:
    gone = add(history, tmp_path, "旧.wav", "旧的")
    add(history, tmp_path, "新.wav", "新的")
    archive.delete([gone])
    target = tmp_path / "all.jsonl"
    assert ManyExport(archive, "jsonl").write(ALL, target).written == 1
    selection = HistorySelection(filters=HistoryFilters(deleted=True))
    assert ManyExport(archive, "jsonl").write(selection, target).written == 1
    assert "旧的" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["zip", "csv", "jsonl"])
def test_many_are_written_in_parts_and_their_progress_is_told(
    archive: Archive, history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(finding, "CHUNK", 3)
    for index in range(8):
        add(history, tmp_path, f"{index}.wav", f"第{index}个")
    told: list[ExportProgress] = []
    result = ManyExport(archive, kind, ("txt",)).write(
        ALL, tmp_path / "all", on_progress=told.append
    )
    assert result.written == 8
    assert told[0] == ExportProgress(0, 8)
    assert told[-1] == ExportProgress(8, 8)


@pytest.mark.parametrize("kind", ["zip", "csv", "jsonl"])
def test_a_cancelled_export_leaves_everything_as_it_was(
    archive: Archive, history: History, tmp_path: Path, kind: str
) -> None:
    for index in range(3):
        add(history, tmp_path, f"{index}.wav", "好")
    target = tmp_path / "out" / "all"
    target.parent.mkdir()
    target.write_bytes(b"before")
    cancel = CancelToken()
    with pytest.raises(TranscriptionCancelled):
        ManyExport(archive, kind, ("txt",)).write(
            ALL, target, on_progress=lambda _: cancel.cancel(), cancel=cancel
        )
    assert [(path.name, path.read_bytes()) for path in target.parent.iterdir()] == [
        ("all", b"before")
    ]


def test_a_full_disk_is_told_and_leaves_nothing(
    archive: Archive, history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    add(history, tmp_path, "例会.wav", "好")
    target = tmp_path / "out" / "all.zip"
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExportError) as caught:
        ManyExport(archive, "zip", ("txt",)).write(ALL, target)
    assert caught.value.details == {"path": "all.zip", "reason": "disk_full"}
    assert list(target.parent.iterdir()) == []


def test_a_place_that_cannot_be_written_is_told(
    archive: Archive, history: History, tmp_path: Path
) -> None:
    add(history, tmp_path, "例会.wav", "好")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ExportError):
        ManyExport(archive, "csv").write(ALL, tmp_path / "file" / "all.csv")


def test_nothing_to_write_is_told(archive: Archive, history: History, tmp_path: Path) -> None:
    add(history, tmp_path, "坏的.wav", None)
    for selection in (ALL, HistorySelection(ids=("unknown",)), HistorySelection(query="没有")):
        with pytest.raises(ExportError) as caught:
            ManyExport(archive, "csv").write(selection, tmp_path / "all.csv")
        assert caught.value.details["reason"] == "empty"
    assert not (tmp_path / "all.csv").exists()


@pytest.mark.parametrize(("kind", "formats"), [("tar", ()), ("zip", ()), ("zip", ("txt", "xls"))])
def test_unknown_kinds_and_formats_are_refused(
    archive: Archive, kind: str, formats: tuple[str, ...]
) -> None:
    with pytest.raises(ExportError):
        ManyExport(archive, kind, formats)


@given(
    members=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
        .map(lambda name: name.replace("/", "").replace("\\", ""))
        .filter(bool),
        st.binary(max_size=500),
        max_size=8,
    )
)
def test_any_members_are_read_back(members: dict[str, bytes]) -> None:
    file = io.BytesIO()
    stream = ZipStream(file)
    for name, content in members.items():
        stream.add(name, content, datetime(2026, 11, 30, 14, 5, 8))
    stream.close()
    stream.discard()
    with zipfile.ZipFile(file) as bundle:
        assert bundle.testzip() is None
        assert {info.orig_filename for info in bundle.infolist()} == set(members)
        assert [bundle.read(info) for info in bundle.infolist()] == [*members.values()]
        for info in bundle.infolist():
            assert info.date_time == (2026, 11, 30, 14, 5, 8)


def test_more_members_than_the_old_limit_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    with path.open("wb") as file:
        stream = ZipStream(file)
        for number in range(66_000):
            stream.add(f"{number}.txt", b"", datetime(1970, 1, 1))
        stream.close()
        stream.discard()
    with zipfile.ZipFile(path) as bundle:
        assert len(bundle.infolist()) == 66_000
        assert bundle.infolist()[-1].filename == "65999.txt"


def test_the_newest_text_counts(archive: Archive, history: History, tmp_path: Path) -> None:
    recording_id = add(history, tmp_path, "例会.wav", "旧的")
    job = history.add_job(recording_id, TranscribeOptions())
    history.set_state(job.id, JobState.RUNNING)
    history.save_transcript(
        job.id, replace(transcript((sentence("新的", 0),)), duration_ms=9), JobState.DONE
    )
    ManyExport(archive, "jsonl").write(ALL, tmp_path / "all.jsonl")
    assert json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))["text"] == "新的"
