"""A model folder of FunASR: what it must hold, and what is said when it does not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from asr_core.errors import ModelFileMissingError, ModelIntegrityError
from asr_core.models.funasr_folder import open_folder
from tests.golden.paraformer_files import PLAIN, SEACO


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SEACO, tmp_path / "seaco"))


def test_the_folder_is_read() -> None:
    folder = open_folder(SEACO, name="seaco-paraformer")
    assert folder.model == "SeacoParaformer"
    assert folder.tokens[:3] == ("<blank>", "<s>", "</s>")
    assert folder.segmentation["world"] == ("wor@@", "ld")
    assert (folder.features.stack, folder.features.stride, folder.feature_dim) == (7, 6, 560)
    assert folder.network == SEACO / "model.onnx"
    assert folder.hotword_network == SEACO / "model_eb.onnx"


def test_plain_paraformer_needs_no_graph_for_hotwords() -> None:
    folder = open_folder(PLAIN, name="paraformer")
    assert (folder.model, folder.hotword_network) == ("Paraformer", None)


def test_quantized_graphs_are_preferred(copy: Path) -> None:
    (copy / "model_quant.onnx").touch()
    (copy / "model_eb_quant.onnx").touch()
    folder = open_folder(copy, name="seaco-paraformer")
    assert folder.network == copy / "model_quant.onnx"
    assert folder.hotword_network == copy / "model_eb_quant.onnx"


def test_every_missing_file_is_named_in_one_error(copy: Path) -> None:
    for name in ("am.mvn", "tokens.json", "model.onnx", "model_eb.onnx"):
        (copy / name).unlink()
    with pytest.raises(ModelFileMissingError) as caught:
        open_folder(copy, name="seaco-paraformer")
    assert caught.value.details["files"] == (
        "tokens.json, am.mvn, model_quant.onnx / model.onnx, model_eb_quant.onnx / model_eb.onnx"
    )
    assert caught.value.details["folder"] == str(copy)
    assert caught.value.details["reason"] == "files"


def test_a_folder_that_is_not_there_lacks_everything(tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissingError, match=r"config.yaml, tokens.json, am.mvn, model_q"):
        open_folder(tmp_path / "nowhere", name="paraformer")


def test_graphs_may_be_somebody_elses_matter(copy: Path) -> None:
    for path in copy.glob("*.onnx"):
        path.unlink()
    folder = open_folder(copy, name="seaco-paraformer", graphs=False)
    assert (folder.network, folder.hotword_network) == (None, None)


def test_without_seg_dict_there_are_no_pieces(copy: Path) -> None:
    (copy / "seg_dict").unlink()
    assert not open_folder(copy, name="seaco-paraformer").segmentation


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.yaml", "- a list"),
        ("config.yaml", "{"),
        ("config.yaml", "model: SeacoParaformer"),
        ("config.yaml", "frontend_conf: {fs: 8000}"),
        ("config.yaml", "frontend_conf: {lfr_m: many}"),
        ("config.yaml", "frontend_conf: {lfr_m: 5, lfr_n: 4}"),
        ("tokens.json", "{}"),
        ("tokens.json", "[1, 2, 3, 4]"),
        ("tokens.json", "["),
        ("am.mvn", "<Nnet>"),
    ],
)
def test_a_file_with_another_content_is_named(copy: Path, file: str, content: str) -> None:
    (copy / file).write_text(content, encoding="utf-8")
    with pytest.raises(ModelIntegrityError) as caught:
        open_folder(copy, name="seaco-paraformer")
    assert Path(str(caught.value.details["path"])).parent == copy


def test_the_front_end_may_be_left_to_its_defaults(copy: Path) -> None:
    config = yaml.safe_load((copy / "config.yaml").read_text(encoding="utf-8"))
    config["frontend_conf"] = {"lfr_m": 7, "lfr_n": 6}
    (copy / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    options = open_folder(copy, name="seaco-paraformer").features
    assert (options.n_mels, options.frame_length_ms, options.frame_shift_ms) == (80, 25, 10)
