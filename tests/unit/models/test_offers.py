"""Which form of a Paraformer a folder offers; every file that is missing is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from asr_core.errors import DeviceUnavailableError, ModelFileMissingError, ModelIntegrityError
from asr_core.models.catalog import SEACO_PARAFORMER, ModelFile
from asr_core.models.files import sha256_of
from asr_core.models.graph_folder import (
    GRAPHS_FILE,
    GraphFolder,
    graph_file,
    write_graph_manifest,
)
from asr_core.models.inspection import ModelState
from asr_core.models.manifest import MANIFEST_FILE, Manifest, write_manifest
from asr_core.models.offers import Form, find_offer
from asr_core.models.store import ModelStore

SMALL = ("config.yaml", "tokens.json", "am.mvn")
PAIR = ("model_quant.onnx", "model_eb.onnx")


def folder(path: Path, files: Sequence[str], graphs_for: str = "") -> Path:
    for file in files:
        text = "model: SeacoParaformer\n" if file == "config.yaml" else file
        (path / file).write_text(text, encoding="utf-8")
    if graphs_for:
        (path / "encode.onnx").write_bytes(b"graph")
        write_graph_manifest(
            GraphFolder(
                path=path,
                runtime=graphs_for,
                precision="int8",
                model="SeacoParaformer",
                source_file="model.pt",
                source_sha256="0" * 64,
                made_by="tinglu",
                graphs={"encode": graph_file(path / "encode.onnx")},
            )
        )
    return path


def installed(path: Path, files: Sequence[str]) -> Path:
    """Write the manifest of an installation that vouches for these files."""
    stated = tuple(
        ModelFile(file, (path / file).stat().st_size, sha256_of(path / file)) for file in files
    )
    write_manifest(path, Manifest("seaco-paraformer", "http://hub", "iic/x", "master", "", stated))
    return path


@pytest.mark.parametrize(
    ("files", "graphs_for", "runtime", "form", "executes"),
    [
        ((*PAIR, "model.pt"), "onnxruntime", "auto", Form.GRAPHS, "onnxruntime int8"),
        ((*PAIR, "model.pt"), "", "auto", Form.EXPORT, "onnxruntime int8"),
        (("model.onnx", "model_eb.onnx"), "", "auto", Form.EXPORT, "onnxruntime fp32"),
        (("model.pt",), "", "auto", Form.CHECKPOINT, "mindspore fp32"),
        (("model.safetensors",), "", "auto", Form.CHECKPOINT, "mindspore fp32"),
        (("model.ckpt",), "", "mindspore", Form.CHECKPOINT, "mindspore fp32"),
        ((*PAIR, "model.pt"), "onnxruntime", "mindspore", Form.CHECKPOINT, "mindspore fp32"),
        ((*PAIR, "model.pt"), "ascend", "auto", Form.EXPORT, "onnxruntime int8"),
        ((), "ascend", "ascend", Form.GRAPHS, "ascend int8"),
        # Half of a pair is of no use where something else is whole.
        ((PAIR[0], "model.pt"), "", "auto", Form.CHECKPOINT, "mindspore fp32"),
    ],
)
def test_which_form_is_used(
    tmp_path: Path, files: Sequence[str], graphs_for: str, runtime: str, form: Form, executes: str
) -> None:
    offer = find_offer(folder(tmp_path, (*SMALL, *files), graphs_for), "seaco", runtime)
    assert offer.form is form
    assert f"{offer.runtime} {offer.precision}" == executes
    assert all(path.is_file() for path in offer.files)


@pytest.mark.parametrize(
    ("files", "runtime", "named"),
    [
        (
            (),
            "auto",
            "config.yaml, tokens.json, am.mvn, graphs.json / model_quant.onnx / model.onnx / "
            "model.pt / model.safetensors / model.ckpt",
        ),
        (
            ("am.mvn",),
            "mindspore",
            "config.yaml, tokens.json, model.pt / model.safetensors / model.ckpt",
        ),
        (
            ("config.yaml",),
            "onnxruntime",
            "tokens.json, am.mvn, graphs.json / model_quant.onnx + model_eb_quant.onnx / "
            "model.onnx + model_eb.onnx",
        ),
        (
            SMALL,
            "auto",
            "graphs.json / model_quant.onnx + model_eb_quant.onnx / model.onnx + model_eb.onnx / "
            "model.pt / model.safetensors / model.ckpt",
        ),
        (
            (*SMALL, "model_eb.onnx"),
            "onnxruntime",
            "graphs.json / model_quant.onnx / model.onnx",
        ),
        (("config.yaml", "model.pt"), "auto", "tokens.json, am.mvn"),
        (
            ("config.yaml", PAIR[0]),
            "auto",
            "tokens.json, am.mvn, model_eb_quant.onnx / model_eb.onnx",
        ),
    ],
)
def test_every_missing_file_is_named(
    tmp_path: Path, files: Sequence[str], runtime: str, named: str
) -> None:
    with pytest.raises(ModelFileMissingError) as caught:
        find_offer(folder(tmp_path, files), "seaco", runtime)
    assert caught.value.details["files"] == named


def test_missing_graphs_are_named(tmp_path: Path) -> None:
    path = folder(tmp_path, SMALL, "onnxruntime")
    (path / "encode.onnx").unlink()
    (path / "am.mvn").unlink()
    with pytest.raises(ModelFileMissingError) as caught:
        find_offer(path, "seaco")
    assert caught.value.details["files"] == "am.mvn, encode.onnx"


@pytest.mark.parametrize("others", [("model.pt",), PAIR])
def test_incomplete_graphs_are_told_whatever_lies_beside_them(
    tmp_path: Path, others: Sequence[str]
) -> None:
    path = folder(tmp_path, (*SMALL, *others), "onnxruntime")
    (path / "encode.onnx").unlink()
    with pytest.raises(ModelFileMissingError) as caught:
        find_offer(path, "seaco")
    assert caught.value.details["files"] == "encode.onnx"


def test_graphs_that_are_not_asked_for_may_be_incomplete(tmp_path: Path) -> None:
    path = folder(tmp_path, (*SMALL, "model.pt"), "onnxruntime")
    (path / "encode.onnx").unlink()
    assert find_offer(path, "seaco", "mindspore").form is Form.CHECKPOINT


def test_graphs_for_another_runtime(tmp_path: Path) -> None:
    path = folder(tmp_path, SMALL, "ascend")
    with pytest.raises(DeviceUnavailableError, match="for ascend only"):
        find_offer(path, "seaco")


def test_a_damaged_manifest_is_told(tmp_path: Path) -> None:
    path = folder(tmp_path, SMALL, "onnxruntime")
    (path / GRAPHS_FILE).write_text("{", encoding="utf-8")
    with pytest.raises(ModelIntegrityError):
        find_offer(path, "seaco")


class TestStore:
    """A folder of the user or of the installation may hold any form."""

    def store(self, path: Path) -> ModelStore:
        return ModelStore(path.parent / "models", folders={SEACO_PARAFORMER.name: path})

    def test_a_checkpoint_is_there_and_not_verified(self, tmp_path: Path) -> None:
        path = folder(tmp_path, (*SMALL, "model.pt"))
        store = self.store(path)
        assert store.state(SEACO_PARAFORMER.name) is ModelState.PRESENT
        assert store.ensure(SEACO_PARAFORMER.name) == path

    def test_converted_graphs_are_verified_by_their_manifest(self, tmp_path: Path) -> None:
        path = folder(tmp_path, SMALL, "onnxruntime")
        store = self.store(path)
        assert store.ensure(SEACO_PARAFORMER.name) == path
        assert store.verify(SEACO_PARAFORMER.name) is ModelState.INSTALLED
        (path / "encode.onnx").write_bytes(b"GRAPH")
        assert store.verify(SEACO_PARAFORMER.name) is ModelState.DAMAGED
        (path / GRAPHS_FILE).write_text("{", encoding="utf-8")
        with pytest.raises(ModelIntegrityError):
            store.ensure(SEACO_PARAFORMER.name)

    def test_an_installation_vouches_for_what_lies_beside_its_graphs(self, tmp_path: Path) -> None:
        path = installed(folder(tmp_path, SMALL, "onnxruntime"), SMALL)
        store = self.store(path)
        assert store.verify(SEACO_PARAFORMER.name) is ModelState.INSTALLED
        (path / "tokens.json").write_text("TOKENS.JSON", encoding="utf-8")
        assert store.verify(SEACO_PARAFORMER.name) is ModelState.DAMAGED
        with pytest.raises(ModelIntegrityError) as caught:
            store.ensure(SEACO_PARAFORMER.name)
        assert caught.value.details["path"] == str(path / "tokens.json")

    def test_a_lost_file_of_an_installation_with_graphs_is_named(self, tmp_path: Path) -> None:
        path = installed(
            folder(tmp_path, (*SMALL, "model.pt"), "onnxruntime"), (*SMALL, "model.pt")
        )
        (path / "model.pt").unlink()
        (path / "encode.onnx").unlink()
        with pytest.raises(ModelFileMissingError) as caught:
            self.store(path).ensure(SEACO_PARAFORMER.name)
        assert caught.value.details["files"] == "model.pt, encode.onnx"

    def test_what_is_converted_again_in_an_installation_is_told(self, tmp_path: Path) -> None:
        path = installed(folder(tmp_path, SMALL, "onnxruntime"), (*SMALL, GRAPHS_FILE))
        manifest = json.loads((path / GRAPHS_FILE).read_text(encoding="utf-8"))
        manifest["made_by"] = "another"
        (path / GRAPHS_FILE).write_text(json.dumps(manifest), encoding="utf-8")
        assert self.store(path).verify(SEACO_PARAFORMER.name) is ModelState.DAMAGED

    @pytest.mark.parametrize("files", [(), ("config.yaml",)])
    def test_a_manifest_that_does_not_vouch_for_the_small_files_is_damage(
        self, tmp_path: Path, files: Sequence[str]
    ) -> None:
        path = installed(folder(tmp_path, SMALL, "onnxruntime"), files)
        with pytest.raises(ModelIntegrityError) as caught:
            self.store(path).ensure(SEACO_PARAFORMER.name)
        assert caught.value.details["path"] == str(path / MANIFEST_FILE)

    @pytest.mark.parametrize("graphs_for", ["", "onnxruntime"])
    def test_a_manifest_without_files_is_damage(self, tmp_path: Path, graphs_for: str) -> None:
        path = installed(folder(tmp_path, (*SMALL, "model.pt"), graphs_for), ())
        store = self.store(path)
        assert store.verify(SEACO_PARAFORMER.name) is ModelState.DAMAGED
        assert store.size_bytes(SEACO_PARAFORMER.name)

    @pytest.mark.parametrize("form", ["graphs.json", "model.pt"])
    def test_a_manifest_without_graphs_is_damage(self, tmp_path: Path, form: str) -> None:
        path = folder(tmp_path, (*SMALL, form), "onnxruntime")
        manifest = json.loads((path / GRAPHS_FILE).read_text(encoding="utf-8"))
        (path / GRAPHS_FILE).write_text(json.dumps(manifest | {"graphs": {}}), encoding="utf-8")
        with pytest.raises(ModelIntegrityError) as caught:
            self.store(path).ensure(SEACO_PARAFORMER.name)
        assert caught.value.details["path"] == str(path / GRAPHS_FILE)

    @pytest.mark.parametrize("graphs_for", ["", "onnxruntime"])
    def test_what_such_a_folder_lacks_is_named(self, tmp_path: Path, graphs_for: str) -> None:
        path = folder(tmp_path, ("config.yaml", "model.pt"), graphs_for)
        with pytest.raises(ModelFileMissingError) as caught:
            self.store(path).ensure(SEACO_PARAFORMER.name)
        assert caught.value.details["files"] == "tokens.json, am.mvn"
