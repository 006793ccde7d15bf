"""The history through the engine's door, as page and command line use it."""

from __future__ import annotations

import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from asr_core.engine import (
    Engine,
    ExportOptions,
    ExportProgress,
    HistoryFilters,
    HistorySelection,
    HistorySort,
    JobState,
)
from asr_core.settings import Settings
from asr_core.store.history import History
from tests.seeding import finish, queue, sentence, transcript

BIN = HistoryFilters(deleted=True)


@pytest.fixture
def ids(history: History, tmp_path: Path) -> list[str]:
    """Three recordings with texts, the oldest first."""
    source = tmp_path / "a.wav"
    source.write_bytes(b"sound")
    made = []
    for name, text in (("周会.m4a", "讨论预算"), ("访谈.m4a", "客户说话"), ("例会.m4a", "人事")):
        job = queue(history, source, name)
        finish(history, job.id, transcript((sentence(text, 0),)))
        made.append(job.recording_id)
    return made


def test_one_walk_through_the_history(engine: Engine, ids: list[str], settings: Settings) -> None:
    first = engine.history(limit=2)
    assert ([entry.id for entry in first.entries], first.total) == ([ids[2], ids[1]], 3)
    assert [e.id for e in engine.history(limit=2, cursor=first.cursor).entries] == [ids[0]]
    by_name = engine.history(sort=HistorySort("name", descending=False))
    assert [entry.name for entry in by_name.entries] == ["访谈.m4a", "例会.m4a", "周会.m4a"]

    engine.tag(ids[:2], ["项目"])
    engine.untag(ids[1:2], ["项目"])
    engine.rename_tag("项目", "保留")
    engine.set_note(ids[0], "要点")
    assert engine.rename(ids[0], "三月会") == "三月会"
    assert [(tag.name, tag.count) for tag in engine.tags()] == [("保留", 1)]
    (entry,) = engine.history("要点", HistoryFilters(tags=("保留",))).entries
    assert (entry.name, entry.note, entry.hits[0].field) == ("三月会", "要点", "note")
    assert engine.entry(ids[0]) == replace(entry, hits=())
    facets = engine.facets()
    assert (facets.states, facets.total) == (((JobState.DONE, 3),), 3)
    engine.delete_tag("保留")
    assert engine.tags() == ()

    assert engine.bin_days == 30
    assert engine.delete(ids[:2]) == tuple(ids[:2])
    assert engine.history("预算").total == 0
    assert engine.history("预算", BIN).total == 1
    assert engine.restore(ids[:1]) == (ids[0],)
    assert engine.purge() == 1
    assert engine.select(HistorySelection()) == (ids[2], ids[0])
    assert engine.storage().owners[0].recordings == 2


def test_many_are_exported_into_the_temporary_folder(
    engine: Engine, ids: list[str], settings: Settings
) -> None:
    told: list[ExportProgress] = []
    options = ExportOptions(name="{name}-{model}")
    result = engine.export_many(
        HistorySelection(ids=tuple(ids[:2])), ("txt",), options=options, on_progress=told.append
    )
    assert result.path.is_relative_to(settings.tmp)
    assert (result.path.suffix, result.written, told[-1]) == (".zip", 2, ExportProgress(2, 2))
    with zipfile.ZipFile(result.path) as bundle:
        assert bundle.namelist() == ["访谈-whisper-base.txt", "周会-whisper-base.txt"]


def test_old_recordings_go_while_the_engine_serves(
    settings: Settings, history: History, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = threading.Event()
    with Engine(replace(settings, keep_days=1, model="nothing")) as engine:
        keep_rules = engine._archive.keep_rules
        monkeypatch.setattr(
            engine._archive,
            "keep_rules",
            lambda is_stopped: (keep_rules(is_stopped), kept.set()),
        )
        engine._database.write(
            lambda db: db.execute("UPDATE recordings SET created_ms = 0 WHERE id = ?", [ids[0]])
        )
        engine._keeper.start()
        assert kept.wait(60)
        assert [entry.id for entry in engine.history().entries] == [ids[2], ids[1]]
        assert engine.history(filters=BIN).entries[0].id == ids[0]
