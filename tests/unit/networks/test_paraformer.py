"""Every stage of a Paraformer gives what FunASR gives, in a batch and one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.golden.paraformer_files import PLAIN, SEACO
from tests.unit.networks.golden import RECORDINGS, TOLERANCE, Float32, Golden, differences

ms = pytest.importorskip("mindspore", reason="MindSpore is not installed")

from asr_core.models.checkpoint import load_into  # noqa: E402
from asr_core.networks.graphs import position_encoding  # noqa: E402
from asr_core.networks.paraformer import EncoderGraph, ParaformerNetworks  # noqa: E402
from asr_core.networks.seaco import SeacoNetworks  # noqa: E402

BATCHES: list[Sequence[int]] = [RECORDINGS, *([number] for number in RECORDINGS)]
KINDS = (SEACO, PLAIN)

Run = Callable[..., tuple[Float32, ...]]


class _TracedEncoder(ms.nn.Cell):
    """The encoder with the output of each block, and the weights of frames."""

    def __init__(self, graph: EncoderGraph) -> None:
        super().__init__(auto_prefix=False)
        self.graph = graph

    def construct(self, features: Any, positions: Any, mask: Any) -> Any:
        encoded, blocks = self.graph.encoder(features, positions, mask)
        return (encoded, self.graph.predictor(encoded, mask), *blocks)


class Networks:
    """A golden model as graphs, each compiled once for all batches and times."""

    def __init__(self, folder: Path) -> None:
        ms.set_context(mode=ms.GRAPH_MODE)
        self.golden = Golden(folder)
        config = self.golden.config
        self.cells = (
            SeacoNetworks(config, config.bias) if config.bias else ParaformerNetworks(config)
        )
        self.table = self.cells.name_table()
        load_into(self.cells, self.golden.tensors, self.table, self.golden.folder / "model.pt")
        width, inputs = config.encoder.width, config.encoder.inputs
        frames, hidden, mask = _dynamic(inputs), _dynamic(width), _dynamic(1)
        positions = ms.Tensor(shape=[1, 1, None, inputs], dtype=ms.float32)
        self.encode = _graph(_TracedEncoder(self.cells.encode), frames, positions, mask)
        self.decode = _graph(self.cells.decode, hidden, mask, hidden, mask)
        if config.bias:
            counts = ms.Tensor(shape=[None], dtype=ms.int64)
            tokens = ms.Tensor(shape=[None, None], dtype=ms.int32)
            self.times = _graph(self.cells.times, hidden, mask, counts)
            self.embed = _graph(self.cells.embed, tokens)
            self.bias = _graph(self.cells.bias, hidden, hidden, mask, hidden, mask)
            self.filter = _graph(self.cells.hotword_filter(), hidden, mask, hidden, mask)


def _dynamic(width: int) -> Any:
    return ms.Tensor(shape=[None, 1, None, width], dtype=ms.float32)


def _graph(cell: Any, *inputs: Any) -> Run:
    cell.set_train(False)
    cell.set_inputs(*inputs)

    def run(*arrays: np.ndarray) -> tuple[Float32, ...]:
        found = cell(*(ms.Tensor(array) for array in arrays))
        return tuple(one.asnumpy() for one in (found if isinstance(found, tuple) else (found,)))

    return run


@pytest.fixture(scope="module")
def seaco() -> Networks:
    return Networks(SEACO)


@pytest.fixture(scope="module")
def plain() -> Networks:
    return Networks(PLAIN)


@pytest.fixture(params=KINDS, ids=lambda folder: folder.name)
def networks(request: pytest.FixtureRequest, seaco: Networks, plain: Networks) -> Networks:
    return seaco if request.param == SEACO else plain


def close(batch: Float32, expected: Sequence[Float32]) -> None:
    found = differences(batch, expected)
    assert max(found.values()) <= TOLERANCE, found


@pytest.mark.parametrize("which", BATCHES, ids=str)
def test_encoder(networks: Networks, which: Sequence[int]) -> None:
    golden = networks.golden
    # What stands behind a recording must have no effect.
    features = golden.planes("features", which, fill=3.0)
    positions = position_encoding(features.shape[2], features.shape[3])
    encoded, alphas, *blocks = networks.encode(features, positions, golden.mask("features", which))
    assert len(blocks) == golden.config.encoder.layers
    for index, block in enumerate(blocks):
        close(block, golden.each(f"block.{index}", which))
    close(encoded, golden.each("encoded", which))
    close(alphas, [array[:, np.newaxis] for array in golden.each("alphas", which)])
    assert not alphas[golden.mask("features", which) == 0].any()


@pytest.mark.parametrize("which", BATCHES, ids=str)
def test_decoder(networks: Networks, which: Sequence[int]) -> None:
    golden = networks.golden
    scores, hidden = networks.decode(
        golden.planes("embeds", which, fill=3.0),
        golden.mask("embeds", which),
        golden.planes("encoded", which, fill=3.0),
        golden.mask("encoded", which),
    )
    close(hidden, golden.each("hidden", which))
    close(scores, golden.each("scores", which))


@pytest.mark.parametrize("which", BATCHES, ids=str)
def test_times(seaco: Networks, which: Sequence[int]) -> None:
    golden = seaco.golden
    counts = [len(array) for array in golden.each("us_alphas", which)]
    encoded = golden.planes("encoded", which, fill=3.0)
    (alphas,) = seaco.times(encoded, golden.mask("encoded", which), np.array(counts))
    assert alphas.shape == (len(which), max(counts))
    close(alphas, golden.each("us_alphas", which))
    for row, count in zip(alphas, counts, strict=True):
        assert not row[count:].any()


@pytest.mark.parametrize("count", [1, 5, 60])
def test_hotwords_are_embedded(seaco: Networks, count: int) -> None:
    golden = seaco.golden
    tokens = golden.stage(f"words.{count}.tokens").astype(np.int32)
    lengths = golden.stage(f"words.{count}.lengths")
    (embedded,) = seaco.embed(tokens)
    found = embedded[np.arange(count), lengths - 1]
    assert np.abs(found - golden.stage(f"words.{count}.embedded")).max() <= TOLERANCE


@pytest.mark.parametrize("which", BATCHES, ids=str)
@pytest.mark.parametrize("count", [1, 5, 60])
def test_hotwords(seaco: Networks, count: int, which: Sequence[int]) -> None:
    golden = seaco.golden
    embedded = golden.stage(f"words.{count}.embedded")
    # Three places hold no word.
    words = np.full((len(which), 1, count + 3, embedded.shape[1]), 3.0, np.float32)
    words[:, 0, :count] = embedded
    word_mask = (np.arange(count + 3) < count).astype(np.float32)
    word_mask = np.tile(word_mask[:, np.newaxis], (len(which), 1, 1, 1))
    hidden = golden.planes("hidden", which, fill=3.0)
    mask = golden.mask("hidden", which)
    (scores,) = seaco.bias(golden.planes("embeds", which, fill=3.0), hidden, mask, words, word_mask)
    close(scores, golden.each(f"bias.{count}", which))
    (attention,) = seaco.filter(hidden, mask, words, word_mask)
    assert not attention[..., count:].any()
    close(attention[:, 0, 0], golden.each(f"filter.{count}", which))


def test_each_tensor_fills_one_parameter(networks: Networks) -> None:
    sources = networks.table.sources
    assert set(sources) == {parameter.name for parameter in networks.cells.get_parameters()}
    used = [source.tensor for source in sources.values()]
    assert len(used) == len(set(used))
    assert set(used) | set(networks.table.set_aside) == set(networks.golden.tensors)
