"""``convert om`` and ``convert verify``: from a checkpoint to a device, which is a simulation.

``atc`` and ``acl`` are simulations (:mod:`tests.fakes`); their OM files hold ONNX graphs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from asr_core.audio.segmenter import Segment
from asr_core.cli.main import main
from asr_core.errors import ConvertError
from asr_core.models.ascend_plan import OmOptions
from asr_core.models.ascend_script import reason_of
from asr_core.models.convert_om import OmFolder, planned, prepare_om, run_script
from asr_core.models.graph_folder import read_graph_folder
from asr_core.models.offers import ONNX, ascend_folder
from asr_core.models.selftest import measure_drift, read_selftest
from asr_core.recognizers.base import RecognizeOptions
from asr_core.recognizers.paraformer import ParaformerRecognizer
from asr_core.recognizers.paraformer_ascend import open_ascend_paraformer
from asr_core.runtime.ascend_acl import ACL, AclRuntime
from asr_core.runtime.ascend_manifest import DYNAMIC, GEARS, STATIC, read_om_graph
from asr_core.runtime.onnx import OnnxSession
from tests.fakes.acl import om
from tests.fakes.programs import simulated_atc
from tests.fakes.simulation import SOC, simulated
from tests.golden.paraformer_onnx_material import hotwords, recordings
from tests.unit.models.conversion import source_folder

pytest.importorskip("mindspore", reason="MindSpore is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

WAVEFORMS = [one for _, one in recordings() if 0 < len(one) <= 64 * 960][:8]
MADE = ("made", "taken")
SMALL = OmOptions(SOC, frames=(32, 64), batch=(1, 2))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASR_LOCALE", "en")
    monkeypatch.setenv("ASR_THREADS", "1")
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "SIMULATED_ATC_FAIL"):
        monkeypatch.delenv(name, raising=False)
    # Each test has a machine of its own; the runtime of the process knows only the first one.
    for name, value in vars(AclRuntime()).items():
        monkeypatch.setattr(ACL, name, value)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return source_folder(tmp_path_factory.mktemp("om") / "model")


@pytest.fixture(scope="module")
def graphs(seaco_fp32: Path) -> Path:
    return seaco_fp32


@pytest.fixture(scope="module")
def atc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated_atc(tmp_path_factory.mktemp("bin"))


@pytest.fixture(scope="module")
def converted(graphs: Path, atc: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With gears; its name has what shells mind."""
    target = tmp_path_factory.mktemp("converted") / "大 'model' $HOME"
    folder = prepare_om(graphs, target, SMALL, locale="en")
    run_script(folder, str(atc), timeout_s=300)
    return target


@pytest.fixture(scope="module")
def expected(graphs: Path) -> Iterator[list[list[str]]]:
    recognizer = ParaformerRecognizer(
        graphs, name="m", threads=1, batch_segments=4, runtime="onnxruntime"
    )
    yield said(recognizer)
    recognizer.close()


def said(recognizer: ParaformerRecognizer) -> list[list[str]]:
    segments = [Segment(0, len(one), 0, len(one), one) for one in WAVEFORMS]
    found = recognizer.recognize(segments, RecognizeOptions(hotwords=hotwords(60)))
    return [[token.text for token in one.tokens] for one in found]


def on_device(folder: Path) -> list[list[str]]:
    _, backend = open_ascend_paraformer(folder, name="m", index=0, threads=1, runtime=AclRuntime())
    recognizer = ParaformerRecognizer(
        folder, name="m", threads=1, batch_segments=4, backend=backend
    )
    try:
        return said(recognizer)
    finally:
        recognizer.close()


def convert(*arguments: object) -> int:
    return main(["convert", "om", *map(str, arguments)])


@pytest.mark.parametrize(
    ("shapes", "precision"),
    [(GEARS, "fp16"), (GEARS, "fp32"), (STATIC, "fp16"), (DYNAMIC, "mixed")],
)
def test_from_graphs_to_the_tokens_of_onnx_runtime(
    graphs: Path,
    atc: Path,
    tmp_path: Path,
    expected: list[list[str]],
    shapes: str,
    precision: str,
) -> None:
    target = tmp_path / "om"
    arguments = ["--soc", SOC, "--shapes", shapes, "--precision", precision, "--atc", atc]
    sizes = ["--buckets", "32,64", "--batch", "1,2" if shapes == GEARS else "2"]
    assert convert(graphs, "--output", target, *arguments, *sizes) == 0
    assert sum(map(len, expected)) > 20
    with simulated():
        assert on_device(target) == expected
        assert main(["convert", "verify", str(target)]) == 0


