"""One line under normalization: its numbers, its protected words and the edits so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from asr_core.text.itn.lexicon import Lexicon
from asr_core.text.itn.numerals import (
    BIG,
    DIGIT_VALUES,
    NUMERALS,
    UNITS,
    Numeral,
    is_approximate_pair,
    segment,
    write_digits,
)
from asr_core.text.itn.style import ItnStyle

_RUN = NUMERALS | {"几"}
_KILO_UNITS = "克米瓦卡帕伏赫焦"
_WEEK = ("星期", "礼拜", "周")
_WEEKDAYS = "一二三四五六"
_NOT_COMING = ("来自", "来到", "来说", "来看", "来了", "来回", "来讲")
_MARGIN = 16
_LONGEST_TITLE = 60
_SCALE_TAILS = ("万亿", "千万", "百万", "万", "亿")


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters ``[begin, end)`` of the line that are written differently."""

    begin: int
    end: int
    written: str


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule decided: it owns the line up to ``end``, with or without edits."""

    end: int
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with an optional decimal part: 三点五, 二十, 一百二十."""

    begin: int
    end: int
    written: str
    value: int
    is_decimal: bool
    is_ten: bool

    @property
    def is_small(self) -> bool:
        """A whole number from 0 to 9."""
        return not self.is_decimal and self.value < 10


