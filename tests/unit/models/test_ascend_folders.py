"""Which folder holds a model's OM files, and whether the CPU can run a model at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.errors import ModelIntegrityError
from asr_core.models.graph_folder import (
    GRAPHS_FILE,
    GraphFolder,
    graph_file,
    write_graph_manifest,
)
from asr_core.models.offers import ascend_folder, find_offer, runs_on_cpu


def converted(path: Path, runtime: str) -> Path:
    path.mkdir(exist_ok=True)
    (path / "encode").write_bytes(b"graph")
    graphs = {"encode": graph_file(path / "encode")}
    write_graph_manifest(
        GraphFolder(path, runtime, "fp16", "Paraformer", "model.pt", "0" * 64, "tinglu", graphs)
    )
    return path


def test_it_is_the_folder_itself(tmp_path: Path) -> None:
    folder = converted(tmp_path / "mine", "ascend")
    assert ascend_folder(folder, "mine") == folder
    assert not runs_on_cpu(folder, "mine")


def test_it_lies_beside_a_folder_for_the_cpu(tmp_path: Path) -> None:
    folder = converted(tmp_path / "mine", "onnxruntime")
    assert ascend_folder(folder, "mine") is None
    beside = converted(tmp_path / "mine.ascend", "ascend")
    assert ascend_folder(folder, "mine") == beside
    assert runs_on_cpu(folder, "mine")


@pytest.mark.parametrize("name", ["model.pt", "model_quant.onnx"])
def test_other_forms_may_lie_with_the_om_files(tmp_path: Path, name: str) -> None:
    folder = converted(tmp_path / "mine", "ascend")
    (folder / name).write_bytes(b"network")
    assert ascend_folder(folder, "mine") == folder
    assert runs_on_cpu(folder, "mine")


def test_graphs_for_another_runtime_beside_it_do_not_count(tmp_path: Path) -> None:
    folder = converted(tmp_path / "mine", "onnxruntime")
    converted(tmp_path / "mine.ascend", "onnxruntime")
    assert ascend_folder(folder, "mine") is None


def test_one_beside_it_that_is_damaged_is_left_to_who_opens_it(tmp_path: Path) -> None:
    folder = converted(tmp_path / "mine", "onnxruntime")
    beside = converted(tmp_path / "mine.ascend", "ascend")
    (beside / GRAPHS_FILE).write_text("{", encoding="utf-8")
    assert ascend_folder(folder, "mine") == beside
    with pytest.raises(ModelIntegrityError):
        find_offer(beside, "mine", "ascend")


def test_the_longest_name_of_a_folder_leaves_no_room_for_one_beside_it(tmp_path: Path) -> None:
    folder = converted(tmp_path / ("模" * 85), "onnxruntime")
    assert ascend_folder(folder, "mine") is None


def test_a_damaged_manifest_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / GRAPHS_FILE).write_text("{", encoding="utf-8")
    with pytest.raises(ModelIntegrityError):
        ascend_folder(folder, "mine")
