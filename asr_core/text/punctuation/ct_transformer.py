"""CT-Transformer: a punctuation model folder of FunASR, run by ONNX Runtime or by MindSpore.

Source of the behaviour: ``CT_Transformer`` of funasr-onnx 0.4.3, whose choices the best scores are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asr_core.errors import (
    DeviceError,
    DeviceUnavailableError,
    NormalizationError,
    UsageError,
)
from asr_core.runtime.funasr import (
    CHECKPOINT_FILES,
    CONFIG_FILE,
    TOKENS_FILE,
    find_files,
    read_config,
    unusable,
)
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Float32, Session
from asr_core.text.punctuation.base import MARKS

NETWORK_FILES = ("model.onnx", "model_quant.onnx", *CHECKPOINT_FILES)
"""The first that exists is used: the quantized one chooses other marks now and then. MindSpore
executes checkpoints."""

_MODEL_NAME = "ct-punc"  # of the catalogue
_NO_MARK = "_"
_FULL_WIDTH = {",": "，", "?": "？", "!": "！", ";": "；", ":": "："}
_STEP_WORDS = 20  # that the network sees in addition, each time
_LONGEST_WORDS = 200  # of one sentence: longer ones are cut at a comma
_MOST_WORDS = 480  # of one sentence at all: the published network reads at most 512 at a time
_IMPOSSIBLE = -1e4

# The network's words: runs of ASCII, and single characters of anything else.
_WORD_PARTS = re.compile(r"[!-~]+|[^\x00-\x7f]")


class CtTransformer:
    """Scores marks; implements :class:`asr_core.text.punctuation.base.PunctuationModel`.

    The text is read in steps of 20 words, each together with the sentence that the steps before
    left unfinished. Pauses play no part. It knows four marks: ，。？、.

    Args:
        folder: holds ``config.yaml``, ``tokens.json`` and ``model.onnx``, ``model_quant.onnx`` or a
            checkpoint, as FunASR publishes and exports them.
        threads: threads inside one operator, at least 1.

    Raises:
        ModelFileMissingError: the folder or one of its files is missing.
        ModelIntegrityError: a file is damaged or belongs to another model.
        DeviceUnavailableError: ONNX Runtime, or MindSpore for a checkpoint, is not installed.
    """

    def __init__(self, folder: Path, *, threads: int) -> None:
        wanted = ((CONFIG_FILE,), (TOKENS_FILE,), NETWORK_FILES)
        config, tokens, network = find_files(folder, wanted, _MODEL_NAME)
        classes = _read_classes(config)
        self._ids = _read_tokens(tokens)
        self._unknown = max(self._ids.values())
        self._size = len(classes)
        self._period, self._comma = classes.index("。"), _find(classes, "，")
        self._ends = tuple(i for i, mark in enumerate(classes) if mark in ("。", "？"))
        self._columns = [_columns(classes, mark) for mark in MARKS]
        self._session = _open(config, self._unknown + 1, network, threads)
        self._probe(network)

    @property
    def name(self) -> str:
        """What warnings and reports call it."""
        return _MODEL_NAME

    def close(self) -> None:
        """Release the network; a second call does nothing."""
        self._session.close()

    def score(self, words: Sequence[str], pauses_ms: Sequence[int] | None) -> Float32:
        """Scores of the marks; see the protocol. The last word always gets a sentence end.

        Raises:
            NormalizationError: the network failed.
            UsageError: there are more or fewer pauses than words.
        """
        if pauses_ms is not None and len(pauses_ms) != len(words):
            raise UsageError(f"{len(words)} words have {len(pauses_ms)} pauses")
        parts = [_WORD_PARTS.findall(word) or [word] for word in words]
        if not parts:
            return np.zeros((0, len(MARKS)), dtype=np.float32)
        ids = [self._ids.get(part, self._unknown) for word in parts for part in word]
        lasts = np.cumsum([len(word) for word in parts]) - 1
        try:
            scores = self._read(np.array(ids))[lasts]
        except DeviceError as exc:
            raise NormalizationError(
                f"The network of CT-Transformer failed: {exc}", reason=str(exc)
            ) from exc
        mapped = np.full((len(words), len(MARKS)), _IMPOSSIBLE, dtype=np.float32)
        for index, columns in enumerate(self._columns):
            if columns:
                mapped[:, index] = scores[:, columns].max(axis=1)
        return mapped

    def _read(self, ids: npt.NDArray[np.int_]) -> Float32:
        """Log-probabilities of the network's own classes, (words, classes)."""
        scores: list[Float32] = []
        begin = 0  # of the sentence that is unfinished
        for end in range(_STEP_WORDS, len(ids) + _STEP_WORDS, _STEP_WORDS):
            seen = self._run(ids[begin:end])
            if end < len(ids):
                done = self._finished(seen)
                scores.append(seen[:done])
                begin += done
            else:
                scores.append(seen)
        joined = np.concatenate(scores)
        if int(joined[-1].argmax()) not in self._ends:
            _prefer(joined[-1], self._period)
        return joined

    def _finished(self, seen: Float32) -> int:
        """How many words end with the last sentence end, which is neither early nor the last.

        A sentence of more than 200 words without one is ended at its last comma; of one that has
        no comma either, the network forgets the first half before it grows too long.
        """
        choice = seen.argmax(axis=1)
        comma = -1
        for index in range(len(choice) - 2, 1, -1):
            if choice[index] in self._ends:
                return index + 1
            if comma < 0 and choice[index] == self._comma:
                comma = index
        if comma < 0 or len(choice) <= _LONGEST_WORDS:
            return len(choice) // 2 if len(choice) >= _MOST_WORDS else 0
        _prefer(seen[comma], self._period)
        return comma + 1

    def _run(self, ids: npt.NDArray[np.int_]) -> Float32:
        """Log-probabilities, float32 (words, classes)."""
        words, lengths = self._session.input_specs
        inputs = {
            words.name: ids[None].astype(words.dtype),
            lengths.name: np.array([len(ids)], dtype=lengths.dtype),
        }
        logits = self._session.run(inputs)[self._session.output_specs[0].name]
        expected = (1, len(ids), self._size)
        if logits.shape != expected:
            raise DeviceError(f"The network gave an array of shape {logits.shape}, not {expected}")
        row = logits[0].astype(np.float32)
        row -= row.max(axis=1, keepdims=True)
        scores: Float32 = row - np.log(np.exp(row).sum(axis=1, keepdims=True))
        return scores

    def _probe(self, network: Path) -> None:
        """Run the network once: another kind of network shows itself here."""
        try:
            kinds = [spec.dtype for spec in self._session.input_specs]
            if len(kinds) != 2 or not {*kinds} <= {"int32", "int64"}:
                raise UsageError(f"It takes {kinds}, not words and their number")
            self._run(np.array([self._unknown, self._unknown, self._unknown]))
        except (DeviceError, UsageError) as exc:
            self._session.close()
            raise unusable(
                network, _MODEL_NAME, f"is no network of a CT-Transformer: {exc}"
            ) from exc


