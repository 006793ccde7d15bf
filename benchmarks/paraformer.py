"""Speed of Paraformer on FunASR's graphs, in alternating rounds on the same sentences and threads.

Ours are timed as the application uses them: waveforms in, tokens with times out. "Bare" is ONNX
Runtime on the same graph with features made before, one sentence after the other. With the Python
of an environment that has funasr-onnx, its ``SeacoParaformer`` runs on the same waveforms, in a
process of its own.

    .venv/bin/python -m benchmarks.paraformer FOLDER [--recording FILE] [--reference-python PATH]
        [--threads 2] [--sentences 20] [--hotwords 100] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
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

REFERENCE = """
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recording", type=Path, default=SAMPLE)
    parser.add_argument("--reference-python", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=20)
    parser.add_argument("--hotwords", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    folder = open_folder(arguments.folder, name=arguments.folder.name)
    waveforms = cut(arguments.recording, arguments.sentences)
    words = hotwords(folder, arguments.hotwords)
    start, before_mib = time.perf_counter(), resident_mib()
    recognizer = ParaformerRecognizer(
        arguments.folder, name="paraformer", threads=arguments.threads, batch_segments=8
    )
    print(describe_machine())
    print(f"{recognizer.info.backend}, {arguments.threads} threads, ", end="")
    print(f"loaded in {time.perf_counter() - start:.1f} s, {resident_mib() - before_mib:.0f} MiB")
    contestants = {
        "bare": bare(folder, waveforms, arguments.threads),
        "ours": ours(recognizer, waveforms, ()),
    }
    if recognizer.supports_hotwords:
        contestants[f"ours, {len(words)} hotwords"] = ours(recognizer, waveforms, words)
    audio_s = sum(map(len, waveforms)) / SAMPLE_RATE_HZ
    with tempfile.TemporaryDirectory() as temporary:
        if arguments.reference_python:
            path = Path(temporary) / "waveforms.npz"
            np.savez(path, *waveforms)
            contestants["funasr-onnx"] = reference(arguments, folder, path)
        report(contestants, arguments.rounds, audio_s)
    print(f"{resident_mib():.0f} MiB at the end")
    recognizer.close()


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


def reference(
    arguments: argparse.Namespace, folder: FunasrFolder, waveforms: Path
) -> Callable[[], float]:
    quantized = "quant" in folder.network.stem
    command = [str(arguments.reference_python), "-c", REFERENCE, str(waveforms)]
    command += [str(arguments.folder), str(arguments.threads), str(quantized)]
    word = hotwords(folder, 1)[0]

    def run() -> float:
        process.stdin.write(f"{word}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"funasr-onnx failed; its command was {command}")
        return float(json.loads(line))

    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
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
            f"{name:24} RTF {best[name] / audio_s:.4f} ({statistics.median(seconds) / audio_s:.4f})"
            f"  {best[name] / best['bare']:.2f} times bare"
        )


def resident_mib() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


if __name__ == "__main__":
    main()
