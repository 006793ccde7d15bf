"""The command ``history``, as scripts use it: a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from asr_core.settings import Settings
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.history import History
from tests.material import ROOT
from tests.seeding import finish, open_history, queue, sentence, transcript

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two texts, one of them tagged, and a recording without a text."""
    settings = Settings(home=tmp_path / "home")
    source = tmp_path / "a.wav"
    source.write_bytes(b"sound")
    with open_history(settings) as history:
        _add(history, source, "例会.m4a", "今天讨论预算")
        _add(history, source, "访谈\x1b[31m.m4a", "客户说预算不够")
        queue(history, source, "新的.m4a")
    database = Database(settings.database)
    archive = Archive(database, settings.recordings)
    archive.tag([archive.find("客户说").entries[0].id], ["客户"])
    database.close()
    return settings.home


def _add(history: History, source: Path, name: str, text: str) -> None:
    finish(history, queue(history, source, name).id, transcript((sentence(text, 0, marks="。"),)))


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Run:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASR_")}
    paths = os.pathsep.join([str(ROOT), kept.get("PYTHONPATH", "")])
    environment = {**kept, "ASR_HOME": str(home), "PYTHONPATH": paths.rstrip(os.pathsep)}

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "asr_core", "history", *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=600,
            check=False,
        )

    return call


def _lines(answer: subprocess.CompletedProcess[str]) -> list[list[str]]:
    assert answer.returncode == 0, answer.stderr
    return [line.split("\t") for line in answer.stdout.splitlines()]


def test_recordings_are_listed_and_found(run: Run) -> None:
    everything = _lines(run("list"))
    assert [row[4] for row in everything] == ["新的.m4a", "访谈[31m.m4a", "例会.m4a"]
    assert [row[3] for row in everything] == ["queued", "done", "done"]
    assert all(len(row) == 7 for row in everything)
    assert [row[4] for row in _lines(run("list", "--ascending", "--limit", 2))] == [
        *("例会.m4a", "访谈[31m.m4a")
    ]
    found = run("list", "--query", "预算", "--tag", "客户", "--json")
    (one,) = [json.loads(line) for line in found.stdout.splitlines()]
    assert (one["name"], one["tags"]) == ("访谈[31m.m4a", ["客户"])
    assert one["hits"] == [{"field": "text", "text": "客户说预算不够。", "ranges": [[3, 5]]}]
    assert "共 1 条" in found.stderr
    assert _lines(run("list", "--from", "2020-01-01", "--to", "2020-12-31")) == []
    assert run("list", "--from", "yesterday").returncode == 2


def test_texts_are_exported(run: Run, tmp_path: Path) -> None:
    whole = run("export", "--format", "jsonl", "--output", "all.jsonl")
    assert (whole.returncode, whole.stdout) == (0, "all.jsonl\n")
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["客户说预算不够。", "今天讨论预算。"]
    bundle = run("export", "--formats", "txt,srt", "--output", "out/all.zip", "--query", "预算")
    assert bundle.returncode == 0
    with zipfile.ZipFile(tmp_path / "out" / "all.zip") as found:
        assert len(found.namelist()) == 4
        assert found.read("例会.txt").decode() == "今天讨论预算。\n"
    assert run("export", "--format", "csv", "--query", "没有").returncode == 1
    assert run("export", "--formats", "xls").returncode == 2
    assert not list(tmp_path.glob("tinglu-*"))