def test_a_checkpoint_is_prepared_as_its_graphs_are(plain_fp32: Path, tmp_path: Path) -> None:
    """The smaller model: its graphs are made anew."""
    checkpoint = source_folder(tmp_path / "model", "Paraformer")
    arguments = ["--soc", SOC, "--buckets", "32,64"]
    for source, made in zip((checkpoint, plain_fp32), MADE, strict=True):
        assert convert(source, "--output", tmp_path / made, *arguments) == 0
    names = [sorted(path.name for path in (tmp_path / made).iterdir()) for made in MADE]
    assert names[0] == names[1]
    assert {"encode.onnx", "decode.onnx", "graphs.json.in", "convert.sh"} <= set(names[0])
    scripts = [(tmp_path / made / "convert.sh").read_bytes() for made in MADE]
    assert scripts[0] == scripts[1]
    runs = read_selftest(tmp_path / "taken", "m")
    assert runs is not None
    sessions = {
        name: OnnxSession(tmp_path / "made" / f"{name}.onnx", threads=1)
        for name in ("encode", "decode")
    }
    assert measure_drift(sessions, runs).error < 1e-5


def test_the_manifests_are_complete_and_true(converted: Path) -> None:
    folder = read_graph_folder(converted, "m", ["config.yaml", "tokens.json", "am.mvn"])
    assert (folder.runtime, folder.precision) == ("ascend", "fp16")
    assert folder.damaged() == ()
    assert {one.file for one in folder.weights} == {
        f"{graph}.om" for graph in ("encode", "decode", "bias", "filter")
    }
    assert folder.graphs["times"].file == "times.onnx"
    graph = read_om_graph(converted / "encode.om.json", "m")
    assert (graph.soc, graph.cann, graph.mode) == (SOC, "?", "gears")
    assert [dict(sizes) for sizes in graph.files[0].sizes] == [
        {"batch": 1, "frames": 32},
        {"batch": 2, "frames": 32},
        {"batch": 1, "frames": 64},
        {"batch": 2, "frames": 64},
    ]
    assert [tensor.name for tensor in graph.inputs] == ["features", "positions", "mask"]
    left = {path.name for path in converted.iterdir() if path.is_dir() or ".part" in path.name}
    assert left == set()


def test_what_is_made_without_a_name_is_found_beside_the_model(
    graphs: Path, atc: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(graphs, tmp_path / "model"))
    sizes = ["--buckets", "32,64", "--batch", "1"]
    assert convert(model, "--soc", SOC, "--atc", atc, *sizes) == 0
    made = tmp_path / "model.ascend"
    assert ascend_folder(model, "m") == made
    assert read_selftest(made, "m") is not None


