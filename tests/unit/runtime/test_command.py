"""Commands of the system: what they do never stops the one who asked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from asr_core.runtime.command import Answer, run_command

PLENTY_S = 60.0


def test_its_output_is_the_answer() -> None:
    assert run_command(["printf", "好"], PLENTY_S) == Answer("done", "好")


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program", encoding="utf-8")
    assert run_command([str(tmp_path / "none")]).state == "absent"
    assert run_command([str(plain)]).state == "absent"


def test_a_command_that_fails_says_why() -> None:
    answer = run_command(["sh", "-c", "echo out; echo why >&2; exit 3"], PLENTY_S)
    assert answer == Answer("failed", "out\nwhy\n")


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert run_command(["printf", r"\377"], PLENTY_S) == Answer("done", "\ufffd")


def test_it_speaks_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setenv("KEPT", "yes")
    assert run_command(["sh", "-c", "echo $LC_ALL $LANG $KEPT"], PLENTY_S).text == "C C yes\n"


def test_a_command_that_hangs_is_given_up_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    script = f"sleep 600 & echo $$ $! > {note}; trap '' TERM; wait"
    assert run_command(["sh", "-c", script], 1.0) == Answer("timeout")
    for pid in note.read_text(encoding="utf-8").split():
        # A child of a killed shell belongs to init now, and may be a zombie for a moment.
        status = Path(f"/proc/{pid}/stat")
        assert not status.exists() or status.read_text(encoding="utf-8").split()[2] in "ZX"


def test_it_reads_nothing_from_our_input() -> None:
    code = "import sys; print(repr(sys.stdin.read()))"
    assert run_command([sys.executable, "-c", code], PLENTY_S).text == "''\n"


def test_our_own_input_stays_open() -> None:
    run_command(["true"], PLENTY_S)
    assert os.fstat(0)
