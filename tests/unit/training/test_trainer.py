"""Short trainings of a small network on made-up texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from asr_core.errors import UsageError
from asr_core.training.corpus import Corpus, build_corpus
from asr_core.training.sampling import SamplingOptions
from tests.unit.training.texts import write_corpus

pytest.importorskip("mindspore", reason="MindSpore is not installed")

from asr_core.training.punctuation import judge_weights
from asr_core.training.trainer import Trainer, TrainingOptions, shape_for

_SAMPLING = SamplingOptions(length=32, rows=8)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("texts") / "data")


@pytest.fixture(scope="module")
def corpus(data: Path) -> Corpus:
    return build_corpus(data)


def trainer(corpus: Corpus, work: Path, steps: int, rate: float = 2e-2) -> Trainer:
    shape = shape_for(corpus, unit_width=16, pair_width=8, steps=(1, 2, 4), dropout=0.0)
    options = TrainingOptions(
        steps=steps, warm_up=5, rate=rate, average_every=2, average_keep=0.8, judge_every=20
    )
    return Trainer(corpus, shape, _SAMPLING, options, work)


def nothing(weights: dict[str, np.ndarray]) -> dict[str, float]:
    return {"target": float(len(weights) > 0)}


def test_marks_of_easy_texts_are_learnt(corpus: Corpus, tmp_path: Path) -> None:
    training = trainer(corpus, tmp_path, 120)
    losses = training.run(nothing)
    assert losses[0] > 1.5
    assert np.mean(losses[-10:]) < 0.25
    figures = judge_weights(corpus, training.weights(), (1, 2, 4), tmp_path, threads=1)
    assert figures["？"] > 0.9
    assert figures["micro"] > 0.9


def test_a_stopped_training_goes_on_as_if_it_had_not_stopped(
    corpus: Corpus, tmp_path: Path
) -> None:
    whole = trainer(corpus, tmp_path / "whole", 40).run(nothing)
    first = trainer(corpus, tmp_path / "parts", 40).run(nothing, until=20)
    resumed = trainer(corpus, tmp_path / "parts", 40)
    assert resumed.done == 20
    second = resumed.run(nothing)
    assert len(first) == len(second) == 20
    np.testing.assert_allclose(first, whole[:20], rtol=1e-4)
    np.testing.assert_allclose(second, whole[20:], rtol=1e-4)
    log = (tmp_path / "parts" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in log] == [20, 40]


def test_a_training_with_other_options_is_not_continued(corpus: Corpus, tmp_path: Path) -> None:
    trainer(corpus, tmp_path, 40).run(nothing, until=20)
    with pytest.raises(UsageError, match="other options"):
        trainer(corpus, tmp_path, 40, rate=1e-3)


def test_steps_may_change_until_the_learning_rate_falls(corpus: Corpus, tmp_path: Path) -> None:
    trainer(corpus, tmp_path, 40).run(nothing, until=20)
    longer = trainer(corpus, tmp_path, 60)
    longer.run(nothing, until=50)
    assert longer.done == 50
    with pytest.raises(UsageError, match="too late"):
        trainer(corpus, tmp_path, 70)
