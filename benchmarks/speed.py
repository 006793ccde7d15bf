"""Whole application against faster-whisper's batched pipeline: same file, model, threads.

Both models stay loaded; the runs alternate, so a machine that slows down slows both. Ours decodes,
finds speech, recognizes with token times, normalizes numbers and writes the history. Theirs runs
with its defaults (language given), once without and once with word times.

    .venv/bin/python -m benchmarks.speed RECORDING [--rounds 3] [--threads 2]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from asr_core.engine import Engine, TranscribeOptions
from asr_core.models.catalog import WHISPER_BASE
from asr_core.models.store import ModelStore
from asr_core.settings import Settings
from benchmarks.machine import describe_machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.from_env(os.environ | {"ASR_HOME": folder}, threads=arguments.threads)
        models = ModelStore.of(settings)
        peer = load_peer(models.ensure(settings.model or WHISPER_BASE.name), arguments.threads)
        with Engine(settings) as engine:
            contestants = {
                "application": lambda: engine.transcribe(arguments.recording, TranscribeOptions()),
                "faster-whisper": lambda: peer(arguments.recording, word_timestamps=False),
                "faster-whisper, word times": lambda: peer(
                    arguments.recording, word_timestamps=True
                ),
            }
            times = {name: [] for name in contestants}
            for run in contestants.values():
                run()  # the first run loads and warms up
            for _ in range(arguments.rounds):
                for name, run in contestants.items():
                    started = time.perf_counter()
                    run()
                    times[name].append(time.perf_counter() - started)
    report(times, arguments)


def load_peer(folder: Path, threads: int):
    from faster_whisper import BatchedInferencePipeline, WhisperModel

    pipeline = BatchedInferencePipeline(
        WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)
    )

    def run(recording: Path, *, word_timestamps: bool) -> None:
        segments, _info = pipeline.transcribe(
            str(recording), language="zh", batch_size=8, word_timestamps=word_timestamps
        )
        for _segment in segments:
            pass

    return run


def report(times: dict[str, list[float]], arguments: argparse.Namespace) -> None:
    print(describe_machine())
    print(f"{arguments.recording.name}, {arguments.threads} threads, {arguments.rounds} rounds")
    for name, seconds in times.items():
        ratios = [ours / theirs for ours, theirs in zip(times["application"], seconds, strict=True)]
        print(
            f"{name:28s} median {statistics.median(seconds):7.2f} s  "
            f"(min {min(seconds):.2f}, max {max(seconds):.2f})  "
            f"application / this: median {statistics.median(ratios):.3f}"
        )


if __name__ == "__main__":
    main()
