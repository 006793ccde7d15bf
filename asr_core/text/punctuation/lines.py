"""Marks in a plain line of text: taking out those that it has, putting in new ones.

Everything that is no mark stays as it is and where it is: quotes, brackets, titles, addresses,
unknown characters. Knows nothing of models.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from asr_core.results import Token
from asr_core.text.tokens import TimedPiece, is_wide, tokens_from_pieces

_DROPPED = frozenset("，。？！、；：,.?!;:")
_DIVIDERS = frozenset("…⋯—–―·•・~～〜")

_OPENERS = {"”": "“", "’": "‘", "」": "「", "』": "『", '"': '"'}
_CLOSERS = frozenset("”’」』》〉）】〕］｝)]}")
_LONGEST_QUOTE = 400  # characters; a longer one is not looked through for its beginning
# A quote behind one of these is a whole utterance: its last mark stands inside.
_SPEECH = re.compile(r"(?:^|[说道问答讲喊叫想称写]|表示|认为|指出|强调)\s*$")
_ENDS = frozenset("。？！.?!")

# Addresses, paths, names of files and clock times: their marks are no punctuation.
_KEPT = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]*://[\x21-\x7e]*[A-Za-z0-9/_#=&~+%-]"
    r"|(?<![A-Za-z0-9])[A-Za-z]:[\\/][\x21-\x7e]*[A-Za-z0-9/\\_]"
    r"|(?<![^\s(（“])\.[A-Za-z][A-Za-z0-9]*"
    r"|(?<!\d)\d+(?:：\d+)+(?!\d)"
    r"|《[^《》\n]{1,40}》"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its marks.

    Attributes:
        text: what is left of it.
        tokens: its words; times are positions in ``text``.
        kept: inclusive ranges of tokens that nothing divides, and places that have a dash or an
            ellipsis already.
    """

    text: str
    tokens: tuple[Token, ...]
    kept: tuple[tuple[int, int], ...]


def strip_marks(text: str) -> str:
    """A line without ，。？！、；：,.?!;: where they are punctuation.

    A mark of a number, of an abbreviation or a name (``3.5``, ``10:30``, ``U.S.A``), of an address
    or a path, or inside 《》 stays. A mark between two Latin words leaves a space.
    """
    while True:
        bare = _strip_once(text)
        if bare == text:
            return bare
        text = bare


def parse_line(text: str) -> Line:
    """Find the words of a line that has no marks; see :func:`strip_marks`."""
    found = _tokens(text)
    tokens: list[Token] = []
    ranges: list[tuple[int, int]] = []
    matches = _kept(text, found)
    found.reverse()
    for match in matches:
        while found and found[-1].start_ms < match.start():
            tokens.append(found.pop())
        inside: list[Token] = []
        while found and found[-1].start_ms < match.end():
            inside.append(found.pop())
        if inside and match[0].startswith("《"):
            ranges.append((len(tokens), len(tokens) + len(inside) - 1))
            tokens += [*inside[:-1], replace(inside[-1], end_ms=match.end())]
        elif inside:
            tokens.append(Token(match[0], match.start(), match.end(), 1.0))
    tokens.extend(reversed(found))
    for index, (before, after) in enumerate(pairwise(tokens)):
        if not _DIVIDERS.isdisjoint(text[before.end_ms : after.start_ms]):
            ranges.append((index, index + 1))
    return Line(text, tuple(tokens), tuple(ranges))


