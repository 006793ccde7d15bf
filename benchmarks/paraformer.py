"""Speed of Paraformer in alternating rounds on the same sentences, threads and weights.

Ours are timed as the application uses them: waveforms in, tokens with times out. "Bare" is ONNX
Runtime on FunASR's graph with features made before, one sentence after the other. ``--graphs``
adds folders that ``convert onnx`` wrote, ``--mindspore`` FunASR's checkpoint in MindSpore. With the
Python of an environment that has funasr-onnx and funasr, their ``SeacoParaformer`` and
``AutoModel`` run on the same waveforms, each in a process of its own.

    .venv/bin/python -m benchmarks.paraformer FOLDER [--graphs FOLDER ...] [--mindspore]
        [--reference-python PATH] [--automodel BATCH] [--recording FILE] [--threads 2]
        [--sentences 20] [--hotwords 100] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import psutil

from asr_core.audio.decode import open_audio
from asr_core.audio.features import FeatureStream
from asr_core.audio.segmenter import Segment
from asr_core.models.funasr_folder import FunasrFolder, open_folder
from asr_core.recognizers.base import RecognizeOptions
from asr_core.recognizers.paraformer import ParaformerRecognizer
from asr_core.results import SAMPLE_RATE_HZ
from benchmarks.machine import describe_machine

SAMPLE = next((Path(__file__).parents[1] / "assets" / "sample").glob("*.flac"))
SHORTEST_S, LONGEST_S = 2.0, 8.0
HOTWORD_CHARACTERS = 3

Contestants = dict[str, Callable[[], float]]

FUNASR_ONNX = """
import json, sys, time
import numpy as np
from funasr_onnx import SeacoParaformer

folder, threads, quantized = sys.argv[2], int(sys.argv[3]), sys.argv[4] == "True"
model = SeacoParaformer(folder, quantize=quantized, intra_op_num_threads=threads)
waveforms = list(np.load(sys.argv[1]).values())
for words in sys.stdin:
    start = time.perf_counter()
    for waveform in waveforms:
        model(waveform, hotwords=words.strip())
    print(json.dumps(time.perf_counter() - start), flush=True)
"""

AUTOMODEL = """
import contextlib, io, json, sys, time
import numpy as np
import torch

out, sys.stdout = sys.stdout, sys.stderr
from funasr import AutoModel

folder, threads, batch = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(threads)
model = AutoModel(model=folder, device="cpu", ncpu=threads, disable_update=True, disable_pbar=True)
waveforms = [torch.from_numpy(part) for part in np.load(sys.argv[1]).values()]
for words in sys.stdin:
    start = time.perf_counter()
    model.generate(input=waveforms, batch_size=batch, hotword=words.strip() or None)
    print(json.dumps(time.perf_counter() - start), file=out, flush=True)
