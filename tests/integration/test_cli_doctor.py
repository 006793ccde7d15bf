"""``doctor`` as people call it, on the machine that runs the tests."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.application import unused_port
from tests.material import ROOT

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASR_")}
    home = {"ASR_HOME": str(tmp_path / "数据"), "ASR_PORT": str(unused_port())}
    return {**kept, **home, "LC_ALL": "C", "ASR_THREADS": "2"}


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    def call(*arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "asr_core", "doctor", *map(str, arguments)],
            cwd=ROOT,
            env={**environment, **changes},
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    return call


def by_check(text: str) -> dict[str, dict[str, object]]:
    return {finding["check"]: finding for finding in json.loads(text)["findings"]}


@pytest.mark.model
def test_this_machine_transcribes_and_has_no_npu(
    run: Run, model_folder: Path, tmp_path: Path
) -> None:
    report = tmp_path / "报告" / "doctor.html"
    result = run("--json", "--html", report, ASR_MODEL_DIR=str(model_folder))
    found = by_check(result.stdout)
    failed = [name for name, finding in found.items() if finding["state"] == "fail"]
    assert (result.returncode, failed) == (0, [])
    assert found["transcription"]["state"] in ("ok", "warn")
    assert float(found["transcription"]["values"]["rtf"]) > 0
    assert found["model_hashes"]["state"] == "ok"
    assert "whisper-base" in found["model_hashes"]["values"]["names"]
    assert found["codecs"]["state"] == "ok"
    assert str(report) in result.stderr
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    if platform.machine() != "x86_64" or Path("/dev/davinci_manager").exists():
        pytest.skip("the other half is about an x86 machine without an NPU")
    npu = [finding for finding in found.values() if finding["group"] == "npu"]
    assert {finding["state"] for finding in npu} == {"not_applicable"}
    assert len(npu) > 5


def test_text_is_for_people(run: Run) -> None:
    result = run("--quick")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("上线前检查 · 听录")
    assert lines[-1].startswith("正常 ")
    assert any("已跳过（--quick）" in line for line in lines)
    assert result.stderr == ""


def test_english(run: Run) -> None:
    lines = run("--quick", ASR_LOCALE="en").stdout.splitlines()
    assert lines[0].startswith("Check before going live · Tinglu")
    assert "not applicable" in lines[-1]


def test_a_failure_is_exit_code_one(run: Run) -> None:
    result = run("--quick", "--json", ASR_DEVICE="npu:0", PATH="/nonexistent")
    found = by_check(result.stdout)
    if found["npu_devices"]["state"] != "fail":
        pytest.skip("this machine has an NPU")
    assert result.returncode == 1


def test_a_model_that_is_not_there_says_how_to_get_it(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "leer"
    empty.mkdir()
    result = run("--json", ASR_MODEL_DIR=str(empty), ASR_MODEL="whisper-base")
    found = by_check(result.stdout)
    assert result.returncode == 1
    assert found["model_files"]["state"] == found["transcription"]["state"] == "fail"
    assert found["model_files"]["mend"] == ["./run.sh models install whisper-base"]


def test_limits_of_the_shell_are_seen(environment: dict[str, str]) -> None:
    command = f"ulimit -n 300; exec '{sys.executable}' -m asr_core doctor --quick --json"
    result = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    finding = by_check(result.stdout)["limit_files"]
    assert (finding["state"], finding["values"]) == ("warn", {"limit": "300"})


def test_a_report_that_cannot_be_written_is_told_at_once(run: Run, tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("", encoding="utf-8")
    result = run("--quick", "--html", taken / "report.html")
    assert (result.returncode, result.stdout) == (1, "")
    assert str(taken) in result.stderr


def test_wrong_settings_are_a_wrong_call(run: Run) -> None:
    result = run("--quick", ASR_CPU_AFFINITY="all")
    assert (result.returncode, result.stdout) == (2, "")
    assert "ASR_CPU_AFFINITY" in result.stderr
