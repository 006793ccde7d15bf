"""Between text and the numbers of Paraformer's tokens.

Source of the rules for words: FunASR 1.4.16, ``funasr/utils/postprocess_utils.py`` and
``generate_hotwords_list`` of SeACo-Paraformer.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from asr_core.text.tokens import TimedPiece, is_wide

MAX_HOTWORDS = 500
"""More than these are left out."""

_BLANK, _SOS, _EOS = 0, 1, 2  # where a token list does not name them
_UNWRITTEN = frozenset({"<unk>", "<OOV>", "<s>", "</s>", "<blank>"})
_CONTINUED = "@@"  # behind a piece of a word that goes on
_UNITS = re.compile(r"[a-z']+|\S")


@dataclass(frozen=True, slots=True)
class EncodedHotwords:
    """Hotwords as a network takes them.

    Attributes:
        ids: token numbers of each word, without repeats, in the user's order.
        shortened: words of which characters outside the token list were dropped.
        left_out: words that cannot be used: too many, too long, or nothing of them is left.
    """

    ids: tuple[tuple[int, ...], ...]
    shortened: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class ParaformerTokenizer:
    """The token list of one model.

    Args:
        tokens: text of each token, by number.
        segmentation: pieces of words, from ``seg_dict``.
    """

    def __init__(self, tokens: Sequence[str], segmentation: Mapping[str, tuple[str, ...]]) -> None:
        self._tokens = tokens
        self._ids = {token: number for number, token in enumerate(tokens)}
        self._segmentation = segmentation
        self.no_bias: int = self._ids.get("<s>", _SOS)
        self._unspoken = {
            self._ids.get("<blank>", _BLANK),
            self.no_bias,
            self._ids.get("</s>", _EOS),
        }

    def is_spoken(self, number: int) -> bool:
        """Whether a token takes time: all but the blank and the marks of begin and end."""
        return number not in self._unspoken

    def pieces(self, tokens: Sequence[tuple[int, int, int, float]]) -> list[TimedPiece]:
        """Join the pieces of words and runs of single letters; drop unknown tokens.

        Args:
            tokens: ``(number, start_ms, end_ms, confidence)`` in time order.

        Returns:
            A piece for each Chinese character and each word. A word has a space before it, is as
            sure as its pieces are on average, and in capitals if it was spelled.
        """
        words: list[list[TimedPiece]] = []
        goes_on = False  # whether the next piece of Latin letters belongs to the last word
        for number, start_ms, end_ms, confidence in tokens:
            token = self._tokens[number]
            text = token.replace(_CONTINUED, "")
            if token in _UNWRITTEN or not text:
                continue
            piece = TimedPiece(text, start_ms, end_ms, confidence)
            is_latin = not is_wide(text[0])
            if goes_on and is_latin:
                words[-1].append(piece)
            else:
                words.append([piece])
            goes_on = is_latin and _CONTINUED in token
        return list(_with_spaces(_join_letters([_joined(word) for word in words])))

    def encode_hotwords(self, words: Sequence[str], max_tokens: int) -> EncodedHotwords:
        """Numbers of hotwords: NFKC, lower case, English words in pieces, the rest by character.

        Args:
            words: as the user wrote them.
            max_tokens: of the longest word that the network takes.
        """
        encoded: dict[tuple[int, ...], None] = {}
        shortened, left_out = [], []
        for word in words:
            ids, is_whole = self._encode(word)
            is_known = ids in encoded
            is_room = is_known or len(encoded) < MAX_HOTWORDS
            if not ids or len(ids) > max_tokens or not is_room:
                left_out.append(word)
                continue
            encoded[ids] = None
            if not is_whole:
                shortened.append(word)
        return EncodedHotwords(tuple(encoded), tuple(shortened), tuple(left_out))

    def _encode(self, word: str) -> tuple[tuple[int, ...], bool]:
        """Token numbers, and whether they stand for the whole word."""
        ids: list[int] = []
        is_whole = True
        for unit in _UNITS.findall(unicodedata.normalize("NFKC", word).casefold()):
            pieces = self._segmentation.get(unit, (unit,))
            if not all(piece in self._ids for piece in pieces):
                pieces = tuple(char for char in unit if char in self._ids)
                is_whole = is_whole and len(pieces) == len(unit)
            ids += [self._ids[piece] for piece in pieces]
        return tuple(ids), is_whole


def _joined(word: Sequence[TimedPiece]) -> TimedPiece:
    return TimedPiece(
        text="".join(piece.text for piece in word),
        start_ms=word[0].start_ms,
        end_ms=word[-1].end_ms,
        confidence=math.fsum(piece.confidence for piece in word) / len(word),
    )


def _join_letters(words: Sequence[TimedPiece]) -> Iterator[TimedPiece]:
    """Two single letters or more in a row are one spelled word."""
    spelled: list[TimedPiece] = []
    for word in [*words, None]:
        if word is not None and len(word.text) == 1 and word.text.isascii() and word.text.isalpha():
            spelled.append(word)
            continue
        if len(spelled) > 1:
            letters = _joined(spelled)
            yield replace(letters, text=letters.text.upper())
        else:
            yield from spelled
        spelled = []
        if word is not None:
            yield word


def _with_spaces(words: Iterator[TimedPiece]) -> Iterator[TimedPiece]:
    for word in words:
        yield word if is_wide(word.text[0]) else replace(word, text=f" {word.text}")
