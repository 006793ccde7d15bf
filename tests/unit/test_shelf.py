"""Models of an installation: folders that users bring, the default, and what settings lock."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from asr_core.errors import AsrError, ModelError, ModelFileMissingError, UnknownModelError
from asr_core.messages import describe
from asr_core.models.inspection import ModelState
from asr_core.settings import Settings
from asr_core.shelf import ModelShelf
from asr_core.store.database import Database
from asr_core.store.model_choices import ModelChoices
from tests.golden.paraformer_files import PLAIN, SEACO

PUNCTUATION = PLAIN.parent / "ct_transformer"


@pytest.fixture
def choices(tmp_path: Path) -> Iterator[ModelChoices]:
    with closing(Database(tmp_path / "history.db")) as database:
        yield ModelChoices(database)


@pytest.fixture
def shelf(tmp_path: Path, choices: ModelChoices) -> ModelShelf:
    return ModelShelf(Settings(home=tmp_path / "home"), choices)


def names(shelf: ModelShelf) -> list[str]:
    return [model.entry.name for model in shelf.recognizers()]


def test_a_folder_is_a_model_under_its_own_name(shelf: ModelShelf, tmp_path: Path) -> None:
    folder = tmp_path / "我的 模型 (v2)"
    shutil.copytree(SEACO, folder)
    model = shelf.bring(folder)
    assert (model.entry.name, model.entry.title) == ("我的-模型-v2", "我的 模型 (v2)")
    assert (model.entry.family, model.runtime, model.hears_hotwords) == (
        "paraformer",
        "onnxruntime",
        True,
    )
    assert (model.state, model.folder) == (ModelState.PRESENT, folder)
    assert names(shelf) == ["whisper-base", "我的-模型-v2"]
    assert shelf.ensure("我的-模型-v2") == folder


def test_what_was_chosen_is_seen_by_every_process(
    shelf: ModelShelf, tmp_path: Path, choices: ModelChoices
) -> None:
    other = ModelShelf(Settings(home=tmp_path / "home"), choices)
    shelf.bring(SEACO)
    shelf.bring(PLAIN)
    assert other.default() == "whisper-base"
    shelf.use("paraformer_plain")
    assert other.default() == "paraformer_plain"
    assert names(other) == ["paraformer_plain", "paraformer_onnx"]
    other.forget("paraformer_plain")
    assert shelf.default() == "whisper-base"
    assert names(shelf) == ["whisper-base", "paraformer_onnx"]


def test_folders_of_one_name_get_a_number_and_the_same_folder_none(
    shelf: ModelShelf, tmp_path: Path
) -> None:
    for parent in ("a", "b"):
        shutil.copytree(PLAIN, tmp_path / parent / "whisper-base")
    brought = [shelf.bring(tmp_path / parent / "whisper-base") for parent in ("a", "b", "a/../a")]
    assert [model.entry.name for model in brought] == [
        "whisper-base-2",
        "whisper-base-3",
        "whisper-base-2",
    ]


def test_all_missing_files_are_told_at_once(shelf: ModelShelf, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    shutil.copy(SEACO / "config.yaml", folder)
    shutil.copy(SEACO / "model.onnx", folder)
    with pytest.raises(ModelFileMissingError) as caught:
        shelf.bring(folder)
    told = describe(caught.value, "zh-CN")
    assert told == (
        f"“{folder}”里缺少文件：tokens.json, am.mvn, model_eb_quant.onnx / model_eb.onnx。"
        "请补齐后再试"
    )
    assert names(shelf) == ["whisper-base"]


def test_files_of_whisper_are_told_at_once(shelf: ModelShelf, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "model.bin").touch()
    with pytest.raises(ModelFileMissingError) as caught:
        shelf.bring(folder)
    files = "config.json, tokenizer.json, vocabulary.txt / vocabulary.json"
    assert caught.value.details["files"] == files


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nothing", "no_folder"),
        ("relative", "no_folder"),
        ("~no-such-user/x", "no_folder"),
        ("empty", "no_model"),
    ],
)
def test_what_is_no_model_folder_is_refused(
    shelf: ModelShelf, tmp_path: Path, path: str, reason: str
) -> None:
    (tmp_path / "empty").mkdir()
    folder = tmp_path / path if path in ("nothing", "empty") else Path(path)
    with pytest.raises(ModelError) as caught:
        shelf.bring(folder)
    assert caught.value.details["reason"] == reason
    assert str(folder) in describe(caught.value, "zh-CN")


def test_a_network_of_another_kind_is_named(shelf: ModelShelf, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: SenseVoiceSmall\n", encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        shelf.bring(tmp_path)
    assert (caught.value.details["reason"], caught.value.details["kind"]) == (
        "kind",
        "SenseVoiceSmall",
    )


def test_a_punctuation_folder_takes_the_place_of_the_catalogues(shelf: ModelShelf) -> None:
    model = shelf.bring(PUNCTUATION)
    assert (model.entry.name, shelf.folder("ct-punc")) == ("ct-punc", PUNCTUATION)
    assert len(shelf.all()) == 5
    with pytest.raises(UnknownModelError) as caught:
        shelf.use("ct-punc")
    assert caught.value.details["known"] == "paraformer, seaco-paraformer, whisper-base"


def test_a_default_that_is_not_there_is_refused(shelf: ModelShelf) -> None:
    with pytest.raises(AsrError) as caught:
        shelf.use("seaco-paraformer")
    assert caught.value.code == "model_missing"
    assert shelf.default() == "whisper-base"


def test_a_default_that_is_gone_stays_the_default_and_says_so(
    shelf: ModelShelf, tmp_path: Path
) -> None:
    folder = tmp_path / "stick"
    shutil.copytree(PLAIN, folder)
    shelf.bring(folder)
    shelf.use("stick")
    shutil.rmtree(folder)
    assert shelf.default() == "stick"
    first, *_ = shelf.recognizers()
    assert (first.entry.name, first.state) == ("stick", ModelState.MISSING)
    with pytest.raises(ModelError) as caught:
        shelf.ensure("stick")
    assert caught.value.details["reason"] == "no_folder"


def test_settings_win_and_lock(tmp_path: Path, choices: ModelChoices, shelf: ModelShelf) -> None:
    shelf.bring(SEACO)
    shelf.use("paraformer_onnx")
    locked = ModelShelf(
        Settings(home=tmp_path / "home", model="whisper-base", ct_punc_dir=tmp_path), choices
    )
    assert (locked.default(), locked.default_setting) == ("whisper-base", "ASR_MODEL")
    for change in (lambda: locked.use("paraformer_onnx"), lambda: locked.bring(PUNCTUATION)):
        with pytest.raises(ModelError) as caught:
            change()
        assert caught.value.details["reason"] == "in_settings"
    assert caught.value.details["setting"] == "ASR_CT_PUNC_DIR"
    assert shelf.default() == "paraformer_onnx"


def test_a_folder_of_the_settings_leaves_a_brought_model_its_own(
    tmp_path: Path, choices: ModelChoices, shelf: ModelShelf
) -> None:
    shelf.bring(SEACO)
    asked = Settings(home=tmp_path / "home", model="paraformer_onnx", model_dir=tmp_path)
    other = ModelShelf(asked, choices)
    assert (other.default(), other.ensure("paraformer_onnx")) == ("paraformer_onnx", SEACO)
    assert other.folder("whisper-base") == tmp_path


@pytest.mark.parametrize(
    ("folder", "name"), [(SEACO, "seaco-paraformer"), (PLAIN, "paraformer"), (None, "whisper-base")]
)
def test_the_folder_of_the_settings_tells_whose_it_is(
    tmp_path: Path, folder: Path | None, name: str
) -> None:
    shelf = ModelShelf(Settings(home=tmp_path, model_dir=folder or tmp_path), None)
    assert shelf.default() == name
    told = {model.entry.name: model.setting for model in shelf.all()}
    assert {model for model, setting in told.items() if setting} == {name}
    assert shelf.folder(name) == (folder or tmp_path)


@pytest.mark.parametrize(
    ("field", "name"), [("fsmn_dir", "fsmn-vad"), ("model_dir", "whisper-base")]
)
def test_a_folder_that_cannot_be_looked_into_does_not_hide_the_others(
    tmp_path: Path, field: str, name: str
) -> None:
    # The name is longer than that of any file.
    settings = Settings(home=tmp_path / "home", **{field: tmp_path / ("x" * 300)})
    shelf = ModelShelf(settings, None)
    states = {model.entry.name: model.state for model in shelf.all()}
    assert states.pop(name) is ModelState.DAMAGED
    assert set(states.values()) == {ModelState.MISSING}
    assert shelf.default() == "whisper-base"
    with pytest.raises(ModelError) as caught:
        shelf.ensure(name)
    assert caught.value.details["reason"] == "storage"
