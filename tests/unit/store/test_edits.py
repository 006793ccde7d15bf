"""Edits are kept, undone to the byte, and everything that is read off the text follows."""

from __future__ import annotations

import tempfile
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlite_utils
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.errors import EditConflictError, EditError
from asr_core.jobs.model import JobState
from asr_core.results import HotwordUse, Sentence, Transcript, WrittenSpan, join_sentences
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.edit_model import EditResult
from asr_core.store.edits import Edits
from asr_core.store.finding import Wanted, find
from asr_core.store.history import History
from asr_core.text.editing import Splice, merge, retext, split
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import apply, recording, sentence, transcript
from tests.unit.text.lines import WORDS, edited, sentences

TABLES = {
    "sentences": "SELECT * FROM sentences",
    "transcripts": "SELECT * FROM transcripts",
    "search_texts": "SELECT * FROM search_texts",
}


@pytest.fixture
def edits(database: Database) -> Edits:
    return Edits(database)


def kept(history: History, folder: Path, made: Transcript, name: str = "a.wav") -> str:
    recording_id = recording(history, folder / name)
    job = history.add_job(recording_id, TranscribeOptions(), running=True)
    history.save_transcript(job.id, made, JobState.DONE)
    return recording_id


@pytest.fixture
def recording_id(history: History, tmp_path: Path) -> str:
    return kept(history, tmp_path, transcript("今天开会", "讨论预算", "明天再说"))


def texts(edits: Edits, recording_id: str) -> list[str]:
    return [s.text for s in edits.lines(recording_id).sentences]


