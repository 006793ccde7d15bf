"""Broken recordings of every format against the decoder: no crash, no hang, no leak.

Small real files of all formats are broken by mutations that a seed repeats. Worker processes
decode them, so that a crash is seen and charged to its file. A file fails when decoding raises
anything but ``AudioDecodeError``, breaks a promise of ``AudioSource``, takes more than five
seconds of processor time, leaves a file, a thread or a descriptor behind, writes to standard
error, or needs more memory than a recording may.

    .venv/bin/python -m benchmarks.fuzz [--files 20000] [--seconds 1800] [--seed 1] [--workers 2]
                                        [--keep FOLDER] [--only NUMBER] [--forms silk]

Failing inputs are kept in the folder. Exits with 1 when there are any. Damage to the heap shows
later than where it happens; glibc finds it sooner with these in the environment:
``LD_PRELOAD=libc_malloc_debug.so.0 GLIBC_TUNABLES=glibc.malloc.check=3``.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import psutil

from asr_core.audio.decode import DecodeOptions, open_audio
from asr_core.errors import AudioDecodeError
from benchmarks.machine import describe_machine
from benchmarks.mutations import mutate
from tests.unit.audio.encoders import speech
from tests.unit.audio.matrix import FORMS, SNDFILE_OGG

ROOT = Path(__file__).resolve().parents[1]
MIB = 2**20
LONGEST_CPU_S = 5.0
LONGEST_WALL_S = 60.0  # of a machine that does something else besides
MOST_MEMORY_BYTES = 400 * MIB
MAX_DURATION_S = 900.0
SEED_S = 0.4

WARNINGS = {"narrowband", "truncated", "extension", "tracks", "too_long", "channels_alike"}


@dataclass(slots=True)
class Report:
    """What a run found.

    Attributes:
        outcomes: how many files ended how: ``decoded`` or the reason of the refusal.
        failures: ``(number of the file, what went wrong)``.
        slowest_s: processor time of the slowest file.
        peak_bytes: largest resident memory of a worker.
    """

    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest_s: float = 0.0
    slowest: int = -1
    peak_bytes: int = 0
    elapsed_s: float = 0.0

    @property
    def files(self) -> int:
        return sum(self.outcomes.values())


class Corpus:
    """The intact files, and the broken ones by number.

    Args:
        seed: of every random choice.
        forms: part of the names of the forms to break; empty for all.
    """

    def __init__(self, seed: int, forms: str = "") -> None:
        self._seed = seed
        self._files = []
        # libsndfile gives each Ogg stream a random number.
        named = [form for name, form in FORMS.items() if name not in SNDFILE_OGG and forms in name]
        for index, form in enumerate(named):
            combinations = form.combinations()
            rate_hz, channels = combinations[index % len(combinations)]
            content = form.encode(speech(rate_hz, channels, SEED_S), rate_hz).content
            self._files.append((form.extension, content))

    def broken(self, number: int) -> tuple[str, bytes]:
        """Extension and content of one broken file."""
        random = np.random.default_rng([self._seed, number])
        extension, content = self._files[number % len(self._files)]
        _, other = self._files[random.integers(len(self._files))]
        return extension, mutate(random, content, other)


def run(
    files: int,
    *,
    seed: int,
    seconds: float,
    workers: int = 1,
    keep: Path | None = None,
    forms: str = "",
) -> Report:
    """Decode broken files until they or the seconds run out."""
    report = Report()
    started = time.monotonic()
    numbers = iter(range(files))
    crew = [_Worker(seed, forms) for _ in range(workers)]
    try:
        while any(worker.is_alive for worker in crew):
            in_time = time.monotonic() - started < seconds
            for worker in crew:
                _serve(worker, numbers if in_time else iter(()), report)
            _wait(crew)
    finally:
        for worker in crew:
            worker.close()
    report.elapsed_s = time.monotonic() - started
    if keep is not None and report.failures:
        _keep(report, seed, forms, keep)
    return report


def _serve(worker: _Worker, numbers: Iterator[int], report: Report) -> None:
    """Take in what a worker has found and give it the next file."""
    for answer in worker.answers():
        report.outcomes[answer["outcome"]] += 1
        report.peak_bytes = max(report.peak_bytes, answer["peak_bytes"])
        if answer["seconds"] > report.slowest_s:
            report.slowest_s, report.slowest = answer["seconds"], answer["number"]
        report.failures += [(answer["number"], fault) for fault in answer["faults"]]
    fault = worker.fault()
    if fault:
        report.outcomes["failed"] += 1
        report.failures.append((worker.number, fault))
        worker.restart()
    if worker.is_idle:
        worker.give(next(numbers, None))


def _wait(crew: list[_Worker]) -> None:
    with selectors.DefaultSelector() as selector:
        for worker in crew:
            if worker.is_alive:
                selector.register(worker.output, selectors.EVENT_READ)
        selector.select(0.5)


class _Worker:
    """One process that decodes the files whose numbers it is given."""

    def __init__(self, seed: int, forms: str) -> None:
        self._choices = ["--seed", str(seed), "--forms", forms]
        self.restart()

    def restart(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fuzz", "--worker", *self._choices],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        self.output = self._process.stdout
        os.set_blocking(self.output.fileno(), False)
        self._rest = b""
        self.number = -1
        self.is_idle = False
        self.is_alive = True

    def answers(self) -> list[dict]:
        """What it has said since; the first line says that it is ready."""
        *lines, self._rest = (self._rest + (self.output.read() or b"")).split(b"\n")
        if lines:
            self.is_idle = True
        return [json.loads(line) for line in lines if line != b"ready"]

    def give(self, number: int | None) -> None:
        """Hand over the next file; None ends the worker."""
        self.is_idle = False
        if number is None:
            self.close()
            return
        self.number = number
        self._given = time.monotonic()
        self._cpu_s = self._used_s()
        self._process.stdin.write(b"%d\n" % number)
        self._process.stdin.flush()

    def fault(self) -> str:
        """Why it has to be replaced; empty while all is well."""
        if self.is_idle or not self.is_alive:
            return ""
        code = self._process.poll()
        if code is not None:
            self.close()
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return f"the process died: {name}"
        if self.number >= 0:
            used_s = self._used_s() - self._cpu_s
            waited_s = time.monotonic() - self._given
            if used_s > LONGEST_CPU_S or waited_s > LONGEST_WALL_S:
                self.close()
                return f"hung: {used_s:.1f} s of processor time, {waited_s:.1f} s in all"
        return ""

    def close(self) -> None:
        if self.is_alive:
            self.is_alive = False
            self._process.kill()
            self._process.communicate()

    def _used_s(self) -> float:
        times = psutil.Process(self._process.pid).cpu_times()
        return times.user + times.system


def work(seed: int, forms: str) -> None:
    """The worker: numbers in on standard input, one line of JSON out for each."""
    with (
        tempfile.TemporaryFile() as complaints,
        tempfile.TemporaryDirectory(prefix="fuzz-") as folder,
    ):
        os.dup2(complaints.fileno(), sys.stderr.fileno())
        tempfile.tempdir = folder
        corpus = Corpus(seed, forms)
        judge(corpus, 0, Path(folder))  # loads what is loaded once
        print("ready", flush=True)
        for line in sys.stdin:
            answer = judge(corpus, int(line), Path(folder))
            answer["faults"] += [f"on standard error: {line}" for line in _complaints(complaints)]
            print(json.dumps(answer), flush=True)


def judge(corpus: Corpus, number: int, folder: Path) -> dict:
    """Decode one broken file in this process."""
    extension, content = corpus.broken(number)
    path = folder / f"{number}.{extension}"
    path.write_bytes(content)
    before = _belongings(folder)
    started = time.process_time()
    outcome, faults = _outcome(lambda: _decode(path, split=number % 3 == 0))
    seconds = time.process_time() - started
    after = _belongings(folder)
    path.unlink()
    faults += [f"left behind {b} {kind}, was {a}" for kind, a, b in _compare(before, after)]
    if seconds > LONGEST_CPU_S:
        faults.append(f"took {seconds:.1f} s")
    peak_bytes = _peak_bytes()
    if peak_bytes > MOST_MEMORY_BYTES:
        faults.append(f"needed {peak_bytes / MIB:.0f} MiB")
    return {
        "number": number,
        "outcome": outcome,
        "faults": faults,
        "seconds": seconds,
        "peak_bytes": peak_bytes,
    }


def _peak_bytes() -> int:
    """Of this program alone; ``getrusage`` counts what started it as well."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _outcome(attempt: Callable[[], list[str]]) -> tuple[str, list[str]]:
    try:
        return "decoded", attempt()
    except AudioDecodeError as error:
        return str(error.details["reason"]), []
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        return "failed", [f"{type(error).__name__}: {error}"]


