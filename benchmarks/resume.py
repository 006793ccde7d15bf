"""A long recording whose process is killed half-way: what is recognized twice, what differs.

    .venv/bin/python -m benchmarks.resume RECORDING [--minutes 180] [--pause 0] [--kill-at 0.5]

The recording is repeated until it is long enough, with silence in between if asked for, then
transcribed twice: once undisturbed, once by a process that is killed with SIGKILL and started
again. Prints the segments that the recognizer saw in both, whether the transcripts are equal, and
how far the estimate of the remaining time was off after the first tenth. Exit code 1 when a segment
was seen twice or the transcripts differ.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from asr_core.audio.segmenter import Segment
from asr_core.engine import Engine, Job, TranscribeOptions
from asr_core.recognizers.base import RecognizeOptions
from asr_core.results import Transcript, Utterance
from asr_core.settings import Settings
from asr_core.transcription.scheduler import RecognizerWorker
from benchmarks.machine import describe_machine
from benchmarks.memory import repeat

LOOK_S = 0.2
TOLD_AFTER = 0.1  # of the recording


@dataclass(frozen=True, slots=True)
class Look:
    """What a page would have been told."""

    elapsed_s: float
    done_ms: int
    remaining_ms: int | None


def serve(home: Path, recording: Path, log: Path) -> None:
    """The child: transcribe the recording, or go on with it; every segment goes into the log."""
    recognize = RecognizerWorker.recognize

    def noting(
        self: RecognizerWorker, segments: Sequence[Segment], options: RecognizeOptions
    ) -> list[Utterance]:
        utterances = recognize(self, segments, options)
        with log.open("a", encoding="utf-8") as file:
            file.writelines(f"{segment.start} {segment.end}\n" for segment in segments)
        return utterances

    RecognizerWorker.recognize = noting  # type: ignore[method-assign]
    with Engine(Settings.from_env(os.environ | {"ASR_HOME": str(home)})) as engine:
        if not engine.history().total:
            engine.submit(recording, TranscribeOptions())
        engine.start()
        recording_id = engine.history().entries[0].id
        started = time.monotonic()
        last = -1
        while not (job := engine.record(recording_id).job).state.is_final:
            last = _tell(engine, job, started, last)
            threading.Event().wait(LOOK_S)
        end = [time.monotonic() - started, job.duration_ms, 0]
        print(json.dumps(end), flush=True)


def _tell(engine: Engine, job: Job, started: float, last: int) -> int:
    progress = engine.live(job.id).progress
    if progress is None or progress.done_ms == last:
        return last
    look = [time.monotonic() - started, progress.done_ms, progress.remaining_ms]
    print(json.dumps(look), flush=True)
    return progress.done_ms


def run(home: Path, recording: Path, log: Path, kill_at_ms: float | None) -> list[Look]:
    """One child process; killed when it has come so far."""
    command = [sys.executable, "-m", "benchmarks.resume", "--child", home, log, recording]
    looks = []
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            looks.append(Look(*json.loads(line)))
            if kill_at_ms is not None and looks[-1].done_ms >= kill_at_ms:
                child.send_signal(signal.SIGKILL)
                break
    return looks


def transcript_of(home: Path) -> Transcript:
    with Engine(Settings.from_env(os.environ | {"ASR_HOME": str(home)})) as engine:
        transcript = engine.record(engine.history().entries[0].id).transcript
    if transcript is None:
        raise SystemExit("the recording was not transcribed")
    return transcript


def report_estimates(looks: Sequence[Look], total_ms: int) -> None:
    """How far the estimates were off, as parts of the time that was really left.

    The last look is the end of the job.
    """
    end_s = looks[-1].elapsed_s
    errors = [
        abs(look.remaining_ms / 1000 - (end_s - look.elapsed_s)) / (end_s - look.elapsed_s)
        for look in looks[:-1]
        if look.remaining_ms is not None and TOLD_AFTER <= look.done_ms / total_ms < 0.95
    ]
    errors.sort()
    print(
        f"estimates of the remaining time after the first tenth: {len(errors)}, "
        f"median {errors[len(errors) // 2]:.1%} off, worst {errors[-1]:.1%}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", type=Path)
    parser.add_argument("--minutes", type=float, default=180)
    parser.add_argument("--pause", type=float, default=0, help="seconds of silence in between")
    parser.add_argument("--kill-at", type=float, default=0.5)
    parser.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        serve(arguments.child[0], arguments.recording, arguments.child[1])
        return 0
    print(describe_machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        long = folder / "long.wav"
        paused = folder / "paused.wav"
        samples, rate_hz = soundfile.read(arguments.recording, dtype="int16")
        silence = np.zeros(int(arguments.pause * rate_hz), np.int16)
        soundfile.write(paused, np.concatenate([samples, silence]), rate_hz)
        repeat(paused, arguments.minutes, long)
        looks = run(folder / "whole", long, folder / "whole.log", None)
        whole = transcript_of(folder / "whole")
        report_estimates(looks, whole.duration_ms)
        kill_at_ms = arguments.kill_at * whole.duration_ms
        run(folder / "killed", long, folder / "killed.log", kill_at_ms)
        before = (folder / "killed.log").read_text().splitlines()
        resumed_looks = run(folder / "killed", long, folder / "killed.log", None)
        resumed = transcript_of(folder / "killed")
        seen = (folder / "killed.log").read_text().splitlines()
        expected = (folder / "whole.log").read_text().splitlines()
    report_estimates(resumed_looks, whole.duration_ms)
    twice = len(seen) - len(set(seen))
    lost = len(set(expected) - set(seen))
    same = (resumed.sentences, resumed.coverage) == (whole.sentences, whole.coverage)
    print(f"recording {whole.duration_ms / 60000:.1f} min, {len(expected)} segments")
    print(f"killed after {len(before)} segments, {len(seen) - len(before)} afterwards")
    print(f"seen twice {twice}, never seen {lost}, transcripts equal: {same}")
    return int(bool(twice or lost or not same))


if __name__ == "__main__":
    raise SystemExit(main())
