"""Integrate-and-fire: the same as FunASR's, and what must hold of any weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from asr_core.recognizers.cif import (
    PEAK,
    TAIL_THRESHOLD,
    acoustic_embeds,
    add_tail,
    count_tokens,
    find_peaks,
    fire_by_steps,
    fire_by_sums,
)
from tests.golden.paraformer_files import golden

RULES = {"steps": fire_by_steps, "sums": fire_by_sums}


@pytest.mark.parametrize("case", golden()["cif"], ids=lambda case: str(case["lengths"]))
@pytest.mark.parametrize("rule", RULES)
def test_embeddings_are_those_of_funasr(case: dict, rule: str) -> None:
    hidden = np.array(case["hidden"], np.float32)
    alphas = np.array(case["alphas"], np.float32)
    padded, weights = add_tail(hidden, alphas, np.array(case["lengths"], np.int32))
    counts = count_tokens(weights)
    fires = RULES[rule](weights)
    assert weights.tolist() == case["weights"]
    assert counts.tolist() == case["counts"]
    assert fires.tolist() == case[rule]["fires"]
    embeds = acoustic_embeds(padded, weights, fires, counts)
    expected = np.array(case[rule]["embeds"], np.float32).reshape(embeds.shape)
    assert np.abs(embeds - expected).max(initial=0) <= 1e-5


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hidden vectors, weights that are multiples of 1/64, and lengths."""
    lengths = draw(st.lists(st.integers(1, 30), min_size=1, max_size=4))
    shape = (len(lengths), max(lengths))
    steps = draw(arrays(np.int32, shape, elements=st.integers(0, 64)))
    hidden = draw(arrays(np.int32, (*shape, 2), elements=st.integers(-8, 8)))
    return (
        hidden.astype(np.float32),
        (steps / 64).astype(np.float32),
        np.array(lengths, np.int32),
    )


@given(batches())
def test_a_row_does_not_depend_on_the_others(
    batch: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    hidden, alphas, lengths = batch
    padded, weights = add_tail(hidden, alphas, lengths)
    counts = count_tokens(weights)
    together = acoustic_embeds(padded, weights, fire_by_steps(weights), counts)
    for row, length in enumerate(lengths):
        one = slice(row, row + 1)
        alone, own = add_tail(hidden[one, :length], alphas[one, :length], lengths[one])
        embeds = acoustic_embeds(alone, own, fire_by_steps(own), counts[one])
        assert np.abs(embeds[0] - together[row, : counts[row]]).max(initial=0) <= 1e-4


@given(batches())
def test_tokens_take_weight_one_each(batch: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    hidden, alphas, lengths = batch
    padded, weights = add_tail(np.ones_like(hidden), alphas, lengths, tail_threshold=0.0)
    counts = count_tokens(weights)
    inside = np.arange(alphas.shape[1]) < lengths[:, None]
    assert counts.tolist() == np.floor((alphas * inside).sum(axis=1)).astype(int).tolist()
    embeds = acoustic_embeds(padded, weights, fire_by_steps(weights), counts)
    for row, count in enumerate(counts):
        assert embeds[row, :count].tolist() == [[1.0, 1.0]] * count
        assert not embeds[row, count:].any()


@given(batches())
def test_both_rules_agree_on_weights_without_rounding(
    batch: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    _, alphas, _ = batch
    assert fire_by_steps(alphas).tolist() == fire_by_sums(alphas).tolist()


@pytest.mark.parametrize(("rest", "tokens"), [(0.5, 0), (0.54, 0), (0.56, 1), (0.9, 1)])
def test_what_is_left_over_becomes_a_token_from_055_on(rest: float, tokens: int) -> None:
    alphas = np.array([[rest / 2, rest / 2, 0.0]], np.float32)
    _, weights = add_tail(np.zeros((1, 3, 1), np.float32), alphas, np.array([2], np.int32))
    assert weights[0, 2] == np.float32(TAIL_THRESHOLD)
    assert count_tokens(weights).tolist() == [tokens]


def test_rounding_does_not_take_a_peak_away() -> None:
    alphas = np.full((1, 30), 0.1, np.float32)
    assert find_peaks(fire_by_steps(alphas, PEAK)[0]).tolist() == [9, 19, 29]
