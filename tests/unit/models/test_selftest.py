"""A device whose numbers are not the CPU's is refused, with the figures."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from asr_core.errors import DeviceDriftError, ModelIntegrityError
from asr_core.messages import LOCALES, describe
from asr_core.models.graph_folder import read_graph_folder
from asr_core.models.selftest import (
    SELFTEST_FILE,
    Run,
    check_drift,
    measure_drift,
    read_selftest,
    write_selftest,
)
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Array

pytest.importorskip("mindspore", reason="MindSpore is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")


@pytest.fixture(scope="module")
def folders(seaco_fp32: Path, plain_fp32: Path) -> Mapping[str, Path]:
    return {"seaco": seaco_fp32, "plain": plain_fp32}


class Altered(OnnxSession):
    """A session whose results are changed."""

    def __init__(self, path: Path, output: str, change: float) -> None:
        super().__init__(path, threads=1)
        self._output, self._change = output, change

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        outputs = super().run(inputs)
        if self._output in outputs:
            outputs[self._output] = outputs[self._output] * self._change
        return outputs


@contextmanager
def sessions(
    folder: Path, output: str = "", change: float = 1.0
) -> Iterator[dict[str, OnnxSession]]:
    graphs = read_graph_folder(folder, "model")
    opened = {name: Altered(graphs.file(name), output, change) for name in graphs.graphs}
    yield dict(opened)
    for session in opened.values():
        session.close()


def written(folder: Path, source: Path) -> Mapping[str, Run]:
    path = write_selftest(folder, source)
    assert path == folder / SELFTEST_FILE
    runs = read_selftest(folder, "model")
    assert runs is not None
    return runs


@pytest.mark.parametrize(
    ("kind", "graphs"),
    [
        ("seaco", {"encode", "decode", "times", "embed", "bias", "filter"}),
        ("plain", {"encode", "decode"}),
    ],
)
def test_every_graph_is_run_on_speech_and_gives_what_it_gave(
    folders: Mapping[str, Path], tmp_path: Path, kind: str, graphs: set[str]
) -> None:
    runs = written(tmp_path, folders[kind])
    assert set(runs) >= graphs
    assert runs["encode"].inputs["features"].shape[:3] == (1, 1, 48)
    assert np.array_equal(runs["encode"].outputs["encoded"], runs["decode"].inputs["memory"])
    with sessions(folders[kind]) as opened:
        assert measure_drift(opened, runs).error == 0.0
        assert check_drift(opened, runs, device="npu:0", precision="fp32").error == 0.0


@pytest.mark.parametrize(
    ("output", "change", "graph"),
    [
        ("encoded", 1.02, "encode"),
        ("hidden", 0.98, "decode"),
        ("attention", 1.5, "filter"),
        ("us_alphas", float("nan"), "times"),
        ("embedded", float("inf"), "embed"),
    ],
)
def test_other_numbers_are_refused_with_the_figures(
    folders: Mapping[str, Path], tmp_path: Path, output: str, change: float, graph: str
) -> None:
    runs = written(tmp_path, folders["seaco"])
    with (
        sessions(folders["seaco"], output, change) as opened,
        pytest.raises(DeviceDriftError) as caught,
    ):
        check_drift(opened, runs, device="npu:3", precision="fp32")
    details = caught.value.details
    assert (details["device"], details["graph"], details["output"]) == ("npu:3", graph, output)
    assert float(str(details["error"])) == pytest.approx(
        abs(change - 1) if np.isfinite(change) else np.inf, rel=1e-3
    )
    assert details["limit"] == "0.01"
    for locale in LOCALES:
        text = describe(caught.value, locale)
        assert "npu:3" in text
        assert str(details["error"]) in text


def test_lower_precision_may_be_farther_off(folders: Mapping[str, Path], tmp_path: Path) -> None:
    runs = written(tmp_path, folders["seaco"])
    with sessions(folders["seaco"], "encoded", 1.02) as opened:
        assert check_drift(opened, runs, device="npu:0", precision="fp16").error < 0.05
    with (
        sessions(folders["seaco"], "encoded", 1.06) as opened,
        pytest.raises(DeviceDriftError),
    ):
        check_drift(opened, runs, device="npu:0", precision="fp16")


def test_without_a_file_there_is_no_test(tmp_path: Path) -> None:
    assert read_selftest(tmp_path, "model") is None


def test_whatever_is_damaged_nothing_else_is_raised(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    path = write_selftest(tmp_path, folders["plain"])
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), max(len(whole) // 400, 1)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            read_selftest(tmp_path, "model")
        except ModelIntegrityError:
            refused += 1
    assert refused > 300


@pytest.mark.parametrize("content", ["", "text", "zip", "names", "inputs"])
def test_a_damaged_file_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / SELFTEST_FILE
    path.write_bytes(content.encode())
    if content == "zip":
        with zipfile.ZipFile(path, "w") as out:
            out.writestr("encode.in.features.npy", b"no array")
    if content == "names":
        np.savez(path, features=np.zeros(3))
    if content == "inputs":
        np.savez(path, **{"encode.in.features": np.zeros(3)})
    with pytest.raises(ModelIntegrityError, match="convert the model again"):
        read_selftest(tmp_path, "model")
