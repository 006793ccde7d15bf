"""Memory of Paraformer over many recordings in a row: it ought to stay as it is after the first.

    .venv/bin/python -m benchmarks.paraformer_memory FOLDER [FOLDER ...] [--mindspore]
        [--recording FILE] [--recordings 200] [--after 20] [--threads 2] [--hotwords 60]

Each folder is opened as the application opens it, in a process of its own; with ``--mindspore``
by MindSpore. As there, freed memory is given back after each recording. A recording is one to
eight segments of 1 to 15 s of the sample, no two alike; the first one is as long as any. How much
a process holds after one recording depends on which blocks of the heap happen to be free, so what
is compared are the medians over as many recordings behind the first ones and at the end.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from pathlib import Path

import numpy as np
import psutil

from asr_core.audio.segmenter import Segment
from asr_core.models.funasr_folder import open_folder
from asr_core.recognizers.base import RecognizeOptions
from asr_core.recognizers.paraformer import ParaformerRecognizer
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.memory import give_back_memory
from asr_core.runtime.session import Float32
from benchmarks.machine import describe_machine
from benchmarks.paraformer import SAMPLE, cut, hotwords

MIB = 2**20
MOST_SEGMENTS = 8
SHORTEST_S, LONGEST_S = 1.0, 15.0
ALLOWED = 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--mindspore", action="store_true")
    parser.add_argument("--recording", type=Path, default=SAMPLE)
    parser.add_argument("--recordings", type=int, default=200)
    parser.add_argument("--after", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--hotwords", type=int, default=60)
    arguments = parser.parse_args()
    print(describe_machine())
    context = multiprocessing.get_context("spawn")
    grown = []
    for folder in arguments.folders:
        with context.Pool(1) as pool:
            grown.append(pool.apply(measure, (folder, arguments)))
    if max(grown) > ALLOWED:
        raise SystemExit(f"memory grew by more than {ALLOWED:.0%}")


def measure(folder: Path, arguments: argparse.Namespace) -> float:
    """How much memory grew, as a share."""
    speech = np.concatenate(cut(arguments.recording, 20))
    words = hotwords(open_folder(folder, name=folder.name, graphs=False), arguments.hotwords)
    recognizer = ParaformerRecognizer(
        folder,
        name=folder.name,
        threads=arguments.threads,
        batch_segments=MOST_SEGMENTS,
        runtime="mindspore" if arguments.mindspore else "auto",
    )
    options = RecognizeOptions(hotwords=words if recognizer.supports_hotwords else ())
    rng = np.random.default_rng(0)
    start, after = time.perf_counter(), arguments.after
    recognizer.recognize([segment(speech, 0, LONGEST_S)] * MOST_SEGMENTS, options)
    held = []
    for _ in range(1, arguments.recordings):
        recognizer.recognize(segments(speech, rng), options)
        give_back_memory()
        held.append(resident_mib())
    first = statistics.median(held[after - 1 : 2 * after - 1])
    last = statistics.median(held[-after:])
    grown = last / first - 1
    print(
        f"{folder.name}, {recognizer.info.backend}: {first:.1f} MiB over {after} recordings after "
        f"the first {after}, {last:.1f} MiB over the last {after} of {arguments.recordings}: "
        f"{grown:+.1%}, {min(held[after - 1 :]):.1f} to {max(held[after - 1 :]):.1f} MiB; "
        f"{time.perf_counter() - start:.0f} s",
        flush=True,
    )
    recognizer.close()
    return grown


def segments(speech: Float32, rng: np.random.Generator) -> list[Segment]:
    """Some stretches of the speech, each as a segment."""
    lengths_s = rng.uniform(SHORTEST_S, LONGEST_S, rng.integers(1, MOST_SEGMENTS + 1))
    last = len(speech) - int(LONGEST_S * SAMPLE_RATE_HZ)
    return [segment(speech, int(rng.integers(0, last)), length_s) for length_s in lengths_s]


def segment(speech: Float32, start: int, length_s: float) -> Segment:
    end = start + int(length_s * SAMPLE_RATE_HZ)
    return Segment(start, end, start, end, speech[start:end])


def resident_mib() -> float:
    return float(psutil.Process().memory_info().rss / MIB)


if __name__ == "__main__":
    main()