def test_the_script_alone_makes_the_same_on_another_machine(
    graphs: Path, atc: Path, tmp_path: Path, expected: list[list[str]]
) -> None:
    """The folder is copied; the program is not needed, CANN's version comes from its folder."""
    prepared = tmp_path / "prepared"
    assert convert(graphs, "--output", prepared, "--soc", SOC, "--buckets", "32,64") == 0
    copied = Path(shutil.copytree(prepared, tmp_path / "other machine" / "模型"))
    (tmp_path / "cann" / "compiler").mkdir(parents=True)
    version = tmp_path / "cann" / "compiler" / "version.info"
    version.write_text("Version=8.3.RC1\nversion_dir=8.3.RC1\n", encoding="utf-8")
    done = subprocess.run(
        ["bash", str(copied / "convert.sh")],
        cwd="/",
        env={
            "PATH": f"{atc.parent}:{os.environ['PATH']}",
            "ASCEND_HOME_PATH": str(tmp_path / "cann"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[:2] == ["CANN 8.3.RC1", "1/4 encode.om"]
    assert read_graph_folder(copied, "m").damaged() == ()
    assert read_om_graph(copied / "encode.om.json", "m").cann == "8.3.RC1"
    with simulated():
        assert on_device(copied) == expected


def test_the_script_is_sound(graphs: Path, tmp_path: Path) -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    command = str(beside) if beside.exists() else shutil.which("shellcheck")
    for locale in ("en", "zh-CN"):
        script = prepare_om(graphs, tmp_path / locale, SMALL, locale=locale).script
        subprocess.run(["bash", "-n", script], check=True)
        assert "__" not in re.sub(r"\$\{?[A-Z_]+", "", script.read_text(encoding="utf-8"))
        if command:
            checked = subprocess.run([command, script], capture_output=True, text=True, check=False)
            assert checked.stdout == ""
    if not command:
        pytest.skip("shellcheck is not installed (requirements-dev.txt brings it)")


def test_without_atc_a_folder_is_prepared(
    graphs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "om"
    assert convert(graphs, "--output", target, "--soc", SOC, "--buckets", "32,64") == 0
    shown = capsys.readouterr()
    assert shown.out == f"{target}\n"
    assert "bash convert.sh (4 files)" in shown.err
    assert not (target / "graphs.json").exists()
    assert main(["convert", "verify", str(target)]) == 1
    assert "Run bash convert.sh" in capsys.readouterr().err
    # A prepared folder is one of ours and may be replaced.
    assert convert(graphs, "--output", target, "--soc", SOC, "--force") == 0
    assert (
        subprocess.run(
            ["bash", target / "convert.sh"], env={"PATH": "/usr/bin:/bin"}, check=False
        ).returncode
        == 4
    )


def test_a_dry_run_prints_the_commands_and_writes_nothing(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert convert(source, "--dry-run", "--soc", "Ascend310", "--shapes", "static") == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert len(lines) == 16
    assert lines[0].startswith("atc --model=encode.onnx --framework=5 ")
    assert all("--soc_version=Ascend310 " in line for line in lines)
    assert (shown.err, sorted(tmp_path.rglob("*"))) == ("", before)


@pytest.mark.parametrize(
    ("arguments", "said_"),
    [
        ((), "npu-smi on this machine tells: -"),
        (("--soc", "Ascend310", "--shapes", "dynamic"), "Ascend310 takes no dynamic shapes"),
        (("--soc", SOC, "--atc", "/nowhere/atc"), "There is no program “/nowhere/atc”"),
        (("--soc", SOC, "--cpu", "voice"), "--cpu cannot be: voice"),
        (("--soc", SOC, "--buckets", "64", "--batch", "1"), "would have 1 gears"),
    ],
)
def test_what_cannot_be_done_is_told(
    graphs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: Sequence[str],
    said_: str,
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert convert(graphs, "--output", tmp_path / "om", *arguments) == 1
    assert said_ in capsys.readouterr().err
    assert not (tmp_path / "om").exists()


def test_eight_bits_and_other_models_are_refused(graphs: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(graphs, tmp_path / "int8"))
    content = (folder / "graphs.json").read_text(encoding="utf-8")
    (folder / "graphs.json").write_text(content.replace('"fp32"', '"int8"'), encoding="utf-8")
    with pytest.raises(ConvertError) as caught:
        prepare_om(folder, tmp_path / "om", SMALL, locale="en")
    assert caught.value.details["reason"] == "om_source"
    (tmp_path / "vad").mkdir()
    (tmp_path / "vad" / "config.yaml").write_text("model: FsmnVADStreaming\n", encoding="utf-8")
    with pytest.raises(ConvertError) as caught:
        planned(tmp_path / "vad", SMALL)
    assert caught.value.details["reason"] == "om_kind"
    with pytest.raises(ConvertError) as caught:
        prepare_om(graphs, graphs / "om", SMALL, locale="en")
    assert caught.value.details["reason"] == "inside"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("E16005", "atc_domains"),
        ("E10035", "atc_gears"),
        ("E10045", "atc_gears"),
        ("E19010", "atc_operator"),
        ("E10501", "atc_operator"),
        ("E40002", "atc_python"),
        ("E40020", "atc_python"),
        ("E10009", "atc_arguments"),
        ("E10018", "atc_arguments"),
        ("E10049", "atc_arguments"),
        ("E19999", "atc"),
        ("no code at all", "atc"),
    ],
)
def test_a_fault_of_atc_tells_what_to_do(code: str, reason: str) -> None:
    assert reason_of(f"ATC run failed, Please check the detail log\n{code}: words") == reason


def test_where_atc_stopped_it_goes_on(
    graphs: Path, atc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = prepare_om(graphs, tmp_path / "om", SMALL, locale="en")
    monkeypatch.setenv("SIMULATED_ATC_FAIL", "decode:E19010")
    lines: list[str] = []
    with pytest.raises(ConvertError) as caught:
        run_script(folder, str(atc), timeout_s=300, on_line=lines.append)
    details = caught.value.details
    assert (details["reason"], details["graph"]) == ("atc_operator", "decode")
    assert str(details["lines"]).endswith("E19010: simulated fault")
    assert Path(str(details["log"])).is_file()
    assert "E19010: simulated fault" in lines
    assert lines[-1].startswith("atc does not know an operator of decode. Install")
    assert (folder.path / "encode.om").is_file()
    assert not (folder.path / "graphs.json").exists()
    monkeypatch.delenv("SIMULATED_ATC_FAIL")
    lines.clear()
    made = run_script(folder, str(atc), timeout_s=300, on_line=lines.append)
    assert "1/4 encode.om: is there already" in lines
    assert made.damaged() == ()


def test_atc_that_hangs_is_given_up(
    graphs: Path, atc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = prepare_om(graphs, tmp_path / "om", SMALL, locale="en")
    monkeypatch.setenv("SIMULATED_ATC_HANG", "encode")
    with pytest.raises(ConvertError) as caught:
        run_script(folder, str(atc), timeout_s=1)
    assert caught.value.details["reason"] == "atc_timeout"
    assert not (folder.path / "encode.om").exists()


def test_a_killed_script_takes_atc_with_it(
    graphs: Path, atc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = prepare_om(graphs, tmp_path / "om", SMALL, locale="en")
    marker = tmp_path / "ended"
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/bash\ntrap 'touch {marker}; exit 1' TERM\nsleep 60 & wait\n")
    slow.chmod(0o755)
    with subprocess.Popen(
        ["bash", folder.script],
        env={**os.environ, "ATC": str(slow)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("1/4"):
                break
        deadline = time.monotonic() + 20
        while not (folder.path / "encode.log").exists() and time.monotonic() < deadline:
            pass
        # A second one would write the same files.
        second = subprocess.run(["bash", folder.script], capture_output=True, check=False)
        assert second.returncode == 6
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 130
    while not marker.exists() and time.monotonic() < deadline:
        pass
    assert marker.exists()


def spoil(folder: Path, graph: str, *, part: str = "") -> None:
    """An OM of the right form whose numbers are others, all or those of a part."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    header, content = om.read(folder / f"{graph}.om")
    model = onnx.load_from_string(content)
    for tensor in model.graph.initializer:
        if tensor.name.endswith("weight") and len(tensor.dims) == 2 and part in tensor.name:
            values = numpy_helper.to_array(tensor)
            noise = np.random.default_rng(0).normal(size=values.shape).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(noise, tensor.name))
    other = folder / "other.onnx"
    other.write_bytes(model.SerializeToString())
    om.build(other, folder / f"{graph}.om", header)
    other.unlink()
    for name in (f"{graph}.om.json", "graphs.json"):
        shutil.copyfile(folder / f"{name}.in", folder / name)
    done = subprocess.run(
        ["bash", folder / "convert.sh"],
        env={**os.environ, "ATC": "true"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0


@pytest.mark.parametrize("graph", ["encode", "bias"])
def test_a_spoiled_om_fails_and_its_graph_is_named(
    converted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], graph: str
) -> None:
    folder = Path(shutil.copytree(converted, tmp_path / "spoiled"))
    spoil(folder, graph)
    with simulated():
        assert main(["convert", "verify", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert f"The fault is in the graph {graph} ({graph}.om.json)" in shown
    assert f"in which block of {graph} it lies, convert again with --layers" in shown


@pytest.fixture(scope="module")
def seen(graphs: Path, atc: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With gears, and with files that show what blocks compute."""
    target = tmp_path_factory.mktemp("seen") / "model"
    sizes = ["--buckets", "32,64", "--batch", "1,2"]
    assert convert(graphs, "--output", target, "--soc", SOC, "--atc", atc, "--layers", *sizes) == 0
    return target


def test_layers_are_seen_and_cost_the_recognizer_nothing(
    seen: Path, expected: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    plain, inner = (read_om_graph(seen / f"encode{name}.om.json", "m") for name in ("", ".layers"))
    assert [tensor.name for tensor in plain.outputs] == ["encoded", "alphas"]
    blocks = [tensor.name for tensor in inner.outputs][2:]
    assert blocks[:2] == ["encoders0.0", "encoders.0"]
    assert (inner.mode, [dict(sizes) for sizes in inner.files[0].sizes]) == (
        STATIC,
        [{"batch": 1, "frames": 64}],
    )
    header, _ = om.read(seen / "encode.om")
    assert [tensor.name for tensor in header.outputs] == ["encoded", "alphas"]
    assert read_graph_folder(seen, "m").damaged() == ()
    capsys.readouterr()
    with simulated():
        assert on_device(seen) == expected
        assert main(["convert", "verify", str(seen)]) == 0
    lines = capsys.readouterr().out.splitlines()
    stages = [line.split()[0] for line in lines if line.startswith(("encode.", "bias.", "decode."))]
    every = [f"encode.{name}" for name in blocks]
    assert stages[: len(every) + 2] == [*every, "encode.encoded", "encode.alphas"]
    assert {"decode.decoders.0", "bias.embeds.decoders.0", "bias.hidden.decoders.0"} < {*stages}


def test_the_spoiled_block_is_named(
    seen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(seen, tmp_path / "spoiled"))
    spoil(folder, "encode.layers", part="encoders.0.feed_forward")
    with simulated():
        assert main(["convert", "verify", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert "encode.encoders.0" in next(line for line in shown.splitlines() if "first" in line)
    assert "The fault is in the graph encode (encode.om.json)" in shown
    assert "--layers" not in shown


@pytest.mark.parametrize("shapes", [STATIC, GEARS, DYNAMIC])
def test_each_graph_of_blocks_has_one_more_file_for_its_layers(
    source: Path, capsys: pytest.CaptureFixture[str], shapes: str
) -> None:
    arguments = ["--dry-run", "--soc", SOC, "--shapes", shapes, "--batch", "4,8"]
    assert convert(source, *arguments) == 0
    before = capsys.readouterr().out.splitlines()
    assert convert(source, *arguments, "--layers") == 0
    lines = capsys.readouterr().out.splitlines()
    inner = [line for line in lines if ".layers" in line]
    assert [line.split("--output=making/")[1].split()[0] for line in inner] == [
        f"{graph}.layers" for graph in ("encode", "decode", "bias", "filter")
    ]
    assert "'--input_shape=features:1,1,512,560;" in inner[0]
    assert not any("dynamic_dims" in line or "out_nodes" in line for line in inner)
    plain = [line for line in lines if line not in inner]
    assert all("--out_nodes=" in line for line in plain)
    assert [re.sub(r"'?--out_nodes=\S+ ", "", line) for line in plain] == before


def manifest_of(folder: Path, texts: Sequence[str]) -> Path:
    import soundfile

    lines = ["audio\treference"]
    for number, (waveform, text) in enumerate(zip(WAVEFORMS, texts, strict=True)):
        soundfile.write(folder / f"{number}.wav", waveform, 16_000)
        lines.append(f"{number}.wav\t{text}")
    path = folder / "list.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_error_rates_are_compared_and_reported(
    converted: Path, graphs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = manifest_of(tmp_path, ["今天开会"] * len(WAVEFORMS))
    page = tmp_path / "报告.html"
    arguments = ["convert", "verify", "--manifest", str(listed), "--html", str(page)]
    with simulated():
        assert main([*arguments, str(converted), "--reference", str(graphs)]) == 0
    shown = capsys.readouterr().out
    verdict = "Passed: the character error rate grows by +0.00 points, at most 0.3 are allowed"
    assert shown.splitlines()[-1] == verdict
    assert f"{len(WAVEFORMS)} recordings" in shown
    assert verdict in page.read_text(encoding="utf-8")
    spoiled = Path(shutil.copytree(converted, tmp_path / "spoiled"))
    spoil(spoiled, "decode")
    with simulated():
        assert main([*arguments, str(spoiled)]) == 1


def test_other_graphs_beside_an_om_are_no_reference(
    converted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(converted, tmp_path / "om"))
    shutil.copyfile(folder / "decode.onnx", folder / "encode.onnx")
    with simulated():
        assert main(["convert", "verify", str(folder)]) == 1
    assert "encode.onnx" in capsys.readouterr().err


def test_verify_is_not_done_on_the_cpu(converted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with simulated():
        assert main(["convert", "verify", str(converted), "--device", "cpu"]) == 2
    assert "--device" in capsys.readouterr().err


def test_without_pyacl_verify_says_so(
    converted: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "acl", None)
    assert main(["convert", "verify", str(converted)]) == 1
    assert "pyACL is not installed" in capsys.readouterr().err


def test_mixed_precision_names_kinds_of_operators(graphs: Path, tmp_path: Path) -> None:
    options = OmOptions(SOC, frames=(32, 64), precision="mixed")
    folder = prepare_om(graphs, tmp_path / "om", options, locale="en")
    lists = json.loads((folder.path / "mix.json").read_text(encoding="utf-8"))
    assert "SoftmaxV2" in lists["black-list"]["to-add"]
    assert isinstance(folder, OmFolder)
    assert read_graph_folder(graphs, "m").runtime == ONNX
