"""Peak memory above the loaded model while a long recording is transcribed, and its coverage.

    .venv/bin/python -m benchmarks.memory RECORDING [--minutes 30]

The recording is repeated until it is long enough.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
from pathlib import Path

import psutil
import soundfile

from asr_core.engine import Engine, TranscribeOptions
from asr_core.settings import Settings
from benchmarks.machine import describe_machine

MIB = 2**20


class PeakMemory:
    """Watches the resident memory of this process from a thread of its own."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        process = psutil.Process()
        while not self._stop.wait(0.05):
            self.peak_bytes = max(self.peak_bytes, process.memory_info().rss)


def repeat(recording: Path, minutes: float, target: Path) -> None:
    """Write the recording again and again until the target is long enough."""
    samples, rate_hz = soundfile.read(recording, dtype="int16", always_2d=True)
    written = 0
    with soundfile.SoundFile(target, "w", rate_hz, samples.shape[1], "PCM_16") as file:
        while written < minutes * 60 * rate_hz:
            file.write(samples)
            written += len(samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", type=Path)
    parser.add_argument("--minutes", type=float, default=30)
    arguments = parser.parse_args()
    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder:
        long = Path(folder) / "long.wav"
        repeat(arguments.recording, arguments.minutes, long)
        with Engine(Settings.from_env(os.environ | {"ASR_HOME": f"{folder}/home"})) as engine:
            engine.transcribe(arguments.recording, TranscribeOptions())
            loaded = psutil.Process().memory_info().rss
            with PeakMemory() as memory:
                transcript = engine.transcribe(long, TranscribeOptions())
    coverage = transcript.coverage
    print(f"recording {transcript.duration_ms / 60000:.1f} min, RTF {transcript.rtf:.3f}")
    print(
        f"loaded {loaded / MIB:.0f} MiB, peak {memory.peak_bytes / MIB:.0f} MiB, "
        f"above the loaded model {(memory.peak_bytes - loaded) / MIB:.0f} MiB"
    )
    print(
        f"speech {coverage.speech_ms / 1000:.1f} s, transcribed "
        f"{coverage.transcribed_ms / 1000:.1f} s, gaps {len(coverage.gaps)}, "
        f"last word ends at {transcript.sentences[-1].end_ms / 1000:.1f} s"
    )


if __name__ == "__main__":
    main()
