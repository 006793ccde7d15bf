"""``convert compare``: which layer differs, whatever runtime executes it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from asr_core.cli.main import main
from asr_core.models.graph_folder import graph_file, read_graph_folder, write_graph_manifest
from tests.golden.paraformer_files import PLAIN, SEACO, quantize
from tests.unit.parity.pages import checked_page

pytest.importorskip("mindspore", reason="MindSpore is not installed")

FRAMES = 90
ENCODER = ["encoders0.0", "encoders.0", "encoders.1"]
DECODER = ["decoders.0", "decoders.1", "decoders3.0"]
BIAS = [*(f"decoders.{number}" for number in range(6)), "decoders3.0"]
STAGES = [
    *(f"encode.{name}" for name in [*ENCODER, "encoded", "alphas"]),
    "times.us_alphas",
    "embed.embedded",
    *(f"decode.{name}" for name in [*DECODER, "hidden", "scores"]),
    *(f"filter.{name}" for name in [*BIAS[:5], "attention"]),
    *(f"bias.embeds.{name}" for name in BIAS),
    *(f"bias.hidden.{name}" for name in BIAS),
    "bias.scores",
    *(f"run.{name}" for name in ("embeds", "scores", "us_alphas")),
]
PLAIN_STAGES = [
    *(f"encode.{name}" for name in ("encoders0.0", "encoders.0", "encoded", "alphas")),
    *(f"decode.{name}" for name in ("decoders.0", "decoders2.0", "decoders2.1", "decoders3.0")),
    *("decode.hidden", "decode.scores", "run.embeds", "run.scores"),
]

Document = dict[str, Any]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compare")


@pytest.fixture
def exact(seaco_sized: Path) -> Path:
    return seaco_sized


@pytest.fixture(scope="module")
def recordings(places: Path) -> list[Path]:
    """Two recordings of unequal lengths."""
    paths = []
    for number, seconds in enumerate((2.3, 3.9)):
        random = np.random.default_rng(number)
        loudness = random.uniform(0.01, 0.3, size=(round(10 * seconds), 1))
        waves = (random.normal(size=(len(loudness), 1_600)) * loudness).reshape(-1)
        paths.append(places / f"{number} <b>.wav")
        soundfile.write(paths[-1], np.clip(waves, -1, 1), 16_000)
    return paths


@pytest.fixture
def compared(
    recordings: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, Document, str]]:
    """Runs the command: exit code, JSON document and what stands on the terminal."""

    def run(reference: Path, other: Path, *more: str) -> tuple[int, Document, str]:
        report, page = tmp_path / "report.json", tmp_path / "report.html"
        files = ["--json", str(report), "--html", str(page)]
        audio = ["--audio", *map(str, recordings)]
        code = main(["convert", "compare", str(reference), str(other), *audio, *files, *more])
        document = json.loads(report.read_text(encoding="utf-8"))
        rows = checked_page(page.read_text(encoding="utf-8"))
        names = [layer["name"] for layer in document["layers"]]
        assert [row[0] for row in rows if row and row[0] in names] == names
        return code, document, capsys.readouterr().out

    return run


def named(document: Document) -> dict[str, Document]:
    return {layer["name"]: layer for layer in document["layers"]}


def changed(folder: Path, target: Path, graph: str, change: Callable[[Any], None]) -> Path:
    """A copy of a converted folder with another graph."""
    import onnx

    shutil.copytree(folder, target)
    manifest = read_graph_folder(target, "changed")
    path = manifest.file(graph)
    model = onnx.load(path)
    change(model)
    onnx.save(model, path)
    graphs = dict(manifest.graphs) | {graph: graph_file(path)}
    write_graph_manifest(replace(manifest, graphs=graphs))
    return target


def spoiled(name: str, share: float = 0.05) -> Callable[[Any], None]:
    """A little noise on a weight."""

    def change(model: Any) -> None:
        from onnx import numpy_helper

        tensor = next(tensor for tensor in model.graph.initializer if tensor.name == name)
        values = numpy_helper.to_array(tensor)
        noise = np.random.default_rng(0).normal(size=values.shape).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(values + np.float32(share) * noise, name))

    return change


def test_own_graphs_equal_the_checkpoint(
    compared: Callable[..., tuple[int, Document, str]], exact: Path
) -> None:
    code, document, shown = compared(SEACO, exact)
    assert code == 0
    assert document["passed"] is True
    assert document["first_failed"] is None
    assert list(named(document)) == STAGES
    for name, layer in named(document).items():
        assert layer["values"] > 0, name
        assert layer["unpaired"] == 0, name
        assert layer["max_abs"] <= 1e-4, name
        assert layer["cosine"] > 1 - 1e-9, name
        assert f"\n{name} " in shown
    tokens = document["tokens"]
    assert tokens["equal"] == tokens["reference"] == tokens["other"] > 5
    assert [one["name"].split("<b>.wav ")[1] for one in document["recordings"]] == [
        "0.00-3.90 s",
        "0.00-2.30 s",
    ]
    assert document["limits"]["max_abs"] == 1e-4
    assert [document[side]["precision"] for side in ("reference", "other")] == ["fp32", "fp32"]


@pytest.mark.parametrize(
    ("graph", "weight", "stage"),
    [
        ("encode", "encode.encoder.encoders.0.feed_forward.w_1.weight", "encode.encoders.0"),
        ("encode", "encode.predictor.cif_output.weight", "encode.alphas"),
        ("decode", "decode.decoder.decoders.0.src_attn.linear_q.weight", "decode.decoders.0"),
        ("decode", "decode.output_layer.weight", "decode.scores"),
        ("times", "cut_w", "times.us_alphas"),
        ("embed", "table", "embed.embedded"),
        ("bias", "bias.seaco_decoder.decoders.2.feed_forward.w_1.weight", None),
    ],
)
def test_a_spoiled_weight_is_found(
    compared: Callable[..., tuple[int, Document, str]],
    exact: Path,
    plain_fp32: Path,
    tmp_path: Path,
    graph: str,
    weight: str,
    stage: str | None,
) -> None:
    folder, stages = exact, STAGES
    if graph in ("encode", "decode"):  # the smaller model has them too
        folder, stages = plain_fp32, PLAIN_STAGES
    other = changed(folder, tmp_path / "spoiled", graph, spoiled(weight))
    code, document, shown = compared(folder, other, "--limit", "tokens=none")
    expected = stage or "bias.embeds.decoders.2"
    assert code == 1
    assert document["first_failed"] == expected
    assert expected in shown.splitlines()[-1]
    # Each graph gets the reference's inputs: what comes before stays equal, bit for bit.
    before = stages[: stages.index(expected)]
    assert all(named(document)[name]["max_abs"] == 0 for name in before)
    others = [name for name in stages if not name.startswith((f"{graph}.", "run."))]
    assert all(named(document)[name]["max_abs"] == 0 for name in others)


def test_eight_bits_have_limits_of_their_own(
    compared: Callable[..., tuple[int, Document, str]], exact: Path, seaco_int8: Path
) -> None:
    code, document, shown = compared(exact, seaco_int8)
    layers = named(document)
    assert list(layers) == STAGES
    assert document["other"]["precision"] == "int8"
    limits = {name: limit for name, limit in document["limits"].items() if limit is not None}
    assert limits == {"cosine": 0.95, "tokens": 0.98}
    assert code == (0 if document["passed"] else 1)
    within = [layer["cosine"] >= 0.95 for layer in document["layers"]]
    assert [layer["passed"] for layer in document["layers"]] == within
    assert document["passed"] == (all(within) and document["tokens"]["share"] >= 0.98)
    assert 0.9 < layers["encode.encoders.1"]["cosine"] < 1 - 1e-7
    assert 1e-5 < layers["encode.encoders.1"]["relative"] < 0.2
    assert "0.95" in shown


def test_limits_are_arguments(
    compared: Callable[..., tuple[int, Document, str]], plain_fp32: Path, tmp_path: Path
) -> None:
    weight = "encode.encoder.encoders0.0.feed_forward.w_1.weight"
    other = changed(plain_fp32, tmp_path / "other", "encode", spoiled(weight, 1e-3))
    free = ("--limit", "max_abs=none", "--limit", "tokens=0")
    code, document, _ = compared(plain_fp32, other, *free)
    assert code == 0
    assert named(document)["encode.encoders0.0"]["max_abs"] > 1e-4
    code, document, _ = compared(plain_fp32, other, *free, "--limit", "mean_abs=1e-9")
    assert (code, document["first_failed"]) == (1, "encode.encoders0.0")


def test_graphs_of_one_size(
    compared: Callable[..., tuple[int, Document, str]], exact: Path
) -> None:
    code, document, _ = compared(exact, exact, "--frames", str(FRAMES))
    assert code == 0
    layers = named(document)
    assert list(layers) == STAGES
    assert layers["encode.encoded"]["values"] > 0
    assert 0 < max(layer["max_abs"] for layer in layers.values()) <= 1e-4


def test_a_plain_paraformer(
    compared: Callable[..., tuple[int, Document, str]], plain_fp32: Path
) -> None:
    code, document, _ = compared(PLAIN, plain_fp32)
    assert code == 0
    assert list(named(document)) == PLAIN_STAGES


def test_what_funasr_exports(
    compared: Callable[..., tuple[int, Document, str]], exact: Path, tmp_path: Path
) -> None:
    both = quantize(SEACO, tmp_path / "both")
    code, document, shown = compared(exact, SEACO / "model.onnx")
    assert code == 0
    layers = named(document)
    seen = {f"encode.{name}" for name in [*ENCODER, "encoded", "alphas"]}
    seen |= {f"decode.{name}" for name in [*DECODER, "hidden"]}
    seen |= {"run.embeds", "run.scores", "run.us_alphas"}
    assert {name for name, layer in layers.items() if layer["values"]} == seen
    assert layers["bias.scores"]["unpaired"] > 0
    assert next(line for line in shown.splitlines() if line.startswith("bias.scores"))
    limits = ("--limit", "tokens=0", "--limit", "cosine=0.9")
    code, document, _ = compared(SEACO / "model.onnx", both / "model_quant.onnx", *limits)
    assert document["other"]["precision"] == "int8"
    assert {name for name, layer in named(document).items() if layer["values"]} == seen
    assert 0 < named(document)["encode.encoders.0"]["relative"] < 0.2


def wrong_call(
    arguments: Sequence[Path | str], capsys: pytest.CaptureFixture[str], code: int = 1
) -> str:
    """What stands on standard error of a call that cannot work."""
    assert main(["convert", "compare", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_wrong_folders(
    exact: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    said = wrong_call([exact, empty], capsys)
    assert all(name in said for name in ("config.yaml", "tokens.json", "am.mvn", "model.pt"))
    assert "model.pt" in wrong_call([tmp_path / "nowhere", exact], capsys)
    other = Path(shutil.copytree(SEACO, tmp_path / "other"))
    tokens = json.loads((other / "tokens.json").read_text(encoding="utf-8"))
    (other / "tokens.json").write_text(json.dumps(tokens[::-1]), encoding="utf-8")
    assert str(other) in wrong_call([exact, other / "model.onnx"], capsys)
    text = tmp_path / "notes.txt"
    text.write_text("no model", encoding="utf-8")
    assert "model.onnx" in wrong_call([exact, text], capsys)
    damaged = changed(exact, tmp_path / "damaged", "decode", lambda model: model.Clear())
    assert "decode.onnx" in wrong_call([exact, damaged], capsys)
    said = wrong_call([exact, exact, "--frames", str(FRAMES + 1)], capsys, code=2)
    assert str(FRAMES) in said
    ascend = tmp_path / "ascend"
    shutil.copytree(exact, ascend)
    write_graph_manifest(replace(read_graph_folder(ascend, "ascend"), runtime="ascend"))
    monkeypatch.setitem(sys.modules, "acl", None)
    assert "npu:0" in wrong_call([exact, ascend], capsys)
    place = tmp_path / "notes.txt" / "report.html"
    assert "notes.txt" in wrong_call([exact, exact, "--html", str(place)], capsys)


@pytest.mark.parametrize("limit", ["max_abs", "max_abs=", "max_abs=-1", "max_abs=nan", "speed=1"])
def test_limits_that_are_none(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["convert", "compare", "a", "b", "--limit", limit])
    assert caught.value.code == 2
    assert "--limit" in capsys.readouterr().err
