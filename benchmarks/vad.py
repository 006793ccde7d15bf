"""Real-time factor of the speech detectors, one thread each, in alternating rounds.

Ours are timed as the application uses them: waveform in blocks of 10 s in, segments out. With the
Python of an environment that has funasr-onnx, its ``Fsmn_vad`` runs on the same waveform and model
folder, the whole recording at once, in a process of its own; that both find the same is checked.

    .venv/bin/python -m benchmarks.vad RECORDING --fsmn-folder FOLDER
        [--reference-python PATH] [--rounds 5] [--repeat 1]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from asr_core.audio.decode import open_audio
from asr_core.audio.detector import Detector, open_detector
from asr_core.audio.fsmn_vad import load_fsmn_vad
from asr_core.results import SAMPLE_RATE_HZ
from benchmarks.machine import describe_machine

BLOCK_SAMPLES = 10 * SAMPLE_RATE_HZ

REFERENCE = """
import json, sys, time
import numpy as np
from funasr_onnx import Fsmn_vad

waveform, model = np.load(sys.argv[1]), Fsmn_vad(sys.argv[2], intra_op_num_threads=1)
for _ in sys.stdin:
    wall, cpu = time.perf_counter(), time.process_time()
    intervals = model(waveform)[0]
    times = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps([*times, intervals]), flush=True)
"""


@dataclass(frozen=True)
class Run:
    wall_s: float
    cpu_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", type=Path)
    parser.add_argument("--fsmn-folder", type=Path, required=True)
    parser.add_argument("--reference-python", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=1, help="the recording so many times over")
    arguments = parser.parse_args()
    with open_audio(arguments.recording) as source:
        waveform = np.tile(np.concatenate(list(source.blocks())), arguments.repeat)
    detectors = {
        "fsmn": open_detector("fsmn", fsmn_folder=arguments.fsmn_folder),
        "silero": open_detector("silero"),
    }
    contestants: dict[str, Callable[[], Run]] = {
        name: lambda detector=detector: run(detector, waveform)
        for name, detector in detectors.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        reference = None
        if arguments.reference_python:
            np.save(f"{folder}/waveform.npy", waveform)
            reference = Reference(arguments, Path(folder) / "waveform.npy")
            contestants["funasr-onnx"] = reference.run
        times = compete(contestants, arguments.rounds)
        if reference:
            reference.close()
    report(times, len(waveform) / SAMPLE_RATE_HZ, arguments)
    if reference:
        print(f"the same intervals: {reference.intervals == intervals_ms(arguments, waveform)}")


def compete(contestants: dict[str, Callable[[], Run]], rounds: int) -> dict[str, list[Run]]:
    times: dict[str, list[Run]] = {name: [] for name in contestants}
    for run_once in contestants.values():
        run_once()  # warms up
    for _ in range(rounds):
        for name, run_once in contestants.items():
            times[name].append(run_once())
    return times


def run(detector: Detector, waveform: np.ndarray) -> Run:
    wall, cpu = time.perf_counter(), time.process_time()
    stream = detector.stream()
    for start in range(0, len(waveform), BLOCK_SAMPLES):
        stream.accept(waveform[start : start + BLOCK_SAMPLES])
    stream.finish()
    return Run(time.perf_counter() - wall, time.process_time() - cpu)


class Reference:
    """funasr-onnx in a process of its own, loaded once."""

    def __init__(self, arguments: argparse.Namespace, waveform: Path) -> None:
        self.intervals: list[list[int]] = []
        command = [arguments.reference_python, "-c", REFERENCE, waveform, arguments.fsmn_folder]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def run(self) -> Run:
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        while (line := self._process.stdout.readline()) and not line.startswith("["):
            continue  # it prints remarks of its own
        if not line:
            raise SystemExit("the reference has ended; its message is above")
        wall_s, cpu_s, self.intervals = json.loads(line)
        return Run(wall_s, cpu_s)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def intervals_ms(arguments: argparse.Namespace, waveform: np.ndarray) -> list[list[int]]:
    stream = load_fsmn_vad(arguments.fsmn_folder).stream()
    found = stream.accept(waveform) + stream.finish()
    return [[start * 1000 // SAMPLE_RATE_HZ, end * 1000 // SAMPLE_RATE_HZ] for start, end in found]


def report(times: dict[str, list[Run]], audio_s: float, arguments: argparse.Namespace) -> None:
    print(describe_machine())
    print(f"{arguments.recording.name}, {audio_s:.0f} s, 1 thread each, {arguments.rounds} rounds")
    for name, runs in times.items():
        rtf_cpu = statistics.median(run.cpu_s for run in runs) / audio_s
        rtf_wall = statistics.median(run.wall_s for run in runs) / audio_s
        ratios = [
            ours.cpu_s / theirs.cpu_s for ours, theirs in zip(times["fsmn"], runs, strict=True)
        ]
        print(
            f"{name:12s} RTF by CPU time {rtf_cpu:.5f}, by wall time {rtf_wall:.5f}; "
            f"fsmn / this, CPU: median {statistics.median(ratios):.3f} "
            f"({min(ratios):.3f} to {max(ratios):.3f})"
        )


if __name__ == "__main__":
    main()
