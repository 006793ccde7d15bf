"""Chinese numerals: where numbers begin and end in a run of numeral characters, and their value.

Exact integers only. Knows nothing of context: which numbers become digits is for the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DIGIT_VALUES = {
    **{"零": 0, "〇": 0, "洞": 0, "幺": 1, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4},
    **{"五": 5, "六": 6, "七": 7, "八": 8, "九": 9},
}
SCALES = {"十": 10, "百": 100, "千": 1000}
BIG = frozenset("万亿")
UNITS = frozenset("十百千万亿")
NUMERALS = frozenset(DIGIT_VALUES) - {"洞"} | UNITS
_BARE = UNITS - {"十"}
_WAN = 10_000
_YI = 100_000_000


@dataclass(frozen=True, slots=True)
class Numeral:
    """One number of a run, half-open ``[begin, end)`` in the text.

    Attributes:
        kind: ``cardinal`` (二十五, 三, 一千二), ``digits`` (read one by one, two or more) or
            ``fixed`` (an approximation, a times table or no number at all: it stays as spoken).
        value: of a cardinal or of the digits; 0 when fixed.
        written: digits with 万 and 亿 where a reader expects them.
        shorthand: the last unit was dropped (一千二 for 1200).
    """

    begin: int
    end: int
    kind: Literal["cardinal", "digits", "fixed"]
    value: int = 0
    written: str = ""
    shorthand: bool = False

    @property
    def is_small(self) -> bool:
        """A single digit, 0 to 9."""
        return self.kind == "cardinal" and self.value < 10

    @property
    def is_ten_up(self) -> bool:
        return self.kind == "cardinal" and self.value >= 10


@dataclass(slots=True)
class _Parts:
    """A cardinal under way: closed 亿 and 万 parts, the section below 万 and what may follow."""

    yi: int = 0
    wan: int = 0
    section: int = 0
    unit: int = _WAN
    top: int = _YI * _WAN
    digit: int = -1
    zero: bool = False
    after_zero: bool = False
    started: bool = False
    counted: bool = False

    @property
    def is_ones(self) -> bool:
        """Whether a digit at this place counts ones, not tenths of the unit before it."""
        return not self.counted or self.after_zero or self.unit == 10

    def total(self) -> int:
        return self.yi * _YI + self.wan * _WAN + self.section


def digits_end(text: str, begin: int, end: int) -> int:
    """One past the last character of the digit stretch that starts at ``begin``."""
    while begin < end and text[begin] in DIGIT_VALUES:
        begin += 1
    return begin


def write_digits(spoken: str) -> str:
    """Digits read one by one: 幺零三 gives 103."""
    return "".join(str(DIGIT_VALUES[char]) for char in spoken)


def is_approximate_pair(spoken: str) -> bool:
    """Whether two digits name a rough number: 两三, 七八, 三五."""
    if len(spoken) != 2 or any(DIGIT_VALUES.get(char, 0) < 1 for char in spoken):
        return False
    first, second = (DIGIT_VALUES[char] for char in spoken)
    return second - first == 1 or (first, second) == (3, 5)


def segment(text: str, begin: int, end: int) -> list[Numeral]:
    """Cut a run of numeral characters into its numbers, in order, without a gap.

    Args:
        text: the line.
        begin: first character of the run; every character up to ``end`` is a numeral or 几.
        end: one past the run.
    """
    run = text[begin:end]
    if "几" in run:
        return [Numeral(begin, end, "fixed")]
    if not UNITS.intersection(run):
        return [_digits(text, begin, end)]
    if end - begin < 32 and not _is_list(run) and (_is_rough(run) or _is_times_table(run)):
        return [Numeral(begin, end, "fixed")]
    found: list[Numeral] = []
    at = begin
    while at < end:
        numeral = _next(text, at, end)
        found.append(numeral)
        at = numeral.end
    # 三百零五千三百三十四: a zero between two numbers is part of neither, so the run is no number.
    if any(text[numeral.begin : numeral.end] in ("零", "〇") for numeral in found[1:-1]):
        return [Numeral(begin, end, "fixed")]
    return found


def _next(text: str, at: int, end: int) -> Numeral:
    if text[at] in _BARE:
        return Numeral(at, end, "fixed")
    stretch = digits_end(text, at, end)
    if stretch == end:
        return _digits(text, at, end)
    lead = stretch - at - 1
    if lead >= 2:
        return Numeral(at, end, "fixed")
    if lead == 1:
        return _digits(text, at, at + 1)
    return _longest(text, at, end)


def _digits(text: str, begin: int, end: int) -> Numeral:
    spoken = text[begin:end]
    if end - begin == 1:
        value = DIGIT_VALUES[spoken]
        kind: Literal["cardinal", "fixed"] = "fixed" if spoken == "幺" else "cardinal"
        return Numeral(begin, end, kind, value, str(value))
    written = write_digits(spoken)
    return Numeral(begin, end, "digits", int(written[:18]), written)


def _longest(text: str, at: int, end: int) -> Numeral:
    """The longest number at ``at`` after which the rest of the run can begin a number."""
    readings = _readings(text, at, end)
    for index in range(len(readings) - 1, -1, -1):
        reading = readings[index]
        following = text[reading.end] if reading.end < end else ""
        if following in _BARE and following:
            continue
        coefficient = text[reading.end - 1]
        shorter = index > 0 and readings[index - 1].end == reading.end - 1 > at + 1
        if following == "十" and shorter and DIGIT_VALUES.get(coefficient, 1) != 1:
            continue
        return reading
    return Numeral(at, end, "fixed")


def _readings(text: str, begin: int, end: int) -> list[Numeral]:
    """Every prefix of the run that is a whole number, shortest first."""
    parts = _Parts()
    found: list[Numeral] = []
    for at in range(begin, end):
        char = text[at]
        following = text[at + 1] if at + 1 < end else ""
        if char in "零〇":
            accepted = parts.counted and parts.digit < 0 and not parts.zero
            parts.zero = True
        elif char in SCALES:
            accepted = _take_scale(parts, char, text[at - 1] if at > begin else "")
        elif char in BIG:
            accepted = _take_big(parts, _WAN if char == "万" else _YI)
        else:
            accepted = _take_digit(parts, char, following)
        if not accepted:
            break
        parts.started = True
        if not parts.zero and not (char == "两" and at > begin):
            found.append(_reading(parts, begin, at + 1))
    return found


def _take_digit(parts: _Parts, char: str, following: str) -> bool:
    if char == "幺" or parts.digit >= 0:
        return False
    if char == "两" and parts.started and (not following or following not in "百千万亿"):
        return False
    parts.digit = DIGIT_VALUES[char]
    parts.after_zero, parts.zero = parts.zero, False
    return True


def _take_scale(parts: _Parts, char: str, before: str) -> bool:
    scale = SCALES[char]
    if scale >= parts.unit or (before == "两" and scale == 10):
        return False
    if parts.digit < 0 and (
        scale != 10 or not (not parts.started or parts.zero or parts.unit == 100)
    ):
        return False
    parts.section += (1 if parts.digit < 0 else parts.digit) * scale
    parts.unit, parts.digit = scale, -1
    parts.zero = parts.after_zero = False
    parts.counted = True
    return True


def _take_big(parts: _Parts, scale: int) -> bool:
    if scale >= parts.top and not (scale == _YI and parts.yi == 0):
        return False
    if parts.zero or (parts.digit >= 0 and not parts.is_ones):
        return False
    section = parts.section + max(parts.digit, 0)
    if scale == _WAN and section:
        parts.wan = section
    elif scale == _YI and parts.wan * _WAN + section:
        parts.yi, parts.wan = parts.wan * _WAN + section, 0
    else:
        return False
    parts.section, parts.unit, parts.top = 0, _WAN, scale
    parts.digit, parts.after_zero, parts.counted = -1, False, True
    return True


def _reading(parts: _Parts, begin: int, end: int) -> Numeral:
    wan, section, shorthand = parts.wan, parts.section, False
    if parts.digit >= 0 and parts.is_ones:
        section += parts.digit
    elif parts.digit >= 0:
        shorthand = True
        if parts.unit < _WAN:
            section += parts.digit * parts.unit // 10
        elif parts.top == _WAN:
            section += parts.digit * 1000
        else:
            wan += parts.digit * 1000
    value = parts.yi * _YI + wan * _WAN + section
    written = _shape(parts.yi, wan, section, value)
    return Numeral(begin, end, "cardinal", value, written, shorthand)


def _shape(yi: int, wan: int, section: int, value: int) -> str:
    """Whole 万 and 亿 keep the word; 亿 with 万 becomes a decimal of at most two places."""
    if not yi:
        return f"{wan}万" if wan and not section else str(value)
    if not wan and not section:
        return f"{yi // _WAN}万亿" if yi % _WAN == 0 else f"{yi}亿"
    if section:
        return f"{yi}亿{section}" if not wan and section >= 1000 else str(value)
    if wan % 100 == 0:
        return f"{yi}.{wan // 100:02d}".rstrip("0") + "亿"
    return f"{yi}亿{wan}万"


def _is_rough(run: str) -> bool:
    """Two neighbouring digits beside a unit: 三四十, 十七八, 一百二三十, 一万六七."""
    for at in range(len(run) - 1):
        if not is_approximate_pair(run[at : at + 2]):
            continue
        following = run[at + 2 : at + 3]
        if following in UNITS if following else at > 0 and run[at - 1] in UNITS:
            return True
    return False


def _is_list(run: str) -> bool:
    """Numbers of two digits said back to back: 三十五四十六."""
    if len(run) < 6 or len(run) % 3:
        return False
    return all(
        run[at] in DIGIT_VALUES and run[at + 1] == "十" and run[at + 2] in DIGIT_VALUES
        for at in range(0, len(run), 3)
    )


def _is_times_table(run: str) -> bool:
    """七八五十六, 三七二十一."""
    if len(run) < 4 or run[0] not in DIGIT_VALUES or run[1] not in DIGIT_VALUES:
        return False
    readings = _readings(run, 2, len(run))
    product = DIGIT_VALUES[run[0]] * DIGIT_VALUES[run[1]]
    return bool(readings) and readings[-1].end == len(run) and readings[-1].value == product
