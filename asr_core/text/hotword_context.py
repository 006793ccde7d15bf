"""How ordinary a stretch of text is: a character trigram model of spoken and written Mandarin.

The model is ``assets/hotwords/common.npz``, counted by ``asr_core/training/common_text.py``.
Knows nothing of hotwords.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asr_core.errors import NormalizationError
from asr_core.text.pinyin import is_han

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

UNKNOWN, BREAK, LATIN, NUMBER = range(4)
"""Ids of what is not a character of the model; characters follow."""

FIRST_CHAR = 4
STEP = 0.1
"""Resolution of the stored logarithms, nats."""

COMMON_TEXT = Path(__file__).resolve().parents[2] / "assets" / "hotwords" / "common.npz"


class CommonText:
    """Back-off trigram probabilities. Immutable; safe to share between threads."""

    def __init__(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Args:
        arrays: ``chars`` (V,) code points; ``uni`` (4 + V,) and ``uni_backoff`` (4 + V,) uint8;
            ``bi_rows`` (4 + V,) uint16 numbers of bigrams by first id; ``bi_next_hi``,
            ``bi_next_lo``, ``bi``, ``bi_backoff`` and ``tri_rows`` (B,) uint8; ``tri_next_hi``,
            ``tri_next_lo``, ``tri`` (T,) uint8; ``bi_words``, ``tri_words`` bits that tell which
            of them are words; ``latin`` uint8 ASCII words joined by newlines.
            Logarithms are stored as multiples of ``-STEP``.
        """
        self._ids = {chr(code): FIRST_CHAR + n for n, code in enumerate(arrays["chars"].tolist())}
        self._size = len(self._ids) + FIRST_CHAR
        self._uni = _logs(arrays["uni"])
        self._uni_backoff = _logs(arrays["uni_backoff"])
        self._bi_keys = self._keys(arrays, "bi")
        self._bi = _logs(arrays["bi"])
        self._bi_backoff = _logs(arrays["bi_backoff"])
        self._tri_keys = self._keys(arrays, "tri")
        self._tri = _logs(arrays["tri"])
        self._bi_words = np.unpackbits(arrays["bi_words"]).astype(np.bool_)
        self._tri_words = np.unpackbits(arrays["tri_words"]).astype(np.bool_)
        self._latin = frozenset(arrays["latin"].tobytes().decode("ascii").split("\n"))

    @classmethod
    def load(cls, path: Path = COMMON_TEXT) -> CommonText:
        """Read a model file.

        Raises:
            NormalizationError: it is missing or damaged.
        """
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
                return cls({name: stored[name] for name in stored.files})
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as exc:
            raise NormalizationError(
                f"the statistic of ordinary text {path.name} cannot be read: {exc}",
                reason=path.name,
            ) from exc

    def id_of(self, text: str) -> int:
        """The id of a token: a Chinese character, a Latin word or a number."""
        if len(text) == 1 and is_han(text):
            return self._ids.get(text, UNKNOWN)
        if text[:1].isdigit():
            return NUMBER
        return LATIN if text[:1].isalpha() else UNKNOWN

    def is_common_latin(self, word: str) -> bool:
        """Whether a lower-case Latin word is an ordinary one."""
        return word in self._latin

    def log_probs(self, rows: Sequence[Sequence[int]] | Ids) -> Floats:
        """Probability of the last id of each row after the two before it.

        Args:
            rows: ``(n, 3)`` ids.

        Returns:
            ``(n,)`` natural logarithms.
        """
        table = np.asarray(rows, dtype=np.int64).reshape(-1, 3)
        before, middle, last = table[:, 0], table[:, 1], table[:, 2]
        context, known = _find(self._bi_keys, before * self._size + middle)
        pair, has_pair = _find(self._bi_keys, middle * self._size + last)
        triple, has_triple = _find(self._tri_keys, context * self._size + last)
        lower = np.where(has_pair, self._bi[pair], self._uni_backoff[middle] + self._uni[last])
        backed = lower + np.where(known, self._bi_backoff[context], 0)
        found: Floats = np.where(known & has_triple, self._tri[triple], backed)
        return found

    def words(self, ids: Sequence[int]) -> tuple[list[bool], list[bool]]:
        """Where ordinary words of two and of three characters begin in a text.

        Args:
            ids: ``(n,)``, at least three.

        Returns:
            For each place whether the two, and whether the three ids from there are a word.
        """
        text = np.asarray(ids, dtype=np.int64)
        pair, has_pair = _find(self._bi_keys, text[:-1] * self._size + text[1:])
        triple, has_triple = _find(self._tri_keys, pair[:-1] * self._size + text[2:])
        pairs = has_pair & self._bi_words[pair]
        triples = has_pair[:-1] & has_triple & self._tri_words[triple]
        return [*pairs.tolist(), False], [*triples.tolist(), False, False]

    def _keys(self, arrays: dict[str, npt.NDArray[Any]], name: str) -> Ids:
        """Ascending keys: row times vocabulary size plus the id that follows."""
        rows = np.repeat(np.arange(len(arrays[f"{name}_rows"])), arrays[f"{name}_rows"])
        following = arrays[f"{name}_next_hi"].astype(np.int64) * 256 + arrays[f"{name}_next_lo"]
        keys: Ids = rows * self._size + following
        return keys


@cache
def common_text() -> CommonText:
    """The shipped model, read once."""
    return CommonText.load()


def _logs(stored: npt.NDArray[Any]) -> Floats:
    logs: Floats = stored.astype(np.float32) * -STEP
    return logs


def _find(keys: Ids, wanted: Ids) -> tuple[Ids, npt.NDArray[np.bool_]]:
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return places, keys[places] == wanted
