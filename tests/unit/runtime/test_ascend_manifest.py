"""The manifest beside OM files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asr_core.errors import ModelFileMissingError, ModelIntegrityError
from asr_core.runtime.ascend_manifest import (
    OmFile,
    OmGraph,
    OmTensor,
    read_om_graph,
    write_om_graph,
)


def graph_in(folder: Path, mode: str = "gears") -> OmGraph:
    (folder / "encode.om").write_bytes(b"12345")
    sizes = ({"batch": 1, "frames": 64}, {"batch": 4, "frames": 128})
    return OmGraph(
        folder=folder,
        graph="encode",
        mode=mode,
        soc="Ascend310P3",
        cann="8.0.0",
        precision="fp16",
        source_sha256="0" * 64,
        batch="batch",
        inputs=(OmTensor("features", "float32", ("batch", 1, "frames", 560)),),
        outputs=(OmTensor("us_alphas", "float32", ("batch", "frames*3")),),
        files=(OmFile("encode.om", "a" * 64, 5, sizes if mode == "gears" else sizes[:1]),),
    )


@pytest.mark.parametrize("mode", ["static", "gears", "dynamic"])
def test_it_is_read_as_it_was_written(mode: str, tmp_path: Path) -> None:
    graph = graph_in(tmp_path, mode)
    path = write_om_graph(graph)
    assert path.name == "encode.om.json"
    assert read_om_graph(path, "model") == graph
    assert graph.outputs[0].shape({"batch": 2, "frames": 5}) == (2, 15)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissingError, match=r"encode\.om\.json"):
        read_om_graph(tmp_path / "encode.om.json", "model")
    path = write_om_graph(graph_in(tmp_path))
    (tmp_path / "encode.om").unlink()
    with pytest.raises(ModelFileMissingError, match=r"encode\.om is missing"):
        read_om_graph(path, "model")


def test_a_file_of_another_length(tmp_path: Path) -> None:
    path = write_om_graph(graph_in(tmp_path))
    (tmp_path / "encode.om").write_bytes(b"1234")
    with pytest.raises(ModelIntegrityError, match="4 bytes, not 5"):
        read_om_graph(path, "model")


def change(document: dict[str, Any], place: str, value: Any) -> None:
    *path, last = place.split(".")
    holder: Any = document
    for key in path:
        holder = holder[int(key) if key.isdigit() else key]
    holder[int(last) if last.isdigit() else last] = value


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("schema", 2),
        ("mode", "free"),
        ("inputs", []),
        ("outputs", []),
        ("files", []),
        ("batch", "words"),
        ("soc", None),
        ("inputs.0.axes", ["batch", 1, "frames*2", 560]),
        ("inputs.0.axes", ["batch", 0, "frames", 560]),
        ("inputs.0.axes", ["batch", True, "frames", 560]),
        ("inputs.0.axes", ["batch", 1, "frames", "-1"]),
        ("outputs.0.axes", ["batch", "words"]),
        ("outputs.0.dtype", "bfloat16"),
        ("outputs.0.axes", ["batch", "frames*0"]),
        ("files.0.file", "../encode.om"),
        ("files.0.sha256", "x"),
        ("files.0.size_bytes", 0),
        ("files.0.sizes", []),
        ("files.0.sizes.0", {"batch": 1}),
        ("files.0.sizes.0", {"batch": 1, "frames": 0}),
        ("files.0.sizes.0", {"batch": 1, "frames": 2, "words": 3}),
        ("mode", "dynamic"),
    ],
)
def test_a_damaged_manifest_is_refused(place: str, value: Any, tmp_path: Path) -> None:
    path = write_om_graph(graph_in(tmp_path))
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document, place, value)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ModelIntegrityError, match="convert the model again"):
        read_om_graph(path, "model")


@pytest.mark.parametrize("text", ["", "[]", "{}", "\x00", "null"])
def test_no_manifest_at_all(text: str, tmp_path: Path) -> None:
    (tmp_path / "encode.om.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelIntegrityError):
        read_om_graph(tmp_path / "encode.om.json", "model")
