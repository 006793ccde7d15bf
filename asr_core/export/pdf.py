"""PDF.

Chinese is written in a font that every PDF reader brings or replaces (STSong-Light), Latin in
Helvetica, so no font has to be on the machine that writes. Together they hold what GBK holds, but
for a few characters that Adobe's table of the font (UniGB-UCS2-H) leaves out.
"""

from __future__ import annotations

import functools
import io
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from asr_core.export.clean import one_line, whole_clock
from asr_core.export.options import Sheet
from asr_core.export.reading import facts, named, no_speech
from asr_core.messages import message

_HAN, _LATIN = "STSong-Light", "Helvetica"
_RUNS = re.compile(r"[\x00-\x7f]+|[^\x00-\x7f]+")
_MISSING = "〓"
"""Stands where the font has no character, as in Chinese print."""

_LEFT_OUT = "·ńňɑɡ\uf979\uf995\uf9e7\uf9f1\ufa0c\ufe31" + "".join(map(chr, range(0xFE33, 0xFE45)))
"""Of GBK, not in that table: readers draw an empty box for them."""

_STANDS_IN = {"·": "・", "ɑ": "a", "ɡ": "g"}
"""The font draws the dot of foreign names where Unicode has the Japanese one."""

_BEYOND = "・€¥"
"""In the table, and not in GBK."""

_PAGE_WIDTH, _PAGE_HEIGHT = 595.28, 841.89  # points: A4
_MARGIN, _FOOT = 62.0, 34.0
_TITLE_SIZE, _SIZE, _SMALL = 18.0, 11.0, 9.0
_LEADING, _GAP = 1.6, 5.0
_TIME_WIDTH = 56.0
_BLACK, _GREY = 0.0, 0.42
_NOT_FIRST = frozenset("，。、；：？！）》」』”’…—％,.;:?!)]}%")


def write_pdf(sheet: Sheet) -> bytes:
    """PDF on A4: headline, line of facts, one paragraph for each sentence, numbers of pages."""
    paper = _Paper(_shown(sheet.title), sheet.locale)
    paper.write(_shown(sheet.title), _TITLE_SIZE)
    paper.write(_shown(facts(sheet)), _SMALL, grey=True)
    for sentence in sheet.transcript.sentences:
        time = whole_clock(sentence.start_ms) if sheet.times else ""
        paper.write(_shown(named(sentence) + one_line(sentence.text)), _SIZE, time=time)
    if not sheet.transcript.sentences:
        paper.write(no_speech(sheet), _SIZE)
    return paper.finished()


class _Paper:
    """Pages that are filled from above."""

    def __init__(self, title: str, locale: str) -> None:
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.cidfonts import UnicodeCIDFont
        from reportlab.pdfgen.canvas import Canvas

        if _HAN not in pdfmetrics.getRegisteredFontNames():
            pdfmetrics.registerFont(UnicodeCIDFont(_HAN))
        self._buffer = io.BytesIO()
        # Without a date of its own, equal transcripts give equal files.
        self._canvas: Any = Canvas(
            self._buffer, (_PAGE_WIDTH, _PAGE_HEIGHT), invariant=1, lang="zh-CN"
        )
        self._canvas.setTitle(title[:255])
        self._canvas.setAuthor("听录")
        self._title = title[:40]
        self._locale = locale
        self._page = 1
        self._y = _PAGE_HEIGHT - _MARGIN

    def write(self, text: str, size: float, *, time: str = "", grey: bool = False) -> None:
        """One paragraph, with its time to the left of it."""
        left = _MARGIN + (_TIME_WIDTH if time else 0.0)
        for number, line in enumerate(_lines(text, size, _PAGE_WIDTH - _MARGIN - left)):
            self._y -= size * _LEADING
            if self._y < _MARGIN:
                self._turn_over()
                self._y -= size * _LEADING
            if time and number == 0:
                self._draw(_MARGIN, time, _SMALL, _GREY)
            self._draw(left, line, size, _GREY if grey else _BLACK)
        self._y -= _GAP

    def finished(self) -> bytes:
        self._number()
        self._canvas.showPage()
        self._canvas.save()
        return self._buffer.getvalue()

    def _turn_over(self) -> None:
        self._number()
        self._canvas.showPage()
        self._page += 1
        self._y = _PAGE_HEIGHT - _MARGIN

    def _number(self) -> None:
        self._y, kept = _FOOT, self._y
        self._draw(_MARGIN, self._title, _SMALL, _GREY)
        number = message("document.page", self._locale, page=self._page)
        self._draw(_PAGE_WIDTH - _MARGIN - _width(number) * _SMALL, number, _SMALL, _GREY)
        self._y = kept

    def _draw(self, left: float, text: str, size: float, grey: float) -> None:
        self._canvas.setFillGray(grey)
        line = self._canvas.beginText(left, self._y)
        for run in _RUNS.findall(text):
            line.setFont(_LATIN if run.isascii() else _HAN, size)
            line.textOut(run)
        self._canvas.drawText(line)


def _lines(text: str, size: float, room: float) -> Iterator[str]:
    """Break between any two characters except inside a Latin word and before a mark."""
    begin, used, space = 0, 0.0, -1  # space: the last place where a line may end
    most = room / size
    for index, char in enumerate(text):
        if index > begin and _may_break(text[index - 1], char):
            space = index
        used += _char_width(char)
        if used > most and index > begin:
            # A word that is wider than the line is cut where the line ends.
            cut = space if space > begin else index
            yield text[begin:cut].rstrip()
            begin, space = cut, -1
            used = _width(text[begin : index + 1])
    yield text[begin:].rstrip()


def _may_break(before: str, after: str) -> bool:
    if after in _NOT_FIRST or after == " ":
        return False
    return before == " " or not (before.isascii() and after.isascii())


def _width(text: str) -> float:
    """In ems."""
    return sum(map(_char_width, text))


@functools.lru_cache(maxsize=32_768)
def _char_width(char: str) -> float:
    from reportlab.pdfbase import pdfmetrics

    return float(pdfmetrics.stringWidth(char, _LATIN if char.isascii() else _HAN, 1.0))


def _shown(text: str) -> str:
    """One line of characters that the font has."""
    return "".join(map(_held, one_line(text)))


@functools.lru_cache(maxsize=32_768)
def _held(char: str) -> str:
    if _has(char):
        return char
    if char in _LEFT_OUT:
        other = _STANDS_IN.get(char, unicodedata.normalize("NFKC", char))
        return other if all(map(_has, other)) else _MISSING
    # What only shapes the character before it is not missed on its own.
    return "" if unicodedata.category(char) in ("Mn", "Me", "Cf") else _MISSING


def _has(char: str) -> bool:
    if char in _LEFT_OUT:
        return False
    return char in _BEYOND or bool(char.encode("gbk", "ignore"))
