from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from asr_core.errors import (
    DeviceError,
    ModelFileMissingError,
    ModelIntegrityError,
    NormalizationError,
    UsageError,
)
from asr_core.text.punctuation.base import MARKS, PunctuationModel
from asr_core.text.punctuation.tagger import PunctuationTagger
from asr_core.text.punctuation.vocabulary import PAUSE_CLASSES, SHAPES, SPECIAL, Vocabulary
from asr_core.training.judging import read_test
from asr_core.training.scoring import report
from tests.material import ROOT
from tests.unit.training.random_weights import STEPS, random_weights

SHIPPED = ROOT / "assets" / "punctuation"


@pytest.fixture(scope="module")
def tagger() -> PunctuationModel:
    return PunctuationTagger(SHIPPED, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network with random weights."""
    from asr_core.training.export import write_onnx

    folder = tmp_path_factory.mktemp("random")
    units = (*SPECIAL, *SHAPES, *"一二三四五六七八九十")
    pairs = tuple(17 * len(units) + second for second in range(16, 20))
    Vocabulary(units, pairs).write(folder / "vocabulary.json")
    weights = random_weights(units=len(units), pairs=len(pairs), pause_classes=PAUSE_CLASSES)
    write_onnx(weights, STEPS, folder / "punctuation.onnx")
    write_facts(folder, dict.fromkeys(MARKS, 0.0))
    return folder


def write_facts(folder: Path, biases: dict[str, float]) -> None:
    facts = {"name": "random", "biases": biases}
    (folder / "model.json").write_text(json.dumps(facts), encoding="utf-8")


def random_words(count: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return [str(word) for word in random.choice(list("一二三四五六七八九十"), count)]


def written(
    tagger: PunctuationModel, words: Sequence[str], pauses: Sequence[int] | None = None
) -> str:
    marks = tagger.score(words, pauses).argmax(axis=1)
    return "".join(word + MARKS[mark] for word, mark in zip(words, marks, strict=True))


def test_a_question_gets_its_mark_and_a_statement_its_stop(tagger: PunctuationModel) -> None:
    assert written(tagger, list("你明天有时间吗")) == "你明天有时间吗？"
    assert written(tagger, list("谢谢大家今天来参加会议")).endswith("。")


def test_clauses_are_parted(tagger: PunctuationModel) -> None:
    text = written(tagger, list("因为今天下雨所以我们没有去公园"))
    assert "，所以" in text


@pytest.mark.parametrize("count", [1, 2, 509, 510, 511, 512, 900, 10_000])
def test_every_word_has_a_score_for_every_mark(folder: Path, count: int) -> None:
    scores = PunctuationTagger(folder, 1).score(random_words(count), None)
    assert scores.shape == (count, len(MARKS))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1.0, atol=1e-4)


def test_no_words_have_no_scores(tagger: PunctuationModel) -> None:
    assert tagger.score([], None).shape == (0, len(MARKS))
    assert tagger.score([], []).shape == (0, len(MARKS))


@pytest.mark.parametrize("count", [511, 900, 2000])
def test_windows_give_what_one_reading_gives(count: int) -> None:
    words = [char for number in range(count) for char in ("就", str(number % 7), "是")][:count]
    pauses = [int(pause) for pause in np.random.default_rng(1).integers(0, 900, count)]
    tagger = PunctuationTagger(SHIPPED, 1)
    parted = tagger.score(words, pauses)
    tagger.window = 4000
    np.testing.assert_allclose(parted, tagger.score(words, pauses), atol=1e-4)


def test_odd_words_are_scored(tagger: PunctuationModel) -> None:
    words = ["😀", "PM2.5", "85%", "龘", "é", "hello", "GPT4", "", "3-5", "我👨‍👩‍👧", "\ud800"]
    scores = tagger.score(words, None)
    assert scores.shape == (len(words), len(MARKS))
    assert np.isfinite(scores).all()


def test_pauses_are_a_hint(tagger: PunctuationModel) -> None:
    words = list("我们先去吃饭然后再回来开会")
    pauses = [0] * len(words)
    pauses[5] = 900
    with_pause = tagger.score(words, pauses)[5]
    no_pause = tagger.score(words, [0] * len(words))[5]
    assert with_pause[0] - with_pause[1:4].max() < no_pause[0] - no_pause[1:4].max()


def test_the_pause_after_the_last_word_is_not_looked_at(tagger: PunctuationModel) -> None:
    words = list("谢谢大家")
    first = tagger.score(words, [0, 0, 0, 0])
    np.testing.assert_array_equal(first, tagger.score(words, [0, 0, 0, 5000]))


def test_latin_is_read_in_any_case(tagger: PunctuationModel) -> None:
    first = tagger.score(["我", "用", "Google", "找"], None)
    np.testing.assert_array_equal(first, tagger.score(["我", "用", "GOOGLE", "找"], None))


def test_thresholds_are_in_the_scores(folder: Path, tmp_path: Path) -> None:
    for name in ("punctuation.onnx", "vocabulary.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    biases = dict.fromkeys(MARKS, 0.0) | {"。": 1.5}
    write_facts(tmp_path, biases)
    words = random_words(20)
    moved = PunctuationTagger(tmp_path, 1).score(words, None)
    plain = PunctuationTagger(folder, 1).score(words, None)
    np.testing.assert_allclose((moved - plain)[:, MARKS.index("。")], 1.5, atol=1e-5)
    np.testing.assert_allclose((moved - plain)[:, 0], 0.0, atol=1e-5)


def test_pauses_for_other_words_are_refused(tagger: PunctuationModel) -> None:
    with pytest.raises(UsageError, match="3 words have 2 pauses"):
        tagger.score(["你", "好", "吗"], [0, 0])


@pytest.mark.parametrize("name", ["punctuation.onnx", "vocabulary.json", "model.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    for path in SHIPPED.iterdir():
        if path.name != name:
            (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(ModelFileMissingError, match=name):
        PunctuationTagger(tmp_path, 1)


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("punctuation.onnx", "no network", DeviceError),
        ("vocabulary.json", "{", ModelIntegrityError),
        ("vocabulary.json", '{"units": ["a"], "pairs": []}', ModelIntegrityError),
        ("model.json", '{"name": "x"}', ModelIntegrityError),
    ],
)
def test_a_broken_file_is_refused(
    tmp_path: Path, name: str, content: str, error: type[Exception]
) -> None:
    for path in SHIPPED.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(error):
        PunctuationTagger(tmp_path, 1)


def test_a_vocabulary_that_does_not_fit_is_a_failed_text_stage(tmp_path: Path) -> None:
    for path in SHIPPED.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    units = (*SPECIAL, *SHAPES, *(chr(0x4E00 + number) for number in range(20_000)))
    Vocabulary(units, ()).write(tmp_path / "vocabulary.json")
    with pytest.raises(NormalizationError):
        PunctuationTagger(tmp_path, 1).score([units[-1]], None)


def test_all_files_together_are_small() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) <= 6_000_000


def test_marks_of_unseen_texts_are_found(tagger: PunctuationModel) -> None:
    path = ROOT.parent / "shared" / "data" / "punctuation" / "test.tsv"
    if not path.is_file():
        pytest.skip("the punctuation test texts are not beside the checkout")
    parts = read_test(tagger, path)
    del parts["meeting_asr-vcsum"]  # its marks were made by a machine
    none = np.zeros(len(MARKS), dtype=np.float32)
    figures = report(parts, none, last=False)["all"]
    assert figures["micro"] >= 0.72
    assert figures["？"] >= 0.75
    assert figures["。"] >= 0.46
    assert figures["boundary"] >= 0.80
