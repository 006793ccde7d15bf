"""What people do with a history: tags, notes, names, the bin, rules of how long things stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.errors import HistoryError, JobStateError, RecordNotFoundError
from asr_core.jobs.model import JobState
from asr_core.store import bin as waste
from asr_core.store import job_rows
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.entries import HistoryFilters, HistorySelection
from asr_core.store.history import History
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import queued, transcript

DAY_MS = 86_400_000
BIN = HistoryFilters(deleted=True)


@pytest.fixture
def done(history: History, tmp_path: Path) -> list[str]:
    """Three recordings with texts, the oldest first."""
    return [_done(history, tmp_path / f"{name}.wav", text) for name, text in TEXTS.items()]


TEXTS = {"周会": "预算会议", "访谈": "客户访谈", "例会": "人事安排"}


def _done(history: History, source: Path, *texts: str) -> str:
    job = queued(history, source)
    history.set_state(job.id, JobState.RUNNING)
    history.save_transcript(job.id, transcript(*texts), JobState.DONE)
    return job.recording_id


def _names(archive: Archive, query: str = "", filters: HistoryFilters | None = None) -> list[str]:
    page = archive.find(query, filters or HistoryFilters())
    return [entry.name for entry in page.entries]


def test_tags_are_given_found_and_counted(archive: Archive, done: list[str]) -> None:
    archive.tag(done[:2], ["项目A", " 重要 \n会议 "])
    archive.tag(done[1:], ["项目a"])
    assert [(tag.name, tag.count) for tag in archive.tags()] == [("重要 会议", 2), ("项目A", 3)]
    assert archive.entry(done[0]).tags == ("重要 会议", "项目A")
    assert _names(archive, "重要") == ["访谈.wav", "周会.wav"]
    assert _names(archive, "", HistoryFilters(tags=("重要 会议", "项目A"))) == [
        *("访谈.wav", "周会.wav")
    ]
    archive.untag(done[:1], ["项目a", "没有"])
    assert archive.entry(done[0]).tags == ("重要 会议",)
    assert _names(archive, "项目") == ["例会.wav", "访谈.wav"]


def test_a_tag_is_renamed_merged_and_deleted(archive: Archive, done: list[str]) -> None:
    archive.tag(done[:2], ["客户"])
    archive.tag(done[1:], ["甲方"])
    archive.rename_tag("客户", "客人")
    assert _names(archive, "客人") == ["访谈.wav", "周会.wav"]
    archive.rename_tag("客人", "甲方")
    assert [(tag.name, tag.count) for tag in archive.tags()] == [("甲方", 3)]
    assert _names(archive, "客人") == []
    assert len(_names(archive, "甲方")) == 3
    archive.rename_tag("甲方", "甲方 ")
    archive.delete_tag("甲方")
    assert (archive.tags(), _names(archive, "甲方")) == ((), [])


def test_the_case_of_a_tag_can_be_changed(archive: Archive, done: list[str]) -> None:
    archive.tag(done[:1], ["todo"])
    archive.rename_tag("todo", "TODO")
    assert archive.entry(done[0]).tags == ("TODO",)


@pytest.mark.parametrize("name", ["👩\u200d💻 研发", "می\u200cخواهم"])
def test_emoji_and_words_of_joined_parts_stay_whole(
    archive: Archive, done: list[str], name: str
) -> None:
    archive.tag(done[:1], [name])
    assert archive.entry(done[0]).tags == (name,)


@pytest.mark.parametrize(
    ("name", "reason"),
    [(" \n", "tag_empty"), ("\u200d \u200c", "tag_empty"), ("长" * 51, "tag_long")],
)
def test_a_tag_needs_a_short_name(
    archive: Archive, done: list[str], name: str, reason: str
) -> None:
    archive.tag(done[:1], ["好"])
    for change in (
        lambda: archive.tag(done, ["也好", name]),
        lambda: archive.rename_tag("好", name),
    ):
        with pytest.raises(HistoryError) as caught:
            change()
        assert caught.value.details["reason"] == reason
    assert [tag.name for tag in archive.tags()] == ["好"]


def test_unknown_tags_and_recordings_are_told(archive: Archive, done: list[str]) -> None:
    for change in (
        lambda: archive.rename_tag("没有", "新"),
        lambda: archive.delete_tag("没有"),
    ):
        with pytest.raises(HistoryError) as caught:
            change()
        assert caught.value.details == {"reason": "no_tag", "name": "没有"}
    for missing in (
        lambda: archive.tag([done[0], "unknown"], ["新"]),
        lambda: archive.set_note("unknown", "新"),
        lambda: archive.rename("unknown", "新"),
        lambda: archive.entry("unknown"),
    ):
        with pytest.raises(RecordNotFoundError):
            missing()
    assert archive.tags() == ()


def test_a_note_is_kept_found_and_taken_away(archive: Archive, done: list[str]) -> None:
    note = "下周前\n确认 <b>名单</b> 😀"
    archive.set_note(done[0], f" {note} ")
    assert archive.entry(done[0]).note == note
    assert _names(archive, "<b>名单") == ["周会.wav"]
    archive.set_note(done[0], "")
    assert (archive.entry(done[0]).note, _names(archive, "名单")) == ("", [])
    with pytest.raises(HistoryError) as caught:
        archive.set_note(done[0], "长" * 20_001)
    assert caught.value.details["reason"] == "note_long"


def test_a_recording_is_renamed(archive: Archive, history: History, done: list[str]) -> None:
    assert archive.rename(done[0], " 三月/预算\n会.wav ") == "三月预算会.wav"
    assert history.record(done[0]).job.name == "三月预算会.wav"
    assert (_names(archive, "三月"), _names(archive, "周会")) == (["三月预算会.wav"], [])
    assert _names(archive, "预算会议") == ["三月预算会.wav"]
    for empty in ("", " . ", "///"):
        with pytest.raises(HistoryError) as caught:
            archive.rename(done[0], empty)
        assert caught.value.details["reason"] == "name_empty"


def test_what_is_deleted_is_in_the_bin_alone_and_comes_back(
    archive: Archive, history: History, done: list[str], folder: Path
) -> None:
    archive.tag(done, ["标签"])
    assert archive.delete([done[1], "unknown", done[1]]) == (done[1],)
    assert archive.delete([done[1]]) == ()
    assert _names(archive) == ["例会.wav", "周会.wav"]
    assert _names(archive, "客户") == _names(archive, "访谈") == []
    assert [entry.name for entry in archive.find("客户").entries] == []
    assert _names(archive, "客户", BIN) == _names(archive, "", BIN) == ["访谈.wav"]
    assert archive.tags()[0].count == 2
    assert archive.entry(done[1]).deleted_ms is not None
    assert history.record(done[1]).transcript is not None
    assert len(list(folder.iterdir())) == 3
    assert archive.restore([*done, "unknown"]) == (done[1],)
    assert _names(archive, "客户") == ["访谈.wav"]
    assert (_names(archive, "", BIN), archive.tags()[0].count) == ([], 3)


def test_the_bin_is_emptied(archive: Archive, done: list[str], folder: Path) -> None:
    archive.delete(done[:2])
    assert archive.purge([done[0], done[2]]) == 1
    assert _names(archive, "", BIN) == ["访谈.wav"]
    assert archive.purge() == 1
    assert archive.purge() == 0
    assert _names(archive) == ["例会.wav"]
    assert [path.stem for path in folder.iterdir()] == [done[2]]
    with pytest.raises(RecordNotFoundError):
        archive.entry(done[0])


def test_without_a_bin_what_is_deleted_is_gone(
    database: Database, folder: Path, done: list[str]
) -> None:
    archive = Archive(database, folder, bin_days=0)
    assert archive.delete(done[:1]) == ()
    assert (_names(archive, "", BIN), len(_names(archive))) == ([], 2)
    assert len(list(folder.iterdir())) == 2


def test_what_is_worked_on_is_not_deleted(
    archive: Archive, history: History, done: list[str], tmp_path: Path
) -> None:
    job = queued(history, tmp_path / "新.wav")
    with pytest.raises(JobStateError):
        archive.delete([done[0], job.recording_id])
    assert len(_names(archive)) == 4


def test_what_is_worked_on_stays_in_the_bin(
    archive: Archive, history: History, done: list[str]
) -> None:
    archive.delete(done[:2])
    history.add_job(done[0], TranscribeOptions())
    assert archive.purge() == 1
    assert _names(archive, "", BIN) == ["周会.wav"]


def test_a_content_in_the_bin_is_not_used_again(
    archive: Archive, history: History, tmp_path: Path
) -> None:
    recording_id = _done(history, tmp_path / "a.wav", "预算")
    sha256 = history._database.read(
        lambda db: db.execute("SELECT sha256 FROM recordings").fetchone()[0]
    )
    options = TranscribeOptions()
    assert history.find_done(sha256, options, "whisper-base") == recording_id
    archive.delete([recording_id])
    assert history.find_done(sha256, options, "whisper-base") is None


def _age(database: Database, recording_id: str, days: float, column: str = "created_ms") -> None:
    time_ms = job_rows.now_ms() - int(days * DAY_MS)
    sql = f"UPDATE recordings SET {column} = ? WHERE id = ?"  # noqa: S608 - our names
    database.write(lambda db: db.execute(sql, [time_ms, recording_id]))


def test_the_bin_lets_go_after_its_days(
    archive: Archive, database: Database, done: list[str]
) -> None:
    archive.delete(done)
    _age(database, done[0], 30.1, "deleted_ms")
    _age(database, done[1], 29.9, "deleted_ms")
    archive.keep_rules()
    assert _names(archive, "", BIN) == ["例会.wav", "访谈.wav"]


@pytest.mark.parametrize("tag", ["保留", "Keep"])
def test_old_recordings_go_into_the_bin_unless_they_are_kept(
    database: Database, folder: Path, done: list[str], tag: str
) -> None:
    archive = Archive(database, folder, keep_days=90)
    archive.tag(done[:1], [tag])
    for recording_id in done[:2]:
        _age(database, recording_id, 91)
    archive.keep_rules()
    assert (_names(archive), _names(archive, "", BIN)) == (["例会.wav", "周会.wav"], ["访谈.wav"])


def test_old_sound_is_removed_and_the_text_stays(
    database: Database, history: History, folder: Path, done: list[str]
) -> None:
    archive = Archive(database, folder, keep_audio_days=30)
    archive.tag(done[1:2], ["保留"])
    for recording_id in done[:2]:
        _age(database, recording_id, 31)
        (folder / f"{recording_id}.peaks").write_bytes(b"peaks")
    archive.keep_rules()
    entry = archive.entry(done[0])
    assert entry.audio_removed_ms is not None
    assert entry.size_bytes == 0
    assert history.record(done[0]).path is None
    assert history.record(done[0]).transcript is not None
    assert _names(archive, "预算") == ["周会.wav"]
    assert archive.entry(done[1]).audio_removed_ms is None
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [f"{done[1]}.peaks", f"{done[1]}.wav", f"{done[2]}.wav"]
    )


def test_what_is_worked_on_is_not_too_old(
    database: Database, history: History, folder: Path, tmp_path: Path
) -> None:
    archive = Archive(database, folder, keep_days=1, keep_audio_days=1)
    job = queued(history, tmp_path / "新.wav")
    _age(database, job.recording_id, 5)
    archive.keep_rules()
    assert _names(archive) == ["新.wav"]
    assert history.recording_path(job.recording_id) is not None


def test_rules_are_kept_in_steps_and_stop_when_asked(
    database: Database,
    history: History,
    folder: Path,
    done: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waste, "CHUNK", 2)
    for recording_id in done:
        _age(database, recording_id, 91)
    archive = Archive(database, folder, keep_days=90)
    asked: list[bool] = []
    archive.keep_rules(lambda: len(asked) > 0 or bool(asked.append(True)))
    assert len(_names(archive)) == 1
    archive.keep_rules()
    assert _names(archive) == []
    assert len(_names(archive, "", BIN)) == 3


def test_without_rules_nothing_goes(archive: Archive, database: Database, done: list[str]) -> None:
    for recording_id in done:
        _age(database, recording_id, 10_000)
    archive.keep_rules()
    assert len(_names(archive)) == 3


def test_storage_is_told_by_owner_with_the_bin(
    archive: Archive, database: Database, done: list[str], folder: Path
) -> None:
    database.write(
        lambda db: db.execute("UPDATE recordings SET owner = 'a' WHERE name = '例会.wav'")
    )
    (folder / f"{done[0]}.peaks").write_bytes(b"p" * 1_000)
    archive.delete(done[:1])
    sizes = [(folder / f"{recording_id}.wav").stat().st_size for recording_id in done]
    use = archive.storage()
    everybody, a = use.owners
    assert (everybody.owner, everybody.recordings, everybody.deleted) == ("", 2, 1)
    assert (everybody.audio_bytes, everybody.peaks_bytes) == (sizes[0] + sizes[1], 1_000)
    assert everybody.deleted_bytes == sizes[0] + 1_000
    assert (a.owner, a.recordings, a.audio_bytes, a.deleted_bytes) == ("a", 1, sizes[2], 0)
    assert use.audio_bytes == sum(sizes) + 1_000
    assert use.database_bytes > 0
    assert use.free_bytes > 0


def test_a_selection_is_what_was_picked_or_what_is_found(archive: Archive, done: list[str]) -> None:
    picked = HistorySelection(ids=(done[0], "unknown", done[2]))
    assert archive.select(picked) == (done[2], done[0])
    assert archive.select(HistorySelection()) == tuple(reversed(done))
    assert archive.select(HistorySelection(query="预算")) == (done[0],)
    archive.delete(done[:1])
    assert archive.select(HistorySelection()) == (done[2], done[1])
    assert archive.count(HistorySelection(filters=BIN)) == 1
