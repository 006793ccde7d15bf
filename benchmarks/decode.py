"""A recording of ten hours: how fast it is decoded, and what memory that and segmenting take.

The recording is repeated until it is long enough, written piece by piece to the temporary folder
and deleted afterwards. Speed is that of decoding alone, to 16 kHz, in a process that may use one
core; memory is the largest resident memory of a process that decodes and segments. Targets: WAV
200 times and MP3 60 times as fast as it plays, memory under 400 MiB.

    .venv/bin/python -m benchmarks.decode RECORDING [--hours 10] [--formats wav,mp3] [--no-segments]

Exits with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import soundfile
import soxr

from asr_core.audio.decode import open_audio
from asr_core.audio.detector import open_detector
from benchmarks.machine import describe_machine

ROOT = Path(__file__).resolve().parents[1]
MIB = 2**20
MOST_MEMORY_BYTES = 400 * MIB


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of file and how many times faster than real time it is to be decoded."""

    title: str
    extension: str
    rate_hz: int
    channels: int
    least_speed: float


FORMS = {
    "wav": Form("WAV 16 kHz mono", "wav", 16_000, 1, 200),
    "wav44": Form("WAV 44.1 kHz stereo", "wav", 44_100, 2, 200),
    "mp3": Form("MP3 16 kHz mono 64 kb/s", "mp3", 16_000, 1, 60),
    "mp344": Form("MP3 44.1 kHz stereo 128 kb/s", "mp3", 44_100, 2, 60),
}


def write(form: Form, recording: Path, hours: float, path: Path) -> None:
    """The recording again and again until the file is long enough."""
    waveform, rate_hz = soundfile.read(recording, dtype="float32", always_2d=True)
    waveform = soxr.resample(waveform.mean(axis=1), rate_hz, form.rate_hz)
    samples = np.tile(waveform[:, None], (1, form.channels))
    times = round(hours * 3_600 * form.rate_hz / len(samples)) or 1
    if form.extension == "wav":
        with soundfile.SoundFile(path, "w", form.rate_hz, form.channels, "PCM_16") as file:
            for _ in range(times):
                file.write(samples)
        return
    # Frames of constant bit rate may follow each other in any order: one encoding serves for all.
    frames = _mp3_frames(samples, form.rate_hz)
    with path.open("wb") as file:
        for _ in range(times):
            file.write(frames)


def _mp3_frames(samples: np.ndarray, rate_hz: int) -> bytes:
    target = io.BytesIO()
    layout = "mono" if samples.shape[1] == 1 else "stereo"
    bare = {"write_xing": "0", "id3v2_version": "0"}
    with av.open(target, "w", format="mp3", options=bare) as output:
        stream = output.add_stream("libmp3lame", rate=rate_hz, layout=layout)
        stream.bit_rate = 64_000 * samples.shape[1]
        frame = av.AudioFrame.from_ndarray(
            np.ascontiguousarray(samples.T), format="fltp", layout=layout
        )
        frame.sample_rate = rate_hz
        output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return target.getvalue()


def decode(path: Path) -> dict:
    """Decode on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    started, started_cpu = time.perf_counter(), time.process_time()
    with open_audio(path) as source:
        samples = sum(len(block) for block in source.blocks())
    return {
        "audio_s": samples / 16_000,
        "wall_s": time.perf_counter() - started,
        "cpu_s": time.process_time() - started_cpu,
        "peak_bytes": _peak_bytes(),
    }


def segment(path: Path) -> dict:
    """Decode and find the speech."""
    detector = open_detector("silero")
    started = time.perf_counter()
    found = 0
    speech_samples = 0
    stream = detector.stream()
    with open_audio(path) as source:
        for block in source.blocks():
            for part in stream.accept(block):
                found += 1
                speech_samples += part.speech_end - part.speech_start
        for part in stream.finish():
            found += 1
            speech_samples += part.speech_end - part.speech_start
        audio_s = source.position_samples / 16_000
    detector.close()
    return {
        "audio_s": audio_s,
        "wall_s": time.perf_counter() - started,
        "segments": found,
        "speech_s": speech_samples / 16_000,
        "peak_bytes": _peak_bytes(),
    }


CHILDREN = {"decode": decode, "segment": segment}


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


def _in_child(task: str, path: Path) -> dict:
    command = [sys.executable, "-m", "benchmarks.decode", str(path), "--child", task]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def measure(form: Form, path: Path, *, with_segments: bool) -> bool:
    """Print the figures of one file; whether they reach the targets."""
    size_mb = path.stat().st_size / 1e6
    decoded = _in_child("decode", path)
    speed = decoded["audio_s"] / decoded["wall_s"]
    print(f"{form.title}, {decoded['audio_s'] / 3_600:.2f} h, {size_mb:.0f} MB")
    print(
        f"  decoding on one core: {speed:.0f} x real time (at least {form.least_speed:.0f}), "
        f"{decoded['audio_s'] / decoded['cpu_s']:.0f} x of processor time, "
        f"peak {decoded['peak_bytes'] / MIB:.0f} MiB"
    )
    peaks_bytes = [decoded["peak_bytes"]]
    if with_segments:
        found = _in_child("segment", path)
        peaks_bytes.append(found["peak_bytes"])
        print(
            f"  decoding and segments: {found['audio_s'] / found['wall_s']:.0f} x real time, "
            f"{found['segments']} segments, {found['speech_s'] / 3_600:.2f} h of speech, "
            f"peak {found['peak_bytes'] / MIB:.0f} MiB (under {MOST_MEMORY_BYTES / MIB:.0f})"
        )
    return speed >= form.least_speed and max(peaks_bytes) < MOST_MEMORY_BYTES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", type=Path)
    parser.add_argument("--hours", type=float, default=10)
    parser.add_argument("--formats", default=",".join(FORMS), help=f"of {', '.join(FORMS)}")
    parser.add_argument("--no-segments", action="store_true", help="speed alone")
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(CHILDREN[arguments.child](arguments.recording)))
        return 0
    print(describe_machine())
    reached = True
    for name in arguments.formats.split(","):
        form = FORMS[name]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"long.{form.extension}"
            write(form, arguments.recording, arguments.hours, path)
            reached &= measure(form, path, with_segments=not arguments.no_segments)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
