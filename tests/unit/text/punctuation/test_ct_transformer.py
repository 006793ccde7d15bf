"""A user who installs FunASR's CT-Transformer gets the marks that FunASR gives."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from asr_core.errors import (
    ModelFileMissingError,
    ModelIntegrityError,
    NormalizationError,
    UsageError,
)
from asr_core.text.punctuation.base import MARKS
from asr_core.text.punctuation.ct_transformer import CtTransformer
from asr_core.text.punctuation.marks import punctuate_text

GOLDEN = Path(__file__).resolve().parents[3] / "golden"
FOLDER = GOLDEN / "ct_transformer"
TEXTS = json.loads((GOLDEN / "ct_transformer.json").read_text(encoding="utf-8"))["texts"]
CLASSES = ("", "", "，", "。", "？", "、")
"""What the network's classes mean: unknown, none, and four marks."""


@pytest.fixture(scope="module")
def model() -> CtTransformer:
    return CtTransformer(FOLDER, threads=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of the model that a test may spoil."""
    return Path(shutil.copytree(FOLDER, tmp_path / "punc_ct"))


def change_classes(folder: Path, classes: list[str]) -> None:
    path = folder / "config.yaml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    config["model_conf"]["punc_list"] = classes
    path.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")


def chosen(model: CtTransformer, words: list[str]) -> list[str]:
    return [MARKS[index] for index in model.score(words, None).argmax(axis=1)]


@pytest.mark.parametrize("index", range(len(TEXTS)))
def test_the_best_scores_are_the_choices_of_funasr(model: CtTransformer, index: int) -> None:
    text = TEXTS[index]
    assert chosen(model, text["words"]) == [CLASSES[mark] for mark in text["marks"]]


def test_the_reference_meets_every_case() -> None:
    """Sentences end inside and at the end of a step, and one of over 200 words at a comma."""
    used = {CLASSES[mark] for text in TEXTS for mark in text["marks"]}
    assert used == {"", "，", "。", "？", "、"}
    assert {len(text["words"]) for text in TEXTS} >= {1, 19, 20, 21, 40, 41}
    longest = 0
    for text in TEXTS:
        ends = [-1, *(i for i, mark in enumerate(text["marks"]) if mark in (3, 4))]
        longest = max(longest, *np.diff(ends))
    assert longest > 200


def test_scores_are_log_probabilities_of_the_marks_it_knows(model: CtTransformer) -> None:
    scores = model.score(list("我们今天来了"), None)
    assert scores.shape == (6, len(MARKS))
    assert scores.dtype == np.float32
    known = [MARKS.index(mark) for mark in ("", "，", "。", "？", "、")]
    assert (scores[:, [MARKS.index(mark) for mark in "！；："]] == -1e4).all()
    np.testing.assert_allclose(np.exp(scores[:, known]).sum(axis=1), 1.0, atol=1e-3)


def test_pauses_play_no_part(model: CtTransformer) -> None:
    words = list("我们今天来了")
    np.testing.assert_array_equal(model.score(words, [900] * 6), model.score(words, None))
    with pytest.raises(UsageError, match="6 words have 2 pauses"):
        model.score(words, [0, 0])


def test_no_words_no_scores(model: CtTransformer) -> None:
    assert model.score([], None).shape == (0, len(MARKS))


def test_a_word_that_the_network_reads_in_parts_has_one_score(model: CtTransformer) -> None:
    parts = model.score(["我", "caf", "é", "来"], None)
    whole = model.score(["我", "café", "来"], None)
    np.testing.assert_allclose(whole, parts[[0, 2, 3]], atol=1e-6)


def test_a_line_is_punctuated(model: CtTransformer) -> None:
    text = next(text for text in TEXTS if len(text["words"]) == 13)
    line = punctuate_text(model, "".join(text["words"]))
    assert line[-1] in "。？"
    assert "".join(char for char in line if char not in "，。？、") == "".join(text["words"])


def test_a_text_without_any_mark_is_read_to_its_end(folder: Path) -> None:
    """The network reads 512 words at a time."""
    change_classes(folder, ["。", "_", "_", "_", "_", "_"])
    marks = chosen(CtTransformer(folder, threads=1), list("我们要好好学习") * 200)
    assert marks == [""] * 1399 + ["。"]


def test_half_width_marks_of_a_configuration_mean_the_same(
    folder: Path, model: CtTransformer
) -> None:
    change_classes(folder, ["<unk>", "_", ",", "。", "?", "、"])
    words = TEXTS[12]["words"]
    other = CtTransformer(folder, threads=1)
    np.testing.assert_array_equal(other.score(words, None), model.score(words, None))


def test_the_quantized_network_serves_when_it_is_the_only_one(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "model_quant.onnx")
    words = TEXTS[12]["words"]
    assert chosen(CtTransformer(folder, threads=1), words) == chosen(
        CtTransformer(FOLDER, threads=1), words
    )


@pytest.mark.parametrize("name", ["config.yaml", "tokens.json", "model.onnx"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelFileMissingError, match=name) as caught:
        CtTransformer(folder, threads=1)
    details = caught.value.details
    assert (details["name"], details["path"]) == ("ct-punc", str(folder / name))
    assert (details["folder"], details["reason"]) == (str(folder), "files")
    assert str(details["files"]).startswith(name)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ModelFileMissingError, match=r"nowhere lacks files.*config\.yaml, tokens\.json, model\.onnx"
    ):
        CtTransformer(tmp_path / "nowhere", threads=1)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("config.yaml", "a: [", "cannot be read"),
        ("config.yaml", "", "no list of marks"),
        ("config.yaml", "model_conf: {punc_list: 3}", "no list of marks"),
        ("config.yaml", "model_conf: {punc_list: [_, ，]}", "without _ or 。"),
        ("config.yaml", "model_conf: {punc_list: [_, 。]}", "no network of a CT-Transformer"),
        ("tokens.json", "[", "cannot be read"),
        ("tokens.json", "{}", "no list of words"),
        ("tokens.json", "[]", "no list of words"),
        ("tokens.json", json.dumps(list(map(str, range(5000)))), "no network of a CT-Transformer"),
        ("model.onnx", "no network", "cannot be loaded"),
    ],
)
def test_a_file_of_something_else_is_named(
    folder: Path, name: str, content: str, reason: str
) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(ModelIntegrityError, match=reason) as caught:
        CtTransformer(folder, threads=1)
    assert Path(str(caught.value.details["path"])).parent == folder
    assert "whole model folder" in str(caught.value)


def test_a_network_that_fails_leaves_the_text_to_the_caller(folder: Path) -> None:
    model = CtTransformer(folder, threads=1)
    model.close()
    model.close()
    with pytest.raises(NormalizationError, match="is closed"):
        model.score(["好"], None)


def test_it_has_a_name_and_needs_a_thread(model: CtTransformer) -> None:
    assert model.name == "ct-punc"
    with pytest.raises(UsageError, match="at least one thread"):
        CtTransformer(FOLDER, threads=0)
