"""Filters: one line in, one line out, at once."""

from __future__ import annotations

import io
import os
import threading

import pytest

from asr_core.cli.filters import run_filter
from asr_core.errors import NormalizationError


def filtered(content: bytes, change=str.upper) -> bytes:
    target = io.BytesIO()
    run_filter(change, io.BytesIO(content), target, "zh-CN")
    return target.getvalue()


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (b"", b""),
        (b"a\n", b"A\n"),
        (b"a\nb", b"A\nB\n"),
        (b"a\r\nb\r\n", b"A\nB\n"),
        (b"\n\r\n  \na\n", b"\n\n  \nA\n"),
        ("好a\n".encode(), "好A\n".encode()),
        (b"a\xffb\n", "A\ufffdB\n".encode()),
        (b"a\x00b\n", b"A\x00B\n"),
    ],
)
def test_lines(given: bytes, written: bytes) -> None:
    assert filtered(given) == written


def test_empty_lines_are_not_given_to_the_engine() -> None:
    seen = []
    filtered(b"a\n\n \r\nb\n", lambda line: seen.append(line) or line)
    assert seen == ["a", "b"]


def test_a_line_that_fails_stays_and_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    def change(line: str) -> str:
        if line == "b":
            raise NormalizationError("no", reason="坏了")
        return line.upper()

    target = io.BytesIO()
    failed = run_filter(change, io.BytesIO(b"a\nb\nc\n"), target, "zh-CN")
    assert (failed, target.getvalue()) == (1, b"A\nb\nC\n")
    assert capsys.readouterr().err.startswith("2: ")


def test_each_answer_comes_before_the_next_question() -> None:
    questions_out, questions_in = os.pipe()
    answers_out, answers_in = os.pipe()
    with (
        os.fdopen(questions_out, "rb") as source,
        os.fdopen(answers_in, "wb") as target,
        os.fdopen(questions_in, "wb", buffering=0) as ask,
        os.fdopen(answers_out, "rb") as answers,
    ):
        thread = threading.Thread(target=run_filter, args=(str.upper, source, target, "zh-CN"))
        thread.start()
        for word in (b"a", b"b", b"c"):
            ask.write(word + b"\n")
            assert answers.readline() == word.upper() + b"\n"
        ask.close()
        thread.join()
