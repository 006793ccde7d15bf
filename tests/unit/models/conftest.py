"""A tiny model in two layouts, packages that carry it, a listed model, and a hub with both."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from asr_core.models.catalog import (
    ListedFiles,
    ModelEntry,
    ModelFile,
    ModelLayout,
    PackagePart,
)
from asr_core.models.shipment import Hubs
from asr_core.models.transport import Pauses
from tests.unit.models.hub import Hub, running_hub

WEIGHTS = bytes(range(256)) * 12_000  # 3 MB: longer than one block of the store
TOKENS = b'{"tokens": ["\xe5\x90\xac"]}'
NEW_WEIGHTS = b"v2" + WEIGHTS


def _file(name: str, content: bytes, *parts: PackagePart) -> ModelFile:
    return ModelFile(name, len(content), hashlib.sha256(content).hexdigest(), parts)


def _layout(stem: str, weights: bytes) -> ModelLayout:
    first, second = f"{stem}_part1", f"{stem}_part2"
    halves = PackagePart(first, "data/model.bin.part1"), PackagePart(second, "data/model.bin.part2")
    tokens = PackagePart(second, "data/tokenizer.json")
    return ModelLayout(
        (_file("model.bin", weights, *halves), _file("tokenizer.json", TOKENS, tokens))
    )


TINY = ModelEntry(
    name="tiny",
    title="Tiny",
    licence="MIT",
    family="whisper",
    layouts=(_layout("tinglu_old_tiny", WEIGHTS), _layout("tinglu_new_tiny", NEW_WEIGHTS)),
    hub_repo="someone/tiny",
)
REPO, OTHER_REPO = "iic/speech-onnx", "someone/speech-onnx"
SPEECH = ModelEntry(
    name="speech",
    title="Speech",
    licence="Apache-2.0",
    family="paraformer",
    listed=ListedFiles(
        repos=(REPO, OTHER_REPO),
        required=(("config.yaml",), ("tokens.json",), ("model_quant.onnx", "model.onnx")),
        optional=("seg_dict",),
    ),
)
LISTED = {"config.yaml": b"model: Paraformer\n", "tokens.json": TOKENS, "model_quant.onnx": WEIGHTS}
CATALOGUE = {"tiny": TINY, "speech": SPEECH}


def hubs_at(url: str, waited: list[float] | None = None) -> Hubs:
    """Both hubs at one address; pauses are noted and not waited."""
    notes: list[float] = [] if waited is None else waited
    return Hubs(url, url, Pauses(wait=notes.append, chance=lambda: 1.0))


def write_packages(folder: Path, layout: ModelLayout, *contents: bytes) -> None:
    """Lay out the layout's two packages; importing either of them fails."""
    first, second, tokens = contents
    files = {
        f"{layout.packages[0]}/data/model.bin.part1": first,
        f"{layout.packages[1]}/data/model.bin.part2": second,
        f"{layout.packages[1]}/data/tokenizer.json": tokens,
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        init = path.parent.parent / "__init__.py"
        init.write_text("raise RuntimeError('a data package was imported')\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path, empty so far."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.fixture
def old_packages(packages: Path) -> Path:
    write_packages(packages, TINY.layouts[0], WEIGHTS[:1_500_000], WEIGHTS[1_500_000:], TOKENS)
    return packages


@pytest.fixture
def new_packages(packages: Path) -> Path:
    write_packages(
        packages, TINY.layouts[1], NEW_WEIGHTS[:2_000_000], NEW_WEIGHTS[2_000_000:], TOKENS
    )
    return packages


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A running hub that holds the tiny model's preferred layout and the listed model."""
    with running_hub() as state:
        state.files = {
            "/someone/tiny/resolve/main/model.bin": WEIGHTS,
            "/someone/tiny/resolve/main/tokenizer.json": TOKENS,
        }
        state.offer(REPO, LISTED)
        yield state


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local hub is asked directly on machines behind a proxy."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture(autouse=True)
def forget_packages() -> Iterator[None]:
    """Modules of the tiny packages, were one imported, must not leak into the next test."""
    yield
    assert not [name for name in sys.modules if name.startswith("tinglu_")]