def _prefer(scores: Float32, wanted: int) -> None:
    """Exchange the scores of the best class and another one, in place."""
    best = int(scores.argmax())
    scores[best], scores[wanted] = scores[wanted], scores[best]


def _columns(classes: Sequence[str], mark: str) -> list[int]:
    """The network's classes that mean a mark; whatever is no known mark means none."""
    if mark:
        return [index for index, own in enumerate(classes) if own == mark]
    return [index for index, own in enumerate(classes) if not own or own not in MARKS]


def _find(classes: Sequence[str], mark: str) -> int:
    return classes.index(mark) if mark in classes else -1


def _read_classes(path: Path) -> list[str]:
    """``model_conf.punc_list`` with full-width marks."""
    content = read_config(path, _MODEL_NAME)
    model: Any = content.get("model_conf") if isinstance(content, Mapping) else None
    classes: Any = model.get("punc_list") if isinstance(model, Mapping) else None
    if not isinstance(classes, list) or not all(isinstance(item, str) for item in classes):
        raise unusable(path, _MODEL_NAME, "has no list of marks, model_conf.punc_list")
    marks = [_FULL_WIDTH.get(str(item), str(item)) for item in classes]
    if _NO_MARK not in marks or "。" not in marks:
        raise unusable(path, _MODEL_NAME, f"lists marks without {_NO_MARK} or 。: {classes}")
    return marks


def _read_tokens(path: Path) -> dict[str, int]:
    """Numbers of the words; the last one stands for every unknown word."""
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise unusable(path, _MODEL_NAME, f"cannot be read: {exc}") from exc
    if not isinstance(words, list) or not words or not all(isinstance(item, str) for item in words):
        raise unusable(path, _MODEL_NAME, "is no list of words")
    return {word: number for number, word in enumerate(words)}


def _open(config: Path, vocabulary: int, network: Path, threads: int) -> Session:
    if network.name in CHECKPOINT_FILES:
        from asr_core.networks.funasr_sessions import ct_transformer_session

        return ct_transformer_session(config, vocabulary, network, threads=threads)
    try:
        return OnnxSession(network, threads=threads)
    except DeviceUnavailableError:
        raise
    except DeviceError as exc:
        raise unusable(network, _MODEL_NAME, f"cannot be loaded: {exc}") from exc
