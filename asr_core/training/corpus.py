"""From published texts to numbered words with the mark after each."""

from __future__ import annotations

import html
import logging
import lzma
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asr_core.results import Token
from asr_core.text.punctuation.base import MARKS
from asr_core.text.punctuation.vocabulary import SHAPES, SPECIAL, Vocabulary
from asr_core.text.tokens import TimedPiece, tokens_from_pieces
from asr_core.training.sources import Source, read_sources

logger = logging.getLogger(__name__)

UInt8 = npt.NDArray[np.uint8]
UInt16 = npt.NDArray[np.uint16]
Int64 = npt.NDArray[np.int64]

UNSURE = 255
"""Label of a place where any mark would be right: the text has a dash or dots there."""

UNIT_LIMIT = 6500
PAIR_LIMIT = 36000
_LEAST_COUNT = 3
_BLOCK = 25
_SENTINEL = "中"

_LABELS = {mark: number for number, mark in enumerate(MARKS)}
_LABELS |= {",": 1, ".": 2, "?": 3, "!": 4, ";": 6, ":": 7, "·": 0}
_STRENGTH = {0: 0, 5: 1, UNSURE: 2, 1: 3, 7: 4, 6: 5, 2: 6, 4: 7, 3: 8}
_RUNS = re.compile(r"([\u4e00-\u9fff]+)|([，。？！、；：“”‘’《》「」『』（）]+)|(.)", re.DOTALL)
_OTHER = re.compile(r"[^\u4e00-\u9fff，。？！、；：“”‘’《》「」『』（）]+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Paragraphs:
    """Paragraphs of one source, one after another.

    Attributes:
        units: uint16 (words,): numbers of the vocabulary.
        labels: uint8 (words,): number of the mark after each word, or ``UNSURE``.
        starts: int64 (paragraphs + 1,): where each paragraph begins, and the end of the last.
    """

    units: UInt16
    labels: UInt8
    starts: Int64

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, slots=True)
class Corpus:
    """All sources with their vocabulary, parted into training and validation."""

    vocabulary: Vocabulary
    sources: tuple[Source, ...]
    training: dict[str, Paragraphs]
    validation: dict[str, Paragraphs]


def words_and_labels(text: str) -> tuple[list[str], list[int]]:
    """Words of a text as the token list has them, and the label after each."""
    words: list[str] = []
    labels: list[int] = []
    place = 0
    while place < len(text):
        run = _RUNS.match(text, place)
        if run is None:
            break
        chinese, marks, _ = run.groups()
        if chinese:
            words.extend(chinese)
            labels.extend([0] * len(chinese))
        elif marks:
            for mark in marks:
                if words and mark in _LABELS:
                    labels[-1] = _stronger(labels[-1], _LABELS[mark])
        else:
            place = _take_other(text, place, words, labels)
            continue
        place = run.end()
    return words, labels


def _take_other(text: str, place: int, words: list[str], labels: list[int]) -> int:
    """Read what is neither Chinese nor a plain mark by the rules of the token list."""
    run = _OTHER.match(text, place)
    end = run.end() if run else place + 1
    before, after = text[max(place - 1, 0) : place], text[end : end + 1]
    if before and not _is_plain(before):
        before = _SENTINEL + before
    tokens = _tokens(before + text[place:end] + after)
    if before and words:
        labels[-1] = _stronger(labels[-1], tokens[0][1])
    last = len(tokens) - (1 if _is_plain(after) else 0)
    for word, label in tokens[1 if before else 0 : last]:
        words.append(word)
        labels.append(label)
    return end


