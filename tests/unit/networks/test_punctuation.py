"""The MindSpore definition and the ONNX graph compute the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asr_core.runtime.onnx import OnnxSession
from asr_core.training.export import eight_bit_rows, write_onnx
from tests.unit.training.random_weights import STEPS, random_weights

ms = pytest.importorskip("mindspore", reason="MindSpore is not installed")

from asr_core.networks.punctuation import PunctuationNetwork, TaggerShape  # noqa: E402

_UNITS, _PAIRS, _PAUSES = 30, 12, 5


@pytest.fixture(scope="module")
def network() -> PunctuationNetwork:
    ms.set_context(mode=ms.GRAPH_MODE)
    shape = TaggerShape(_UNITS, _PAIRS, _PAUSES, unit_width=10, pair_width=6, steps=STEPS)
    network = PunctuationNetwork(shape)
    network.set_train(False)
    weights = random_weights(units=_UNITS, pairs=_PAIRS, pause_classes=_PAUSES)
    assert set(weights) == set(weights_of(network))
    for parameter in network.get_parameters():
        parameter.set_data(ms.Tensor(weights[parameter.name]))
    return network


def weights_of(network: PunctuationNetwork) -> dict[str, np.ndarray]:
    """All weights by name."""
    return {parameter.name: parameter.asnumpy().copy() for parameter in network.get_parameters()}


def inputs(length: int, texts: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(length)
    limits = {"units": _UNITS, "pairs": _PAIRS + 1, "pauses": _PAUSES}
    return {
        name: random.integers(0, limit, (length, texts)).astype(np.int32)
        for name, limit in limits.items()
    }


@pytest.mark.parametrize(("length", "texts"), [(1, 1), (7, 3), (40, 2)])
def test_onnx_runtime_gives_what_mindspore_gives(
    network: PunctuationNetwork, tmp_path: Path, length: int, texts: int
) -> None:
    given = inputs(length, texts)
    raw = network(*(ms.Tensor(array) for array in given.values())).asnumpy()
    expected = raw - np.log(np.exp(raw).sum(axis=-1, keepdims=True))
    write_onnx(weights_of(network), STEPS, tmp_path / "network.onnx", eight_bits=False)
    session = OnnxSession(tmp_path / "network.onnx", threads=1)
    scores = session.run(given)["scores"]
    assert scores.shape == (length, texts, 8)
    np.testing.assert_allclose(scores, expected, atol=2e-5)


def test_eight_bits_are_near(network: PunctuationNetwork, tmp_path: Path) -> None:
    given = inputs(40, 4)
    scores = []
    for eight_bits in (False, True):
        write_onnx(weights_of(network), STEPS, tmp_path / "network.onnx", eight_bits=eight_bits)
        session = OnnxSession(tmp_path / "network.onnx", threads=1)
        scores.append(np.exp(session.run(given)["scores"]))
    assert np.abs(scores[0] - scores[1]).max() < 0.05
    assert np.abs(scores[0] - scores[1]).mean() < 0.005


def test_eight_bit_rows_keep_each_row_to_a_127th_of_its_largest() -> None:
    array = np.array([[0.5, -1.0, 0.25], [0.0, 0.0, 0.0], [100.0, 1.0, -3.0]], dtype=np.float32)
    small, scales = eight_bit_rows(array)
    assert small.dtype == np.int8
    assert scales.shape == (3, 1)
    error = np.abs(small * scales - array)
    assert (error <= np.abs(array).max(axis=1, keepdims=True) / 254 + 1e-6).all()
