"""Recordings and hotwords as both sides of a comparison get them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from asr_core.audio.decode import open_audio
from asr_core.audio.features import FeatureStream
from asr_core.audio.sample import SAMPLE
from asr_core.audio.segmenter import FixedWindows, Segment, SegmenterOptions
from asr_core.models.funasr_folder import FunasrFolder
from asr_core.parity.probe import Inputs
from asr_core.recognizers.tokenizer import ParaformerTokenizer
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.session import Float32

__all__ = ["BATCH", "MAX_SECONDS", "SAMPLE", "batches", "encoded_words", "made_words"]

MAX_SECONDS = 12.0
BATCH = 4

_MIN_SECONDS = 0.2
_MADE_WORDS = 60
"""More than 50, so that the graph that chooses among many hotwords has a part too."""


def batches(
    paths: Sequence[Path],
    folder: FunasrFolder,
    words: tuple[tuple[int, ...], ...],
    *,
    batch: int = BATCH,
    max_seconds: float = MAX_SECONDS,
) -> Iterator[Inputs]:
    """Recordings cut at quiet places, several in a batch; only one batch is kept at a time.

    Args:
        paths: of the recordings.
        folder: says what features the model reads.
        words: hotwords, by the numbers of their tokens.
        batch: parts in a batch, of unequal lengths.
        max_seconds: longest part.

    Raises:
        AudioDecodeError: a recording cannot be read.
    """
    parts = itertools.chain.from_iterable(_features(path, folder, max_seconds) for path in paths)
    while some := list(itertools.islice(parts, batch)):
        # In the order in which graphs that take several at once get them.
        some.sort(key=lambda part: -len(part[1]))
        lengths = np.array([len(features) for _, features in some], np.int32)
        padded = np.zeros((len(some), int(lengths.max()), folder.feature_dim), np.float32)
        for row, (_, features) in zip(padded, some, strict=True):
            row[: len(features)] = features
        yield Inputs(tuple(name for name, _ in some), padded, lengths, words)


def made_words(tokens: int) -> tuple[tuple[int, ...], ...]:
    """Hotwords made of tokens of a model, the same ones every time.

    Args:
        tokens: of the model's list; the first and last four are marks.
    """
    first, last = min(4, tokens - 1), max(tokens - 4, min(4, tokens - 1) + 1)
    span = last - first
    words = {
        tuple(first + (number * 7 + place * (number + 3)) % span for place in range(size)): None
        for number, size in zip(range(4 * _MADE_WORDS), itertools.cycle((2, 3, 4)), strict=False)
    }
    return tuple(itertools.islice(words, _MADE_WORDS))


def encoded_words(
    words: Iterable[str], folder: FunasrFolder, max_tokens: int
) -> tuple[tuple[int, ...], ...]:
    """Hotwords by the numbers of their tokens; what the model does not know is left out."""
    tokenizer = ParaformerTokenizer(folder.tokens, folder.segmentation)
    return tokenizer.encode_hotwords(list(words), max_tokens).ids


def _features(
    path: Path, folder: FunasrFolder, max_seconds: float
) -> Iterator[tuple[str, Float32]]:
    max_ms = round(max(max_seconds, _MIN_SECONDS) * 1000)
    cutter = FixedWindows(
        SegmenterOptions(
            max_segment_ms=max_ms, cut_zone_ms=max_ms // 2, padding_ms=0, min_speech_ms=0
        )
    )
    with open_audio(path) as source:
        for block in source.blocks():
            yield from _named(path.name, cutter.accept(block), folder)
    yield from _named(path.name, cutter.finish(), folder)


def _named(
    name: str, segments: Iterable[Segment], folder: FunasrFolder
) -> Iterator[tuple[str, Float32]]:
    for segment in segments:
        stream = FeatureStream(folder.features, folder.cmvn)
        features = np.concatenate([stream.accept(segment.waveform), stream.finish()])
        if len(features):
            start, end = (place / SAMPLE_RATE_HZ for place in (segment.start, segment.end))
            yield f"{name} {start:.2f}-{end:.2f} s", features
