"""Count what ordinary Mandarin looks like, for the guard of the hotword corrector.

    .venv/bin/python -m asr_core.training.common_text --corpus FOLDER --words dict.txt

Writes two files of ``assets/hotwords``: ``common.npz`` (read by
``asr_core/text/hotword_context.py``), character trigrams with back-off, and ``readings.txt`` (read
by ``asr_core/text/pinyin.py``), second readings that are usual. ``FOLDER`` holds ``*.txt.xz``; only
the files of ``SOURCES`` are read, all under CC0-1.0, Apache-2.0, MIT or the Unlicense. ``dict.txt``
is the word list of jieba 0.42.1 (MIT, ``pip download --no-deps jieba==0.42.1``), ``word count tag``
a line. The same input gives the same files, byte for byte.
"""

from __future__ import annotations

import argparse
import logging
import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asr_core.text.hotword_context import BREAK, COMMON_TEXT, FIRST_CHAR, STEP
from asr_core.text.pinyin import readings, usual_readings

logger = logging.getLogger(__name__)

Ids = npt.NDArray[np.int64]
Counts = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

SOURCES = {
    "interview-tang-transcript": 0.5,
    "meeting-tang-transcript": 0.5,
    "speech-tang-transcript": 1.0,
    "dialogue-crosswoz": 3.0,
    "dialogue-kdconv": 3.0,
    "howto-howtocook": 2.0,
    "meeting_asr-vcsum": 4.0,
    "tech_blog-sofastack": 2.0,
}
"""Weight of each text: meetings of one kind are most of what there is, not of what is said."""

WORD_WEIGHT = 0.2
"""Weight of a count of the word list."""

_LEAST_WORD = 4.0
_LEAST_READING = 0.015
_LEAST_READING_COUNT = 40
_SURNAMES = (
    "曾zeng 单shan 解xie 查zha 仇qiu 盖ge 区ou 朴piao 尉yu 乐yue 翟zhai 缪miao 覃qin 任ren 石shi"
)
_DISCOUNT = 0.7
_LEAST_COUNT = 1.5
_LEAST_CHAR_COUNT = 20
_LATIN_WORDS = 4000
_LEAST_LATIN_COUNT = 4
_PARTICLES = "的呢了着给都没"
"""Said so often on their own that their second reading, in a few words, says nothing."""

_ENDS = re.compile(r"[。？！；…?!;\n]+")
_LATIN = re.compile(r"[A-Za-z][A-Za-z'\-]*")
_DIGITS = re.compile(r"\d[\d.,:%]*")
_OTHER = re.compile(r"[^一-鿿\x01-\x03]+")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--words", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=COMMON_TEXT)
    parser.add_argument("--bigrams", type=int, default=170_000)
    parser.add_argument("--trigrams", type=int, default=330_000)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    latin: Counter[str] = Counter()
    texts = [(_plain(text, latin), weight) for text, weight in _texts(arguments.corpus)]
    words = list(_words(arguments.words))
    chars = _common_chars(texts, words)
    arrays = _model(
        _grams(texts, words, chars),
        [_word_keys(words, chars, length) for length in (2, 3)],
        len(chars),
        (arguments.bigrams, arguments.trigrams),
    )
    arrays["chars"] = np.array([ord(char) for char in chars], np.uint16)
    arrays["latin"] = np.frombuffer("\n".join(_common_latin(latin)).encode("ascii"), np.uint8)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(arguments.output, **arrays)
    logger.info("wrote %s, %d bytes", arguments.output.name, arguments.output.stat().st_size)
    lines = ["# Readings of a character besides its first that are usual, by the words of jieba."]
    lines += (f"{char} {' '.join(sounds)}" for char, sounds in _second_readings(words))
    readings_file = arguments.output.with_name("readings.txt")
    readings_file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _texts(corpus: Path) -> Iterator[tuple[str, float]]:
    for name, weight in SOURCES.items():
        with lzma.open(corpus / f"{name}.txt.xz", "rt", encoding="utf-8") as file:
            yield file.read(), weight


