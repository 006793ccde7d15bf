"""What the queue of jobs adds to the bare engine, over many short recordings.

    .venv/bin/python -m benchmarks.queue RECORDING [--files 500] [--seconds 4]

The recording is cut into short ones, which go through the queue (hash, copy, job, checkpoint,
transcript and search index in the database) and, one by one, through the bare engine (the same
without queue and database), in alternating rounds. Prints both times and their ratio, by wall clock
and by processor time.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import soundfile

from asr_core.engine import Engine, TranscribeOptions
from asr_core.settings import Settings
from benchmarks.machine import describe_machine

LOOK_S = 0.02


def cut(recording: Path, count: int, seconds: float, folder: Path) -> list[Path]:
    """Short recordings from all over a longer one, no two alike."""
    samples, rate_hz = soundfile.read(recording, dtype="int16")
    length = int(seconds * rate_hz)
    step = max((len(samples) - length) // count, 1)
    paths = []
    for number in range(count):
        path = folder / f"{number:04d}.wav"
        soundfile.write(path, samples[number * step : number * step + length], rate_hz)
        paths.append(path)
    return paths


def through_queue(engine: Engine, paths: Sequence[Path]) -> None:
    jobs = [engine.submit(path, TranscribeOptions()) for path in paths]
    while engine.active_jobs():
        threading.Event().wait(LOOK_S)
    texts = [engine.record(job.recording_id).transcript for job in jobs]
    if None in texts:
        raise SystemExit("not every recording was transcribed")


def through_engine(engine: Engine, paths: Sequence[Path]) -> None:
    for path in paths:
        engine.recognize(path, TranscribeOptions())


def timed(work: Callable[[], None]) -> tuple[float, float]:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", type=Path)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print(describe_machine())
    queue = engine_only = (0.0, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        paths = cut(arguments.recording, arguments.files, arguments.seconds, Path(folder))
        home = {"ASR_HOME": f"{folder}/home"}
        with Engine(Settings.from_env(os.environ | home)) as engine:
            engine.start()
            through_engine(engine, paths[:2])  # loads the model
            for number in range(arguments.rounds):
                part = paths[number :: arguments.rounds]
                for name, work in (("queue", through_queue), ("engine", through_engine)):
                    wall, processor = timed(lambda work=work, part=part: work(engine, part))
                    print(f"{name} {len(part)} files: {wall:.1f} s, processor {processor:.1f} s")
                    if name == "queue":
                        queue = (queue[0] + wall, queue[1] + processor)
                    else:
                        engine_only = (engine_only[0] + wall, engine_only[1] + processor)
    print(
        f"{arguments.files} files of {arguments.seconds:g} s: queue {queue[0]:.1f} s, "
        f"bare engine {engine_only[0]:.1f} s, ratio {queue[0] / engine_only[0]:.3f} "
        f"(processor time {queue[1] / engine_only[1]:.3f})"
    )


if __name__ == "__main__":
    main()
