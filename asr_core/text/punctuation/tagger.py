"""The punctuation network that the project brings along, run by ONNX Runtime."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from asr_core.errors import (
    DeviceError,
    ModelFileMissingError,
    ModelIntegrityError,
    NormalizationError,
    UsageError,
)
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Float32
from asr_core.text.punctuation.base import MARKS
from asr_core.text.punctuation.vocabulary import END, START, Int32, Vocabulary, pause_ids

NETWORK_FILE = "punctuation.onnx"
VOCABULARY_FILE = "vocabulary.json"
FACTS_FILE = "model.json"

_ROWS = 16


class PunctuationTagger:
    """Scores marks; implements :class:`asr_core.text.punctuation.base.PunctuationModel`.

    Text that is longer than ``window`` units is read in windows that overlap by twice ``context``
    units; the scores of a word come from the window in which it stands farther from the cuts. The
    network sees 63 units to either side, so the windows change nothing.

    Args:
        folder: holds the network, its vocabulary and its facts.
        threads: threads inside one operator, at least 1.
        biases: use the decision thresholds of ``model.json``.

    Raises:
        ModelFileMissingError: a file is missing.
        ModelIntegrityError: a file is not what it should be.
        DeviceUnavailableError: ONNX Runtime is not installed.
        DeviceError: ONNX Runtime cannot load the network.
    """

    window = 512
    context = 64

    def __init__(self, folder: Path, threads: int, *, biases: bool = True) -> None:
        for name in (VOCABULARY_FILE, FACTS_FILE):
            if not (folder / name).is_file():
                raise ModelFileMissingError(
                    f"The model file {folder / name} is missing",
                    name="punctuation",
                    path=str(folder / name),
                )
        self._vocabulary = Vocabulary.read(folder / VOCABULARY_FILE)
        self._name, self._biases = _facts(folder / FACTS_FILE)
        if not biases:
            self._biases = np.zeros_like(self._biases)
        self._session = OnnxSession(folder / NETWORK_FILE, threads=threads)

    @property
    def name(self) -> str:
        """What warnings and reports call it."""
        return self._name

    def score(self, words: Sequence[str], pauses_ms: Sequence[int] | None) -> Float32:
        """Scores of the marks; see the protocol.

        The pause after the last word is not looked at: there the text ends.

        Raises:
            NormalizationError: the network failed.
            UsageError: there are more or fewer pauses than words.
        """
        if pauses_ms is not None and len(pauses_ms) != len(words):
            raise UsageError(f"{len(words)} words have {len(pauses_ms)} pauses")
        if not words:
            return np.zeros((0, len(MARKS)), dtype=np.float32)
        units = np.concatenate([[START], self._vocabulary.unit_ids(words), [END]]).astype(np.int32)
        pauses = np.zeros(len(units), dtype=np.int32)
        if pauses_ms is not None:
            pauses[1:-2] = pause_ids(pauses_ms[:-1])
        scores = self._read(units, pauses)[1:-1]
        return scores + self._biases

    def _read(self, units: Int32, pauses: Int32) -> Float32:
        length = min(self.window, len(units))
        pairs = self._vocabulary.pair_ids(units)
        scores = np.zeros((len(units), len(MARKS)), dtype=np.float32)
        windows = list(_windows(len(units), length, self.context))
        for first_row in range(0, len(windows), _ROWS):
            rows = windows[first_row : first_row + _ROWS]
            places = np.array([start for start, _, _ in rows])[None, :] + np.arange(length)[:, None]
            seen = self._run(units[places], pairs[places], pauses[places])
            for row, (start, first, last) in enumerate(rows):
                scores[first:last] = seen[first - start : last - start, row]
        return scores

    def _run(self, units: Int32, pairs: Int32, pauses: Int32) -> Float32:
        inputs = {"units": units, "pairs": pairs, "pauses": pauses}
        try:
            return self._session.run(inputs)["scores"]
        except DeviceError as exc:
            raise NormalizationError(
                f"The punctuation network failed: {exc}", reason=str(exc)
            ) from exc


def _windows(count: int, length: int, context: int) -> Iterator[tuple[int, int, int]]:
    """Windows over ``count`` units: where each begins, and the units that are taken from it."""
    start, first = 0, 0
    while start + length < count:
        last = start + length - context
        yield start, first, last
        first = last
        start = min(last - context, count - length)
    yield start, first, count


def _facts(path: Path) -> tuple[str, Float32]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        biases = np.array([facts["biases"][mark] for mark in MARKS], dtype=np.float32)
        return str(facts["name"]), biases
    except (ValueError, KeyError, TypeError) as exc:
        raise ModelIntegrityError(
            f"{path.name} does not describe the network: {exc}", name=path.name, path=str(path)
        ) from exc