def _is_plain(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff"


@lru_cache(maxsize=100_000)
def _tokens(text: str) -> tuple[tuple[str, int], ...]:
    return tuple(
        (token.text, label_of(token)) for token in tokens_from_pieces([TimedPiece(text, 0, 0, 1.0)])
    )


def label_of(token: Token) -> int:
    """Number of the mark after a token, or ``UNSURE``."""
    return _LABELS.get(token.mark, UNSURE)


def _stronger(first: int, second: int) -> int:
    return second if _STRENGTH[second] > _STRENGTH[first] else first


def build_corpus(data: Path) -> Corpus:
    """Read all sources of a folder, which holds ``SOURCES.tsv`` and ``corpus/*.txt.xz``.

    The same folder always gives the same corpus.

    Raises:
        UsageError: the folder holds no list of sources.
        OSError: a source cannot be read.
    """
    sources = read_sources(data)
    numbers: dict[str, int] = {}
    raw = {}
    for source in sources:
        raw[source.name] = _number(_lines(data / "corpus" / f"{source.name}.txt.xz"), numbers)
        logger.info("read source=%s words=%d", source.name, len(raw[source.name][0]))
    words = list(numbers)
    counts = _weighted_counts(raw, sources, len(words))
    units, table = _choose_units(words, counts)
    training: dict[str, Paragraphs] = {}
    validation: dict[str, Paragraphs] = {}
    for source in sources:
        ids, labels, starts = raw.pop(source.name)
        whole = Paragraphs(table[ids], labels, starts)
        training[source.name], validation[source.name] = _part(whole, source.held_out)
    vocabulary = Vocabulary(units, _choose_pairs(training, sources, len(units)))
    return Corpus(vocabulary, tuple(sources), training, validation)


def _lines(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield html.unescape(line.rstrip("\n"))


def _number(
    lines: Iterable[str], numbers: dict[str, int]
) -> tuple[npt.NDArray[np.int32], UInt8, Int64]:
    ids: list[int] = []
    all_labels = bytearray()
    starts = [0]
    for line in lines:
        words, labels = words_and_labels(line)
        if len(words) < 2:
            continue
        ids.extend([numbers.setdefault(word, len(numbers)) for word in words])
        all_labels.extend(labels)
        starts.append(len(ids))
    return (
        np.array(ids, dtype=np.int32),
        np.frombuffer(bytes(all_labels), dtype=np.uint8),
        np.array(starts, dtype=np.int64),
    )


def _weighted_counts(
    raw: dict[str, tuple[npt.NDArray[np.int32], UInt8, Int64]],
    sources: list[Source],
    size: int,
) -> npt.NDArray[np.float64]:
    """How often each word is read in the course of the training."""
    total = sum(len(ids) for ids, _, _ in raw.values())
    counts = np.zeros(size)
    for source in sources:
        ids = raw[source.name][0]
        counts += np.bincount(ids, minlength=size) * _repeats(source, len(ids), total)
    return counts


def _repeats(source: Source, length: int, total: int) -> float:
    """The weight of a source's counts; what is scarce counts twice at most."""
    return min(max(source.share * total / max(length, 1), 0.25), 2.0)


def _choose_units(
    words: list[str], counts: npt.NDArray[np.float64]
) -> tuple[tuple[str, ...], UInt16]:
    """The units, and for each word the number of its unit."""
    folded: dict[str, float] = {}
    for word, count in zip(words, counts.tolist(), strict=True):
        key = word.lower()
        folded[key] = folded.get(key, 0.0) + count
    special = (*SPECIAL, *SHAPES)
    wanted = [
        (-count, word)
        for word, count in folded.items()
        if count >= (_LEAST_COUNT if len(word) == 1 else 20 * _LEAST_COUNT) and word not in special
    ]
    frequent = [word for _, word in sorted(wanted)[: UNIT_LIMIT - len(special)]]
    vocabulary = Vocabulary((*special, *frequent), ())
    return vocabulary.units, vocabulary.unit_ids(words).astype(np.uint16)


def _choose_pairs(
    training: dict[str, Paragraphs], sources: list[Source], size: int
) -> tuple[int, ...]:
    total = sum(len(part.units) for part in training.values())
    counts: npt.NDArray[np.float64] = np.zeros(0)
    keys = np.zeros(0, dtype=np.int64)
    for source in sources:
        part = training[source.name]
        pairs = part.units[:-1].astype(np.int64) * size + part.units[1:]
        inside = np.ones(len(pairs), dtype=bool)
        inside[part.starts[1:-1] - 1] = False
        found, number = np.unique(pairs[inside], return_counts=True)
        weight = _repeats(source, len(part.units), total)
        merged = np.concatenate([keys, found])
        keys, place = np.unique(merged, return_inverse=True)
        counts = np.bincount(place, np.concatenate([counts, number * weight])).astype(np.float64)
    plain = (keys // size >= len(SPECIAL)) & (keys % size >= len(SPECIAL))
    keys, counts = keys[plain], counts[plain]
    best = np.lexsort((keys, -counts))[:PAIR_LIMIT]
    return tuple(np.sort(keys[best]).tolist())


def _part(whole: Paragraphs, held_out: int) -> tuple[Paragraphs, Paragraphs]:
    """Hold out whole blocks of neighbouring paragraphs, spread evenly over the source."""
    count = len(whole)
    blocks = min(-(-held_out // _BLOCK), count // (2 * _BLOCK))
    held = np.zeros(count, dtype=bool)
    size = min(_BLOCK, held_out)
    for block in range(blocks):
        middle = (2 * block + 1) * count // (2 * blocks)
        held[middle : middle + size] = True
    return _select(whole, ~held), _select(whole, held)


def _select(whole: Paragraphs, chosen: npt.NDArray[np.bool_]) -> Paragraphs:
    lengths = np.diff(whole.starts)
    inside = np.repeat(chosen, lengths)
    starts = np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64)
    return Paragraphs(whole.units[inside], whole.labels[inside], starts)


def save_corpus(corpus: Corpus, folder: Path) -> None:
    """Write a corpus into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus.vocabulary.write(folder / "vocabulary.json")
    arrays: dict[str, npt.NDArray[Any]] = {}
    for kind, parts in (("training", corpus.training), ("validation", corpus.validation)):
        for name, part in parts.items():
            arrays[f"{kind}/{name}/units"] = part.units
            arrays[f"{kind}/{name}/labels"] = part.labels
            arrays[f"{kind}/{name}/starts"] = part.starts
    np.savez(folder / "corpus.npz", **arrays)


def load_corpus(data: Path, folder: Path) -> Corpus:
    """Read what :func:`save_corpus` wrote.

    Raises:
        OSError: the folder holds no corpus.
        UsageError: the data folder holds no list of sources.
    """
    sources = tuple(read_sources(data))
    vocabulary = Vocabulary.read(folder / "vocabulary.json")
    parts: dict[str, dict[str, Paragraphs]] = {"training": {}, "validation": {}}
    with np.load(folder / "corpus.npz") as arrays:
        for kind, found in parts.items():
            for source in sources:
                key = f"{kind}/{source.name}"
                found[source.name] = Paragraphs(
                    arrays[f"{key}/units"], arrays[f"{key}/labels"], arrays[f"{key}/starts"]
                )
    return Corpus(vocabulary, sources, parts["training"], parts["validation"])
