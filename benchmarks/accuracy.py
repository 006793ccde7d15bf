"""Character error rate of the application on a list of recordings.

The list is a tab-separated file with a header; ``file`` is relative to it.

    .venv/bin/python -m benchmarks.accuracy LIST.tsv [--column transcript] [--joined RECORDING]
        [--vad fsmn]

``--joined`` scores one recording against the rows of the list put together. ``fsmn`` takes its
model folder from ``ASR_FSMN_DIR``.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from pathlib import Path

from asr_core.engine import Engine, TranscribeOptions
from asr_core.settings import Settings
from asr_core.text.scoring import ErrorRate, cer
from benchmarks.machine import describe_machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", type=Path)
    parser.add_argument("--column", default="transcript")
    parser.add_argument("--joined", type=Path)
    parser.add_argument("--vad", choices=("silero", "fsmn", "off"))
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    with arguments.list.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    references = [(arguments.list.parent / row["file"], row[arguments.column]) for row in rows]
    if arguments.joined:
        references = [(arguments.joined, "".join(text for _, text in references))]
    print(describe_machine())
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine(Settings.from_env(os.environ | {"ASR_HOME": folder})) as engine,
    ):
        written, spoken, audio_ms, processing_ms = [], [], 0, 0
        for path, reference in references:
            transcript = engine.transcribe(path, TranscribeOptions(vad=arguments.vad))
            written.append(cer(reference, transcript.text))
            spoken.append(cer(reference, transcript.spoken_text))
            audio_ms += transcript.duration_ms
            processing_ms += transcript.processing_ms
            if arguments.verbose:
                print(f"{written[-1].rate:.3f} {path.name}\n  {reference}\n  {transcript.text}")
    print(f"{len(references)} recordings, {audio_ms / 1000:.0f} s")
    print(
        f"CER of the written text: {_total(written):.4f}, of the spoken text: {_total(spoken):.4f}"
    )
    print(f"RTF {processing_ms / audio_ms:.3f}")


def _total(rates: list[ErrorRate]) -> float:
    return sum(rate.errors for rate in rates) / sum(rate.reference_chars for rate in rates)


if __name__ == "__main__":
    main()
