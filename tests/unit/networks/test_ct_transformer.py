"""CT-Transformer gives the scores that FunASR gives, in a batch and one by one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml

from asr_core.errors import ModelIntegrityError
from asr_core.models.checkpoint import load_into, read_checkpoint
from asr_core.runtime.onnx import OnnxSession
from tests.golden.families_material import CT_PUNC, STAGES
from tests.unit.networks.golden import TOLERANCE, Float32, differences

ms = pytest.importorskip("mindspore", reason="MindSpore is not installed")

from asr_core.networks.ct_transformer import (  # noqa: E402
    CtTransformerNetwork,
    read_ct_transformer_shape,
)
from asr_core.networks.funasr_graphs import write_ct_transformer  # noqa: E402
from asr_core.networks.funasr_sessions import ct_transformer_session  # noqa: E402

TEXTS = (0, 1, 2, 3)
BATCHES: list[Sequence[int]] = [TEXTS, *([number] for number in TEXTS)]


@pytest.fixture(scope="module")
def stages() -> dict[str, np.ndarray]:
    with np.load(CT_PUNC / STAGES) as found:
        return dict(found)


@pytest.fixture(scope="module")
def vocabulary() -> int:
    return len(json.loads((CT_PUNC / "tokens.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def cell(vocabulary: int) -> CtTransformerNetwork:
    cell = CtTransformerNetwork(read_ct_transformer_shape(CT_PUNC / "config.yaml", vocabulary))
    path = CT_PUNC / "model.pt"
    load_into(cell, read_checkpoint(path), cell.name_table(), path)
    return cell


def batch(stages: dict[str, np.ndarray], which: Sequence[int]) -> dict[str, np.ndarray]:
    """Some texts side by side, with any word behind the short ones."""
    texts = [stages[f"{number}.words"] for number in which]
    words = np.full((len(texts), max(map(len, texts))), 7, np.int32)
    for row, text in zip(words, texts, strict=True):
        row[: len(text)] = text
    return {"inputs": words, "text_lengths": np.array([*map(len, texts)], np.int32)}


def close(found: Float32, stages: dict[str, np.ndarray], which: Sequence[int]) -> None:
    expected = [stages[f"{number}.logits"] for number in which]
    assert max(differences(found, expected).values()) <= TOLERANCE
    for row, array in zip(found, expected, strict=True):
        assert (row[: len(array)].argmax(axis=1) == array.argmax(axis=1)).all()


@pytest.fixture(scope="module")
def executed(vocabulary: int):
    session = ct_transformer_session(
        CT_PUNC / "config.yaml", vocabulary, CT_PUNC / "model.pt", threads=1
    )
    yield session
    session.close()


@pytest.fixture(scope="module")
def exported(cell: CtTransformerNetwork, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("ct_punc") / "model.onnx"
    write_ct_transformer(cell, path)
    session = OnnxSession(path, threads=1)
    yield session
    session.close()


@pytest.mark.parametrize("which", BATCHES, ids=str)
def test_scores_of_mindspore(executed, stages, which: Sequence[int]) -> None:
    close(executed.run(batch(stages, which))["logits"], stages, which)


@pytest.mark.parametrize("which", BATCHES, ids=str)
def test_scores_of_the_exported_graph(exported, stages, which: Sequence[int]) -> None:
    close(exported.run(batch(stages, which))["logits"], stages, which)


def test_both_take_and_give_what_funasrs_own_file_does(executed, exported) -> None:
    from onnxruntime import InferenceSession

    own = InferenceSession(CT_PUNC.with_name("ct_transformer") / "model.onnx")
    inputs = [(value.name, value.type) for value in own.get_inputs()]
    outputs = [value.name for value in own.get_outputs()]
    for session in (executed, exported):
        assert inputs == [(spec.name, f"tensor({spec.dtype})") for spec in session.input_specs]
        assert outputs == [spec.name for spec in session.output_specs]


def test_each_tensor_fills_one_parameter(cell: CtTransformerNetwork) -> None:
    sources = cell.name_table().sources
    assert set(sources) == {parameter.name for parameter in cell.get_parameters()}
    used = [source.tensor for source in sources.values()]
    assert len(used) == len(set(used))
    assert set(used) == set(read_checkpoint(CT_PUNC / "model.pt"))


@pytest.mark.parametrize(
    ("section", "key", "value", "told"),
    [
        ("model_conf", "punc_list", None, "punc_list"),
        ("model_conf", "embed_unit", 8, "embed_unit"),
        ("model_conf", "att_unit", 8, "att_unit"),
        ("encoder_conf", "input_layer", "conv2d", "input_layer"),
        ("encoder_conf", "attention_heads", 3, "heads"),
        (None, "encoder", "SANMVadEncoder", "SANMVadEncoder"),
        (None, "model", "CTTransformerStreaming", "CTTransformer"),
        (None, "model_conf", None, "punc_list"),
    ],
)
def test_a_configuration_that_is_not_supported_is_named(
    tmp_path: Path, section: str | None, key: str, value: object, told: str
) -> None:
    content = yaml.safe_load((CT_PUNC / "config.yaml").read_text(encoding="utf-8"))
    (content[section] if section else content)[key] = value
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(ModelIntegrityError, match=told):
        read_ct_transformer_shape(path, 100)