def _decode(path: Path, *, split: bool = False) -> list[str]:
    """Decode all of a file; the promises that were broken."""
    faults = []
    samples = 0
    options = DecodeOptions(max_duration_s=MAX_DURATION_S, split=split)
    with open_audio(path, options=options) as source:
        rows = 0
        for block in source.channel_blocks():
            samples += block.shape[1]
            rows = rows or len(block)
            is_whole = len(block) == rows and (split or rows == 1)
            if block.dtype != np.float32 or not 0 < block.shape[1] <= 160_000 or not is_whole:
                faults.append(f"a block of {block.shape} {block.dtype} after {rows} channels")
            if not np.isfinite(block).all() or np.abs(block).max() > 1:
                faults.append("samples beyond full scale")
        gaps = source.gaps
        codes = [warning.code for warning in source.warnings]
        if samples != source.position_samples:
            faults.append(f"position {source.position_samples} after {samples} samples")
    if samples > MAX_DURATION_S * 16_000 + 1:
        faults.append(f"{samples} samples are more than the longest duration")
    if len(codes) != len(set(codes)) or not set(codes) <= WARNINGS:
        faults.append(f"warnings {codes}")
    edges = [edge for gap in gaps for edge in gap]
    if edges != sorted(edges) or any(start == end for start, end in gaps):
        faults.append(f"gaps {gaps[:4]}")
    return faults


