"""Exported graphs give in ONNX Runtime what FunASR gives, at batches and times of any size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asr_core.runtime.onnx import OnnxSession
from tests.unit.networks.golden import RECORDINGS, TOLERANCE, Float32, Golden, differences

ms = pytest.importorskip("mindspore", reason="MindSpore is not installed")

from asr_core.models.checkpoint import load_into  # noqa: E402
from asr_core.networks.export import (  # noqa: E402
    export_graph,
    write_hotword_embedder,
    write_timestamp_head,
)
from asr_core.networks.graphs import position_encoding  # noqa: E402
from asr_core.networks.seaco import SeacoNetworks  # noqa: E402

FRAMES, TOKENS, WORDS = 13, 7, 11
"""Sizes of the example that an export sees; no recording and no list has them."""


@pytest.fixture(scope="module")
def golden() -> Golden:
    return Golden("seaco_paraformer")


@pytest.fixture(scope="module")
def cells(golden: Golden) -> SeacoNetworks:
    ms.set_context(mode=ms.GRAPH_MODE)
    assert golden.config.bias is not None
    cells = SeacoNetworks(golden.config, golden.config.bias)
    load_into(cells, golden.tensors, cells.name_table(), golden.folder / "model.pt")
    return cells


def planes(time: int, width: int, batch: int = 2) -> Float32:
    return np.random.default_rng(time).normal(size=(batch, 1, time, width)).astype(np.float32)


def mask(time: int) -> Float32:
    return np.ones((2, 1, time, 1), np.float32)


def session(
    cell: Any, inputs: dict[str, np.ndarray], outputs: Sequence[str], folder: Path
) -> OnnxSession:
    export_graph(cell, inputs, outputs, folder / "graph.onnx")
    return OnnxSession(folder / "graph.onnx", threads=1)


def close(batch: Float32, expected: Sequence[Float32]) -> None:
    found = differences(batch, expected)
    assert max(found.values()) <= TOLERANCE, found


def test_encoder(cells: SeacoNetworks, golden: Golden, tmp_path: Path) -> None:
    inputs = {
        "features": planes(FRAMES, 560),
        "positions": planes(FRAMES, 560, batch=1),
        "mask": mask(FRAMES),
    }
    graph = session(cells.encode, inputs, ["encoded", "alphas"], tmp_path)
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


def test_decoder(cells: SeacoNetworks, golden: Golden, tmp_path: Path) -> None:
    width = golden.config.decoder.width
    inputs = {
        "embeds": planes(TOKENS, width),
        "token_mask": mask(TOKENS),
        "memory": planes(FRAMES, width),
        "memory_mask": mask(FRAMES),
    }
    graph = session(cells.decode, inputs, ["scores", "hidden"], tmp_path)
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


def test_hotwords(cells: SeacoNetworks, golden: Golden, tmp_path: Path) -> None:
    width = golden.config.decoder.width
    inputs = {
        "embeds": planes(TOKENS, width),
        "hidden": planes(TOKENS, width),
        "token_mask": mask(TOKENS),
        "words": planes(WORDS, width),
        "word_mask": mask(WORDS),
    }
    bias = session(cells.bias, inputs, ["scores"], tmp_path)
    del inputs["embeds"]
    filtering = session(cells.hotword_filter(), inputs, ["attention"], tmp_path)
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


def test_times(cells: SeacoNetworks, golden: Golden, tmp_path: Path) -> None:
    write_timestamp_head(cells.times, tmp_path / "times.onnx")
    graph = OnnxSession(tmp_path / "times.onnx", threads=1)
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


def test_hotwords_are_embedded(cells: SeacoNetworks, golden: Golden, tmp_path: Path) -> None:
    write_hotword_embedder(cells.embed, tmp_path / "embed.onnx")
    graph = OnnxSession(tmp_path / "embed.onnx", threads=1)
    for count in (1, 5, 60):
        tokens = golden.stage(f"words.{count}.tokens").astype(np.int32)
        embedded = graph.run({"tokens": tokens})["embedded"]
        lengths = golden.stage(f"words.{count}.lengths")
        found = embedded[np.arange(count), lengths - 1]
        assert np.abs(found - golden.stage(f"words.{count}.embedded")).max() <= TOLERANCE
