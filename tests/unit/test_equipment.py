"""What transcriptions work with: opened once, without holding up what asks for the state."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asr_core import equipment
from asr_core.equipment import Equipment
from asr_core.settings import Settings
from asr_core.shelf import ModelShelf
from asr_core.text.punctuation.base import PunctuationModel
from asr_core.text.punctuation.opening import open_punctuation
from tests.golden.paraformer_files import PLAIN


def test_the_state_is_told_while_a_punctuation_model_is_opened_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, release, opened = threading.Event(), threading.Event(), []
    folder = str(PLAIN.parent / "ct_transformer")

    def slow(source: str, *, threads: int) -> PunctuationModel:
        opened.append(source)
        opening.set()
        release.wait(60)
        return open_punctuation(source, threads=threads)

    monkeypatch.setattr(equipment, "open_punctuation", slow)
    settings = Settings(home=tmp_path / "home", threads=1)
    parts = Equipment(settings, ModelShelf(settings, None))
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(parts.punctuator, folder) for _ in range(2)]
        opening.wait(60)
        try:
            state = threads.submit(lambda: (parts.choice("m"), parts.devices("m"), parts.cores))
            assert state.result(30)[:2] == (None, ())
        finally:
            release.set()
        first, second = (one.result(60) for one in waiting)
    assert first is second is parts.punctuator(folder)
    assert opened == [folder]
    parts.pool.close()


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_a_damaged_folder_for_devices_is_no_matter_where_none_is_used(
    tmp_path: Path, device: str
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(PLAIN, folder)
    beside = tmp_path / "mine.ascend"
    beside.mkdir()
    (beside / "graphs.json").write_text("{", encoding="utf-8")
    settings = Settings(home=tmp_path / "home", threads=1, model_dir=folder, device=device)
    parts = Equipment(settings, ModelShelf(settings, None))
    try:
        with parts.pool.lease("paraformer") as worker:
            assert worker.ready().info.device == "cpu"
        choice = parts.choice("paraformer")
        assert choice is not None
        assert choice.device == "cpu"
    finally:
        parts.pool.close()
