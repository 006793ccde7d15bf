"""A folder of FunASR for punctuation or voice activity gives what FunASR's AutoModel gives."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from asr_core.audio.fsmn_vad import FsmnVad, load_fsmn_vad
from asr_core.errors import ModelFileMissingError, ModelIntegrityError
from asr_core.models.convert_families import (
    export_ct_transformer,
    export_fsmn_vad,
    family_of,
)
from asr_core.models.identify import identify
from asr_core.models.manifest import MANIFEST_FILE
from asr_core.text.punctuation.base import MARKS
from asr_core.text.punctuation.ct_transformer import CtTransformer
from tests.golden.families_material import CT_PUNC, FSMN_VAD, SAMPLE, recordings, results
from tests.golden.fsmn_material import read
from tests.golden.paraformer_files import PLAIN

pytest.importorskip("mindspore", reason="MindSpore is not installed")
pytest.importorskip("onnx", reason="the package onnx is not installed")

from asr_core.models.convert import convert_to_onnx

COUNT = 20
CLASSES = ("", "", "，", "。", "？", "、")
"""What the network's classes mean: unknown, none, and four marks."""

SAMPLES_OF_MS = 16


def prepared(source: Path, target: Path, runtime: str) -> Path:
    """The folder that a user has: FunASR's own for MindSpore, a converted one for ONNX Runtime."""
    return source if runtime == "mindspore" else convert_to_onnx(source, target / "converted")


@pytest.fixture(scope="module", params=["mindspore", "onnxruntime"])
def punctuation(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CtTransformer]:
    folder = prepared(CT_PUNC, tmp_path_factory.mktemp("ct_punc"), request.param)
    model = CtTransformer(folder, threads=1)
    yield model
    model.close()


@pytest.fixture(scope="module", params=["mindspore", "onnxruntime"])
def vad(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FsmnVad]:
    detector = load_fsmn_vad(prepared(FSMN_VAD, tmp_path_factory.mktemp("fsmn_vad"), request.param))
    yield detector
    detector.close()


@pytest.fixture(scope="module")
def heard() -> list[np.ndarray]:
    return recordings(read(SAMPLE))


@pytest.mark.parametrize("index", range(COUNT))
def test_marks(punctuation: CtTransformer, index: int) -> None:
    text = results()["texts"][index]
    chosen = punctuation.score(text["words"], None).argmax(axis=1)
    assert [MARKS[mark] for mark in chosen] == [CLASSES[mark] for mark in text["marks"]]


@pytest.mark.parametrize("index", range(COUNT))
def test_speech(vad: FsmnVad, heard: list[np.ndarray], index: int) -> None:
    stream = vad.stream()
    found = [*stream.accept(heard[index]), *stream.finish()]
    expected = results()["speech_ms"][index]
    assert found == [(start * SAMPLES_OF_MS, end * SAMPLES_OF_MS) for start, end in expected]


def test_the_references_meet_every_case() -> None:
    """Four marks; recordings with several intervals, and one that FunASR reads in two parts."""
    texts, speech = results()["texts"], results()["speech_ms"]
    assert len(texts) == len(speech) == COUNT
    assert {mark for text in texts for mark in text["marks"]} == {1, 2, 3, 4, 5}
    assert max(len(text["words"]) for text in texts) > 200
    assert max(map(len, speech)) > 5
    assert speech[-1][-1][1] > 60_000


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (CT_PUNC, ["config.yaml", MANIFEST_FILE, "model.onnx", "tokens.json"]),
        (FSMN_VAD, ["am.mvn", "config.yaml", MANIFEST_FILE, "model.onnx"]),
    ],
    ids=["ct-punc", "fsmn-vad"],
)
def test_a_converted_folder_holds_what_its_reader_needs(
    tmp_path: Path, source: Path, names: list[str]
) -> None:
    target = convert_to_onnx(source, tmp_path / "converted")
    assert (identify(source).runtime, identify(target).runtime) == ("mindspore", "onnxruntime")
    assert identify(target).kind == identify(source).kind
    assert sorted(path.name for path in target.iterdir()) == sorted(names)


def test_a_family_is_told_by_its_configuration(tmp_path: Path) -> None:
    for folder, name in ((CT_PUNC, "ct-punc"), (FSMN_VAD, "fsmn-vad")):
        family = family_of(folder)
        assert family is not None
        assert family.name == name
    assert family_of(PLAIN) is None
    (tmp_path / "config.yaml").write_text("- 1\n", encoding="utf-8")
    assert family_of(tmp_path) is None


Export = Callable[[Path, Path], None]


@pytest.mark.parametrize(
    ("export", "names"),
    [
        (export_ct_transformer, ("config.yaml", "tokens.json", "model.pt")),
        (export_fsmn_vad, ("config.yaml", "model.pt")),
    ],
)
def test_all_missing_files_are_named(
    tmp_path: Path, export: Export, names: tuple[str, ...]
) -> None:
    with pytest.raises(ModelFileMissingError) as caught:
        export(tmp_path, tmp_path / "model.onnx")
    assert all(name in str(caught.value) for name in names)


@pytest.mark.parametrize("content", ["{}", "[]", "[", '"a"'])
def test_tokens_that_are_none_are_told(tmp_path: Path, content: str) -> None:
    folder = Path(shutil.copytree(CT_PUNC, tmp_path / "ct_punc"))
    (folder / "tokens.json").write_text(content, encoding="utf-8")
    with pytest.raises(ModelIntegrityError, match="tokens"):
        export_ct_transformer(folder, tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("source", "change", "export", "told"),
    [
        (CT_PUNC, {"linear_units": 25}, export_ct_transformer, "w_1.weight"),
        (CT_PUNC, {"num_blocks": 3}, export_ct_transformer, "encoders.1"),
        (FSMN_VAD, {"lorder": 19}, export_fsmn_vad, "conv_left.weight"),
        (FSMN_VAD, {"fsmn_layers": 3}, export_fsmn_vad, "fsmn.3"),
    ],
)
def test_weights_of_another_network_are_named(
    tmp_path: Path, source: Path, change: dict[str, Any], export: Export, told: str
) -> None:
    folder = Path(shutil.copytree(source, tmp_path / "folder"))
    content = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    content["encoder_conf"] |= change
    (folder / "config.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(ModelIntegrityError, match=told):
        export(folder, tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()
