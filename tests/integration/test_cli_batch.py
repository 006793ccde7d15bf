"""The command ``batch`` as scripts use it: a process of its own, the real model."""

from __future__ import annotations

import csv
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.integration.test_cli import Run, environment, run
from tests.material import ROOT
from tests.waiting import wait_until

__all__ = ["environment", "run"]

pytestmark = pytest.mark.model

RATE_HZ = 16_000

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def cuts(sample: Path) -> list[np.ndarray]:
    """Eight different pieces of two seconds."""
    speech, rate_hz = soundfile.read(sample, dtype="int16")
    assert rate_hz == RATE_HZ
    starts_s = (0.5, 2.5, 5.0, 7.0, 9.2, 11.3, 13.5, 18.4)
    return [speech[int(s * RATE_HZ) : int((s + 2) * RATE_HZ)] for s in starts_s]


@pytest.fixture
def source(tmp_path: Path, cuts: list[np.ndarray]) -> Path:
    folder = tmp_path / "录音"
    for number, cut in enumerate(cuts):
        path = folder / f"第{number % 3}周" / f"会议{number}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, cut, RATE_HZ)
    return folder


@pytest.fixture
def start(environment: dict[str, str]) -> Start:
    def begin(*arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "asr_core", "batch", *map(str, arguments)],
            cwd=ROOT,
            env=environment | {"ASR_WATCH_S": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    return begin


def texts(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.txt"))


def expected(source: Path) -> list[str]:
    return sorted(
        path.relative_to(source).with_suffix(".txt").as_posix() for path in source.rglob("*.wav")
    )


def query(home: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(home / "history.db")) as db:
        return db.execute(sql).fetchall()


def check_nothing_is_left_over(source: Path, home: Path) -> None:
    assert [path for top in (source, home) for path in top.rglob("*.part*")] == []
    assert query(home, "PRAGMA integrity_check") == [("ok",)]
    assert query(home, "SELECT count(*) FROM checkpoints") == [(0,)]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_a_folder_is_transcribed_and_then_skipped(run: Run, source: Path, tmp_path: Path) -> None:
    (source / "坏.wav").write_text("不是录音", encoding="utf-8")
    output = tmp_path / "out"
    first = run("batch", source, "--output", output, "--formats", "txt,srt")
    assert first.returncode == 1
    assert first.stdout == ""
    assert texts(output) == [name for name in expected(source) if name != "坏.txt"]
    assert all(text.with_suffix(".srt").is_file() for text in output.rglob("*.txt"))
    assert (output / "第0周" / "会议0.txt").read_text(encoding="utf-8-sig").startswith("同事下午好")
    assert "“坏.wav”不是音频或视频文件" in first.stderr
    assert "完成 8，失败 1" in first.stderr
    assert Counter(row["状态"] for row in rows(output / "summary.csv")) == {"完成": 8, "失败": 1}
    (source / "坏.wav").unlink()
    again = run("batch", source, "--output", output, "--formats", "txt,srt", ASR_LOCALE="en")
    assert again.returncode == 0
    assert "skipped 8" in again.stderr
    check_nothing_is_left_over(source, tmp_path / "home")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["{source}", "--formats", "txt,xlsx"], "choose from"),
        (["{source}", "--on-existing", "ask"], "invalid choice"),
        (["{source}/没有"], "没有"),
        (["{source}", "--raw", "x"], "s16le:16000:1"),
        (["{source}", "--model", "whisper-huge"], "whisper-huge"),
        ([], "DIR"),
    ],
)
def test_a_wrong_call_is_exit_code_2(
    call: Run, source: Path, arguments: list[str], told: str
) -> None:
    result = call("batch", *(argument.format(source=source) for argument in arguments))
    assert result.returncode == 2
    assert told in result.stderr
    assert not (source / "transcripts").exists()


