"""The command ``models`` with a hub of its own."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from asr_core.cli.main import main
from asr_core.models.graph_folder import GraphFolder, graph_file, write_graph_manifest
from tests.unit.models.hub import Hub, file_path, running_hub

ROOT = Path(__file__).resolve().parents[3]
REPO = "iic/speech_fsmn_vad_zh-cn-16k-common-onnx"
FILES = {
    "config.yaml": b"model: FsmnVAD\n",
    "am.mvn": b"<Nnet>",
    "model_quant.onnx": b"x" * 1_500_000,
}
NAMES = ["whisper-base", "seaco-paraformer", "paraformer", "fsmn-vad", "ct-punc"]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with FSMN-VAD, that the settings of an empty installation name."""
    with running_hub() as state:
        state.offer(REPO, FILES)
        monkeypatch.setenv("ASR_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("ASR_MODELSCOPE_URL", state.url)
        monkeypatch.setenv("ASR_LOCALE", "en")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        for name in ("ASR_MODEL", "ASR_MODEL_DIR", "ASR_FSMN_DIR", "ASR_CT_PUNC_DIR"):
            monkeypatch.delenv(name, raising=False)
        yield state


def rows(capsys: pytest.CaptureFixture[str], action: str) -> dict[str, list[str]]:
    """What ``models list`` or ``models verify`` prints, by model."""
    capsys.readouterr()
    main(["models", action])
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    at = 1 if action == "list" else 0
    return {line[at]: line[at + 1 :] for line in lines}


def test_the_size_is_known_once_a_model_is_there(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = rows(capsys, "list")
    assert list(before) == NAMES
    assert before["whisper-base"][:2] == ["missing", "148 MB"]
    assert before["fsmn-vad"][:4] == ["missing", "-", "Apache-2.0", "FSMN-VAD"]
    assert main(["models", "install", "fsmn-vad"]) == 0
    printed = capsys.readouterr()
    folder = tmp_path / "home" / "models" / "fsmn-vad"
    assert printed.out == f"{folder}\n"
    assert printed.err == f"Model fsmn-vad is ready, from {REPO}\n"
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert rows(capsys, "list")["fsmn-vad"][:2] == ["installed", "1.5 MB"]
    assert rows(capsys, "verify")["fsmn-vad"] == ["installed", str(folder)]


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (1_000, "0.1 MB"),
        (460_000, "0.5 MB"),
        (9_900_000, "9.9 MB"),
        (9_960_000, "10 MB"),
        (10_400_000, "10 MB"),
    ],
)
def test_small_sizes_have_a_decimal(
    hub: Hub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    size_bytes: int,
    shown: str,
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"x" * size_bytes)
    monkeypatch.setenv("ASR_FSMN_DIR", str(tmp_path))
    assert rows(capsys, "list")["fsmn-vad"][1] == shown


