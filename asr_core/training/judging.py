"""What a network says about validation and test texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from asr_core.errors import UsageError
from asr_core.runtime.onnx import OnnxSession
from asr_core.text.punctuation.base import MARKS, PunctuationModel
from asr_core.text.punctuation.vocabulary import END, START, Vocabulary
from asr_core.training.corpus import Corpus, Paragraphs, words_and_labels
from asr_core.training.sampling import simulated_pauses
from asr_core.training.scoring import Part
from asr_core.training.sources import VALIDATION_WEIGHTS

_ROWS = 64
_SHORTEST, _LONGEST = 20, 200
_SEED = 7


def validation_parts(
    corpus: Corpus, network: Path, *, threads: int, timed: bool = False, every: int = 1
) -> dict[str, Part]:
    """Log-probabilities of validation texts, each source with its weight.

    Paragraphs of 20 to 200 words are read: shorter ones have no marks inside, and long ones, which
    only some sources have, would outweigh the others.

    Args:
        corpus: holds the texts.
        network: an ONNX file.
        threads: for ONNX Runtime.
        timed: whether the network is given simulated pauses.
        every: only every so manieth paragraph is read.
    """
    session = OnnxSession(network, threads=threads)
    parts = {}
    for name, paragraphs in corpus.validation.items():
        lengths = np.diff(paragraphs.starts)
        chosen = np.flatnonzero((lengths >= _SHORTEST) & (lengths <= _LONGEST))[::every].tolist()
        if chosen:
            weight = VALIDATION_WEIGHTS.get(name, 0) / len(chosen)
            parts[name] = _part(session, corpus.vocabulary, paragraphs, chosen, timed, weight)
    session.close()
    return parts


def _part(
    session: OnnxSession,
    vocabulary: Vocabulary,
    paragraphs: Paragraphs,
    chosen: Sequence[int],
    timed: bool,
    weight: float,
) -> Part:
    """Read paragraphs of equal length side by side."""
    by_length: dict[int, list[int]] = defaultdict(list)
    starts = paragraphs.starts
    for number in chosen:
        by_length[int(starts[number + 1] - starts[number])].append(number)
    scores, labels, lasts = [], [], []
    random = np.random.default_rng(_SEED)
    for length, numbers in sorted(by_length.items()):
        for first in range(0, len(numbers), _ROWS):
            begins = starts[np.array(numbers[first : first + _ROWS])]
            places = begins[:, None] + np.arange(length)[None, :]
            marks = paragraphs.labels[places]
            units = np.full((len(begins), length + 2), START, dtype=np.int32)
            units[:, 1:-1] = paragraphs.units[places]
            units[:, -1] = END
            pauses = np.zeros_like(units)
            if timed:
                pauses[:, 1:-2] = simulated_pauses(marks, random)[:, :-1]
            seen = session.run(
                {
                    "units": np.ascontiguousarray(units.T),
                    "pairs": np.ascontiguousarray(vocabulary.pair_ids(units).T),
                    "pauses": np.ascontiguousarray(pauses.T),
                }
            )["scores"]
            scores.append(seen[1:-1].transpose(1, 0, 2).reshape(-1, len(MARKS)))
            labels.append(marks.reshape(-1))
            lasts.append(np.tile(np.arange(length) == length - 1, len(begins)))
    return Part(np.concatenate(scores), np.concatenate(labels), np.concatenate(lasts), weight)


def read_test(model: PunctuationModel, path: Path) -> dict[str, Part]:
    """What a model says about a file of ``id, source, text`` lines, by source.

    Args:
        model: its thresholds are part of what it says.
        path: UTF-8, tab-separated, without a header.

    Raises:
        UsageError: a line has other columns.
        OSError: the file cannot be read.
    """
    found: dict[str, list[tuple[list[str], list[int]]]] = defaultdict(list)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        columns = line.split("\t")
        if len(columns) != 3:
            raise UsageError(f"Line {number} of {path.name} has {len(columns)} columns, not 3")
        found[columns[1]].append(words_and_labels(columns[2]))
    return {source: _judged(model, texts) for source, texts in sorted(found.items())}


def _judged(model: PunctuationModel, texts: Sequence[tuple[list[str], list[int]]]) -> Part:
    texts = [(words, labels) for words, labels in texts if words]
    lasts = [np.arange(len(words)) == len(words) - 1 for words, _ in texts]
    labels: npt.NDArray[np.uint8] = np.array(
        [label for _, marks in texts for label in marks], dtype=np.uint8
    )
    scores = [model.score(words, None) for words, _ in texts]
    return Part(np.concatenate(scores), labels, np.concatenate(lasts))
