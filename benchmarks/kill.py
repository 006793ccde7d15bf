"""A batch whose process is killed again and again, with SIGKILL, at random moments.

    .venv/bin/python -m benchmarks.kill RECORDING [--mode server|command] [--files 40] [--kills 30]

The recording is cut into files of 12 to 30 s in a tree of folders. ``server`` kills ``app.py`` and
starts it again, ``command`` does so with ``asr_core batch``. Afterwards every file must have ended
done exactly once, with the text of an undisturbed run, the database must be whole, and no temporary
file may be left. Exit code 1 when anything of this is not so.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import soundfile

from asr_core.engine import Engine
from asr_core.jobs.batch_model import BatchState, ItemState
from asr_core.settings import Settings
from benchmarks.machine import describe_machine

ROOT = Path(__file__).resolve().parents[1]
LOOK_S = 0.2
MOST_S = 3600.0


def cut(recording: Path, count: int, folder: Path, seed: int) -> None:
    """Files of different lengths from different places, in folders."""
    chance = random.Random(seed)  # noqa: S311 - lengths of a test
    samples, rate_hz = soundfile.read(recording, dtype="int16")
    for number in range(count):
        length = int(chance.uniform(12, 30) * rate_hz)
        start = chance.randrange(max(len(samples) - length, 1))
        path = folder / f"第{number % 4}组" / f"录音 {number:02d}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        piece = np.resize(samples[start : start + length], length)
        soundfile.write(path, piece, rate_hz)


def environment(home: Path, source: Path) -> dict[str, str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return os.environ | {
        "ASR_HOME": str(home),
        "ASR_BATCH_ROOTS": str(source.parent),
        "ASR_PORT": str(port),
        "ASR_LOG_LEVEL": "WARNING",
    }


def begin(home: Path, source: Path) -> None:
    """Ask for the batch as the page does, in a process that ends; the server goes on with it."""
    program = (
        "import os, sys; from pathlib import Path;"
        "from asr_core.engine import Engine, TranscribeOptions;"
        "from asr_core.jobs.batch_model import BatchRequest;"
        "from asr_core.settings import Settings;"
        "engine = Engine(Settings.from_env(os.environ));"
        "engine.start_batch(BatchRequest(TranscribeOptions(), source=Path(sys.argv[1])));"
        "engine.close()"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(source)],
        cwd=ROOT,
        env=environment(home, source),
        check=True,
    )


def command(mode: str, source: Path) -> list[str]:
    if mode == "server":
        return [sys.executable, "app.py"]
    return [sys.executable, "-m", "asr_core", "batch", str(source)]


def start(mode: str, home: Path, source: Path, log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            command(mode, source),
            cwd=ROOT,
            env=environment(home, source),
            stdout=output,
            stderr=output,
        )


def is_done(home: Path) -> bool:
    """Whether the batch of that data folder has ended, read beside the running process."""
    path = home / "history.db"
    if not path.is_file():
        return False
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        try:
            states = [state for (state,) in db.execute("SELECT state FROM batches")]
        except sqlite3.OperationalError:
            return False
    return bool(states) and all(state == BatchState.DONE.value for state in states)


def run_to_end(mode: str, home: Path, source: Path, log: Path) -> None:
    process = start(mode, home, source, log)
    deadline = time.monotonic() + MOST_S
    while process.poll() is None and not is_done(home) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    if mode == "server":
        process.send_signal(signal.SIGTERM)
    if process.wait(timeout=60) != 0 and mode == "command":
        print(f"the command ended with {process.returncode}")


def kill_again_and_again(
    mode: str, home: Path, source: Path, log: Path, kills: int, chance: random.Random
) -> int:
    for number in range(kills):
        if is_done(home):
            return number
        process = start(mode, home, source, log)
        time.sleep(chance.uniform(0.3, 9.0))
        process.kill()
        process.wait()
    return kills


def texts(home: Path) -> dict[str, list[object]]:
    """Sentences of every file by its name."""
    with Engine(Settings.from_env(os.environ | {"ASR_HOME": str(home)})) as engine:
        batch = engine.batches()[0]
        items = engine.batch_items(batch.id)
        return {
            item.path: [s.tokens for s in transcript.sentences]
            for item in items
            if (transcript := engine.record(item.recording_id).transcript) is not None
        }


def faults(home: Path, source: Path, expected: dict[str, list[object]]) -> list[str]:
    found = []
    with Engine(Settings.from_env(os.environ | {"ASR_HOME": str(home)})) as engine:
        batch = engine.batches()[0]
        states = Counter(item.state for item in engine.batch_items(batch.id))
    if states != {ItemState.DONE: len(expected)}:
        found.append(f"states {states}")
    seen = texts(home)
    found += [f"text of {name} differs" for name in expected if seen.get(name) != expected[name]]
    with closing(sqlite3.connect(home / "history.db")) as db:
        if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            found.append("the database is damaged")
        for table in ("recordings", "transcripts"):
            (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
            if count != len(expected):
                found.append(f"{count} {table}")
    folders = [home, source]
    parts = [path for folder in folders for path in folder.rglob("*.part")]
    found += [f"left behind: {path}" for path in parts]
    results = sorted(path.name for path in (source / "transcripts").rglob("*.txt"))
    if len(results) != len(expected):
        found.append(f"{len(results)} results")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", type=Path)
    parser.add_argument("--mode", choices=("server", "command"), default="server")
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)  # noqa: S311 - moments of a test
    print(describe_machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log"
        for kind in ("whole", "killed"):
            cut(arguments.recording, arguments.files, folder / kind, arguments.seed)
        run_to_end("command", folder / "home-whole", folder / "whole", log)
        expected = texts(folder / "home-whole")
        home, source = folder / "home-killed", folder / "killed"
        if arguments.mode == "server":
            begin(home, source)
        kills = kill_again_and_again(arguments.mode, home, source, log, arguments.kills, chance)
        run_to_end(arguments.mode, home, source, log)
        found = faults(home, source, expected)
        if found:
            print(log.read_text(encoding="utf-8", errors="replace")[-3000:])
    print(f"{arguments.mode}: {len(expected)} files, killed {kills} times")
    print("\n".join(found) or "every file done once, texts equal, database whole, nothing left")
    return int(bool(found) or len(expected) != arguments.files)


if __name__ == "__main__":
    raise SystemExit(main())
