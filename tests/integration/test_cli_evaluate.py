"""The command ``evaluate``, as scripts use it: a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.material import ROOT

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SAID = "各位同事下午好，今天的项目例会现在开始。"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Without a model: texts that exist already need none."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASR_")}
    environment = {
        **kept,
        "ASR_HOME": str(tmp_path / "home"),
        "ASR_MODEL_DIR": str(tmp_path / "no-model"),
    }

    def call(*arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "asr_core", "evaluate", *map(str, arguments)],
            cwd=ROOT,
            env=environment | changes,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=600,
            check=False,
        )

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def put(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return put


def rows(result: subprocess.CompletedProcess[str]) -> dict[str, list[str]]:
    """Cells by the name in the first column; the first row of each name."""
    found: dict[str, list[str]] = {}
    for line in result.stdout.splitlines():
        name, *cells = line.split("\t")
        found.setdefault(name, cells)
    return found


def test_texts_that_exist_are_measured(run: Run, write, tmp_path: Path) -> None:
    manifest = write(
        "清单.tsv",
        "audio\treference\tspoken\tspeaker\n"
        "a.wav\t昇腾有25台。\t昇腾有二十五台\t甲\n"
        "b.wav\t好的\t\t乙\n",
    )
    texts = write("文字.tsv", "audio\ttext\tspoken\na.wav\t升腾有25台。\t升腾有二十五台\n")
    out, page = tmp_path / "新" / "o.json", tmp_path / "新" / "o.html"
    result = run(
        *("--manifest", manifest, "--hypotheses", texts, "--hotwords", "昇腾"),
        *("--json", out, "--html", page),
    )
    assert (result.returncode, result.stderr) == (0, "")
    found = rows(result)
    assert found["录音数"] == ["2"]
    assert found["字错误率"] == ["33.33 %", "替换 1 · 漏字 2 · 多字 0 · 共 9 字"]
    assert found["说话人"][:2] == ["甲", "14.29 %"]
    assert found["热词"] == ["昇腾", "命中 0/1 · 误报 0"]
    assert found["没有文字"] == ["b.wav"]
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["cer"]["rate"] == round(3 / 9, 6)
    assert document["numbers"] == {
        **{"expected": 1, "exact": 1, "heard": 1, "heard_exact": 1},
        "extra": 0,
    }
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in out.parent.iterdir()) == ["o.html", "o.json"]


def test_normalizations_are_chosen_by_name(run: Run, write) -> None:
    manifest = write("m.tsv", "audio\treference\na\t这儿有25台，ok\n")
    texts = write("t.tsv", "audio\ttext\na\t嗯这有二十五台OK\n")
    arguments = ("--manifest", manifest, "--hypotheses", texts)
    assert rows(run(*arguments, "--normalize", "all"))["字错误率"][0] == "0.00 %"
    assert rows(run(*arguments))["字错误率"][1].startswith("替换 0 · 漏字 1 · 多字 1")
    assert float(rows(run(*arguments, "--normalize", "none"))["字错误率"][0].split()[0]) > 50
    wrong = run(*arguments, "--normalize", "lower")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "punctuation" in wrong.stderr


def test_english_on_request(run: Run, write) -> None:
    manifest = write("m.tsv", "audio\treference\na\t好\n")
    texts = write("t.tsv", "audio\ttext\na\t好\n")
    result = run("--manifest", manifest, "--hypotheses", texts, ASR_LOCALE="en")
    assert rows(result)["Character error rate"][0] == "0.00 %"


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ("audio\ttext\na\tb\n", "第 1 行的表头"),
        ("audio\treference\na\t好\na\t好\n", "第 3 行的录音“a”重复了"),
        ("", "没有内容"),
    ],
)
def test_a_wrong_list_exits_with_2(call: Run, write, manifest: str, told: str) -> None:
    result = call("evaluate", "--manifest", write("m.tsv", manifest), "--json", "/nowhere/x.json")
    assert (result.returncode, result.stdout) == (2, "")
    assert told in result.stderr
    assert "m.tsv" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_report_that_cannot_be_written_is_found_out_before_the_work(
    run: Run, write, tmp_path: Path
) -> None:
    manifest = write("m.tsv", "audio\treference\na.wav\t好\n")
    result = run("--manifest", manifest, "--html", manifest / "x.html")
    assert (result.returncode, result.stdout) == (1, "")
    assert "导出失败" in result.stderr
    assert "a.wav" not in result.stderr


@pytest.mark.model
def test_recordings_are_transcribed_and_measured(
    run: Run, write, sample: Path, model_folder: Path, tmp_path: Path
) -> None:
    waveform, rate_hz = soundfile.read(sample, dtype="int16")
    soundfile.write(tmp_path / "开头.wav", waveform[: 5 * rate_hz], rate_hz)
    soundfile.write(tmp_path / "静音.wav", np.zeros(32_000, np.int16), 16_000)
    manifest = write(
        "m.tsv",
        f"audio\treference\tspoken\ttag\n开头.wav\t{SAID}\t{SAID}\t会议\n"
        "静音.wav\t没有人说话\t\t空\n没有.wav\t坏\t\t空\n",
    )
    out = tmp_path / "o.json"
    result = run("--manifest", manifest, "--json", out, ASR_MODEL_DIR=str(model_folder))
    assert result.returncode == 1
    assert "1 / 3  开头.wav：字错误率" in result.stderr
    assert "找不到文件“没有.wav”" in result.stderr
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["items"][0]["cer"]["rate"] <= 0.2
    assert document["spoken_cer"]["rate"] <= 0.2
    assert document["empty"] == ["静音.wav", "没有.wav"]
    assert [one["audio"] for one in document["failed"]] == ["没有.wav"]
    assert document["cer"]["deletions"] >= 6
    assert document["model"]["name"] == "whisper-base"
    assert document["rtf"] > 0
    assert document["punctuation"]["micro"]["expected"] == 2
    with_history = subprocess.run(
        [sys.executable, "-c", HISTORY_SIZE, str(tmp_path / "home")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert with_history.stdout.strip() == "0"


HISTORY_SIZE = """
import sys
from pathlib import Path
from asr_core.engine import Engine
from asr_core.settings import Settings
with Engine(Settings(home=Path(sys.argv[1]))) as engine:
    print(engine.history().total)
"""
