"""Models that the hub has as FunASR's checkpoints only: graphs are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from asr_core.errors import ConvertError, ModelError
from asr_core.models.catalog import CATALOGUE, CT_PUNC, PARAFORMER, ModelEntry
from asr_core.models.convert_installed import InstalledGraphs
from asr_core.models.files import sha256_of
from asr_core.models.graph_folder import (
    GRAPHS_FILE,
    GraphFolder,
    graph_file,
    read_graph_folder,
    write_graph_manifest,
)
from asr_core.models.inspection import ModelState
from asr_core.models.manifest import read_manifest
from asr_core.models.store import ModelStore
from tests.unit.models.conftest import hubs_at
from tests.unit.models.conversion import source_folder
from tests.unit.models.hub import Hub, listing_path

SMALL = {"config.yaml": b"model: X\n", "tokens.json": b"[]", "am.mvn": b"<Nnet>"}
WEIGHTS = b"weights" * 1000


def checkpoint_repo(entry: ModelEntry) -> str:
    assert entry.listed is not None
    assert entry.listed.checkpoint is not None
    return entry.listed.checkpoint.repos[0]


class _Maker:
    """Makes a graph of any checkpoint."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.folders: list[Path] = []

    def check(self) -> None:
        if self.fault:
            raise self.fault

    def add_graphs(self, folder: Path) -> Sequence[Path]:
        self.folders.append(folder)
        (folder / "model.onnx").write_bytes(b"graph of " + (folder / "model.pt").read_bytes())
        return [folder / "model.onnx"]


@pytest.fixture
def store(tmp_path: Path, hub: Hub) -> ModelStore:
    hub.offer(checkpoint_repo(CT_PUNC), {**SMALL, "model.pt": WEIGHTS})
    return ModelStore(tmp_path / "models", hubs=hubs_at(hub.url))


@pytest.mark.parametrize("entry", [entry for entry in CATALOGUE.values() if entry.listed])
def test_every_model_of_funasr_is_known_as_a_checkpoint_too(entry: ModelEntry) -> None:
    assert checkpoint_repo(entry).startswith("iic/")
    assert checkpoint_repo(entry).endswith("-pytorch")


def test_graphs_are_made_before_the_model_appears(store: ModelStore, hub: Hub) -> None:
    maker = _Maker()
    folder = store.install("ct-punc", graphs=maker)
    assert [path.name for path in maker.folders] == [".ct-punc.download"]
    assert (folder / "model.onnx").read_bytes() == b"graph of " + WEIGHTS
    manifest = read_manifest(folder)
    assert manifest is not None
    assert manifest.repo == checkpoint_repo(CT_PUNC)
    stated = {file.name: file.sha256 for file in manifest.files}
    assert stated == {
        name: sha256_of(folder / name)
        for name in ("config.yaml", "tokens.json", "model.pt", "model.onnx")
    }
    assert store.verify("ct-punc") is ModelState.INSTALLED
    total = sum(path.stat().st_size for path in folder.iterdir() if path.suffix != ".json")
    assert store.size_bytes("ct-punc") == total + len(SMALL["tokens.json"])
    (folder / "model.onnx").write_bytes(b"another one")
    assert store.verify("ct-punc") is ModelState.DAMAGED


def test_graphs_of_the_hub_are_preferred(store: ModelStore, hub: Hub) -> None:
    assert CT_PUNC.listed is not None
    hub.offer(CT_PUNC.listed.repos[0], {**SMALL, "model_quant.onnx": b"theirs"})
    maker = _Maker(fault=AssertionError("nothing has to be made"))
    folder = store.install("ct-punc", graphs=maker)
    assert (folder / "model_quant.onnx").read_bytes() == b"theirs"
    assert not (folder / "model.pt").exists()