def test_damage_is_told_by_verify(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    main(["models", "install", "fsmn-vad"])
    folder = Path(capsys.readouterr().out.strip())
    (folder / "am.mvn").write_bytes(b"<Nnot>")
    assert rows(capsys, "verify")["fsmn-vad"][0] == "damaged"
    assert main(["models", "verify"]) == 1


@pytest.mark.parametrize(
    ("variable", "name", "files"),
    [
        ("ASR_FSMN_DIR", "fsmn-vad", ["config.yaml", "am.mvn", "model.onnx"]),
        ("ASR_CT_PUNC_DIR", "ct-punc", ["config.yaml", "tokens.json", "model_quant.onnx"]),
        (
            "ASR_MODEL_DIR",
            "seaco-paraformer",
            ["config.yaml", "tokens.json", "am.mvn", "model.onnx", "model_eb.onnx"],
        ),
    ],
)
def test_a_folder_that_the_settings_name_is_used(
    hub: Hub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    name: str,
    files: list[str],
) -> None:
    folder = tmp_path / "iic" / "folder"
    folder.mkdir(parents=True)
    for file in files[:-1]:
        (folder / file).write_bytes(b"x")
    monkeypatch.setenv(variable, str(folder))
    monkeypatch.setenv("ASR_MODEL", "seaco-paraformer")
    assert rows(capsys, "list")[name][0] == "damaged"
    assert main(["models", "install", name]) == 1
    assert str(folder) in capsys.readouterr().err
    (folder / files[-1]).write_bytes(b"x")
    assert rows(capsys, "verify")[name] == ["present", str(folder)]
    assert main(["models", "install", name]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (f"{folder}\n", f"Model {name} is ready\n")


def test_verify_is_content_with_a_recognizer_that_nothing_vouches_for(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "home" / "models" / "paraformer"
    folder.mkdir(parents=True)
    for file in ("config.yaml", "tokens.json", "am.mvn", "model.onnx"):
        (folder / file).write_bytes(b"x")
    assert main(["models", "verify"]) == 1
    monkeypatch.setenv("ASR_MODEL", "paraformer")
    assert main(["models", "verify"]) == 0


@pytest.mark.parametrize(("locale", "said"), [("en", "cannot be downloaded"), ("zh-CN", "无法从")])
def test_a_file_that_the_hub_does_not_give_is_named_with_the_remedy(
    hub: Hub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    locale: str,
    said: str,
) -> None:
    monkeypatch.setenv("ASR_LOCALE", locale)
    del hub.files[file_path(REPO, "am.mvn")]
    assert main(["models", "install", "fsmn-vad"]) == 1
    error = capsys.readouterr().err
    for part in (said, "am.mvn", "404", "ASR_MODELSCOPE_URL", "models/fsmn-vad"):
        assert part in error
    assert "{" not in error


def test_a_model_that_the_hub_does_not_have_is_said(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "install", "ct-punc"]) == 1
    error = capsys.readouterr().err
    assert "iic/punc_ct-transformer_zh-cn-common-vocab272727-onnx: HTTP 404" in error


def test_ctrl_c_keeps_the_beginning_and_the_next_call_goes_on(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.stall_after = 3
    command = [sys.executable, "-m", "asr_core", "models", "install", "fsmn-vad"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert hub.stalled.wait(timeout=60)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said == (
        "Interrupted; what was downloaded is kept. "
        "Run ./run.sh models install fsmn-vad again to go on\n"
    )
    models = tmp_path / "home" / "models"
    assert not (models / "fsmn-vad").exists()
    assert {path.name for path in (models / ".fsmn-vad.download").iterdir()} <= {"config.yaml.part"}
    hub.stall_after = None
    assert main(["models", "install", "fsmn-vad"]) == 0
    assert rows(capsys, "verify")["fsmn-vad"][0] == "installed"


# The default and folders of the user

SEACO = ROOT / "tests" / "golden" / "paraformer_onnx"


def default(capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    main(["models", "list"])
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    return next(cells[1] for cells in lines if cells[0] == "*")


def test_a_folder_becomes_the_default(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert default(capsys) == "whisper-base"
    assert main(["models", "use", str(SEACO)]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{SEACO}\n"
    assert printed.err.splitlines() == [
        "The folder is known as paraformer_onnx from now on",
        "The default model is paraformer_onnx now",
    ]
    assert default(capsys) == "paraformer_onnx"
    listed = rows(capsys, "list")
    assert listed["paraformer_onnx"] == ["present", "1.0 MB", "-", "paraformer_onnx", str(SEACO)]
    assert rows(capsys, "verify")["paraformer_onnx"] == ["present", str(SEACO)]


def test_converted_graphs_of_the_user_are_verified(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(SEACO, folder)
    (folder / "encode.onnx").write_bytes(b"graph")
    graphs = {"encode": graph_file(folder / "encode.onnx")}
    write_graph_manifest(
        GraphFolder(folder, "onnxruntime", "int8", "X", "model.pt", "0" * 64, "tinglu", graphs)
    )
    assert main(["models", "use", str(folder)]) == 0
    assert rows(capsys, "verify")["mine"] == ["present", str(folder)]
    assert main(["models", "verify"]) == 0
    (folder / "encode.onnx").write_bytes(b"GRAPH")
    assert rows(capsys, "verify")["mine"] == ["damaged", str(folder)]
    assert main(["models", "verify"]) == 1


def test_a_relative_folder_is_one_too(
    hub: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SEACO.parent)
    assert main(["models", "use", "./paraformer_onnx"]) == 0
    assert default(capsys) == "paraformer_onnx"


def test_a_folder_may_be_named_from_the_home_folder(
    hub: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(SEACO.parent))
    assert main(["models", "use", "~/paraformer_onnx"]) == 0
    assert capsys.readouterr().out == f"{SEACO}\n"


@pytest.mark.parametrize(
    ("wanted", "code", "told"),
    [
        ("nobody", 2, "There is no model named “nobody”"),
        ("seaco-paraformer", 1, "./run.sh models install seaco-paraformer"),
        (str(ROOT), 1, f"“{ROOT}” holds no model that is known"),
        ("~no-such-user/x", 1, "“~no-such-user/x” is no folder that can be read"),
    ],
)
def test_what_cannot_be_the_default_is_told(
    hub: Hub, capsys: pytest.CaptureFixture[str], wanted: str, code: int, told: str
) -> None:
    assert main(["models", "use", wanted]) == code
    assert told in capsys.readouterr().err
    assert default(capsys) == "whisper-base"


def test_the_environment_wins(
    hub: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["models", "use", str(SEACO)])
    monkeypatch.setenv("ASR_MODEL", "whisper-base")
    assert default(capsys) == "whisper-base"
    assert main(["models", "use", "paraformer_onnx"]) == 1
    assert capsys.readouterr().err == "ASR_MODEL decides here; change that setting\n"