def raw(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """Every row that an edit may touch, as it is stored, but for the number of the revision."""

    def load(db: object) -> dict[str, list[tuple[object, ...]]]:
        found = {table: sorted(db.execute(sql).fetchall()) for table, sql in TABLES.items()}
        names = [row[1] for row in db.execute("PRAGMA table_info(transcripts)")]
        place = names.index("revision")
        found["transcripts"] = [row[:place] + row[place + 1 :] for row in found["transcripts"]]
        return found

    return database.read(load)


def write(edits: Edits, recording_id: str, position: int, text: str) -> EditResult:
    lines = edits.lines(recording_id, position, 1)
    new = retext(lines.sentences[0], text)
    splice = Splice(position, 1, (new,) if new else ())
    return apply(edits, recording_id, lines.stamp, [splice], "text")


def test_text_preview_search_and_export_follow_an_edit(
    edits: Edits, history: History, archive: Archive, recording_id: str
) -> None:
    result = write(edits, recording_id, 1, "讨论决算，别忘了")
    record = history.record(recording_id)
    assert record.transcript.text == "今天开会讨论决算，别忘了明天再说"
    assert record.transcript.spoken_text == "今天开会讨论决算，别忘了明天再说"
    assert record.transcript.revision == result.revision == 1
    assert record.entry.preview == record.transcript.text
    assert [archive.find(query).total for query in ("预算", "决算", "会讨论", "算，别", "预")] == [
        *(0, 1, 1, 1, 0)
    ]
    assert (result.total, result.can_undo, result.can_redo) == (3, True, False)
    assert [(c.first, c.removed, [s.text for s in c.sentences]) for c in result.changes] == [
        (1, 1, ["讨论决算，别忘了"])
    ]


def test_lines_come_page_by_page(edits: Edits, history: History, tmp_path: Path) -> None:
    made = transcript(*"一二三四五")
    named = tuple(
        replace(s, speaker=who)
        for s, who in zip(made.sentences, ["乙", "", "甲", "乙", ""], strict=True)
    )
    recording_id = kept(history, tmp_path, replace(made, sentences=named))
    page = edits.lines(recording_id, 1, 3)
    assert (page.total, page.first, page.sentences) == (5, 1, named[1:4])
    assert (page.speakers, page.revision) == (("乙", "甲"), 0)
    assert (page.can_undo, page.can_redo) == (False, False)
    assert edits.lines(recording_id, 9).sentences == ()
    assert edits.lines(recording_id, -3, 1).sentences == named[:1]


def test_undo_and_redo_go_through_the_edits_one_by_one(
    edits: Edits, database: Database, recording_id: str
) -> None:
    states = [raw(database)]
    result = write(edits, recording_id, 0, "今天不开会")
    states.append(raw(database))
    line = edits.lines(recording_id).sentences[2]
    result = apply(edits, recording_id, result.stamp, [Splice(2, 1, split(line, 2))], "split")
    states.append(raw(database))
    joined = merge(edits.lines(recording_id).sentences[:2])
    result = apply(edits, recording_id, result.stamp, [Splice(0, 2, (joined,))], "merge")
    states.append(raw(database))
    for before in reversed(states[:-1]):
        result = edits.undo(recording_id, result.stamp)
        assert raw(database) == before
    assert (result.revision, result.can_undo, result.can_redo) == (0, False, True)
    for after in states[1:]:
        result = edits.redo(recording_id, result.stamp)
        assert raw(database) == after
    assert (result.revision, result.can_undo, result.can_redo) == (3, True, False)


def test_a_new_edit_ends_what_could_be_done_again(edits: Edits, recording_id: str) -> None:
    write(edits, recording_id, 0, "一")
    result = edits.undo(recording_id, write(edits, recording_id, 1, "二").stamp)
    result = write(edits, recording_id, 1, "三")
    assert (result.revision, result.can_redo) == (3, False)
    with pytest.raises(EditError) as caught:
        edits.redo(recording_id, result.stamp)
    assert caught.value.details == {"reason": "nothing"}
    result = edits.undo(recording_id, result.stamp)
    assert texts(edits, recording_id) == ["一", "讨论预算", "明天再说"]
    edits.redo(recording_id, result.stamp)
    assert texts(edits, recording_id) == ["一", "三", "明天再说"]


def test_there_is_an_end_to_undoing(edits: Edits, recording_id: str) -> None:
    with pytest.raises(EditError) as caught:
        edits.undo(recording_id, edits.lines(recording_id).stamp)
    assert caught.value.details == {"reason": "nothing"}


def test_one_edit_of_many_splices_is_undone_as_one(
    edits: Edits, database: Database, recording_id: str
) -> None:
    before = raw(database)
    lines = edits.lines(recording_id)
    first = lines.sentences[0]
    splices = [
        Splice(0, 1, split(first, 2)),
        Splice(1, 1, ()),
        Splice(3, 0, (sentence("完", 9000), sentence("了", 9500))),
    ]
    result = apply(edits, recording_id, lines.stamp, splices, "many")
    assert texts(edits, recording_id) == ["今天", "开会", "明天再说", "完", "了"]
    shown = list(lines.sentences)
    for change in result.changes:
        shown[change.first : change.first + change.removed] = change.sentences
    assert tuple(shown) == edits.lines(recording_id).sentences
    undone = edits.undo(recording_id, result.stamp)
    assert raw(database) == before
    for change in undone.changes:
        shown[change.first : change.first + change.removed] = change.sentences
    assert tuple(shown) == lines.sentences


@pytest.mark.parametrize(
    "splices",
    [
        [Splice(3, 1, ())],
        [Splice(0, 4, ())],
        [Splice(-1, 1, ())],
        [Splice(4, 0, (sentence("会"),))],
        [Splice(1, 1, ()), Splice(1, 1, ())],
        [Splice(0, -1, ())],
    ],
)
def test_a_place_that_is_not_there_changes_nothing(
    edits: Edits, database: Database, recording_id: str, splices: list[Splice]
) -> None:
    before = raw(database)
    with pytest.raises(EditError) as caught:
        apply(edits, recording_id, edits.lines(recording_id).stamp, splices, "text")
    assert caught.value.details == {"reason": "no_sentence"}
    assert raw(database) == before
    assert not edits.lines(recording_id).can_undo


def test_a_stale_edit_is_refused_and_told_what_happened(edits: Edits, recording_id: str) -> None:
    lines = edits.lines(recording_id)
    halves = split(lines.sentences[0], 2)
    result = apply(edits, recording_id, lines.stamp, [Splice(0, 1, halves)], "split", "王")
    with pytest.raises(EditConflictError) as caught:
        apply(edits, recording_id, lines.stamp, [Splice(0, 1, ())], "remove")
    details = caught.value.details
    assert isinstance(details.pop("time_ms"), int)
    assert details == {
        "reason": "edited",
        "revision": 1,
        "who": "王",
        "changes": [[0, 1, 2]],
    }
    undone = edits.undo(recording_id, result.stamp)
    with pytest.raises(EditConflictError) as caught:
        edits.undo(recording_id, result.stamp)
    assert caught.value.details["changes"] == [[0, 2, 1]]
    assert undone.stamp == lines.stamp
    for stamp in ("", "x", "1", "1.", "1.x", "1.99", "-1.0"):
        with pytest.raises(EditConflictError):
            edits.undo(recording_id, stamp)


def test_a_new_transcription_does_not_take_edits_of_the_old_one(
    edits: Edits, history: History, archive: Archive, recording_id: str
) -> None:
    stamp = write(edits, recording_id, 0, "改过").stamp
    job = history.add_job(recording_id, TranscribeOptions(), running=True)
    history.save_transcript(job.id, transcript("重新识别"), JobState.DONE)
    assert texts(edits, recording_id) == ["重新识别"]
    assert edits.lines(recording_id).revision == 0
    with pytest.raises(EditConflictError) as caught:
        edits.undo(recording_id, stamp)
    assert caught.value.details["reason"] == "replaced"
    assert archive.find("改过").total == 0


def test_a_recording_without_text_cannot_be_edited(
    edits: Edits, history: History, tmp_path: Path
) -> None:
    without = recording(history, tmp_path / "b.wav")
    for use in (edits.lines, edits.versions, lambda r: edits.undo(r, "1.0")):
        with pytest.raises(EditError) as caught:
            use(without)
        assert caught.value.details["reason"] == "no_text"


def test_taking_a_correction_back_can_be_undone_with_its_report(
    edits: Edits, history: History, database: Database, tmp_path: Path
) -> None:
    fixed = replace(sentence("去生态路"), spans=(WrittenSpan(1, 3, "胜太路", "hotword"),))
    made = replace(transcript("x"), sentences=(fixed,), hotwords=(HotwordUse("胜太路", 0, 1),))
    recording_id = kept(history, tmp_path, made)
    before = raw(database)
    result = edits.drop_span(recording_id, edits.lines(recording_id).stamp, 0, 1)
    assert history.record(recording_id).transcript.hotwords == (HotwordUse("胜太路", 0, 0),)
    result = edits.undo(recording_id, result.stamp)
    assert raw(database) == before
    edits.redo(recording_id, result.stamp)
    assert history.record(recording_id).transcript.hotwords == (HotwordUse("胜太路", 0, 0),)
    assert texts(edits, recording_id) == ["去生态路"]


def test_a_version_is_compared_and_gone_back_to(
    edits: Edits, database: Database, recording_id: str
) -> None:
    start = raw(database)
    result = write(edits, recording_id, 1, "讨论决算")
    version = edits.name_version(recording_id, result.stamp, "  初 稿\n", who="王")
    assert (version.revision, version.name, version.who, version.current) == (
        1,
        "初 稿",
        "王",
        True,
    )
    line = edits.lines(recording_id).sentences[0]
    splices = [Splice(0, 1, split(line, 2)), Splice(2, 1, ())]
    result = apply(edits, recording_id, result.stamp, splices, "many")
    changed = texts(edits, recording_id)
    difference = edits.compare(recording_id, 0, 1)
    assert [(d.before_first, d.after_first, d.pieces) for d in difference] == [
        (1, 1, (("equal", "讨论"), ("delete", "预"), ("insert", "决"), ("equal", "算")))
    ]
    sides = [
        ([s.text for s in d.before], [s.text for s in d.after])
        for d in edits.compare(recording_id, 1, 2)
    ]
    assert sides == [(["今天开会"], ["今天", "开会"]), (["明天再说"], [])]
    restored = edits.restore(recording_id, result.stamp, 1)
    assert (restored.revision, restored.kind) == (3, "restore")
    assert texts(edits, recording_id) == ["今天开会", "讨论决算", "明天再说"]
    assert edits.compare(recording_id, 1, 3) == ()
    restored = edits.restore(recording_id, restored.stamp, 0)
    assert raw(database) == start
    result = edits.undo(recording_id, edits.undo(recording_id, restored.stamp).stamp)
    assert texts(edits, recording_id) == changed
    found = edits.versions(recording_id)
    assert [(v.revision, v.name, v.kind, v.current) for v in found] == [
        (1, "初 稿", "text", False),
        (0, "", "", False),
    ]


def test_a_version_on_a_branch_that_was_left_is_not_lost(edits: Edits, recording_id: str) -> None:
    result = write(edits, recording_id, 0, "好")
    edits.name_version(recording_id, result.stamp, "好")
    edits.undo(recording_id, result.stamp)
    result = write(edits, recording_id, 0, "坏")
    assert [d.pieces for d in edits.compare(recording_id, 1, 2)] == [
        (("delete", "好"), ("insert", "坏"))
    ]
    edits.restore(recording_id, result.stamp, 1)
    assert texts(edits, recording_id)[0] == "好"


def test_a_version_needs_a_name_and_a_revision(edits: Edits, recording_id: str) -> None:
    stamp = edits.lines(recording_id).stamp
    with pytest.raises(EditError) as caught:
        edits.name_version(recording_id, stamp, " \n ")
    assert caught.value.details == {"reason": "name"}
    for use in (
        lambda: edits.restore(recording_id, stamp, 7),
        lambda: edits.compare(recording_id, 0, 7),
        lambda: edits.compare(recording_id, -1, 0),
    ):
        with pytest.raises(EditError) as caught:
            use()
        assert caught.value.details["reason"] == "no_version"
    with pytest.raises(EditError) as caught:
        edits.restore(recording_id, stamp, 0)
    assert caught.value.details == {"reason": "nothing"}


def test_hits_are_found_and_replaced_as_one_edit(edits: Edits, recording_id: str) -> None:
    stamp, previews = edits.preview(recording_id, "天", "日", case=True)
    assert [(p.position, p.before, p.hits, p.after, p.places) for p in previews] == [
        (0, "今天开会", ((1, 2),), "今日开会", ((1, 2),)),
        (2, "明天再说", ((1, 2),), "明日再说", ((1, 2),)),
    ]
    hits, result = edits.replace(recording_id, stamp, "天", "日")
    assert (hits, result.revision) == (2, 1)
    assert texts(edits, recording_id) == ["今日开会", "讨论预算", "明日再说"]
    stamp = edits.undo(recording_id, result.stamp).stamp
    assert texts(edits, recording_id) == ["今天开会", "讨论预算", "明天再说"]
    for query in ("没有", ""):
        assert edits.preview(recording_id, query, "x") == (stamp, ())
        with pytest.raises(EditError) as caught:
            edits.replace(recording_id, stamp, query, "x")
        assert caught.value.details == {"reason": "nothing"}


def test_many_cuts_at_one_place_keep_the_order(
    edits: Edits, history: History, database: Database, tmp_path: Path
) -> None:
    """Order keys are halved until they are given out anew."""
    recording_id = kept(history, tmp_path, transcript("会" * 150, "完"))
    before = raw(database)
    result = None
    for _ in range(149):
        lines = edits.lines(recording_id, 0, 1)
        halves = split(lines.sentences[0], len(lines.sentences[0].tokens) - 1)
        result = apply(edits, recording_id, lines.stamp, [Splice(0, 1, halves)], "split")
    assert texts(edits, recording_id) == [*("会" * 150), "完"]
    starts = [s.start_ms for s in edits.lines(recording_id).sentences[:-1]]
    assert starts == sorted(starts)
    for _ in range(149):
        result = edits.undo(recording_id, result.stamp)
    after = raw(database)
    assert [row[2:] for row in after["sentences"]] == [row[2:] for row in before["sentences"]]
    assert after["transcripts"] == before["transcripts"]


def test_writers_side_by_side_lose_nothing(edits: Edits, history: History, tmp_path: Path) -> None:
    """Each tries again with the newest stamp when another was faster; two are other programs."""
    recording_id = kept(history, tmp_path, transcript("甲", "乙", "丙"))
    conflicts = []

    def add(position: int, char: str) -> None:
        if not position:
            add_by(edits, position, char)
            return
        with closing(Database(tmp_path / "home" / "history.db")) as beside:
            add_by(Edits(beside), position, char)

    def add_by(edits: Edits, position: int, char: str) -> None:
        for _ in range(8):
            while True:
                lines = edits.lines(recording_id, position, 1)
                new = retext(lines.sentences[0], lines.sentences[0].text + char)
                try:
                    apply(edits, recording_id, lines.stamp, [Splice(position, 1, (new,))], "text")
                    break
                except EditConflictError as exc:
                    conflicts.append(exc)

    threads = [
        threading.Thread(target=add, args=(position, char)) for position, char in enumerate("abc")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts(edits, recording_id) == ["甲aaaaaaaa", "乙bbbbbbbb", "丙cccccccc"]
    lines = edits.lines(recording_id)
    assert lines.revision == 24


@settings(max_examples=20, deadline=None)
@given(st.data(), st.lists(sentences(), min_size=1, max_size=4))
def test_any_row_of_edits_is_undone_to_the_byte_and_found_by_its_text(
    data: st.DataObject, made: list[Sentence]
) -> None:
    spaced = made[0].spaced
    whole = replace(transcript("x"), sentences=tuple(replace(s, spaced=spaced) for s in made))
    with tempfile.TemporaryDirectory() as name, closing(Database(Path(name) / "h.db")) as database:
        history, edits = History(database, Path(name) / "recordings"), Edits(database)
        recording_id = kept(history, Path(name), whole)
        before = raw(database)
        stamps = [edits.lines(recording_id).stamp]
        for _ in range(data.draw(st.integers(1, 4))):
            splice = data.draw(splices_of(edits.lines(recording_id).sentences))
            stamps.append(apply(edits, recording_id, stamps[-1], [splice], "text").stamp)
            record = history.record(recording_id).transcript
            assert record.text == join_sentences(texts(edits, recording_id))
            assert_findable(database, record.text)
        stamp = stamps.pop()
        while stamps:
            stamp = edits.undo(recording_id, stamp).stamp
            assert stamp == stamps.pop()
        assert raw(database) == before
        assert_findable(database, whole.text)
        history.delete([recording_id])
        assert database.read(lambda db: find(db, Wanted()).total) == 0
        assert raw(database) == {table: [] for table in TABLES}
        sql = "SELECT (SELECT count(*) FROM edits), (SELECT count(*) FROM edit_splices)"
        assert database.read(lambda db: db.execute(sql).fetchone()) == (0, 0)


@st.composite
def splices_of(draw: st.DrawFn, old: tuple[Sentence, ...]) -> Splice:
    first = draw(st.integers(0, len(old)))
    removed = draw(st.integers(0, min(2, len(old) - first)))
    new = [retext(s, draw(edited(s.text))) for s in old[first : first + removed]]
    new += draw(st.lists(sentences(), min_size=0 if removed else 1, max_size=2))
    return Splice(first, removed, tuple(s for s in new if s is not None))


def assert_findable(database: Database, text: str) -> None:
    """Every short stretch of the text finds it, and what stands nowhere in it does not."""
    known = text.casefold()
    stretches = {
        text[start : start + size]
        for size in (1, 2, 3, 4)
        for start in range(0, len(text) - size + 1, 1 + len(text) // 25)
    }
    expected = {query: 1 for query in stretches if query.strip()} | {
        query: int(query.casefold() in known or query.casefold() in "a.wav") for query in WORDS
    }

    def totals(db: sqlite_utils.Database) -> dict[str, int]:
        return {query: find(db, Wanted(query)).total for query in expected}

    assert database.read(totals) == expected


def test_of_sentences_that_are_alike_the_right_one_changes(
    edits: Edits, history: History, tmp_path: Path
) -> None:
    recording_id = kept(history, tmp_path, transcript(*["嗯"] * 6))
    write(edits, recording_id, 3, "对")
    assert history.record(recording_id).transcript.text == "嗯嗯嗯对嗯嗯"
    result = write(edits, recording_id, 3, "")
    assert history.record(recording_id).transcript.text == "嗯嗯嗯嗯嗯"
    edits.undo(recording_id, result.stamp)
    assert history.record(recording_id).transcript.text == "嗯嗯嗯对嗯嗯"


def test_a_new_speaker_is_found_and_an_old_one_is_not(
    edits: Edits, history: History, archive: Archive, recording_id: str
) -> None:
    def name(speaker: str) -> None:
        lines = edits.lines(recording_id)
        splices = [Splice(0, 1, (replace(lines.sentences[0], speaker=speaker),))]
        apply(edits, recording_id, lines.stamp, splices, "speaker")

    name("发言人")
    assert archive.find("发言人").total == 1
    name("王总")
    assert (archive.find("发言人").total, archive.find("王总").total) == (0, 1)
