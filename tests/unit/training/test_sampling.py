from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from asr_core.text.punctuation.vocabulary import END, RARE, START, pause_ids
from asr_core.training.corpus import Corpus, Paragraphs, build_corpus
from asr_core.training.sampling import Sampler, SamplingOptions, simulated_pauses
from tests.unit.training.texts import write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build_corpus(write_corpus(Path(tmp_path_factory.mktemp("texts")) / "data"))


def test_a_batch_is_the_same_whenever_it_is_drawn(corpus: Corpus) -> None:
    options = SamplingOptions(length=40, rows=6)
    first, second = Sampler(corpus, options, 3), Sampler(corpus, options, 3)
    second.batch(0)
    for name in ("units", "pairs", "pauses", "labels", "weights"):
        np.testing.assert_array_equal(getattr(first.batch(5), name), getattr(second.batch(5), name))
    assert (first.batch(5).units != first.batch(6).units).any()


def test_whole_paragraphs_stand_between_their_boundaries(corpus: Corpus) -> None:
    options = SamplingOptions(length=64, rows=8, whole=1.0, forgotten=0.0)
    batch = Sampler(corpus, options, 1).batch(0)
    assert batch.units.shape == (64, 8)
    starts, ends = batch.units == START, batch.units == END
    assert starts.any()
    assert ends.any()
    assert not batch.weights[starts | ends].any()
    # What follows an end is the start of the next text.
    assert starts[1:][ends[:-1]].all()


def test_marks_next_to_a_cut_are_not_learnt(corpus: Corpus) -> None:
    options = SamplingOptions(length=30, rows=8, whole=0.0, margin=6)
    batch = Sampler(corpus, options, 1).batch(0)
    assert not batch.weights[:6].any()
    assert not batch.weights[-6:].any()
    assert batch.weights[6:-6].all()


def test_windows_have_no_pauses_or_known_ones(corpus: Corpus) -> None:
    options = SamplingOptions(length=50, rows=200, whole=0.0, timed=0.5)
    known = Sampler(corpus, options, 1).batch(0).pauses > 0
    assert (known.all(axis=0) | ~known.any(axis=0)).all()
    assert 60 < known.any(axis=0).sum() < 140
    untimed = SamplingOptions(length=50, rows=20, timed=0.0)
    assert not Sampler(corpus, untimed, 1).batch(0).pauses.any()


def test_forgotten_words_turn_rare(corpus: Corpus) -> None:
    options = SamplingOptions(length=50, rows=20, whole=0.0, forgotten=1.0, forgotten_pairs=1.0)
    batch = Sampler(corpus, options, 1).batch(0)
    assert (batch.units == RARE).all()
    assert not batch.pairs.any()


def test_pauses_are_longer_after_marks_but_tell_nothing_for_sure() -> None:
    labels = np.tile(np.array([0, 0, 0, 1, 0, 0, 2], dtype=np.uint8), (400, 3))
    classes = simulated_pauses(labels, np.random.default_rng(0))
    assert classes.min() >= 1
    plain, comma, stop = (classes[labels == mark].mean() for mark in (0, 1, 2))
    assert plain < comma < stop
    assert (classes[labels == 0] > 4).any()
    assert (classes[labels == 2] == 1).any()


def test_classes_of_pauses_rise_with_their_length() -> None:
    assert pause_ids([-5, 0, 29, 30, 100, 10_000]).tolist() == [1, 1, 1, 2, 3, 10]


def test_a_scarce_source_is_read_less_and_less(tmp_path: Path) -> None:
    data = write_corpus(tmp_path / "data")
    corpus = build_corpus(data)
    scarce = corpus.training["news-ntrex"]
    short = Paragraphs(scarce.units[:40] * 0 + 5, scarce.labels[:40] * 0, np.array([0, 20, 40]))
    corpus = replace(corpus, training=corpus.training | {"news-ntrex": short})
    options = SamplingOptions(length=64, rows=50, forgotten=0.0)
    sampler = Sampler(corpus, options, 1)
    early, late = ((sampler.batch(number).units == 5).sum() for number in (0, 10))
    assert early > 3 * late > 0
