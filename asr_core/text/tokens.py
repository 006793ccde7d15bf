"""From what a recognizer writes to the one token list, and from tokens to sentences.

Owns the rules for what a token is and which punctuation mark follows it. Knows nothing of audio
or models.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from asr_core.results import Token

MAX_PAUSE_MS = 1200
"""A longer pause between two tokens ends a sentence."""

SENTENCE_ENDS = frozenset("。！？；….!?;")
"""Marks that end a sentence."""

_FULL_WIDTH = {
    **{",": "，", ".": "。", "?": "？", "!": "！", ";": "；", ":": "："},
    **{"…": "……", "—": "——"},
}
_MARKS = {
    **{"。": ".", "？": "?", "！": "!", "；": ";", "：": ":", "，": ",", "、": "、"},
    **{".": ".", "?": "?", "!": "!", ";": ";", ":": ":", ",": ",", "·": "·", "•": "·", "・": "·"},
    **{"…": "…", "⋯": "…", "—": "—", "–": "—", "―": "—", "｡": ".", "､": "、", "．": "."},
    **{"؟": "?", "،": ",", "؛": ";"},
}
_STRENGTH = {mark: rank for rank, mark in enumerate("·、—,:;.…!?")}
_SYMBOLS = frozenset("%‰@_&*#/\\‱℃")

_NUMERALS = frozenset("零〇幺一二两三四五六七八九十百千万亿点")
_COMMA_PAUSE_MS = 400
_DOTS = re.compile(r"\.{3,}|。{3,}")
_FOLD = {code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B))}
_FOLD |= {code: code - 0xFEE0 for code in (*range(0xFF41, 0xFF5B), 0xFF05, 0xFF0E)}
_FOLD |= {0x2019: ord("'")}


@dataclass(frozen=True, slots=True)
class TimedPiece:
    """Decoded text of one recognizer unit: characters, a word part, marks, leading spaces."""

    text: str
    start_ms: int
    end_ms: int
    confidence: float


@dataclass(frozen=True, slots=True)
class _Char:
    text: str
    start_ms: int
    end_ms: int
    confidence: float


def is_wide(char: str) -> bool:
    """Whether a character takes a full cell (Chinese, kana, full-width marks, emoji)."""
    return unicodedata.east_asian_width(char) in ("W", "F")


def text_width(text: str) -> float:
    """Length in Chinese characters: a full-width character counts 1, any other 0.5."""
    return sum(map(_width, text))


@functools.lru_cache(maxsize=1 << 14)
def _width(char: str) -> float:
    return 1.0 if is_wide(char) or char in "“”‘’…—·" else 0.5


def tokens_from_pieces(pieces: Sequence[TimedPiece]) -> tuple[Token, ...]:
    """Build the token list of a run of recognizer units.

    A token is one Chinese character, one Latin word or one number (``3.5``, ``85%``, ``PM2.5``).
    A punctuation mark goes to the token before it; of several, the strongest stays. Quotes and
    brackets are dropped. The time of a piece is spread evenly over its characters.

    Args:
        pieces: in time order; times may overlap slightly or be negative, which is mended.

    Returns:
        Tokens with non-negative, ordered, non-overlapping times.
    """
    chars = [char for piece in pieces for char in _timed_chars(piece)]
    words: list[list[_Char]] = []
    marks: list[str] = []
    joined = False  # whether the next character may continue the last word
    for index, char in enumerate(chars):
        if _is_extension(char.text) and joined:
            words[-1].append(char)
        elif _is_word_char(chars, index):
            if joined and not marks[-1] and _continues(words[-1][-1].text, char.text):
                words[-1].append(char)
            else:
                words.append([char])
                marks.append("")
            joined = True
        else:
            mark = _MARKS.get(char.text, "")
            if mark and words:
                marks[-1] = _stronger(marks[-1], mark)
            joined = False
    return _ordered(_widen([_merge(word, mark) for word, mark in zip(words, marks, strict=True)]))


def split_sentences(
    tokens: Sequence[Token],
    *,
    max_pause_ms: int = MAX_PAUSE_MS,
    max_chars: int = 60,
    bound: Collection[int] = (),
) -> list[tuple[Token, ...]]:
    """Cut a token list into sentences without losing a token.

    Args:
        tokens: in time order.
        max_pause_ms: a longer pause between two tokens ends a sentence.
        max_chars: a sentence wider than this many Chinese characters is cut at its last mark or
            its longest pause, never inside a number.
        bound: indices of tokens that a sentence of more than ``max_chars`` is not cut behind.
    """
    sentences: list[tuple[Token, ...]] = []
    first = 0
    for index, token in enumerate(tokens):
        last = index + 1 == len(tokens)
        if (
            last
            or token.mark[-1:] in SENTENCE_ENDS
            or tokens[index + 1].start_ms - token.end_ms > max_pause_ms
        ):
            inside = {place - first for place in bound if first <= place < index}
            sentences.extend(_cut_long(tokens[first : index + 1], max_chars, inside))
            first = index + 1
    return sentences


def comma_at_pauses(tokens: Sequence[Token]) -> list[Token]:
    """Tokens of a recognizer that gives no marks at all, with commas at short pauses."""
    marked = []
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if (
            following is not None
            and _COMMA_PAUSE_MS <= following.start_ms - token.end_ms <= MAX_PAUSE_MS
            and not _inside_number(token, following)
        ):
            token = replace(token, mark=",")
        marked.append(token)
    return _widen(marked)


def close_sentence(tokens: tuple[Token, ...], following: Token | None) -> tuple[Token, ...]:
    """Give the last token of a sentence a mark if it has none.

    Args:
        tokens: of one sentence.
        following: first token of the next one; ``None`` at the end.

    Returns:
        The tokens with a full stop before a long pause or the end, else with a comma.
    """
    last = tokens[-1]
    if last.mark[-1:] in SENTENCE_ENDS:
        return tokens
    if last.mark and (following is not None or last.mark in "：:"):
        return tokens
    paused = following is None or following.start_ms - last.end_ms > MAX_PAUSE_MS
    mark = "." if paused else ","
    chinese = any(is_wide(token.text[-1]) for token in tokens)
    closing = _FULL_WIDTH[mark] if chinese else mark
    return (*tokens[:-1], replace(last, mark=closing))


def _timed_chars(piece: TimedPiece) -> Iterator[_Char]:
    """The characters of a piece; spoken ones share its time evenly, others take none."""
    text = "".join(char for char in piece.text.translate(_FOLD) if not _is_ignorable(char))
    text = _DOTS.sub("…", text)
    spoken = sum(1 for char in text if _takes_time(char))
    start = max(piece.start_ms, 0)
    length = max(piece.end_ms - start, 0)
    confidence = min(max(piece.confidence, 0.0), 1.0) if math.isfinite(piece.confidence) else 0.0
    done = 0
    for char in text:
        begin = start + length * done // max(spoken, 1)
        done += _takes_time(char)
        yield _Char(char, begin, start + length * done // max(spoken, 1), confidence)


def _is_ignorable(char: str) -> bool:
    """Controls, surrogates, unassigned and invisible characters, undecodable bytes."""
    if char in "\u200d\ufffd":
        return char == "\ufffd"
    return unicodedata.category(char)[0] == "C" and not char.isspace()


def _takes_time(char: str) -> bool:
    return char.isalnum() or char in _SYMBOLS or unicodedata.category(char)[0] == "S"


def _is_extension(char: str) -> bool:
    """Combining marks, variation selectors, the joiner of emoji and skin tones."""
    return unicodedata.category(char)[0] == "M" or char == "\u200d" or "🏻" <= char <= "🏿"


def _is_word_char(chars: Sequence[_Char], index: int) -> bool:
    char = chars[index].text
    if char in "～〜~":
        return False
    if char.isalnum() or char in _SYMBOLS or unicodedata.category(char)[0] == "S":
        return True
    before = chars[index - 1].text if index else ""
    after = chars[index + 1].text if index + 1 < len(chars) else ""
    if char in ".,:-" and before.isdigit() and after.isdigit():
        return not is_wide(before) and not is_wide(after)
    if char in "'-." and _is_latin(before) and _is_latin(after):
        return True
    if not after.isdigit():
        return False
    return (char == "-" and is_wide(before or " ")) or (char in "-." and not before.strip())


def _is_latin(char: str) -> bool:
    return char.isalnum() and not is_wide(char)


def _continues(before: str, char: str) -> bool:
    """Whether ``char`` belongs to the word that ``before`` ends; both are word characters."""
    if before == "\u200d":
        return True
    return not is_wide(before) and not is_wide(char)


def _stronger(first: str, second: str) -> str:
    return second if _STRENGTH[second] > _STRENGTH.get(first, -1) else first


def _merge(word: Sequence[_Char], mark: str) -> Token:
    confidence = math.fsum(char.confidence for char in word) / len(word)
    return Token(
        text="".join(char.text for char in word),
        start_ms=min(char.start_ms for char in word),
        end_ms=max(char.end_ms for char in word),
        confidence=min(confidence, 1.0),
        mark=mark,
    )


def _widen(tokens: Sequence[Token]) -> list[Token]:
    """Give every mark beside Chinese text its full-width form."""
    chinese = any(is_wide(token.text[-1]) for token in tokens)
    widened: list[Token] = []
    for index, token in enumerate(tokens):
        following = is_wide(tokens[index + 1].text[0]) if index + 1 < len(tokens) else chinese
        if token.mark and (is_wide(token.text[-1]) or following):
            token = replace(token, mark=_FULL_WIDTH.get(token.mark, token.mark))
        widened.append(token)
    return widened


def _ordered(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Starts never go back, an end never passes the next start."""
    starts: list[int] = []
    for token in tokens:
        starts.append(max(token.start_ms, starts[-1] if starts else 0))
    ordered = []
    for index, token in enumerate(tokens):
        limit = starts[index + 1] if index + 1 < len(tokens) else token.end_ms
        end = max(starts[index], min(token.end_ms, limit))
        ordered.append(replace(token, start_ms=starts[index], end_ms=end))
    return tuple(ordered)