def test_what_cannot_be_converted_here_is_not_fetched(store: ModelStore, hub: Hub) -> None:
    fault = ConvertError("no MindSpore", reason="package", package="mindspore", python="3.13")
    with pytest.raises(ConvertError):
        store.install("ct-punc", graphs=_Maker(fault))
    assert hub.asked == []
    assert store.state("ct-punc") is ModelState.MISSING


def test_both_repositories_are_named_where_neither_has_the_files(
    store: ModelStore, hub: Hub
) -> None:
    hub.files.pop(listing_path(checkpoint_repo(CT_PUNC)))
    with pytest.raises(ModelError) as caught:
        store.install("ct-punc", graphs=_Maker())
    assert CT_PUNC.listed is not None
    for repo in (*CT_PUNC.listed.repos, checkpoint_repo(CT_PUNC)):
        assert repo in str(caught.value.details["cause"])


def test_a_recognizer_may_stay_a_checkpoint(tmp_path: Path, hub: Hub) -> None:
    hub.offer(checkpoint_repo(PARAFORMER), {**SMALL, "model.pt": WEIGHTS})
    store = ModelStore(tmp_path / "models", hubs=hubs_at(hub.url))
    folder = store.install("paraformer")
    assert {path.name for path in folder.iterdir()} == {*SMALL, "model.pt", "tinglu-manifest.json"}
    assert store.verify("paraformer") is ModelState.INSTALLED


class _Graphs(_Maker):
    """Makes a folder with a graph as a conversion does."""

    def add_graphs(self, folder: Path) -> Sequence[Path]:
        self.folders.append(folder)
        (folder / "encode.onnx").write_bytes(b"graph")
        graphs = {"encode": graph_file(folder / "encode.onnx")}
        manifest = write_graph_manifest(
            GraphFolder(folder, "onnxruntime", "int8", "X", "model.pt", "0" * 64, "tinglu", graphs)
        )
        return [folder / "encode.onnx", manifest]


def test_what_was_left_a_checkpoint_is_converted_by_a_later_install(
    tmp_path: Path, hub: Hub
) -> None:
    hub.offer(checkpoint_repo(PARAFORMER), {**SMALL, "model.pt": WEIGHTS})
    store = ModelStore(tmp_path / "models", hubs=hubs_at(hub.url))
    folder = store.install("paraformer")
    fetched, maker = len(hub.asked), _Graphs()
    assert store.install("paraformer", graphs=maker) == folder
    assert (maker.folders, len(hub.asked)) == ([folder], fetched)
    manifest = read_manifest(folder)
    assert manifest is not None
    assert manifest.repo == checkpoint_repo(PARAFORMER)
    assert {file.name for file in manifest.files} == {
        *(*SMALL, "model.pt"),
        *("encode.onnx", GRAPHS_FILE),
    }
    assert store.verify("paraformer") is ModelState.INSTALLED
    store.install("paraformer", graphs=maker)
    assert maker.folders == [folder]


def test_what_cannot_be_converted_later_stays_as_it_was(tmp_path: Path, hub: Hub) -> None:
    hub.offer(checkpoint_repo(PARAFORMER), {**SMALL, "model.pt": WEIGHTS})
    store = ModelStore(tmp_path / "models", hubs=hubs_at(hub.url))
    store.install("paraformer")
    fault = ConvertError("no MindSpore", reason="package", package="mindspore", python="3.13")
    for maker in (_Maker(fault), replace_add(_Maker(), fault)):
        with pytest.raises(ConvertError, match="no MindSpore"):
            store.install("paraformer", graphs=maker)
        assert store.verify("paraformer") is ModelState.INSTALLED
    store.install("paraformer", graphs=_Graphs())
    assert store.verify("paraformer") is ModelState.INSTALLED


