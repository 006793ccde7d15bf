"""Transcripts are edited through the engine: by one person, by two at once, across recordings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from asr_core.editing import EditResult
from asr_core.engine import Engine, JobState, TranscribeOptions
from asr_core.errors import EditConflictError, EditError, JobNotFoundError, RecordNotFoundError
from asr_core.messages import LOCALES, describe
from asr_core.settings import Settings
from asr_core.store.history import History
from tests.seeding import finish, queue, sentence, transcript, write_tone
from tests.waiting import wait_until

LINES = (
    sentence("今天我们开会", 0, marks="。"),
    sentence("一共二十六个人", 2_000, marks="，", spans=[(2, 4, "26")], speaker="发言人1"),
    sentence("去生态路", 4_000, marks="。", spans=[(1, 3, "胜太路", "hotword")], doubtful="去"),
)


@pytest.fixture
def tone(tmp_path: Path) -> Path:
    return write_tone(tmp_path / "例会.wav", seconds=6.0)


@pytest.fixture
def recording_id(history: History, tone: Path) -> str:
    job = queue(history, tone)
    finish(history, job.id, transcript(LINES, duration_ms=6_000))
    return job.recording_id


def texts(engine: Engine, recording_id: str) -> list[str]:
    return [line.text for line in engine.editable(recording_id).sentences]


def stamp(engine: Engine, recording_id: str) -> str:
    return engine.editable(recording_id, 0, 0).stamp


def test_a_transcript_is_corrected_from_end_to_end(engine: Engine, recording_id: str) -> None:
    lines = engine.editable(recording_id)
    assert [line.text for line in lines.sentences] == [
        "今天我们开会。",
        "一共26个人，",
        "去胜太路。",
    ]
    assert lines.speakers == ("发言人1",)
    steps: list[Callable[[str], EditResult]] = [
        lambda at: engine.edit_text(recording_id, at, 0, "今天<b>咱们</b>\n开会。"),
        lambda at: engine.split_sentence(recording_id, at, 1, 4),
        lambda at: engine.merge_sentences(recording_id, at, 2, 2),
        lambda at: engine.rename_speaker(recording_id, at, "发言人1", " 王总 "),
        lambda at: engine.confirm_words(recording_id, at, 2, 2, 2),
        lambda at: engine.set_speaker(recording_id, at, 0, 1, "李"),
        lambda at: engine.drop_correction(recording_id, at, 2, 3),
        lambda at: engine.remove_sentences(recording_id, at, 1, 1),
    ]
    shown = list(lines.sentences)
    at = lines.stamp
    seen = [list(shown)]
    kinds = []
    for step in steps:
        result = step(at)
        at = result.stamp
        kinds.append(result.kind)
        for change in result.changes:
            shown[change.first : change.first + change.removed] = change.sentences
        seen.append(list(shown))
        assert tuple(shown) == engine.editable(recording_id).sentences
        assert result.total == len(shown)
    assert kinds == [
        *("text", "split", "merge", "speaker"),
        *("confirm", "speaker", "drop_correction", "remove"),
    ]
    assert [(line.speaker, line.text) for line in shown] == [
        ("李", "今天<b>咱们</b> 开会。"),
        ("王总", "个人，去生态路。"),
    ]
    assert [token.start_ms for token in shown[0].tokens[:2]] == [0, 200]
    assert shown[1].tokens[2].confidence == 1.0
    for before in reversed(seen[:-1]):
        result = engine.undo_edit(recording_id, at)
        at = result.stamp
        assert list(engine.editable(recording_id).sentences) == before
    for after in seen[1:]:
        result = engine.redo_edit(recording_id, at)
        at = result.stamp
        assert list(engine.editable(recording_id).sentences) == after


def test_exports_and_history_show_the_edited_text(engine: Engine, recording_id: str) -> None:
    assert "edited" not in json.loads(engine.export(recording_id, "json").read_text())
    result = engine.edit_text(recording_id, stamp(engine, recording_id), 0, "明天开会。")
    document = json.loads(engine.export(recording_id, "json").read_text())
    assert (document["edited"], document["revision"]) == (True, 1)
    assert document["sentences"][0]["text"] == "明天开会。"
    assert document["text"].startswith("明天开会。一共26")
    assert engine.record(recording_id).entry.preview.startswith("明天开会。")
    assert engine.history("明天开").total == 1
    engine.undo_edit(recording_id, result.stamp)
    assert "edited" not in json.loads(engine.export(recording_id, "json").read_text())
    assert engine.history("明天开").total == 0


def test_the_second_of_two_who_edit_at_once_is_told(engine: Engine, recording_id: str) -> None:
    at = stamp(engine, recording_id)
    engine.edit_text(recording_id, at, 0, "甲先改。", who="甲")
    with pytest.raises(EditConflictError) as caught:
        engine.edit_text(recording_id, at, 0, "乙后改。", who="乙")
    assert caught.value.details["changes"] == [[0, 1, 1]]
    assert caught.value.details["who"] == "甲"
    assert texts(engine, recording_id)[0] == "甲先改。"
    assert "没有覆盖" in describe(caught.value, "zh-CN")


def test_every_refusal_has_its_sentence(engine: Engine, history: History, tone: Path) -> None:
    job = queue(history, tone)
    with pytest.raises(EditError) as caught:
        engine.editable(job.recording_id)
    assert describe(caught.value, "zh-CN") == "该录音还没有文本"
    finish(history, job.id, transcript(LINES, duration_ms=6_000))
    found, at = job.recording_id, stamp(engine, job.recording_id)
    refused: list[tuple[str, Callable[[], object]]] = [
        ("no_sentence", lambda: engine.edit_text(found, at, 9, "x")),
        ("no_sentence", lambda: engine.merge_sentences(found, at, 2, 2)),
        ("no_token", lambda: engine.confirm_words(found, at, 0, 3, 99)),
        ("no_span", lambda: engine.drop_correction(found, at, 0, 0)),
        ("empty", lambda: engine.split_sentence(found, at, 0, 0)),
        ("nothing", lambda: engine.undo_edit(found, at)),
        ("nothing", lambda: engine.edit_text(found, at, 0, "今天我们开会。")),
        ("no_version", lambda: engine.restore_version(found, at, 5)),
        ("name", lambda: engine.name_version(found, at, " ")),
        ("range", lambda: engine.retranscribe(found, 9_000, 9_500)),
        ("range", lambda: engine.retranscribe(found, 3_000, 3_000)),
        ("no_proposal", lambda: engine.proposal(job.id)),
    ]
    for reason, use in refused:
        with pytest.raises(EditError) as caught:
            use()
        assert caught.value.details["reason"] == reason
        for locale in LOCALES:
            assert "{" not in describe(caught.value, locale)


def test_versions_are_named_compared_and_gone_back_to(engine: Engine, recording_id: str) -> None:
    result = engine.edit_text(recording_id, stamp(engine, recording_id), 0, "今天不开会。")
    engine.name_version(recording_id, result.stamp, "初稿")
    result = engine.edit_text(recording_id, result.stamp, 0, "")
    assert [(v.revision, v.name) for v in engine.versions(recording_id)] == [(1, "初稿"), (0, "")]
    (difference,) = engine.compare_versions(recording_id, 0, 1)
    assert difference.pieces == (
        ("equal", "今天"),
        ("delete", "我们"),
        ("insert", "不"),
        ("equal", "开会。"),
    )
    engine.restore_version(recording_id, result.stamp, 1)
    assert texts(engine, recording_id) == ["今天不开会。", "一共26个人，", "去胜太路。"]


def test_words_are_replaced_in_all_chosen_recordings(
    engine: Engine, history: History, tone: Path, recording_id: str
) -> None:
    other, waiting = queue(history, tone, "b.wav"), queue(history, tone, "c.wav")
    finish(history, other.id, transcript([sentence("开会开会", 0)], duration_ms=6_000))
    chosen = [recording_id, other.recording_id, waiting.recording_id]
    previews = engine.preview_replace(chosen, "开会", "<i>散会")
    assert [(p.name, p.hits, p.previews[0].after) for p in previews] == [
        ("例会.wav", 1, "今天我们<i>散会。"),
        ("b.wav", 2, "<i>散会<i>散会"),
    ]
    engine.edit_text(recording_id, previews[0].stamp, 0, "早就散会。")
    stamps = {preview.recording_id: preview.stamp for preview in previews}
    outcomes = engine.replace_text(stamps, "开会", "<i>散会")
    assert [(o.hits, o.error_code) for o in outcomes] == [(0, "edit_conflict"), (2, "")]
    assert texts(engine, other.recording_id) == ["<i>散会<i>散会"]
    assert texts(engine, recording_id)[0] == "早就散会。"
    with pytest.raises(RecordNotFoundError):
        engine.preview_replace(["none"], "x", "y")


def test_a_stretch_that_waits_is_nowhere_listed_and_can_be_dismissed(
    engine: Engine, recording_id: str
) -> None:
    before = engine.history().total
    job = engine.retranscribe(recording_id, 1_000, 3_000, hotwords=["听录"])
    assert (job.queue, job.options.hotwords, job.options.model) == (
        "dictation",
        ("听录",),
        "whisper-base",
    )
    assert engine.history().total == before
    assert engine.history("例会").total == 1
    proposal = engine.proposal(job.id)
    assert (proposal.stretch.start_ms, proposal.stretch.end_ms) == (1_000, 3_000)
    with pytest.raises(EditError) as caught:
        engine.accept_proposal(job.id, stamp(engine, recording_id))
    assert caught.value.details["reason"] == "not_ready"
    engine.dismiss_proposal(job.id)
    assert engine.active_jobs() == []
    assert engine.record(recording_id).job.state is JobState.DONE
    assert engine.playback(recording_id) is not None


def test_a_recording_that_is_not_kept_cannot_be_recognized_again(
    engine: Engine, history: History, tone: Path
) -> None:
    found = history.add_recording(tone, name="a.wav", origin="cli", keep="none")
    job = history.add_job(found, TranscribeOptions(), running=True)
    history.save_transcript(job.id, transcript(LINES), JobState.DONE)
    with pytest.raises(EditError) as caught:
        engine.retranscribe(found, 0, 1_000)
    assert caught.value.details == {"reason": "no_recording"}


@pytest.mark.model
def test_a_stretch_is_recognized_again_and_taken_over(
    tmp_path: Path, model_folder: Path, sample: Path
) -> None:
    settings = Settings(home=tmp_path / "served", model_dir=model_folder, threads=2)
    with Engine(settings) as engine:
        engine.start()
        first = engine.submit(sample, TranscribeOptions())
        wait_until(lambda: engine.live(first.id).job.state.is_final)
        whole = engine.editable(first.recording_id)
        chosen = whole.sentences[1]
        result = engine.edit_text(first.recording_id, whole.stamp, 1, "这句话听错了。")
        job = engine.retranscribe(first.recording_id, chosen.start_ms, chosen.end_ms)
        wait_until(lambda: engine.proposal(job.id).job.state.is_final)
        proposal = engine.proposal(job.id)
        assert proposal.job.state is JobState.DONE
        assert proposal.sentences
        assert proposal.sentences[0].start_ms >= chosen.start_ms
        assert proposal.sentences[-1].end_ms <= chosen.end_ms + 100
        result = engine.accept_proposal(job.id, result.stamp)
        after = engine.editable(first.recording_id)
        assert result.kind == "retranscribe"
        assert after.sentences[0] == whole.sentences[0]
        assert after.sentences[-1] == whole.sentences[-1]
        assert chosen.text[:4] in "".join(line.text for line in after.sentences)
        with pytest.raises(EditError):
            engine.accept_proposal(first.id, result.stamp)
        assert engine.history().total == 1


def test_a_stretch_goes_with_its_recording(
    engine: Engine, history: History, recording_id: str
) -> None:
    job = engine.retranscribe(recording_id, 1_000, 3_000)
    history.delete([recording_id])
    with pytest.raises(JobNotFoundError):
        engine.proposal(job.id)
    assert engine.active_jobs() == []
