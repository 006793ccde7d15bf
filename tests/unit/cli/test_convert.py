"""The command ``convert`` as people call it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from asr_core.cli.main import main
from asr_core.models.graph_folder import GRAPHS_FILE, read_graph_folder
from asr_core.models.manifest import MANIFEST_FILE
from tests.unit.models.conversion import source_folder
from tests.unit.models.hub import Hub, running_hub

pytest.importorskip("mindspore", reason="MindSpore is not installed")

ROOT = Path(__file__).resolve().parents[3]
BUCKETS = ("--buckets", "32,16")
CHECKPOINT_REPO = "iic/speech_paraformer-large_asr_nat-zh-cn-16k-common-vocab8404-pytorch"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASR_LOCALE", "en")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return source_folder(tmp_path / "model", "Paraformer")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "asr_core", "convert", *map(str, arguments)]


def test_a_folder_is_converted_and_the_steps_are_told(source: Path, tmp_path: Path) -> None:
    """Whatever characters the names of folders have, that of temporary files too."""
    target, place = tmp_path / "输出 二", tmp_path / "临时 三"
    place.mkdir()
    done = subprocess.run(
        command("onnx", source.rename(tmp_path / "模型 一"), "--output", target, *BUCKETS),
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(place)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{target}\n"
    *steps, last = done.stderr.splitlines()
    assert steps == [
        "1/5 Reading the model",
        "2/5 Writing encode",
        "3/5 Writing decode",
        "4/5 Quantizing encode",
        "5/5 Quantizing decode",
    ]
    assert last.startswith(f"Converted: {target} (")
    folder = read_graph_folder(target, "x", ["config.yaml", "tokens.json", "am.mvn", "seg_dict"])
    assert folder.precision == "int8"
    assert set(folder.graphs) == {
        "encode",
        "decode",
        *(f"{name}.{frames}" for name in ("encode", "decode") for frames in (16, 32)),
    }


def test_a_killed_conversion_leaves_nothing_under_the_name(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    arguments = command("onnx", source, "--output", target)
    with subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("3/5"):
                process.send_signal(signal.SIGKILL)
                break
    assert not target.exists()
    assert (tmp_path / ".out.converting").is_dir()
    assert main(["convert", "onnx", str(source), "--output", str(target)]) == 0
    assert read_graph_folder(target, "x").damaged() == ()
    assert not (tmp_path / ".out.converting").exists()


def test_an_interrupted_conversion_says_so_and_leaves_nothing(source: Path, tmp_path: Path) -> None:
    arguments = command("onnx", source, "--output", tmp_path / "out")
    with subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("2/5"):
                process.send_signal(signal.SIGINT)
                break
        said = process.stderr.read()
        assert process.wait() == 130
    assert said.splitlines() == ["Interrupted before the end"]
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_what_has_to_stay_is_chosen_and_reported(
    source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "reports" / "report.tsv"
    target = tmp_path / "out"
    arguments = ["onnx", str(source), "--output", str(target), "--report", str(report)]
    assert main(["convert", *arguments, "--keep-fp32", "auto", "--agreement", "1"]) == 0
    assert "100.00 % of the tokens equal those of single precision" in capfd.readouterr().err
    rows = [line.split("\t") for line in report.read_text(encoding="utf-8").splitlines()]
    kept = {row[0] for row in rows[1:] if row[4] == "1"}
    graphs = read_graph_folder(target, "x").graphs
    assert kept == {name for graph in graphs.values() for name in graph.kept_fp32}
    assert "encode.predictor.cif_output" in kept


def test_a_checkpoint_of_mindspore(
    source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out"
    arguments = ["convert", "mindspore", str(source), "--output", str(target)]
    assert main(arguments) == 0
    assert capfd.readouterr().out == f"{target}\n"
    assert (target / "model.ckpt").is_file()
    assert main(arguments) == 1
    assert "--force" in capfd.readouterr().err
    assert main([*arguments, "--force"]) == 0


def test_what_is_missing_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["convert", "onnx", str(tmp_path / "nowhere"), "--output", str(tmp_path / "out")]
    assert main(arguments) == 1
    said = capfd.readouterr().err
    for name in ("config.yaml", "tokens.json", "am.mvn", "model.pt"):
        assert name in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--precision", "fp16"], "--precision"),
        (["--buckets", "0"], "numbers from 1"),
        (["--buckets", "many"], "--buckets"),
        (["--agreement", "2"], "between 0 and 1"),
        (["--report", "report.pdf"], ".html or .tsv"),
        (["--method", "magic"], "--method"),
    ],
)
def test_wrong_calls_end_with_2(
    source: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["convert", "onnx", str(source), "--output", str(tmp_path / "out"), *arguments])
    assert caught.value.code == 2
    assert said in capfd.readouterr().err


def test_a_report_about_single_precision_is_refused(
    source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["convert", "onnx", str(source), "--output", str(tmp_path / "out")]
    assert main([*arguments, "--precision", "fp32", "--keep-fp32", "auto"]) == 2
    assert "int8" in capfd.readouterr().err


def test_a_report_that_cannot_be_written_is_told_before_the_work(
    source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    arguments = ["convert", "onnx", str(source), "--output", str(tmp_path / "out")]
    assert main([*arguments, "--report", str(tmp_path / "file" / "r.tsv")]) == 1
    assert "Reading" not in capfd.readouterr().err


def test_recordings_that_cannot_be_read_leave_no_folder(
    source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["convert", "onnx", str(source), "--output", str(tmp_path / "out")]
    assert main([*arguments, "--keep-fp32", "auto", "--audio", str(tmp_path / "none.wav")]) == 1
    assert "none.wav" in capfd.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["model"]  # noqa: PTH208
    assert not (tmp_path / "out" / GRAPHS_FILE).exists()


@pytest.fixture
def hub(source: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that has Paraformer as a checkpoint only."""
    contents = {path.name: path.read_bytes() for path in source.iterdir()}
    with running_hub() as state:
        state.offer(CHECKPOINT_REPO, contents)
        monkeypatch.setenv("ASR_MODELSCOPE_URL", state.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield state


def rows(capfd: pytest.CaptureFixture[str], action: str) -> dict[str, list[str]]:
    """What ``models list`` or ``models verify`` prints, by model."""
    capfd.readouterr()
    main(["models", action])
    lines = [line.split("\t") for line in capfd.readouterr().out.splitlines()]
    at = 1 if action == "list" else 0
    return {line[at]: line[at + 1 :] for line in lines}


def test_an_installed_checkpoint_is_converted(
    hub: Hub, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "home" / "models" / "paraformer"
    assert main(["models", "install", "paraformer"]) == 0
    printed = capfd.readouterr()
    assert printed.out == f"{folder}\n"
    assert "5/5 Quantizing decode" in printed.err
    assert f"Model paraformer is ready, from {CHECKPOINT_REPO}" in printed.err
    assert read_graph_folder(folder, "x").damaged() == ()
    files = [path for path in folder.iterdir() if path.name != MANIFEST_FILE]
    size_mb = sum(path.stat().st_size for path in files) / 1e6
    assert 0 < size_mb < 9
    assert rows(capfd, "list")["paraformer"][:2] == ["installed", f"{size_mb:.1f} MB"]
    assert rows(capfd, "verify")["paraformer"][0] == "installed"
    with (folder / "encode.onnx").open("r+b") as graph:
        graph.seek(-1, os.SEEK_END)
        last = graph.read(1)
        graph.seek(-1, os.SEEK_END)
        graph.write(bytes([last[0] ^ 1]))
    assert rows(capfd, "verify")["paraformer"][0] == "damaged"


def test_an_installed_checkpoint_may_stay_one(
    hub: Hub, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "install", "paraformer", "--no-convert"]) == 0
    assert "Quantizing" not in capfd.readouterr().err
    folder = tmp_path / "home" / "models" / "paraformer"
    assert not (folder / GRAPHS_FILE).exists()
    assert rows(capfd, "verify")["paraformer"][0] == "installed"
    # Until it is asked for without that.
    assert main(["models", "install", "paraformer"]) == 0
    assert "5/5 Quantizing decode" in capfd.readouterr().err
    assert read_graph_folder(folder, "x").damaged() == ()
    assert rows(capfd, "verify")["paraformer"][0] == "installed"
    assert main(["models", "install", "paraformer"]) == 0
    assert "Quantizing" not in capfd.readouterr().err
