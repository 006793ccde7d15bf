"""Ordinals, counts and bare numbers from ten up."""

from __future__ import annotations

from asr_core.text.itn.line import Edit, Line, Match
from asr_core.text.itn.numerals import Numeral

_NOT_NEGATIVE = ("胜", "担", "抱", "欺", "肩", "自", "背", "辜", "不", "平", "正", "如", "重", "期")


def match_negative(line: Line, numeral: Numeral) -> Match | None:
    """负五; every other class writes its own sign."""
    if line.char(numeral.begin - 1) != "负" or numeral.kind != "cardinal":
        return None
    if not is_signed(line, numeral.begin) or line.precedes(numeral.begin, "分之负"):
        return None
    return Match(numeral.end, (Edit(numeral.begin, numeral.end, numeral.written),))


def match_ordinal(line: Line, numeral: Numeral) -> Match | None:
    """第十名, 第二十三条; 第三 stays."""
    if line.char(numeral.begin - 1) != "第":
        return None
    if numeral.is_ten_up:
        return Match(numeral.end, (Edit(numeral.begin, numeral.end, numeral.written),))
    return Match(numeral.end)


def match_count(line: Line, numeral: Numeral) -> Match | None:
    """二十五, 三百人, 十个; a bare 十 stays."""
    if not numeral.is_ten_up:
        return None
    at = numeral.end
    is_bare = line.text[numeral.begin : at] == "十"
    if is_bare and not (_is_counted(line, at) or line.char(at) in ("多", "余")):
        return None
    return Match(at, (Edit(numeral.begin, at, numeral.written),))


def is_signed(line: Line, at: int) -> bool:
    """Whether 负 right before ``at`` is a minus: not 胜负, 三胜两负一平."""
    return line.char(at - 2) not in (*_NOT_NEGATIVE, *"一二两三四五六七八九十几") or at < 2


def _is_counted(line: Line, at: int) -> bool:
    if not line.is_free(at):
        return False
    return line.measure_end(at) > at or line.unit_end(at) > at or line.money_end(at) > at