def test_an_output_that_cannot_be_written_is_told_before_any_work(
    run: Run, source: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x", encoding="utf-8")
    result = run("batch", source, "--output", blocked)
    assert result.returncode == 1
    assert f"无法写入输出文件夹“{blocked}”" in result.stderr


def test_a_command_that_is_killed_again_and_again_finishes(
    start: Start, run: Run, source: Path, tmp_path: Path
) -> None:
    home, output = tmp_path / "home", source / "transcripts"
    moments: list[Callable[[], object]] = [
        lambda: (home / "history.db").is_file() and output.is_dir(),
        lambda: len(texts(output)) >= 1,
        lambda: len(texts(output)) >= 4,
    ]
    for moment in moments:
        process = start(source)
        wait_until(lambda moment=moment, process=process: moment() or process.poll() is not None)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    last = run("batch", source)
    assert last.returncode == 0, last.stderr
    assert texts(output) == expected(source)
    done = query(
        home,
        "SELECT r.name, count(*) FROM jobs j JOIN recordings r"
        " ON r.id = j.recording_id WHERE j.state = 'done' GROUP BY r.name",
    )
    assert dict(done) == {f"会议{number}.wav": 1 for number in range(8)}
    assert query(home, "SELECT state, count(*) FROM batches GROUP BY state") == [("done", 1)]
    assert query(home, "SELECT state, count(*) FROM jobs GROUP BY state") == [("done", 8)]
    assert [row["状态"] for row in rows(output / "summary.csv")] == ["完成"] * 8
    check_nothing_is_left_over(source, home)


def test_ctrl_c_stops_and_the_same_command_goes_on(
    start: Start, run: Run, source: Path, tmp_path: Path
) -> None:
    output = source / "transcripts"
    process = start(source)
    wait_until(lambda: texts(output) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "再次运行同样的命令即可继续" in told
    assert 0 < len(texts(output)) < 8
    last = run("batch", source)
    assert last.returncode == 0, last.stderr
    assert texts(output) == expected(source)
    assert query(tmp_path / "home", "SELECT count(*) FROM batches") == [(1,)]
    check_nothing_is_left_over(source, tmp_path / "home")


def test_two_commands_on_one_folder_are_one(start: Start, run: Run, source: Path) -> None:
    first = start(source, "--watch")
    wait_until(lambda: texts(source / "transcripts") or first.poll() is not None)
    second = run("batch", source)
    assert second.returncode == 1
    assert "另一个批量任务正在使用输出文件夹" in second.stderr
    wait_until(lambda: len(texts(source / "transcripts")) == 8 or first.poll() is not None)
    late = source / "新来的.wav"
    soundfile.write(late, np.zeros(RATE_HZ, np.int16), RATE_HZ)
    wait_until(lambda: len(texts(source / "transcripts")) == 9 or first.poll() is not None)
    first.send_signal(signal.SIGINT)
    _, told = first.communicate(timeout=120)
    assert "新来的.wav" in told
    assert len(texts(source / "transcripts")) == 9
    assert run("batch", source).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of its own that holds 32 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_output_folder_fails_files_and_a_new_call_writes_them(
    run: Run, source: Path, small_disk: Path
) -> None:
    full = run("batch", source, "--output", small_disk / "out", "--formats", "docx")
    assert full.returncode == 1
    assert "磁盘空间不足" in full.stderr
    written = len(list(small_disk.rglob("*.docx")))
    assert written < 8
    assert list(small_disk.rglob("*.part")) == []
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    again = run("batch", source, "--output", small_disk / "out", "--formats", "docx")
    assert again.returncode == 0, again.stderr
    assert len(list(small_disk.rglob("*.docx"))) == 8
    assert f"完成 {8 - written}" in again.stderr


def test_a_read_only_output_folder_is_refused(run: Run, source: Path, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    result = run("batch", source, "--output", small_disk)
    assert result.returncode == 1
    assert "无法写入输出文件夹" in result.stderr