"""


def main() -> None:
    arguments = parse()
    folder = open_folder(arguments.folder, name=arguments.folder.name)
    waveforms = cut(arguments.recording, arguments.sentences)
    words = hotwords(folder, arguments.hotwords)
    audio_s = sum(map(len, waveforms)) / SAMPLE_RATE_HZ
    print(f"{describe_machine()}, {arguments.threads} threads")
    contestants: Contestants = {"bare": bare(folder, waveforms, arguments.threads)}
    recognizers = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, (path, runtime) in ours_to_open(arguments).items():
            recognizer = opened(name, path, runtime, arguments.threads)
            recognizers.append(recognizer)
            contestants[name] = ours(recognizer, waveforms, ())
            if recognizer.supports_hotwords:
                contestants[f"{name}, {len(words)} hotwords"] = ours(recognizer, waveforms, words)
        if arguments.reference_python:
            path = Path(temporary) / "waveforms.npz"
            np.savez(path, *waveforms)
            contestants |= references(arguments, folder, path)
        report(contestants, arguments.rounds, audio_s)
    print(f"{resident_mib():.0f} MiB at the end")
    for recognizer in recognizers:
        recognizer.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graphs", type=Path, nargs="+", default=[])
    parser.add_argument("--mindspore", action="store_true")
    parser.add_argument("--recording", type=Path, default=SAMPLE)
    parser.add_argument("--reference-python", type=Path)
    parser.add_argument("--automodel", type=int, default=1, help="sentences in a batch of it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=20)
    parser.add_argument("--hotwords", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def ours_to_open(arguments: argparse.Namespace) -> Mapping[str, tuple[Path, str]]:
    """Folder and runtime of each of ours, by the name in the report."""
    chosen = {"ours, FunASR's graph": (arguments.folder, "onnxruntime")}
    chosen |= {f"ours, {path.name}": (path, "onnxruntime") for path in arguments.graphs}
    if arguments.mindspore:
        chosen["ours, MindSpore"] = (arguments.folder, "mindspore")
    return chosen


def opened(name: str, path: Path, runtime: str, threads: int) -> ParaformerRecognizer:
    start, before_mib = time.perf_counter(), resident_mib()
    recognizer = ParaformerRecognizer(
        path, name="paraformer", threads=threads, batch_segments=8, runtime=runtime
    )
    print(
        f"{name}: {recognizer.info.backend}, loaded in {time.perf_counter() - start:.1f} s,"
        f" {resident_mib() - before_mib:.0f} MiB, peak so far {peak_mib():.0f} MiB"
    )
    return recognizer


def cut(recording: Path, count: int) -> list[np.ndarray]:
    """Sentences of 2 to 8 s, taken from the recording one after the other, over and over."""
    with open_audio(recording) as source:
        waveform = np.concatenate(list(source.blocks()))
    lengths = np.random.default_rng(0).uniform(SHORTEST_S, LONGEST_S, count) * SAMPLE_RATE_HZ
    ends = np.cumsum(lengths.astype(int))
    repeated = np.resize(waveform, ends[-1])
    return np.split(repeated, ends[:-1])


def hotwords(folder: FunasrFolder, count: int) -> tuple[str, ...]:
    """Words of three characters of the token list."""
    characters = [text for text in folder.tokens if len(text) == 1 and text > "\u4e00"]
    chosen = np.random.default_rng(1).choice(characters, (count, HOTWORD_CHARACTERS))
    return tuple("".join(row) for row in chosen)


def ours(
    recognizer: ParaformerRecognizer, waveforms: list[np.ndarray], words: tuple[str, ...]
) -> Callable[[], float]:
    segments = [Segment(0, len(part), 0, len(part), part) for part in waveforms]

    def run() -> float:
        start = time.perf_counter()
        recognizer.recognize(segments, RecognizeOptions(hotwords=words))
        return time.perf_counter() - start

    return run


def bare(folder: FunasrFolder, waveforms: list[np.ndarray], threads: int) -> Callable[[], float]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(folder.network), options)
    inputs = []
    for waveform in waveforms:
        stream = FeatureStream(folder.features, folder.cmvn)
        speech = np.concatenate([stream.accept(waveform), stream.finish()])[None]
        feed = {"speech": speech, "speech_lengths": np.array([speech.shape[1]], np.int32)}
        bias = [spec for spec in session.get_inputs() if spec.name == "bias_embed"]
        if bias:
            feed["bias_embed"] = np.zeros((1, 1, bias[0].shape[2]), np.float32)
        inputs.append(feed)

    def run() -> float:
        start = time.perf_counter()
        for feed in inputs:
            session.run(None, feed)
        return time.perf_counter() - start

    return run


def references(arguments: argparse.Namespace, folder: FunasrFolder, waveforms: Path) -> Contestants:
    """FunASR's own, each in a process."""
    quantized = "quant" in folder.network.stem
    threads = str(arguments.threads)
    made = {
        "funasr-onnx": (FUNASR_ONNX, [threads, str(quantized)], hotwords(folder, 1)[0]),
        "AutoModel fp32": (AUTOMODEL, [threads, str(arguments.automodel)], ""),
    }
    return {
        name: reference(arguments, code, [str(waveforms), str(arguments.folder), *values], word)
        for name, (code, values, word) in made.items()
    }


def reference(
    arguments: argparse.Namespace, code: str, values: list[str], word: str
) -> Callable[[], float]:
    threads = str(arguments.threads)
    process = subprocess.Popen(
        [str(arguments.reference_python), "-c", code, *values],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": threads},
        text=True,
    )

    def run() -> float:
        process.stdin.write(f"{word}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"A reference failed; it was called with {values}")
        return float(json.loads(line))

    return run


def report(contestants: dict[str, Callable[[], float]], rounds: int, audio_s: float) -> None:
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, run in contestants.items():
            seconds = run()
            if number:  # the first round warms up
                times[name].append(seconds)
    best = {name: min(seconds) for name, seconds in times.items()}
    print(f"{audio_s:.0f} s of audio, best and median of {rounds} rounds")
    for name, seconds in times.items():
        print(
            f"{name:40} RTF {best[name] / audio_s:.4f} ({statistics.median(seconds) / audio_s:.4f})"
            f"  {best[name] / best['bare']:.2f} times bare"
        )


def resident_mib() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