@pytest.mark.parametrize("named", [True, False], ids=["named in the settings", "copied"])
def test_a_checkpoint_that_somebody_brought_is_never_converted(
    tmp_path: Path, hub: Hub, named: bool
) -> None:
    folder = tmp_path / "models" / "paraformer"
    folder.mkdir(parents=True)
    for name, content in {**SMALL, "model.pt": WEIGHTS}.items():
        (folder / name).write_bytes(content)
    folders = {"paraformer": folder} if named else {}
    store = ModelStore(tmp_path / "models", folders=folders, hubs=hubs_at(hub.url))
    assert store.install("paraformer", graphs=_Graphs()) == folder
    assert {path.name for path in folder.iterdir()} == {*SMALL, "model.pt"}


def test_a_conversion_that_fails_is_taken_up_without_fetching_again(
    tmp_path: Path, hub: Hub
) -> None:
    hub.offer(checkpoint_repo(PARAFORMER), {**SMALL, "model.pt": WEIGHTS})
    store = ModelStore(tmp_path / "models", hubs=hubs_at(hub.url))
    maker = _Maker()
    broken = replace_add(maker, ConvertError("stopped", reason="busy", path="x"))
    with pytest.raises(ConvertError, match="stopped"):
        store.install("paraformer", graphs=broken)
    assert not (tmp_path / "models" / "paraformer").exists()
    fetched = len(hub.asked)
    store.install("paraformer", graphs=maker)
    assert len(hub.asked) == fetched
    assert store.verify("paraformer") is ModelState.INSTALLED


def replace_add(maker: _Maker, fault: Exception) -> _Maker:
    class Broken(_Maker):
        def add_graphs(self, folder: Path) -> Sequence[Path]:
            (folder / "half.onnx").write_bytes(b"half")
            raise fault

    return Broken(maker.fault)


def test_a_fetched_paraformer_gets_graphs_of_eight_bits(tmp_path: Path, hub: Hub) -> None:
    pytest.importorskip("mindspore", reason="MindSpore is not installed")
    source = source_folder(tmp_path / "source", "Paraformer")
    contents = {path.name: path.read_bytes() for path in source.iterdir()}
    hub.offer(checkpoint_repo(PARAFORMER), contents)
    store = ModelStore(tmp_path / "models", hubs=hubs_at(hub.url))
    steps: list[str] = []
    folder = store.install(
        "paraformer", graphs=InstalledGraphs(lambda step: steps.append(step.kind))
    )
    assert steps == ["read", "write", "write", "quantize", "quantize"]
    graphs = read_graph_folder(folder, "paraformer")
    assert (graphs.precision, sorted(graphs.graphs)) == ("int8", ["decode", "encode"])
    assert graphs.damaged() == ()
    assert (folder / "model.pt").read_bytes() == contents["model.pt"]
    assert store.verify("paraformer") is ModelState.INSTALLED
    assert store.size_bytes("paraformer") == sum(
        path.stat().st_size for path in folder.iterdir() if path.name != "tinglu-manifest.json"
    )
    (folder / "decode.onnx").unlink()
    assert store.state("paraformer") is ModelState.DAMAGED
    assert GRAPHS_FILE in {path.name for path in folder.iterdir()}
    assert not [path for path in (tmp_path / "models").iterdir() if "graphs" in path.name]


def test_what_a_killed_conversion_left_in_an_installation_is_replaced(
    tmp_path: Path, hub: Hub
) -> None:
    pytest.importorskip("mindspore", reason="MindSpore is not installed")
    source = source_folder(tmp_path / "source", "Paraformer")
    hub.offer(
        checkpoint_repo(PARAFORMER), {path.name: path.read_bytes() for path in source.iterdir()}
    )
    store = ModelStore(tmp_path / "models", hubs=hubs_at(hub.url))
    folder = store.install("paraformer")
    (folder / "encode.onnx").write_bytes(b"half")
    store.install("paraformer", graphs=InstalledGraphs(lambda _step: None))
    assert read_graph_folder(folder, "paraformer").damaged() == ()
    assert store.verify("paraformer") is ModelState.INSTALLED
    names = {path.name for path in (tmp_path / "models").iterdir()}
    assert not [name for name in names if "graphs" in name]