def _cut_long(
    tokens: Sequence[Token], max_chars: int, bound: Collection[int]
) -> Iterator[tuple[Token, ...]]:
    rest = tuple(tokens)
    while True:
        width = 0.0
        fits = 0
        for token in rest:
            width += text_width(token.text + token.mark)
            if width > max_chars:
                break
            fits += 1
        if fits == len(rest) or len(rest) == 1:
            break
        cut = _best_cut(rest, max(fits, 1), bound)
        yield rest[:cut]
        rest = rest[cut:]
        bound = {place - cut for place in bound if place >= cut}
    if rest:
        yield rest


def _best_cut(tokens: Sequence[Token], most: int, bound: Collection[int]) -> int:
    """How many tokens the first part takes: at a mark, else at a pause, else as many as fit."""
    candidates = [c for c in range(max(most // 2, 1), most + 1) if c - 1 not in bound] or [most]
    marked = [count for count in candidates if tokens[count - 1].mark]
    if marked:
        return marked[-1]
    outside = [c for c in candidates if not _inside_number(tokens[c - 1], tokens[c])]
    return max(outside or [most], key=lambda c: (tokens[c].start_ms - tokens[c - 1].end_ms, c))


def _inside_number(before: Token, after: Token) -> bool:
    if before.mark:
        return False
    return _numeric(before.text[-1]) and _numeric(after.text[0])


def _numeric(char: str) -> bool:
    return char in _NUMERALS or char.isdigit()
