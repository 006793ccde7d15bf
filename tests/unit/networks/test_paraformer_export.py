"""Exported graphs give in ONNX Runtime what FunASR gives, at batches and times of any size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from asr_core.networks.graphs import position_encoding
from asr_core.runtime.onnx import OnnxSession
from tests.golden.paraformer_files import SEACO
from tests.unit.networks.golden import RECORDINGS, TOLERANCE, Float32, Golden, differences

pytest.importorskip("mindspore", reason="MindSpore is not installed")

Open = Callable[[str], OnnxSession]


@pytest.fixture(scope="module")
def golden() -> Golden:
    return Golden(SEACO)


@pytest.fixture
def opened(seaco_fp32: Path) -> Open:
    """Opens a graph; no recording and no list has the sizes that its export has seen."""
    return lambda name: OnnxSession(seaco_fp32 / f"{name}.onnx", threads=1)


def close(batch: Float32, expected: Sequence[Float32]) -> None:
    found = differences(batch, expected)
    assert max(found.values()) <= TOLERANCE, found


def test_encoder(opened: Open, golden: Golden) -> None:
    graph = opened("encode")
    for which in (RECORDINGS, [1]):
        features = golden.planes("features", which, fill=3.0)
        found = graph.run(
            {
                "features": features,
                "positions": position_encoding(features.shape[2], 560),
                "mask": golden.mask("features", which),
            }
        )
        close(found["encoded"], golden.each("encoded", which))
        close(found["alphas"], [array[:, np.newaxis] for array in golden.each("alphas", which)])


def test_decoder(opened: Open, golden: Golden) -> None:
    graph = opened("decode")
    for which in (RECORDINGS, [1]):
        found = graph.run(
            {
                "embeds": golden.planes("embeds", which, fill=3.0),
                "token_mask": golden.mask("embeds", which),
                "memory": golden.planes("encoded", which, fill=3.0),
                "memory_mask": golden.mask("encoded", which),
            }
        )
        close(found["scores"], golden.each("scores", which))
        close(found["hidden"], golden.each("hidden", which))


def test_hotwords(opened: Open, golden: Golden) -> None:
    bias, filtering = opened("bias"), opened("filter")
    for which in (RECORDINGS, [1]):
        for count in (1, 60):
            words = np.tile(golden.stage(f"words.{count}.embedded"), (len(which), 1, 1, 1))
            given = {
                "hidden": golden.planes("hidden", which, fill=3.0),
                "token_mask": golden.mask("hidden", which),
                "words": words,
                "word_mask": np.ones((len(which), 1, count, 1), np.float32),
            }
            attention = filtering.run(given)["attention"]
            close(attention[:, 0, 0], golden.each(f"filter.{count}", which))
            given["embeds"] = golden.planes("embeds", which, fill=3.0)
            close(bias.run(given)["scores"], golden.each(f"bias.{count}", which))


def test_times(opened: Open, golden: Golden) -> None:
    graph = opened("times")
    for which in (RECORDINGS, [1]):
        expected = golden.each("us_alphas", which)
        counts = np.array([len(array) for array in expected])
        given = {
            "encoded": golden.planes("encoded", which, fill=3.0),
            "mask": golden.mask("encoded", which),
            "part_counts": counts,
        }
        found = graph.run(given)["us_alphas"]
        assert found.shape == (len(which), counts.max())
        close(found, expected)
        for row, count in zip(found, counts, strict=True):
            assert not row[count:].any()


def test_hotwords_are_embedded(opened: Open, golden: Golden) -> None:
    graph = opened("embed")
    for count in (1, 5, 60):
        tokens = golden.stage(f"words.{count}.tokens").astype(np.int32)
        embedded = graph.run({"tokens": tokens})["embedded"]
        lengths = golden.stage(f"words.{count}.lengths")
        found = embedded[np.arange(count), lengths - 1]
        assert np.abs(found - golden.stage(f"words.{count}.embedded")).max() <= TOLERANCE
