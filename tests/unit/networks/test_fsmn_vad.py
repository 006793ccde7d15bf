"""FSMN-VAD gives the probabilities that FunASR gives, whole, in pieces and in a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.errors import ModelIntegrityError
from asr_core.models.checkpoint import load_into, read_checkpoint
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Array, Session
from tests.golden.families_material import FSMN_VAD, STAGES
from tests.unit.networks.golden import TOLERANCE, Float32, differences

ms = pytest.importorskip("mindspore", reason="MindSpore is not installed")

from asr_core.networks.fsmn_vad import FsmnVadNetwork, read_fsmn_shape  # noqa: E402
from asr_core.networks.funasr_graphs import write_fsmn_vad  # noqa: E402
from asr_core.networks.funasr_sessions import fsmn_vad_session  # noqa: E402

RECORDINGS = (0, 1, 2)
BATCHES: list[Sequence[int]] = [RECORDINGS, *([number] for number in RECORDINGS)]
RUNTIMES = ("mindspore", "onnxruntime")
REAL = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "models" / "fsmn_vad"


@pytest.fixture(scope="module")
def stages() -> dict[str, np.ndarray]:
    with np.load(FSMN_VAD / STAGES) as found:
        return dict(found)


@pytest.fixture(scope="module")
def cell() -> FsmnVadNetwork:
    cell = FsmnVadNetwork(read_fsmn_shape(FSMN_VAD / "config.yaml"))
    path = FSMN_VAD / "model.pt"
    load_into(cell, read_checkpoint(path), cell.name_table(), path)
    return cell


@pytest.fixture(scope="module")
def sessions(
    cell: FsmnVadNetwork, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Session]]:
    path = tmp_path_factory.mktemp("fsmn_vad") / "model.onnx"
    write_fsmn_vad(cell, path)
    found: dict[str, Session] = {
        "mindspore": fsmn_vad_session(FSMN_VAD / "config.yaml", FSMN_VAD / "model.pt", threads=1),
        "onnxruntime": OnnxSession(path, threads=1),
    }
    yield found
    for session in found.values():
        session.close()


@pytest.fixture(params=RUNTIMES)
def session(request: pytest.FixtureRequest, sessions: dict[str, Session]) -> Session:
    return sessions[request.param]


def no_caches(session: Session, batch: int) -> dict[str, Array]:
    return {
        spec.name: np.zeros((batch, *(size or 1 for size in spec.shape[1:])), np.float32)
        for spec in session.input_specs[1:]
    }


def in_pieces(session: Session, features: Float32, cuts: Sequence[int]) -> list[Float32]:
    """Probabilities of a batch (batch, frames, inputs), then the last caches."""
    caches = no_caches(session, len(features))
    scores = []
    for piece in np.split(features, cuts, axis=1):
        found = session.run({"speech": piece, **caches})
        scores.append(found["logits"])
        caches = {name: found[name.replace("in_", "out_")] for name in caches}
    return [np.concatenate(scores, axis=1), *caches.values()]


@pytest.mark.parametrize("which", BATCHES, ids=str)
def test_scores(session: Session, stages, which: Sequence[int]) -> None:
    expected = [stages[f"{number}.scores"] for number in which]
    # What stands behind a recording must have no effect.
    features = np.full((len(which), max(map(len, expected)), 400), 3.0, np.float32)
    for row, number in zip(features, which, strict=True):
        row[: len(stages[f"{number}.features"])] = stages[f"{number}.features"]
    scores, *caches = in_pieces(session, features, [])
    assert max(differences(scores, expected).values()) <= TOLERANCE
    if len(which) == 1:
        for layer, cache in enumerate(caches):
            assert np.abs(cache[0] - stages[f"{which[0]}.cache.{layer}"]).max() <= TOLERANCE


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(1, 89), max_size=6, unique=True).map(sorted))
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_pieces_are_the_whole(sessions, stages, runtime: str, cuts: list[int]) -> None:
    features = stages["2.features"][None]
    scores, *caches = in_pieces(sessions[runtime], features, cuts)
    assert np.abs(scores[0] - stages["2.scores"]).max() <= TOLERANCE
    for layer, cache in enumerate(caches):
        assert np.abs(cache[0] - stages[f"2.cache.{layer}"]).max() <= TOLERANCE


def test_each_tensor_fills_one_parameter(cell: FsmnVadNetwork) -> None:
    sources = cell.name_table().sources
    assert set(sources) == {parameter.name for parameter in cell.get_parameters()}
    used = [source.tensor for source in sources.values()]
    assert len(used) == len(set(used))
    assert set(used) == set(read_checkpoint(FSMN_VAD / "model.pt"))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[OnnxSession, OnnxSession]:
    """The published network as it is, and its weights in ours."""
    if not (REAL / "model.onnx").is_file():
        pytest.skip(f"no published FSMN-VAD in {REAL}")
    cell = FsmnVadNetwork(read_fsmn_shape(REAL / "config.yaml"))
    path = REAL / "model.onnx"
    load_into(cell, tensors_of(path), cell.name_table(), path)
    ours = tmp_path_factory.mktemp("real") / "model.onnx"
    write_fsmn_vad(cell, ours)
    return OnnxSession(path, threads=1), OnnxSession(ours, threads=1)


def tensors_of(path: Path) -> dict[str, np.ndarray]:
    """The weights of FunASR's file under the names of its checkpoint.

    The file has matrices turned and without their names, but in the order of their use.
    """
    import onnx

    graph = onnx.load(path).graph
    weights = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    layers = 4
    names = ["in_linear1", "in_linear2"]
    names += [f"fsmn.{layer}.{part}" for layer in range(layers) for part in ("linear", "affine")]
    names += ["out_linear1", "out_linear2"]
    used = [node.input[1] for node in graph.node if node.op_type == "MatMul"]
    found = {name: values for name, values in weights.items() if name.startswith("encoder.")}
    for name, matrix in zip(names, used, strict=True):
        found[f"encoder.{name}.linear.weight"] = weights[matrix].T
    return found


def test_the_published_weights_give_the_same_in_our_graph(real) -> None:
    published, ours = real
    features = np.random.default_rng(5).normal(size=(1, 301, 400)).astype(np.float32)
    for cuts in ([], [1, 100, 119, 300]):
        for mine, theirs in zip(
            in_pieces(ours, features, cuts), in_pieces(published, features, cuts), strict=True
        ):
            assert np.abs(mine - theirs).max() <= TOLERANCE
    assert [spec.name for spec in ours.input_specs] == [s.name for s in published.input_specs]
    assert [spec.name for spec in ours.output_specs] == [s.name for s in published.output_specs]


@pytest.mark.parametrize(
    ("key", "value"), [("rorder", 1), ("lstride", 2), ("use_softmax", False), ("fsmn_layers", 0)]
)
def test_a_configuration_that_is_not_supported_is_named(
    tmp_path: Path, key: str, value: object
) -> None:
    content = yaml.safe_load((FSMN_VAD / "config.yaml").read_text(encoding="utf-8"))
    content["encoder_conf"][key] = value
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(ModelIntegrityError, match=key):
        read_fsmn_shape(path)


def test_another_encoder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("model: FsmnVADStreaming\nencoder: DFSMN\n", encoding="utf-8")
    with pytest.raises(ModelIntegrityError, match="FSMN"):
        read_fsmn_shape(path)