class Line:
    """A text, the numbers in it and the neighbours that rules ask about.

    Args:
        text: the line; marks and spaces separate numbers.
        lexicon: word lists.
        style: how numbers are written.
        blocked: half-open character ranges that nothing may touch.

    Attributes:
        char: gives the character at a place; empty up to ``_MARGIN`` places outside the line.
    """

    def __init__(
        self,
        text: str,
        lexicon: Lexicon,
        style: ItnStyle,
        blocked: Iterable[tuple[int, int]] = (),
    ) -> None:
        self.text = text
        self.lexicon = lexicon
        self.style = style
        self.numbering_end = -1
        self._amounts: dict[int, Amount | None] = {}
        # Negative places and places behind the end both fall on the empty strings.
        self.char: Callable[[int], str] = [*text, *[""] * _MARGIN].__getitem__
        self._blocked = bytearray(len(text))
        for begin, end in blocked:
            self._blocked[begin:end] = b"\1" * (end - begin)
        self._protect()
        self.numerals = self._segment()
        self._by_begin = {numeral.begin: numeral for numeral in self.numerals}

    def is_free(self, at: int) -> bool:
        return 0 <= at < len(self.text) and not self._blocked[at]

    def numeral(self, at: int) -> Numeral | None:
        """The number that begins at ``at``."""
        return self._by_begin.get(at)

    def follows(self, at: int, *words: str) -> bool:
        return self.text.startswith(words, at)

    def precedes(self, at: int, *words: str) -> bool:
        return at > 0 and self.text.endswith(words, 0, at)

    def digits(self, at: int) -> str:
        """The stretch of digit characters at ``at``."""
        end = at
        while self.is_free(end) and self.text[end] in DIGIT_VALUES and self.text[end] not in "洞两":
            end += 1
        return self.text[at:end]

    def measure_end(self, at: int) -> int:
        """End of the measure word at ``at``; ``at`` when there is none."""
        return self.lexicon.measures.end(self.text, at)

    def unit_end(self, at: int) -> int:
        """End of the legal unit at ``at``; ``at`` when there is none."""
        if not self.is_free(at):
            return at
        end = self.lexicon.units.end(self.text, at)
        return end if end > self.lexicon.not_units.end(self.text, at) else at

    def money_end(self, at: int) -> int:
        """End of the currency at ``at``; ``at`` when there is none."""
        if not self.is_free(at):
            return at
        end = self.lexicon.money.end(self.text, at)
        return end if end > self.lexicon.not_units.end(self.text, at) else at

    def is_boundary(self, at: int) -> bool:
        """Whether ``at`` is outside the line or a mark or a space stands there."""
        return not 0 <= at < len(self.text) or not self.text[at].isalnum()

    def amount(self, at: int) -> Amount | None:
        """The number at ``at`` with its decimal part; ``None`` for approximations."""
        if at not in self._amounts:
            self._amounts[at] = self._amount(at)
        return self._amounts[at]

    def _amount(self, at: int) -> Amount | None:
        numeral = self.numeral(at)
        if numeral is None or numeral.kind == "fixed":
            return None
        if self.follows(at, "零下", "零上"):
            return None
        if numeral.kind == "digits" and numeral.end - numeral.begin == 2:
            return self._decimal(numeral)
        decimal = self._decimal(numeral)
        if decimal:
            return decimal
        is_ten = self.text[at : numeral.end] == "十"
        return Amount(at, numeral.end, numeral.written, numeral.value, False, is_ten)

    def _decimal(self, numeral: Numeral) -> Amount | None:
        if self.char(numeral.end) != "点" or not self.is_free(numeral.end):
            return None
        fraction = self.digits(numeral.end + 1)
        end = numeral.end + 1 + len(fraction)
        following = self.char(end)
        if not fraction or following == "两" or (following == "点" and self.digits(end + 1)):
            return None
        if following == "十" or (following == "百" and not self.follows(end, "百万", "百分")):
            return None
        if (
            following in ("几", "来")
            or self.follows(end, "分之")
            or not _is_decimal_point(self, numeral, fraction, end)
        ):
            return None
        whole = str(numeral.value) if numeral.kind == "cardinal" else numeral.written
        written = f"{whole}.{write_digits(fraction)}"
        for tail in _SCALE_TAILS:
            if self.text.startswith(tail, end) and not self.follows(end, "万一", "千万别"):
                return Amount(numeral.begin, end + len(tail), written + tail, 10, True, False)
        if following == "千" and self.char(end + 1) not in _KILO_UNITS:
            return Amount(numeral.begin, end + 1, written + "千", 10, True, False)
        return Amount(numeral.begin, end, written, numeral.value, True, False)

    def _protect(self) -> None:
        """Block the protected words, leftmost and longest first, then weekdays."""
        at = 0
        text, blocked = self.text, self._blocked
        heads = self.lexicon.protected.heads
        while at < len(text):
            if text[at : at + 2] not in heads or blocked[at]:
                at += 1
                continue
            for word in self.lexicon.protected.matches(text, at):
                end = at + len(word.text)
                if not any(blocked[at:end]) and _stands_alone(text, at, end):
                    blocked[at:end] = b"\1" * (end - at)
                    at = end - 1
                    break
            at += 1
        self._protect_titles()
        for name in _WEEK:
            found = text.find(name)
            while found >= 0:
                day = found + len(name)
                if _is_weekday(text, found, day):
                    blocked[found : day + 1] = b"\1" * (day + 1 - found)
                found = text.find(name, day)

    def _protect_titles(self) -> None:
        """Block what stands between 《 and 》."""
        opened = self.text.find("《")
        while opened >= 0:
            closed = self.text.find("》", opened, opened + _LONGEST_TITLE)
            if closed > 0:
                self._blocked[opened:closed] = b"\1" * (closed - opened)
            opened = self.text.find("《", opened + 1)

    def _segment(self) -> list[Numeral]:
        found: list[Numeral] = []
        text = self.text
        at = 0
        while at < len(text):
            if text[at] not in _RUN or self._blocked[at]:
                at += 1
                continue
            end = at + 1
            while end < len(text) and not self._blocked[end] and self._continues(at, end):
                end += 1
            cut = self._decimal_end(at, end)
            found.extend(self._run(at, cut))
            if cut < end:
                found.extend(self._run(cut, end))
            at = end
        return found

    def _decimal_end(self, begin: int, end: int) -> int:
        """Where the decimals that a run begins with end, 万 and 亿 included; else its end."""
        text = self.text
        if self.char(begin - 1) != "点" or self.char(begin - 2) not in NUMERALS:
            return end
        at = begin
        while at < end and text[at] in DIGIT_VALUES:
            at += 1
        if at in (begin, end) or text[at] not in BIG:
            return end
        while at < end and text[at] in BIG:
            at += 1
        return at

    def _continues(self, begin: int, at: int) -> bool:
        char = self.text[at]
        if char in _RUN:
            return True
        return (
            char == "洞"
            and self.char(at - 1) in DIGIT_VALUES
            and self.char(at + 1) in DIGIT_VALUES
            and "幺" in self.text[max(begin, at - 8) : at + 8]
        )

    def _run(self, begin: int, end: int) -> list[Numeral]:
        """The numbers of one run, less a last character that belongs to what follows."""
        text = self.text
        before = self.char(begin - 1)
        numerals = segment(text, begin, end)
        if self._is_loose(numerals, begin, end):
            end -= 1
            numerals = segment(text, begin, end)
        after = self.char(end)
        is_part = before.isdigit() or after.isdigit() or (before == "、" and self._goes_on(begin))
        is_some = before in ("数", "上") and text[begin] in UNITS and text[begin] + before != "十上"
        if is_part or is_some:
            return [Numeral(begin, end, "fixed")]
        is_about = after == "来" and not self.follows(end, *_NOT_COMING)
        if text[end - 1] in UNITS and (is_about or self.follows(end, "好几")):
            numerals[-1] = Numeral(numerals[-1].begin, end, "fixed")
        return numerals

    def _goes_on(self, begin: int) -> bool:
        """Whether 一、两千 or 九、十点 is an approximation with a pause in it."""
        first, second = self.char(begin - 2), self.text[begin]
        if first not in DIGIT_VALUES or not first or self.char(begin - 3) in _RUN:
            return False
        return is_approximate_pair(first + second) or first + second == "九十"

    def _is_loose(self, numerals: list[Numeral], begin: int, end: int) -> bool:
        """Whether the last character of a run begins what follows: 千克, 一般, 一瓶."""
        text = self.text
        last, final = numerals[-1], text[end - 1]
        if end - begin < 2:
            return False
        if final == "千":
            if self.char(end) not in tuple(_KILO_UNITS):
                return False
            is_odd = len(numerals) > 1 or last.kind == "fixed"
            return is_odd or segment(text, begin, end - 1)[0].is_small
        if final not in "一二三四五六七八九":
            return False
        if last.kind == "digits":
            spoken = text[begin:end]
            is_short = len(spoken) <= 4 and not (
                len(spoken) == 4 and spoken[:2] in ("一九", "二零")
            )
            is_word = final == "一" and (is_short or set(spoken) == {"一"})
            return is_word and self.lexicon.protected.end(text, end - 1) > end
        if last.kind != "cardinal" or last.is_small:
            return False
        measured = self.measure_end(end) > end or self.unit_end(end) > end
        if measured:
            return last.shorthand and final == "一"
        is_open = last.shorthand or final == "一"
        return is_open and self.lexicon.protected.end(text, end - 1) > end


