"""A correction that the user takes back is gone everywhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asr_core.errors import EditError
from asr_core.jobs.model import JobState
from asr_core.results import HotwordUse, WrittenSpan
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.edits import Edits
from asr_core.store.history import History
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import recording, sentence, transcript

FIXED = replace(
    transcript("我在生态路", "三十个人去生态路"),
    sentences=(
        replace(sentence("我在生态路"), spans=(WrittenSpan(2, 4, "胜太路", "hotword"),)),
        replace(
            sentence("三十个人去生态路", 1000),
            spans=(WrittenSpan(0, 1, "30"), WrittenSpan(5, 7, "胜太路", "hotword")),
        ),
    ),
    hotwords=(HotwordUse("胜太路", 0, 2), HotwordUse("鲲鹏", 1, 0)),
)


@pytest.fixture
def edits(database: Database) -> Edits:
    return Edits(database)


@pytest.fixture
def recording_id(history: History, tmp_path: Path) -> str:
    made = recording(history, tmp_path / "a.wav")
    job = history.add_job(made, TranscribeOptions(), running=True)
    history.save_transcript(job.id, FIXED, JobState.DONE)
    return made


def test_the_text_the_report_and_the_search_follow(
    history: History, archive: Archive, edits: Edits, recording_id: str
) -> None:
    assert archive.find("在胜太路").total == 1
    edits.drop_span(recording_id, edits.lines(recording_id).stamp, 0, 2)
    changed = history.record(recording_id).transcript
    assert [s.text for s in changed.sentences] == ["我在生态路", "30个人去胜太路"]
    assert changed.hotwords == (HotwordUse("胜太路", 0, 1), HotwordUse("鲲鹏", 1, 0))
    assert changed.text == "我在生态路30个人去胜太路"
    assert archive.find("在胜太路").total == 0
    assert archive.find("在生态路").total == 1
    assert archive.find().entries[0].preview.startswith("我在生态路")


def test_any_span_can_be_taken_back(history: History, edits: Edits, recording_id: str) -> None:
    for first, text in ((0, "三十个人去胜太路"), (5, "三十个人去生态路")):
        (change,) = edits.drop_span(recording_id, edits.lines(recording_id).stamp, 1, first).changes
        assert [sentence.text for sentence in change.sentences] == [text]
    assert [use.corrected for use in history.record(recording_id).transcript.hotwords] == [1, 0]


@pytest.mark.parametrize(
    ("position", "first", "reason"),
    [(0, 0, "no_span"), (0, 3, "no_span"), (2, 0, "no_sentence"), (-1, 0, "no_sentence")],
)
def test_what_is_no_correction_is_refused(
    history: History, edits: Edits, recording_id: str, position: int, first: int, reason: str
) -> None:
    with pytest.raises(EditError) as caught:
        edits.drop_span(recording_id, edits.lines(recording_id).stamp, position, first)
    assert caught.value.details == {"reason": reason}
    assert history.record(recording_id).transcript == FIXED


def test_a_recording_without_text_has_none(history: History, edits: Edits, tmp_path: Path) -> None:
    with pytest.raises(EditError) as caught:
        edits.drop_span(recording(history, tmp_path / "b.wav"), "1.0", 0, 0)
    assert caught.value.details["reason"] == "no_text"
