"""The filters ``itn`` and ``punctuate``, as co-processes use them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.material import ROOT

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASR_")}
    return {**kept, "ASR_HOME": str(tmp_path / "home"), "LC_ALL": "C"}


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    def call(command: str, *arguments: object, given: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "asr_core", command, *map(str, arguments)],
            cwd=ROOT,
            env=environment,
            input=given,
            capture_output=True,
            timeout=300,
            check=False,
        )

    return call


def start(environment: dict[str, str], command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "asr_core", command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_numbers_are_written_line_by_line(run: Run) -> None:
    given = "今天是二零二五年三月十五号\r\n\n占百分之八十五\n没有数字。\n".encode()
    result = run("itn", given=given)
    assert result.returncode == 0
    assert result.stdout.decode() == "今天是2025年3月15号\n\n占85%\n没有数字。\n"
    assert result.stderr == b""


def test_styles_are_chosen(run: Run) -> None:
    given = "二零二五年三月十五号下午三点半占百分之八十五\n".encode()
    styles = ("--dates", "dash", "--clock", "digits", "--percent", "words")
    written = run("itn", *styles, given=given).stdout.decode()
    assert "2025-03-15" in written
    assert ":30" in written
    assert "百分之八十五" in written


def test_own_rules_are_read_from_a_file(run: Run, tmp_path: Path) -> None:
    rules = tmp_path / "规则.txt"
    rules.write_text("三点水 => 氵\n", encoding="utf-8")
    assert run("itn", "--rules", rules, given="三点水\n".encode()).stdout.decode() == "氵\n"


def test_rules_that_are_not_there_are_a_wrong_call(run: Run, tmp_path: Path) -> None:
    result = run("itn", "--rules", tmp_path / "没有.txt", given=b"a\n")
    assert (result.returncode, result.stdout) == (2, b"")
    assert "没有.txt" in result.stderr.decode()


def test_bytes_that_are_no_text_are_replaced(run: Run) -> None:
    result = run("itn", given=b"\xff\xfe\n")
    assert (result.returncode, result.stdout.decode()) == (0, "\ufffd\ufffd\n")


def test_ten_thousand_lines_pass(run: Run) -> None:
    lines = [f"第{index}行有二十五台" for index in range(10_000)]
    result = run("itn", given="\n".join(lines).encode())
    written = result.stdout.decode().splitlines()
    assert written == [f"第{index}行有25台" for index in range(10_000)]


def test_each_line_is_answered_before_the_next_is_asked(environment: dict[str, str]) -> None:
    with start(environment, "itn") as process:
        for _ in range(3):
            process.stdin.write("占百分之八十五\n".encode())
            process.stdin.flush()
            assert process.stdout.readline().decode() == "占85%\n"
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_a_reader_that_has_enough_is_no_complaint(environment: dict[str, str]) -> None:
    with start(environment, "itn") as process:
        process.stdin.write(b"a\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"a\n"
        process.stdout.close()
        process.stdin.write(b"b\nc\n")
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


def test_ctrl_c_ends_it_without_a_word(environment: dict[str, str]) -> None:
    with start(environment, "itn") as process:
        process.stdin.write(b"a\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"a\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == -signal.SIGINT
        assert process.stderr.read() == b""


def test_lines_are_punctuated(run: Run) -> None:
    given = "大家下午好今天的项目例会现在开始\n\n你觉得这个方案怎么样\r\n".encode()
    result = run("punctuate", given=given)
    assert (result.returncode, result.stderr) == (0, b"")
    first, empty, last = result.stdout.decode().removesuffix("\n").split("\n")
    assert (
        first.replace("，", "").replace("！", "").rstrip("。") == "大家下午好今天的项目例会现在开始"
    )
    assert (empty, last) == ("", "你觉得这个方案怎么样？")


def test_the_filter_is_the_product_punctuation(run: Run) -> None:
    from asr_core.text.punctuation.marks import punctuate_text
    from asr_core.text.punctuation.opening import open_punctuation

    lines = ["我们先看一下数据然后再讨论", "这件事情你怎么看我觉得可以", "HTML 和 CSS 都要学"]
    model = open_punctuation("tagger", threads=1)
    expected = [punctuate_text(model, line) for line in lines]
    result = run("punctuate", given="\n".join(lines).encode())
    assert result.stdout.decode().splitlines() == expected


def test_a_folder_of_funasr_punctuates_too(run: Run) -> None:
    folder = ROOT / "tests" / "golden" / "ct_transformer"
    lines = ["我们要好好学习" * 3, "", "天天向上"]
    result = run("punctuate", "--model", folder, given="\n".join(lines).encode())
    assert (result.returncode, result.stderr) == (0, b"")
    written = result.stdout.decode().splitlines()
    bare = [line.translate(dict.fromkeys(map(ord, "，。？、"))) for line in written]
    assert bare == lines
    assert written[0][-1] in "。？"


def test_a_folder_without_a_model_is_named(run: Run, tmp_path: Path) -> None:
    result = run("punctuate", "--model", tmp_path, given=b"a\n")
    assert (result.returncode, result.stdout) == (1, b"")
    assert str(tmp_path) in result.stderr.decode()
    assert b"Traceback" not in result.stderr