def insert_marks(line: Line, marks: Sequence[str]) -> str:
    """Write one mark behind each token of a line, "" for none.

    A mark stands behind the closing quotes and brackets that follow its word. 。？！ stands inside
    the quotes when they hold a whole utterance: at the start of the line, or behind 说, 道, 问 and
    the like. Spaces behind a full-width mark are dropped. A line that ends with an ellipsis or a
    dash gets no last mark.
    """
    text = line.text
    quotes = [match.start() for match in re.finditer('"', text)]
    pieces: list[str] = []
    done = 0
    for index, (token, mark) in enumerate(zip(line.tokens, marks, strict=True)):
        if not mark:
            continue
        last = index + 1 == len(line.tokens)
        limit = len(text) if last else line.tokens[index + 1].start_ms
        if last and not _DIVIDERS.isdisjoint(text[token.end_ms :]):
            continue
        place = _place(text, token.end_ms, quotes, ends=mark in _ENDS)
        pieces += [text[done:place], mark]
        done = place
        if is_wide(mark) and (last or _joins(text[limit])):
            done += len(text[place:limit]) - len(text[place:limit].lstrip())
            done = done if done == limit else place
    return "".join([*pieces, text[done:]])


def _place(text: str, place: int, quotes: Sequence[int], *, ends: bool) -> int:
    """Where a mark stands whose word ends at ``place``."""
    while place < len(text):
        char = text[place]
        if char == '"':
            before = bisect_left(quotes, place)
            if before % 2 == 0:
                break
            opening = quotes[before - 1]
        elif char in _CLOSERS:
            opener = _OPENERS.get(char)
            opening = text.rfind(opener, max(place - _LONGEST_QUOTE, 0), place) if opener else -1
        else:
            break
        if ends and opening >= 0 and _SPEECH.search(text[:opening][-8:]):
            break
        place += 1
    return place


def _strip_once(text: str) -> str:
    """One pass; what it joins may be read differently in the next."""
    if _DROPPED.isdisjoint(text):
        return text
    kept = bytearray(len(text))
    tokens = _tokens(text)
    spans = [(token.start_ms, token.end_ms) for token in tokens]
    for begin, end in [*spans, *(match.span() for match in _kept(text, tokens))]:
        kept[begin:end] = b"\1" * (end - begin)
    parts: list[str] = []
    for index, char in enumerate(text):
        if kept[index] or char not in _DROPPED:
            parts.append(char)
        elif parts and _would_join(parts[-1], text[index + 1 : index + 2]):
            parts.append(" ")
    return "".join(parts)


def _would_join(before: str, after: str) -> bool:
    """Whether two characters may become parts of one word when nothing stands between them."""
    if not after or not (_is_word_char(before) or before == "\u200d"):
        return False
    if _extends(after) or "🏻" <= after <= "🏿":
        return True
    if not _is_word_char(after):
        return False
    return before == "\u200d" or not (is_wide(before) or is_wide(after))


def _is_word_char(char: str) -> bool:
    return char.isalnum() or char in "%‰@_&*#/\\" or unicodedata.category(char)[0] in "SM"


def _joins(char: str) -> bool:
    """Whether a word that begins with this stays the same without the space before it."""
    if _extends(char) or "🏻" <= char <= "🏿":
        return False
    return char.isalnum() or is_wide(char)


def _kept(text: str, tokens: Sequence[Token]) -> list[re.Match[str]]:
    """Matches of ``_KEPT`` that begin and end where no token is cut."""
    starts = [token.start_ms for token in tokens]

    def cuts(place: int) -> bool:
        before = bisect_left(starts, place) - 1
        return before >= 0 and tokens[before].end_ms > place

    return [
        match for match in _KEPT.finditer(text) if not cuts(match.start()) and not cuts(match.end())
    ]


def _tokens(text: str) -> list[Token]:
    """The tokens of a text; their times are their positions."""
    pieces = [TimedPiece(char, at, at + 1, 1.0) for at, char in enumerate(text)]
    tokens = tokens_from_pieces(pieces)
    found: list[Token] = []
    for index, token in enumerate(tokens):
        limit = tokens[index + 1].start_ms if index + 1 < len(tokens) else len(text)
        end = token.end_ms
        while end < limit and _extends(text[end]):
            end += 1
        found.append(Token(token.text, token.start_ms, end, 1.0))
    return found


def _extends(char: str) -> bool:
    """Combining marks and joiners, which take no time of their own."""
    return unicodedata.category(char)[0] == "M" or char == "\u200d"
