"""Odd types of files, and faults that nobody foresaw: nothing stays open, the words are ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.errors import ModelIntegrityError
from asr_core.runtime.ascend import AscendSession, open_sessions
from asr_core.runtime.ascend_acl import AclRuntime
from asr_core.runtime.ascend_manifest import GEARS, OmGraph
from tests.fakes import acl
from tests.fakes.simulation import (
    INPUTS,
    OUTPUTS,
    attention_graph,
    convert,
    opened,
    simulated,
)

BF16 = 27


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> OmGraph:
    pytest.importorskip("onnx", reason="onnx is not installed")
    folder: Path = tmp_path_factory.mktemp("om")
    buckets = [{"batch": 1, "frames": frames} for frames in (4, 8)]
    onnx = attention_graph(folder / "attention.onnx")
    return convert(onnx, folder, (INPUTS, OUTPUTS), GEARS, buckets)


@pytest.mark.parametrize(("side", "name"), [("input", "features"), ("output", "encoded")])
def test_a_type_that_numpy_lacks_is_told(
    side: str, name: str, graph: OmGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acl.mdl, f"get_{side}_data_type", lambda _description, _index: BF16)
    with simulated() as machine, opened(machine) as device:
        with pytest.raises(ModelIntegrityError, match=rf"has {name} in a type .*acl 27"):
            AscendSession(device, graph)
        assert "Model" not in machine.live()


def test_a_fault_that_nobody_foresaw_closes_the_device(
    graph: OmGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(_description: int, _index: int) -> object:
        raise LookupError("odd")

    monkeypatch.setattr(acl.mdl, "get_output_dims", odd)
    runtime = AclRuntime()
    with simulated():
        with pytest.raises(LookupError, match="odd"):
            open_sessions(0, {"attention": graph}, runtime=runtime)
        assert runtime.users == 0
