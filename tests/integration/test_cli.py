"""The command line as scripts use it: a process of its own, real recordings."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr_core.text.scoring import cer
from tests.material import ROOT

pytestmark = pytest.mark.model

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(tmp_path: Path, model_folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASR_")}
    return {**kept, "ASR_HOME": str(tmp_path / "home"), "ASR_MODEL_DIR": str(model_folder)}


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    def call(*arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "asr_core", *map(str, arguments)],
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
def silence(tmp_path: Path) -> Path:
    path = tmp_path / "静音.wav"
    soundfile.write(path, np.zeros(32_000, np.int16), 16_000)
    return path


def test_the_text_and_nothing_else_goes_to_standard_output(run: Run, sample: Path) -> None:
    result = run("transcribe", sample, LC_ALL="C")
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("各位同事下午好，今天的项目")
    assert "26位用户" in result.stdout
    assert all(line[-1] in "。！？，" for line in lines)
    assert sample.name in result.stderr


def test_json_is_the_documented_document(run: Run, sample: Path) -> None:
    document = json.loads(run("transcribe", sample, "--format", "json").stdout)
    assert set(document) == {
        *("schema", "text", "spoken_text", "duration_ms", "language", "model", "processing_ms"),
        "devices",
        *("rtf", "coverage", "warnings", "sentences"),
    }
    assert document["schema"] == 1
    assert document["duration_ms"] == 30_400
    assert document["model"]["device"] == "cpu"
    assert document["coverage"]["gaps"] == []
    assert document["coverage"]["transcribed_ms"] == document["coverage"]["speech_ms"] > 20_000
    sentence = document["sentences"][0]
    assert set(sentence) == {
        *("text", "spoken_text", "start_ms", "end_ms", "confidence", "tokens"),
    }
    assert set(sentence["tokens"][0]) == {"text", "start_ms", "end_ms", "confidence"}
    spoken = "".join(token["text"] for token in sentence["tokens"])
    assert spoken == "".join(char for char in sentence["spoken_text"] if char.isalnum())
    assert cer("各位同事下午好今天的项目例会现在开始", spoken).rate <= 0.15


def test_good_files_are_finished_whatever_the_others_are(
    run: Run, sample: Path, silence: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "空.wav"
    empty.write_bytes(b"")
    text = tmp_path / "文本.wav"
    text.write_text("不是录音\n" * 200, encoding="utf-8")
    missing = tmp_path / "没有.mp3"
    short = tmp_path / "短.wav"
    soundfile.write(short, np.zeros(800, np.int16), 16_000)
    output = tmp_path / "out"
    result = run(
        *("transcribe", empty, text, silence, missing, short, sample),
        *("--format", "srt", "--output", output),
    )
    assert result.returncode == 1
    assert result.stdout == ""
    assert sorted(path.name for path in output.iterdir()) == sorted(
        ["静音.srt", "短.srt", f"{sample.stem}.srt"]
    )
    assert (output / f"{sample.stem}.srt").read_text(encoding="utf-8-sig").startswith("1\n00:00:0")
    told = result.stderr
    assert "“空.wav”是空文件" in told
    assert "“文本.wav”不是音频或视频文件" in told
    assert "找不到文件“没有.mp3”" in told
    assert "静音.wav" in told
    assert "没有检测到人声" in told


def test_silence_is_no_error(run: Run, silence: Path) -> None:
    result = run("transcribe", silence)
    assert (result.returncode, result.stdout.strip()) == (0, "")
    assert "没有检测到人声" in result.stderr


def test_what_is_missing_is_told_in_lines_not_in_tracebacks(
    run: Run, silence: Path, tmp_path: Path
) -> None:
    result = run(
        "transcribe", silence, "--punctuation", "ct-punc", ASR_CT_PUNC_DIR=str(tmp_path / "none")
    )
    assert result.returncode == 0
    assert "Traceback" not in result.stderr
    (warning,) = [line for line in result.stderr.splitlines() if line.startswith("WARNING")]
    assert "config.yaml, tokens.json" in warning


def test_messages_come_in_english_on_request(run: Run, silence: Path) -> None:
    assert "No speech was found" in run("transcribe", silence, ASR_LOCALE="en").stderr


def test_inputs_of_one_name_do_not_overwrite_each_other(
    run: Run, silence: Path, tmp_path: Path
) -> None:
    other = tmp_path / "b" / silence.name
    other.parent.mkdir()
    other.write_bytes(silence.read_bytes())
    run("transcribe", silence, other, "--output", tmp_path / "out", "--format", "json")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "静音 (2).json",
        "静音.json",
    ]


def test_a_result_that_exists_is_replaced_on_request_only(
    run: Run, silence: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out" / "静音 whisper-base.md"
    target.parent.mkdir()
    target.write_text("mine", encoding="utf-8")
    call = ["transcribe", silence, "--output", target.parent, "--format", "md"]
    named = ["--name", "{name} {model}"]
    run(*call, *named)
    assert target.read_text(encoding="utf-8") == "mine"
    second = target.with_name("静音 whisper-base (2).md")
    assert second.read_text(encoding="utf-8").startswith("# 静音.wav\n")
    run(*call, "--overwrite", ASR_EXPORT_NAME="{name} {model}")
    assert target.read_text(encoding="utf-8").startswith("# 静音.wav\n")
    assert len(list(target.parent.iterdir())) == 2


def test_text_with_times_as_it_was_said(run: Run, sample: Path) -> None:
    result = run("transcribe", sample, "--times", "--spoken")
    assert all(re.match(r"\[00:00:\d\d\] \S", line) for line in result.stdout.splitlines())
    assert "二十六位用户" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--model", "whisper-huge"], "whisper-huge"),
        (["--device", "gpu"], "ASR_DEVICE"),
        (["--vad", "webrtc"], "invalid choice"),
        (["--raw", "s16le:16000"], "s16le:16000:1"),
        (["--raw", "s17le:16000:1"], "s16le:16000:1"),
        (["--track", "0"], "1"),
        (["--channels", "left"], "split"),
        (["--format", "xlsx"], "invalid choice"),
        (["--name", "{title}"], "{date} {time} {name}"),
        (["--line-chars", "7"], "8 – 60"),
    ],
)
def test_a_wrong_call_exits_with_2(
    call: Run, silence: Path, arguments: list[str], told: str
) -> None:
    result = call("transcribe", silence, *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_a_device_that_cannot_be_used_is_refused_not_replaced(run: Run, silence: Path) -> None:
    result = run("transcribe", silence, "--device", "npu:0")
    assert (result.returncode, result.stdout) == (1, "")
    assert "npu:0" in result.stderr


def test_an_output_folder_that_cannot_be_written_is_found_out_at_once(
    run: Run, sample: Path, silence: Path
) -> None:
    result = run("transcribe", sample, "--output", silence / "out")
    assert result.returncode == 1
    assert "导出失败" in result.stderr
    assert sample.name not in result.stderr


def test_interrupting_keeps_what_was_recognized(
    environment: dict[str, str], sample: Path, tmp_path: Path
) -> None:
    waveform, rate_hz = soundfile.read(sample, dtype="int16")
    long = tmp_path / "long.flac"
    soundfile.write(long, np.tile(waveform, 40), rate_hz)
    master, slave = os.openpty()  # progress is shown on a terminal only
    with subprocess.Popen(
        [sys.executable, "-m", "asr_core", "transcribe", str(long), "--format", "json"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=slave,
    ) as process:
        os.close(slave)
        shown = b""
        while b"00:00:2" not in shown and b"00:00:3" not in shown:
            shown += os.read(master, 4096)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=300)
    os.close(master)
    assert process.returncode == 1
    document = json.loads(output)
    assert document["text"].startswith("各位同事下午好")
    assert document["sentences"][-1]["end_ms"] < 20 * 60_000


def test_models_are_listed_and_verified(run: Run) -> None:
    listed = run("models", "list")
    assert listed.stdout.split("\t")[:3] == ["*", "whisper-base", "installed"]
    verified = run("models", "verify")
    assert verified.returncode == 0
    assert verified.stdout.startswith("whisper-base\tinstalled\t")


@pytest.mark.parametrize(
    "command",
    [[], ["transcribe"], ["models"], ["models", "install"], ["itn"], ["punctuate"], ["evaluate"]],
)
def test_every_command_has_help(call: Run, command: list[str]) -> None:
    result = call(*command, "--help")
    assert result.returncode == 0
    assert result.stdout.startswith("usage: run.sh")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count", "most"), [("clips.tsv", 12, 0.24), ("odd.tsv", 13, 0.4)])
def test_real_recordings_are_recognized_well(
    run: Run, speech_folder: Path, tmp_path: Path, name: str, count: int, most: float
) -> None:
    """Read sentences, every third of them, and the same in odd encodings: each gives text."""
    with (speech_folder / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    if name == "clips.tsv":
        rows = rows[::3]
    files = [speech_folder / row["file"] for row in rows]
    assert len(files) == count
    assert run("transcribe", *files, "--output", tmp_path).returncode == 0
    errors = characters = 0
    for path, row in zip(files, rows, strict=True):
        text = (tmp_path / path.name).with_suffix(".txt").read_text(encoding="utf-8")
        assert len(text.strip()) >= 4
        rate = cer(row["transcript"], text)
        errors += rate.errors
        characters += rate.reference_chars
    assert errors / characters <= most


@pytest.mark.slow
def test_a_meeting_is_written_as_people_write(run: Run, speech_folder: Path) -> None:
    with (speech_folder / "meeting.tsv").open(encoding="utf-8", newline="") as file:
        written = "".join(row["written"] for row in csv.DictReader(file, delimiter="\t"))
    result = run("transcribe", speech_folder / "meeting" / "public_meeting.flac")
    assert cer(written, result.stdout).rate <= 0.13