def _stands_alone(text: str, begin: int, end: int) -> bool:
    """Whether the ends of a protected word do not cut a number."""
    before = text[begin - 1] if begin else ""
    after = text[end] if end < len(text) else ""
    if before and text[begin] in NUMERALS and (before in NUMERALS or before.isdigit()):
        return False
    if before in tuple("块元角毛米点度第") and NUMERALS.issuperset(text[begin:end]):
        return False
    if not after or text[end - 1] not in NUMERALS or after not in NUMERALS:
        return True
    return text[begin] not in NUMERALS and after not in UNITS


def _is_weekday(text: str, name: int, day: int) -> bool:
    """周三, 礼拜五; not 一周五十个."""
    if text[day : day + 1] not in tuple(_WEEKDAYS):
        return False
    following = text[day + 1 : day + 2]
    if not following or following not in UNITS:
        return True
    if name and text[name - 1] in NUMERALS:
        return False
    end = day + 1
    while end < len(text) and text[end] in NUMERALS:
        end += 1
    return text[end : end + 1] in ("点", "时")


_AFTER_DECIMAL = (
    "万",
    "亿",
    "倍",
    "个百分",
    "版",
    "左右",
    "到",
    "至",
    "以",
    "级",
    "折",
    "成",
    "比",
    "分",
)
_NOT_A_POINT = frozenset("早晚快慢这那多少大小高低好第每某强差")


def _is_decimal_point(line: Line, numeral: Numeral, fraction: str, end: int) -> bool:
    """Whether 点 between a number and digits is a decimal point, not 一点 or a clock."""
    before = line.char(numeral.begin - 1)
    if before == "第" or line.precedes(numeral.begin, "以下", "以上"):
        return False
    if before.isascii() and before.isalpha():
        return True
    if before in tuple("有说讲提谈") and line.follows(end, "是"):
        return False
    counted = line.unit_end(end) > end or line.follows(end, *_AFTER_DECIMAL)
    if line.char(end) == "个" and line.lexicon.points.end(line.text, end + 1) > end + 1:
        return False
    if fraction == "一" and numeral.begin + 1 == numeral.end:
        is_end = line.is_boundary(end) or line.money_end(end) > end
        if not (counted or (is_end and before != "有")):
            return False
    if numeral.value != 1 or numeral.end - numeral.begin != 1:
        return before not in ("这", "那") or numeral.value >= 10
    if before in _NOT_A_POINT and before:
        return False
    if before == "有":
        return counted
    return True