def _words(path: Path) -> Iterator[tuple[str, float]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        word, count, *_ = line.split(" ")
        if not _OTHER.search(word):
            yield word, float(count) * WORD_WEIGHT


def _second_readings(words: list[tuple[str, float]]) -> Iterator[tuple[str, list[str]]]:
    """Characters with the readings that are not their first and not rare in words."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for word, count in words:
        if 1 < len(word) < 5 and count >= _LEAST_WORD and any(len(readings(c)) > 1 for c in word):
            for char, sound in zip(word, usual_readings(word), strict=True):
                totals[char][sound] += int(count)
    surnames = {(name[0], name[1:]) for name in _SURNAMES.split()}
    for char, sounds in sorted(totals.items()):
        if char in _PARTICLES:
            continue
        least = max(_LEAST_READING * sounds.total(), _LEAST_READING_COUNT)
        usual = (s for s in readings(char)[1:] if sounds[s] >= least or (char, s) in surnames)
        second = sorted(usual)
        if second:
            yield char, second


def _plain(text: str, latin: Counter[str]) -> str:
    """As a recognizer gives it: no marks; sentence ends, Latin words and numbers as one control."""
    latin.update(word.lower() for word in _LATIN.findall(text))
    text = _ENDS.sub("\x01", text)
    text = _DIGITS.sub("\x03", _LATIN.sub("\x02", text))
    return _OTHER.sub("", text)


def _common_latin(latin: Counter[str]) -> list[str]:
    frequent = [w for w, n in latin.items() if n >= _LEAST_LATIN_COUNT and len(w) > 2]
    return sorted(sorted(frequent, key=lambda word: (-latin[word], word))[:_LATIN_WORDS])


def _common_chars(texts: list[tuple[str, float]], words: list[tuple[str, float]]) -> list[str]:
    counts: Counter[str] = Counter()
    for text, weight in texts:
        for char, count in Counter(text).items():
            counts[char] += count * weight  # type: ignore[assignment]
    for word, weight in words:
        for char in word:
            counts[char] += weight  # type: ignore[assignment]
    return sorted(c for c, n in counts.items() if n >= _LEAST_CHAR_COUNT and c > "\x03")


def _encode(text: str, chars: list[str]) -> Ids:
    table = np.zeros(0x10000, np.int64)
    table[[ord(char) for char in chars]] = np.arange(FIRST_CHAR, FIRST_CHAR + len(chars))
    table[1:FIRST_CHAR] = range(1, FIRST_CHAR)
    codes = np.frombuffer(text.encode("utf-16-le"), np.uint16)
    encoded: Ids = table[codes]
    return encoded


def _grams(
    texts: list[tuple[str, float]], words: list[tuple[str, float]], chars: list[str]
) -> list[tuple[Ids, Counts]]:
    """Weighted counts of the n-grams of one, two and three ids, keys ascending."""
    size = len(chars) + FIRST_CHAR
    parts: list[list[tuple[Ids, Counts]]] = [[], [], []]
    for text, weight in texts:
        ids = _encode(text, chars)
        for order in (1, 2, 3):
            keys, counts = np.unique(_keys(ids, order, size), return_counts=True)
            parts[order - 1].append((keys, counts * weight))
    for length in range(1, 9):
        chosen = [(word, count) for word, count in words if len(word) == length]
        table = _encode("".join(word for word, _ in chosen), chars).reshape(-1, length)
        weights = np.array([count for _, count in chosen])
        for order in range(1, min(length, 3) + 1):
            for first in range(length - order + 1):
                keys = np.zeros(len(table), np.int64)
                for place in range(first, first + order):
                    keys = keys * size + table[:, place]
                parts[order - 1].append((keys, weights))
    return [_known_only(*_merge(part), order, size) for order, part in enumerate(parts, start=1)]


def _known_only(keys: Ids, counts: Counts, order: int, size: int) -> tuple[Ids, Counts]:
    """Without longer n-grams that hold a rare character, whose id is 0."""
    if order == 1:
        return keys, counts
    wanted = np.ones(len(keys), np.bool_)
    for place in range(order):
        wanted &= keys // size**place % size != 0
    return keys[wanted], counts[wanted]


def _keys(ids: Ids, order: int, size: int) -> Ids:
    keys: Ids = np.zeros(len(ids) - order + 1, np.int64)
    for place in range(order):
        keys = keys * size + ids[place : len(ids) - order + 1 + place]
    return keys


def _word_keys(words: list[tuple[str, float]], chars: list[str], length: int) -> Ids:
    """Keys of the words of some length, ascending."""
    chosen = "".join(word for word, count in words if len(word) == length and count >= _LEAST_WORD)
    table = _encode(chosen, chars).reshape(-1, length)
    powers = (len(chars) + FIRST_CHAR) ** np.arange(length - 1, -1, -1)
    keys: Ids = np.unique((table * powers).sum(axis=1))
    return keys


def _merge(parts: list[tuple[Ids, Counts]]) -> tuple[Ids, Counts]:
    keys = np.concatenate([keys for keys, _ in parts])
    counts = np.concatenate([counts for _, counts in parts])
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    return keys[starts], np.add.reduceat(counts, starts)


def _model(
    grams: list[tuple[Ids, Counts]], words: list[Ids], chars: int, most: tuple[int, int]
) -> dict[str, npt.NDArray[Any]]:
    """Absolute discounting; the n-grams that tell most beyond the shorter ones are kept."""
    size = chars + FIRST_CHAR
    uni = np.full(size, 1.0)
    uni[grams[0][0]] += grams[0][1]
    uni = np.log(uni / uni.sum())

    keys, counts = grams[1]
    first, last = np.divmod(keys, size)
    logs = np.log(np.maximum(counts - _DISCOUNT, 1e-9) / _totals(first, counts, size)[first])
    kept = _best(counts, logs - uni[last], most[0])
    bi_keys, bi, first, last = keys[kept], logs[kept], first[kept], last[kept]
    uni_backoff = _backoff(first, bi, uni[last], size)

    keys, counts = grams[2]
    context, known = _find(bi_keys, keys // size)
    last, middle = keys % size, keys // size % size
    totals = _totals(context[known], counts[known], len(bi_keys))
    logs = np.log(np.maximum(counts - _DISCOUNT, 1e-9) / np.maximum(totals[context], 1e-9))
    pair, has_pair = _find(bi_keys, keys % (size * size))
    lower = np.where(has_pair, bi[pair], uni_backoff[middle] + uni[last])
    chosen = _best(np.where(known & (middle != BREAK), counts, 0), logs - lower, most[1])
    tri_context, tri_next, tri = context[chosen], last[chosen], logs[chosen]
    bi_backoff = _backoff(tri_context, tri, lower[chosen], len(bi_keys))
    logger.info("%d characters, %d bigrams, %d trigrams", chars, len(bi), len(tri))
    return {
        "uni": _stored(uni),
        "uni_backoff": _stored(uni_backoff),
        "bi_rows": np.bincount(first, minlength=size).astype(np.uint16),
        **_split("bi_next", bi_keys % size),
        "bi": _stored(bi),
        "bi_backoff": _stored(bi_backoff),
        "tri_rows": np.bincount(tri_context, minlength=len(bi_keys)).astype(np.uint16),
        **_split("tri_next", tri_next),
        "tri": _stored(tri),
        "bi_words": np.packbits(np.isin(bi_keys, words[0])),
        "tri_words": np.packbits(np.isin(keys[chosen], words[1])),
    }


def _totals(rows: Ids, counts: Counts, size: int) -> Counts:
    return np.bincount(rows, weights=counts, minlength=size).astype(np.float64)


def _best(counts: Counts, gains: Counts, most: int) -> Ids:
    """Places of the n-grams with the largest count times gain, ascending."""
    worth = np.where(counts >= _LEAST_COUNT, counts * gains, 0.0)
    places = np.argsort(-worth, kind="stable")[:most]
    chosen: Ids = np.sort(places[worth[places] > 0])
    return chosen


def _backoff(rows: Ids, logs: Counts, lower: Counts, size: int) -> Counts:
    """What the kept n-grams of each row leave, over what the shorter ones would give the rest."""
    left = 1 - _totals(rows, np.exp(logs), size)
    rest = 1 - _totals(rows, np.exp(lower), size)
    weights: Counts = np.log(np.clip(left, 1e-4, 1) / np.clip(rest, 1e-4, 1)).clip(-25, 0)
    return weights


def _find(keys: Ids, wanted: Ids) -> tuple[Ids, npt.NDArray[np.bool_]]:
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return places, keys[places] == wanted


def _stored(logs: Counts) -> Bytes:
    stored: Bytes = np.clip(np.rint(-logs / STEP), 0, 255).astype(np.uint8)
    return stored


def _split(name: str, ids: Ids) -> dict[str, Bytes]:
    return {
        f"{name}_hi": (ids >> 8).astype(np.uint8),
        f"{name}_lo": (ids & 255).astype(np.uint8),
    }


if __name__ == "__main__":
    main()
