"""A folder of converted graphs says what it holds; every fault of it is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asr_core.errors import ModelFileMissingError, ModelIntegrityError
from asr_core.models.graph_folder import (
    GRAPHS_FILE,
    GraphFolder,
    graph_file,
    is_graph_folder,
    read_graph_folder,
    write_graph_manifest,
)


@pytest.fixture
def folder(tmp_path: Path) -> GraphFolder:
    (tmp_path / "encode.onnx").write_bytes(b"encoder")
    (tmp_path / "decode.onnx").write_bytes(b"the decoder")
    (tmp_path / "config.yaml").write_text("model: Paraformer\n", encoding="utf-8")
    written = GraphFolder(
        path=tmp_path,
        runtime="onnxruntime",
        precision="int8",
        model="Paraformer",
        source_file="model.pt",
        source_sha256="0" * 64,
        made_by="tinglu 1.0",
        graphs={
            "encode": graph_file(tmp_path / "encode.onnx", ["MatMul_3"]),
            "decode": graph_file(tmp_path / "decode.onnx"),
        },
    )
    write_graph_manifest(written)
    return written


def changed(folder: GraphFolder, **values: Any) -> Path:
    path = folder.path / GRAPHS_FILE
    document = json.loads(path.read_text(encoding="utf-8")) | values
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_what_was_written_is_read(folder: GraphFolder) -> None:
    found = read_graph_folder(folder.path, "paraformer", ["config.yaml"])
    assert found == folder
    assert found.file("encode") == folder.path / "encode.onnx"
    assert found.graphs["encode"].kept_fp32 == ("MatMul_3",)
    assert found.graphs["decode"].size_bytes == 11
    assert found.damaged() == ()
    assert [path.name for path in folder.path.glob(".*")] == []


def test_every_missing_file_is_named_at_once(folder: GraphFolder) -> None:
    for name in ("encode.onnx", "decode.onnx", "config.yaml"):
        (folder.path / name).unlink()
    with pytest.raises(ModelFileMissingError) as caught:
        read_graph_folder(folder.path, "paraformer", ["config.yaml", "am.mvn"])
    details = caught.value.details
    assert details["files"] == "config.yaml, am.mvn, encode.onnx, decode.onnx"
    assert (details["reason"], details["folder"]) == ("files", str(folder.path))


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    assert not is_graph_folder(tmp_path)
    with pytest.raises(ModelFileMissingError) as caught:
        read_graph_folder(tmp_path, "paraformer", ["am.mvn"])
    assert caught.value.details["files"] == "am.mvn, graphs.json"


def test_a_file_of_another_size_is_refused(folder: GraphFolder) -> None:
    (folder.path / "decode.onnx").write_bytes(b"the")
    with pytest.raises(ModelIntegrityError, match="has 3 bytes, not 11") as caught:
        read_graph_folder(folder.path, "paraformer")
    assert caught.value.details["path"] == str(folder.path / "decode.onnx")


def test_other_content_of_the_same_size_is_found_by_hashing(folder: GraphFolder) -> None:
    (folder.path / "decode.onnx").write_bytes(b"THE DECODER")
    assert read_graph_folder(folder.path, "paraformer").damaged() == ("decode.onnx",)


@pytest.mark.parametrize(
    "values",
    [
        {"schema": 2},
        {"runtime": "tensorrt"},
        {"precision": None},
        {"model": 1},
        {"source": {"file": "model.pt"}},
        {"source": {"file": "model.pt", "sha256": "ABC"}},
        {"graphs": []},
        {"graphs": {}},
        {"graphs": {"encode": {"file": "../encode", "sha256": "0" * 64, "size_bytes": 1}}},
        {"graphs": {"encode": {"file": "encode", "sha256": "0" * 64, "size_bytes": -1}}},
        {"graphs": {"encode": {"file": "encode", "sha256": "0" * 64, "size_bytes": True}}},
        {"graphs": {"encode": {"sha256": "0" * 64, "size_bytes": 1}}},
    ],
    ids=str,
)
def test_a_manifest_that_cannot_be_used_is_refused(
    folder: GraphFolder, values: dict[str, Any]
) -> None:
    path = changed(folder, **values)
    with pytest.raises(ModelIntegrityError) as caught:
        read_graph_folder(folder.path, "paraformer")
    assert caught.value.details["path"] == str(path)


@pytest.mark.parametrize("content", [b"", b"[1]", b"{}", b"\xff\xfe", b'{"schema": 1'])
def test_what_is_no_manifest_is_refused(folder: GraphFolder, content: bytes) -> None:
    (folder.path / GRAPHS_FILE).write_bytes(content)
    with pytest.raises(ModelIntegrityError, match=r"graphs\.json cannot be used"):
        read_graph_folder(folder.path, "paraformer")