def _complaints(file: BinaryIO) -> list[str]:
    """The first and the last line that were written to standard error since."""
    sys.stderr.flush()
    lines = os.pread(file.fileno(), 100_000, 0).decode(errors="replace").strip().splitlines()
    os.ftruncate(file.fileno(), 0)
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    return [*lines[:1], *lines[1:][-1:]]


def _belongings(folder: Path) -> dict[str, int]:
    return {
        "files": len(list(folder.iterdir())),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
    }


def _compare(before: dict[str, int], after: dict[str, int]) -> Iterator[tuple[str, int, int]]:
    return ((kind, before[kind], after[kind]) for kind in before if before[kind] != after[kind])


def _keep(report: Report, seed: int, forms: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(seed, forms)
    for number in sorted({number for number, _ in report.failures}):
        extension, content = corpus.broken(number)
        (folder / f"{seed}-{number}.{extension}").write_bytes(content)


def show(report: Report) -> None:
    print(
        f"{report.files} files in {report.elapsed_s:.0f} s "
        f"({report.files / max(report.elapsed_s, 1e-9):.0f} a second)"
    )
    print(", ".join(f"{name} {count}" for name, count in report.outcomes.most_common()))
    print(
        f"slowest {report.slowest_s:.2f} s of processor time (file {report.slowest}), "
        f"peak memory {report.peak_bytes / MIB:.0f} MiB"
    )
    for number, fault in report.failures:
        print(f"FAILED file {number}: {fault}")
    print(f"failures: {len(report.failures)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=1_800)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--forms", default="", help="break forms whose name has this part")
    parser.add_argument("--only", type=int, help="judge this one file in this process")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments.seed, arguments.forms)
        return 0
    if arguments.only is not None:
        with tempfile.TemporaryDirectory() as folder:
            answer = judge(Corpus(arguments.seed, arguments.forms), arguments.only, Path(folder))
        print(json.dumps(answer, indent=1))
        return 1 if answer["faults"] else 0
    print(describe_machine())
    report = run(
        arguments.files,
        seed=arguments.seed,
        seconds=arguments.seconds,
        workers=arguments.workers,
        keep=arguments.keep,
        forms=arguments.forms,
    )
    show(report)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
