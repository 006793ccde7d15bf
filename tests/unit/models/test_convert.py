"""Converted folders hold the same networks; every fault leaves nothing half made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from asr_core import __version__
from asr_core.errors import (
    ConvertError,
    ModelFileMissingError,
    ModelIntegrityError,
    UsageError,
)
from asr_core.models import convert as convert_module
from asr_core.models.checkpoint import filled, load_into, own_table, read_checkpoint
from asr_core.models.convert import (
    CHECKPOINT_FILE,
    OnnxOptions,
    Step,
    convert_to_mindspore,
    convert_to_onnx,
)
from asr_core.models.files import sha256_of
from asr_core.models.graph_folder import GRAPHS_FILE, read_graph_folder
from asr_core.models.manifest import read_manifest
from asr_core.models.quantize import DEFAULT_KEPT, Method, operators_of
from asr_core.networks.graphs import position_encoding
from asr_core.runtime.onnx import OnnxSession
from tests.golden.families_material import CT_PUNC
from tests.golden.paraformer_files import PLAIN, SEACO
from tests.unit.models.conversion import KINDS, source_folder
from tests.unit.networks.golden import RECORDINGS, TOLERANCE, Float32, Golden, differences

pytest.importorskip("mindspore", reason="MindSpore is not installed")

BUCKETS = (20, 90)
"""Of the shared folder."""
SMALL_FILES = {"config.yaml", "tokens.json", "am.mvn", "seg_dict"}
GRAPHS = {
    "SeacoParaformer": ["encode", "decode", "times", "embed", "bias", "filter"],
    "Paraformer": ["encode", "decode"],
}


@pytest.fixture(scope="module")
def exact(seaco_sized: Path, plain_fp32: Path) -> Mapping[str, Path]:
    """Converted folders in single precision."""
    return {"SeacoParaformer": seaco_sized, "Paraformer": plain_fp32}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return source_folder(tmp_path / "model")


def close(batch: Float32, expected: list[Float32]) -> None:
    found = differences(batch, expected)
    assert max(found.values()) <= TOLERANCE, found


def encoder_inputs(golden: Golden, which: Any) -> dict[str, Any]:
    features = golden.planes("features", which, fill=3.0)
    return {
        "features": features,
        "positions": position_encoding(features.shape[2], 560),
        "mask": golden.mask("features", which),
    }


def decoder_inputs(golden: Golden, which: Any) -> dict[str, Any]:
    return {
        "embeds": golden.planes("embeds", which, fill=3.0),
        "token_mask": golden.mask("embeds", which),
        "memory": golden.planes("encoded", which, fill=3.0),
        "memory_mask": golden.mask("encoded", which),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_in_single_precision_give_what_funasr_gives(
    exact: Mapping[str, Path], kind: str
) -> None:
    golden = Golden(KINDS[kind])
    folder = exact[kind]
    encode = OnnxSession(folder / "encode.onnx", threads=1)
    decode = OnnxSession(folder / "decode.onnx", threads=1)
    for which in (RECORDINGS, [1]):
        found = encode.run(encoder_inputs(golden, which))
        close(found["encoded"], golden.each("encoded", which))
        close(found["alphas"], [array[:, np.newaxis] for array in golden.each("alphas", which)])
        found = decode.run(decoder_inputs(golden, which))
        close(found["scores"], golden.each("scores", which))
        close(found["hidden"], golden.each("hidden", which))


@pytest.mark.parametrize("kind", KINDS)
def test_a_converted_folder_says_what_it_holds(exact: Mapping[str, Path], kind: str) -> None:
    folder = read_graph_folder(exact[kind], kind, sorted(SMALL_FILES))
    assert (folder.runtime, folder.precision, folder.model) == ("onnxruntime", "fp32", kind)
    assert (folder.source_file, folder.source_sha256) == (
        "model.pt",
        sha256_of(KINDS[kind] / "model.pt"),
    )
    assert folder.made_by == f"tinglu {__version__}"
    assert [name for name in folder.graphs if "." not in name] == GRAPHS[kind]
    assert {graph.kept_fp32 for graph in folder.graphs.values()} == {()}
    assert folder.damaged() == ()
    for name in SMALL_FILES:
        assert (folder.path / name).read_bytes() == (KINDS[kind] / name).read_bytes()
    told = {file.file for file in folder.files} | SMALL_FILES | {GRAPHS_FILE}
    assert {path.name for path in folder.path.iterdir()} == told
    assert {path.stat().st_mode & 0o444 for path in folder.path.iterdir()} == {0o444}


def test_graphs_of_one_size_share_weights_and_give_the_same(
    exact: Mapping[str, Path],
) -> None:
    golden = Golden(SEACO)
    folder = read_graph_folder(exact["SeacoParaformer"], "x")
    sized = [name for name in folder.graphs if "." in name]
    assert sorted(sized) == sorted(
        f"{name}.{frames}"
        for name in ("encode", "decode", "times", "bias", "filter")
        for frames in BUCKETS
    )
    assert {file.file for file in folder.weights} == {
        f"{name}.weights" for name in ("encode", "decode", "times", "bias", "filter")
    }
    frames = BUCKETS[1]
    inputs = encoder_inputs(golden, [1])
    length = inputs["features"].shape[2]
    assert length < frames
    wide = {
        name: np.pad(array, ((0, 0), (0, 0), (0, frames - length), (0, 0)))
        for name, array in inputs.items()
    }
    wide["positions"] = position_encoding(frames, 560)
    session = OnnxSession(folder.file(f"encode.{frames}"), threads=1)
    assert {spec.name: spec.shape for spec in session.input_specs} == dict(
        folder.graphs[f"encode.{frames}"].shapes
    )
    found = session.run(wide)["encoded"][:, :, :length]
    close(found, golden.each("encoded", [1]))
    with pytest.raises(UsageError, match="shape"):
        session.run(inputs)
    # Half as many tokens as frames, but in the largest size, which has to take all there can be.
    assert folder.graphs["decode.20"].shapes["embeds"] == (1, 1, 10, 16)
    assert folder.graphs["decode.20"].shapes["memory"] == (1, 1, 20, 16)
    assert folder.graphs["decode.90"].shapes["embeds"] == (1, 1, 91, 16)
    assert folder.graphs["bias.20"].shapes["words"] == (1, 1, 64, 16)
    assert folder.graphs["filter.20"].shapes["words"] == (1, 1, 512, 16)
    assert folder.graphs["times.90"].shapes["part_counts"] == (1,)


def test_eight_bits_are_the_default_and_what_counts_tokens_is_kept(seaco_int8: Path) -> None:
    import onnx

    folder = read_graph_folder(seaco_int8, "x")
    assert folder.precision == "int8"
    kept = {name: graph.kept_fp32 for name, graph in folder.graphs.items()}
    assert kept == {
        "encode": ("encode.predictor.cif_output",),
        "decode": ("decode.output_layer",),
        "times": (),
        "embed": (),
        "bias": ("bias.hotword_output_layer",),
        "filter": (),
    }
    for name, names in kept.items():
        model = onnx.load(folder.file(name))
        assert tuple(each.name for each in operators_of(model)) == names
        kinds = {node.op_type for node in model.graph.node}
        assert ("MatMulInteger" in kinds) is (name not in ("times", "embed"))


def test_eight_bits_hardly_change_tokens(seaco_int8: Path) -> None:
    golden = Golden(SEACO)
    decode = OnnxSession(seaco_int8 / "decode.onnx", threads=1)
    equal = count = 0
    for which in RECORDINGS:
        found = decode.run(decoder_inputs(golden, [which]))["scores"][0, 0]
        expected = golden.each("scores", [which])[0]
        equal += int((found.argmax(axis=1) == expected.argmax(axis=1)).sum())
        count += len(expected)
        assert np.abs(found - expected).max() <= 0.5
    assert equal >= 0.9 * count


def test_a_converted_folder_is_replaced_on_request_and_steps_are_told(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / GRAPHS_FILE).write_text("{}", encoding="utf-8")
    (target / "old.onnx").write_bytes(b"x")
    steps: list[Step] = []
    convert_to_onnx(PLAIN, target, OnnxOptions(replace=True), steps.append)
    assert read_graph_folder(target, "x").precision == "int8"
    assert not (target / "old.onnx").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert [(step.kind, step.graph) for step in steps] == [
        ("read", ""),
        ("write", "encode"),
        ("write", "decode"),
        ("quantize", "encode"),
        ("quantize", "decode"),
    ]
    assert [step.number for step in steps] == [1, 2, 3, 4, 5]
    assert {step.total for step in steps} == {5}


class _StopError(Exception):
    pass


def test_a_conversion_that_fails_leaves_nothing(source: Path, tmp_path: Path) -> None:
    def stop(step: Step) -> None:
        if step.graph == "decode":
            assert (tmp_path / ".out.converting" / "encode.onnx").is_file()
            raise _StopError

    before = sorted(tmp_path.iterdir())
    with pytest.raises(_StopError):
        convert_to_onnx(source, tmp_path / "out", OnnxOptions("fp32"), stop)
    assert sorted(tmp_path.iterdir()) == before


def refused(source: Path, target: Path, **options: Any) -> dict[str, object]:
    """What the error says of a conversion that is refused before any work."""
    with pytest.raises(ConvertError) as caught:
        convert_to_onnx(source, target, replace(OnnxOptions(), **options))
    return caught.value.details


@pytest.mark.parametrize("forced", [False, True])
def test_an_existing_folder_stays_as_it_is(source: Path, tmp_path: Path, forced: bool) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "notes.txt").write_text("mine", encoding="utf-8")
    reason = "foreign" if forced else "exists"
    assert refused(source, target, replace=forced) == {"reason": reason, "path": str(target)}
    assert [path.name for path in target.iterdir()] == ["notes.txt"]


def test_every_missing_file_is_named_in_one_error(source: Path, tmp_path: Path) -> None:
    for name in ("tokens.json", "am.mvn", "model.pt"):
        (source / name).unlink()
    with pytest.raises(ModelFileMissingError) as caught:
        convert_to_onnx(source, tmp_path / "out")
    assert caught.value.details["files"] == (
        "tokens.json, am.mvn, model.pt / model.safetensors / model.ckpt"
    )
    with pytest.raises(ModelFileMissingError) as caught:
        convert_to_mindspore(tmp_path / "nowhere", tmp_path / "out")
    assert caught.value.details["files"] == (
        "config.yaml, tokens.json, am.mvn, model.pt / model.safetensors / model.ckpt"
    )
    assert not (tmp_path / "out").exists()


def test_a_checkpoint_of_another_model_is_told(source: Path, tmp_path: Path) -> None:
    other = source_folder(tmp_path / "plain", "Paraformer")
    (other / "model.pt").replace(source / "model.pt")
    with pytest.raises(ModelIntegrityError, match="does not fit the network"):
        convert_to_onnx(source, tmp_path / "out")
    assert not (tmp_path / ".out.converting").exists()


def test_a_full_disk_is_told_before_the_work(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "asr_core.models.convert_target.shutil.disk_usage",
        lambda path: SimpleNamespace(free=1 << 20),
    )
    details = refused(source, tmp_path / "out")
    assert details == {
        "reason": "disk_full",
        "path": str(tmp_path),
        "needed_mb": 64,
        "free_mb": 1,
    }


def test_folders_inside_each_other_are_refused(source: Path) -> None:
    for target in (source, source / "out", source.parent):
        assert refused(source, target)["reason"] == "inside"


def test_unknown_operators_are_named(source: Path, tmp_path: Path) -> None:
    details = refused(source, tmp_path / "out", kept=("decode", "encode.nothing", "x"))
    assert (details["reason"], details["names"]) == ("operators", "encode.nothing, x")


def test_a_missing_package_is_named_with_the_version_of_python(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = convert_module.importlib.util.find_spec
    monkeypatch.setattr(
        convert_module.importlib.util,
        "find_spec",
        lambda name: None if name == "mindspore" else find(name),
    )
    monkeypatch.setattr(convert_module.platform, "python_version", lambda: "3.13.1")
    details = refused(source, tmp_path / "out")
    assert details == {"reason": "package", "package": "mindspore", "python": "3.13.1"}


def test_a_checkpoint_of_mindspore_reads_back(tmp_path: Path) -> None:
    import mindspore as ms

    from asr_core.networks.seaco import SeacoNetworks

    golden = Golden(SEACO)
    target = convert_to_mindspore(SEACO, tmp_path / "out")
    assert {path.name for path in target.iterdir()} == SMALL_FILES | {
        CHECKPOINT_FILE,
        "tinglu-manifest.json",
    }
    manifest = read_manifest(target)
    assert manifest is not None
    assert {file.name for file in manifest.files} == SMALL_FILES | {CHECKPOINT_FILE}
    tensors = read_checkpoint(target / CHECKPOINT_FILE)
    theirs = ms.load_checkpoint(str(target / CHECKPOINT_FILE))
    assert tensors.keys() == theirs.keys()
    assert golden.config.bias is not None
    cells = SeacoNetworks(golden.config, golden.config.bias)
    shapes = {one.name: tuple(one.shape) for one in cells.get_parameters()}
    expected = filled(shapes, golden.tensors, cells.name_table(), SEACO / "model.pt")
    for name, values in expected.items():
        assert np.array_equal(tensors[name], values), name
        assert np.array_equal(theirs[name].asnumpy(), values), name
    load_into(cells, tensors, cells.name_table(), target / CHECKPOINT_FILE)
    assert filled(shapes, tensors, own_table(shapes), target / CHECKPOINT_FILE).keys() == set(
        shapes
    )


def test_a_mindspore_folder_is_converted_like_the_original(
    exact: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = convert_to_mindspore(PLAIN, tmp_path / "ms")
    convert_to_onnx(folder, tmp_path / "out", OnnxOptions("fp32"))
    golden = Golden(PLAIN)
    inputs = decoder_inputs(golden, [1])
    first, second = (
        OnnxSession(path / "decode.onnx", threads=1).run(inputs)["scores"]
        for path in (exact["Paraformer"], tmp_path / "out")
    )
    assert np.array_equal(first, second)
    assert read_graph_folder(tmp_path / "out", "x").source_file == CHECKPOINT_FILE


def test_the_choice_of_operators_sees_all_graphs(tmp_path: Path) -> None:
    seen = []

    def choose(model: Any, graphs: Path, work: Path) -> tuple[str, ...]:
        seen.append((model.model, sorted(path.name for path in graphs.glob("*.onnx"))))
        assert list(work.iterdir()) == []
        (work / "scratch").write_bytes(b"x")
        return ("encode", *DEFAULT_KEPT)

    target = convert_to_onnx(PLAIN, tmp_path / "out", OnnxOptions(choose=choose))
    assert seen == [("Paraformer", ["decode.onnx", "encode.onnx"])]
    document = json.loads((target / GRAPHS_FILE).read_text(encoding="utf-8"))
    assert "encode.encoder.encoders.0.feed_forward.w_1" in document["graphs"]["encode"]["kept_fp32"]
    assert not list(target.glob("tmp*"))


@pytest.mark.parametrize("method", Method)
def test_every_method_gives_nearly_the_same(
    exact: Mapping[str, Path], tmp_path: Path, method: Method
) -> None:
    import onnx

    from asr_core.models.quantize import quantize

    golden = Golden(PLAIN)
    path = exact["Paraformer"] / "decode.onnx"
    model = onnx.load(path)
    quantize(model, DEFAULT_KEPT, method)
    draft = tmp_path / "decode.onnx"
    draft.write_bytes(model.SerializeToString())
    found = OnnxSession(draft, threads=1).run(decoder_inputs(golden, [0]))["scores"][0, 0]
    assert np.abs(found - golden.each("scores", [0])[0]).max() <= 0.5


def test_a_model_that_is_converted_whole_takes_no_choice(tmp_path: Path) -> None:
    for changes in ({"buckets": (64,)}, {"kept": ("x",)}, {"choose": lambda *_: ()}):
        assert refused(CT_PUNC, tmp_path / "out", **changes) == {
            "reason": "whole",
            "path": str(CT_PUNC),
            "model": "ct-punc",
        }
    with pytest.raises(ConvertError) as caught:
        convert_to_mindspore(CT_PUNC, tmp_path / "out")
    assert caught.value.details["reason"] == "kind"
    target = convert_to_onnx(CT_PUNC, tmp_path / "out")
    manifest = read_manifest(target)
    assert manifest is not None
    assert {file.name for file in manifest.files} == {"config.yaml", "tokens.json", "model.onnx"}
    convert_to_onnx(CT_PUNC, target, OnnxOptions(replace=True))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
