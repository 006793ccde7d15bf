"""Written numbers as they are said: the way back from number normalization.

A written number can have several readings (110: 一百一十, 一百一, 一一零). Each finding lists
them, the usual one first; what compares texts may choose the one that the other text has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_DIGITS = "零一二三四五六七八九"
_MOST_DIGITS = 16  # of a cardinal; longer runs are read digit by digit
_LAST_HOUR, _MINUTES = 24, 60
_MONTHS, _DAYS = 12, 31
_LONG = 7  # digits of a code or telephone number
_CODE = 3  # digits from which a number beside letters or in front of a room is a code

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_COUNTED = "个位条张只件本台辆家名场次天周年种项层杯块米斤吨倍岁点句门头匹间座份套对双遍分秒元"
_CODE_BEFORE = "室房间次路弄"
_RUN = re.compile("[0-9]+$")
_SIGNS = {"¥": "元", "$": "美元", "€": "欧元", "£": "英镑"}
_SIGNS_ALSO = {"¥": "块"}
_UNITS = {
    "°C": ("摄氏度", "度"),
    "℃": ("摄氏度", "度"),
    "°": ("度",),
    "km": ("公里", "千米"),
    "kg": ("公斤", "千克"),
    "cm": ("厘米", "公分"),
    "mm": ("毫米",),
    "m²": ("平方米", "平米", "平方"),
    "㎡": ("平方米", "平米", "平方"),
}


@dataclass(frozen=True, slots=True)
class SpokenNumber:
    """A written number in a text, ``text[start:end]``, and how it may be read."""

    start: int
    end: int
    readings: tuple[str, ...]


def to_spoken(text: str) -> str:
    """A text with its numbers as they are usually said: ``25%`` becomes ``百分之二十五``."""
    parts = []
    done = 0
    for number in find_numbers(text):
        parts += [text[done : number.start], number.readings[0]]
        done = number.end
    return "".join([*parts, text[done:]])


def find_numbers(text: str) -> list[SpokenNumber]:
    """Written numbers with their readings, from left to right, disjoint.

    Only half-width digits are looked at. Time is linear in the length of the text.
    """
    if not any("0" <= char <= "9" for char in text):
        return []
    taken = bytearray(len(text))
    found = []
    for pattern, read in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span()
            readings = () if any(taken[start:end]) else read(match)
            if readings:
                taken[start:end] = b"\1" * (end - start)
                found.append(SpokenNumber(start, end, tuple(dict.fromkeys(readings))))
    return sorted(found, key=lambda number: number.start)


def cardinal(value: int) -> str:
    """How a whole number is counted: 305 as 三百零五, 20000 as 两万.

    Raises:
        ValueError: it has more than 16 digits.
    """
    if value < 0:
        return "负" + cardinal(-value)
    if value >= 10**_MOST_DIGITS:
        raise ValueError(f"{value} is too large to be counted")
    spoken = _count(value)
    if spoken.startswith("一十"):
        spoken = spoken[1:]
    return "两" + spoken[1:] if re.match("二[千万亿]", spoken) else spoken


def digits(text: str) -> str:
    """Digit by digit: 2025 as 二零二五. Other characters stay."""
    return "".join(_DIGITS[int(char)] if "0" <= char <= "9" else char for char in text)


def _count(value: int) -> str:
    for unit, word in ((10**8, "亿"), (10**4, "万")):
        if value >= unit:
            high, low = divmod(value, unit)
            gap = "零" if 0 < low < unit // 10 else ""
            return _count(high) + word + gap + (_count(low) if low else "")
    spoken = ""
    for unit, word in ((1000, "千"), (100, "百"), (10, "十")):
        digit, value = divmod(value, unit)
        if digit:
            spoken += _DIGITS[digit] + word
        elif spoken and value and not spoken.endswith("零"):
            spoken += "零"
    return spoken + _DIGITS[value] if value or not spoken else spoken


def _amount(text: str) -> str:
    """A plain number of digits with at most one point, without its other readings."""
    whole, _, fraction = text.replace(",", "").partition(".")
    is_code = (len(whole) > 1 and whole[0] == "0") or len(whole) > _MOST_DIGITS
    spoken = digits(whole) if is_code else cardinal(int(whole))
    return f"{spoken}点{digits(fraction)}" if fraction else spoken


def _date(match: re.Match[str]) -> tuple[str, ...]:
    year, month, day = match["year"], int(match["month"]), int(match["day"])
    if not (1 <= month <= _MONTHS and 1 <= day <= _DAYS):
        return ()
    start = f"{digits(year)}年{cardinal(month)}月{cardinal(day)}"
    return start + "日", start + "号", start


def _year(match: re.Match[str]) -> tuple[str, ...]:
    return digits(match[0]), cardinal(int(match[0]))


def _short_year(match: re.Match[str]) -> tuple[str, ...]:
    """98年, 05年, 90后 are read digit by digit; 20年, 80年代 are counted."""
    text = match[0]
    by_digit = text[0] == "0" or match["after"] == "后" or (text[0] in "6789" and text[1] != "0")
    readings = digits(text), cardinal(int(text))
    return readings if by_digit else readings[::-1]


def _clock(match: re.Match[str]) -> tuple[str, ...]:
    hour, minute, second = int(match["hour"]), int(match["minute"]), match["second"]
    is_time = hour <= _LAST_HOUR and minute < _MINUTES and len(match["minute"]) == 2
    if not is_time:
        ratio = f"{_amount(match['hour'])}比{_amount(match['minute'])}"
        return () if second else (ratio,)
    small = "零" + digits(str(minute)) if minute < 10 else cardinal(minute)
    if second:
        return (f"{cardinal(hour)}点{small}分{cardinal(int(second))}秒",)
    rest = {0: ["", "整", "钟"], 15: [small, "一刻"], 30: [small, "半"], 45: [small, "三刻"]}
    endings = [*rest.get(minute, [small]), *([f"{small}分"] if minute else [])]
    hours = [hour, hour - 12] if hour > 12 else [hour]
    return tuple(f"{_hour(at)}点{ending}" for at in hours for ending in endings)


def _hour(hour: int) -> str:
    return "两" if hour == 2 else cardinal(hour)


def _share(match: re.Match[str]) -> tuple[str, ...]:
    word = "百分之" if match["sign"] == "%" else "千分之"
    minus = "负" if match["minus"] else ""
    value = _amount(match["value"])
    usual = word + minus + ("百" if match["value"] == "100" and word == "百分之" else value)
    return usual, minus + word + value, word + minus + value


def _fraction(match: re.Match[str]) -> tuple[str, ...]:
    above, below = match["above"], match["below"]
    return (f"{_amount(below)}分之{_amount(above)}", f"{_amount(above)}比{_amount(below)}")


def _dotted(match: re.Match[str]) -> tuple[str, ...]:
    """Versions and addresses: 3.10.2, 192.168.1.1."""
    parts = match[0].split(".")
    mixed = "点".join(digits(part) if len(part) >= _CODE else _amount(part) for part in parts)
    return mixed, digits(match[0].replace(".", "点"))


def _money(match: re.Match[str]) -> tuple[str, ...]:
    sign, value = match["sign"], _amount(match["value"]) + (match["unit"] or "")
    also = (value + _SIGNS_ALSO[sign],) if sign in _SIGNS_ALSO else ()
    return (value + _SIGNS[sign], *also)


def _unit(match: re.Match[str]) -> tuple[str, ...]:
    return _UNITS[match[0]]


def _minus(_: re.Match[str]) -> tuple[str, ...]:
    return ("负",)


def _joint(match: re.Match[str]) -> tuple[str, ...]:
    """The dash between two numbers: a range, or a joint in a telephone number."""
    before = _RUN.search(match.string, max(0, match.start() - _MOST_DIGITS), match.start())
    left, right = before[0] if before else "", match["right"]
    is_code = max(len(left), len(right)) >= _LONG or left.startswith("0")
    return ("", "杠") if is_code else ("到", "至", "杠", "减", "")


def _sum(match: re.Match[str]) -> tuple[str, ...]:
    return {"+": ("加",), "=": ("等于",), "×": ("乘", "乘以"), "÷": ("除以",)}[match[0]]


def _decimal(match: re.Match[str]) -> tuple[str, ...]:
    value, unit = match["value"], match["unit"] or ""
    usual = _amount(value) + unit
    if not unit or unit == "万亿":
        return (usual,)
    whole, fraction = value.split(".")
    scale = 10 ** (8 if unit == "亿" else 4)
    if 10 ** len(fraction) > scale or len(whole) > len(str(scale)):
        return (usual,)
    total = int(whole) * scale + int(fraction) * scale // 10 ** len(fraction)
    return (usual, *_whole_readings(total))


def _grouped(match: re.Match[str]) -> tuple[str, ...]:
    text = match[0].replace(",", "")
    return _whole_readings(int(text)) if len(text) <= _MOST_DIGITS else (digits(text),)


def _lettered(match: re.Match[str]) -> tuple[str, ...]:
    """Beside Latin letters: A4, 5G, H264."""
    text = match[0]
    if len(text) >= _CODE or (len(text) > 1 and text[0] == "0"):
        return (digits(text), *_counted(text))
    return (*_counted(text), digits(text))


def _whole(match: re.Match[str]) -> tuple[str, ...]:
    text, after = match[0], match["after"]
    by_digit = digits(text)
    if len(text) > _MOST_DIGITS or (len(text) > 1 and text[0] == "0"):
        return (by_digit,)
    is_counted = bool(after) and after in _COUNTED + "万亿多余来几"
    is_code = len(text) >= _CODE and bool(after) and after in _CODE_BEFORE and after not in "间"
    is_long = len(text) >= 5 and not text.endswith("00")
    if is_code or (len(text) >= _LONG and not text.endswith("000")) or (is_long and not is_counted):
        return (by_digit, *_counted(text))
    if text == "2" and after and after in _COUNTED + "万亿":
        return ("两", "二")
    return (*_counted(text), by_digit)


def _counted(text: str) -> tuple[str, ...]:
    return _whole_readings(int(text)) if len(text) <= _MOST_DIGITS else ()


def _whole_readings(value: int) -> tuple[str, ...]:
    """The usual reading, 一十 for 十, and the one without the last unit: 一千二, 三万五."""
    usual = cardinal(value)
    readings = [usual]
    if usual.startswith("十"):
        readings.append("一" + usual)
    shortened = re.fullmatch("(.*[百千万亿][一二三四五六七八九])([十百千]|千万)", usual)
    if shortened and "零" not in usual:
        readings.append(shortened[1])
    return tuple(readings)


_Read = Callable[[re.Match[str]], tuple[str, ...]]
_RULES: tuple[tuple[re.Pattern[str], _Read], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (
            r"(?<![0-9])(?P<year>[12][0-9]{3})(?P<sep>[-/.])(?P<month>[0-9]{1,2})(?P=sep)"
            r"(?P<day>[0-9]{1,2})(?![0-9.])",
            _date,
        ),
        (r"(?<![0-9.])[0-9]{4}(?=[年届]|[到至~-][0-9]{2,4}年)", _year),
        (r"(?<=公元前)[0-9]{2,4}(?=年)", _year),
        (r"(?<![0-9.])[0-9]{2}(?=(?P<after>年代|年|后(?![来面天续])))", _short_year),
        (
            r"(?<![0-9.:])(?P<hour>[0-9]{1,3})[:：](?P<minute>[0-9]{1,3})"
            r"(?:[:：](?P<second>[0-9]{2}))?(?![0-9:])",
            _clock,
        ),
        (rf"(?P<minus>(?<![0-9%A-Za-z.])-)?(?P<value>{_NUMBER})(?P<sign>[%‰])", _share),
        (r"(?<![0-9/.])(?P<above>[0-9]{1,6})/(?P<below>[0-9]{1,6})(?![0-9/.])", _fraction),
        (r"(?<![0-9.])[0-9]+(?:\.[0-9]+){2,}(?![0-9])", _dotted),
        (rf"(?P<sign>[¥$€£])(?P<value>[0-9,]*{_NUMBER})(?P<unit>万亿|万|亿)?", _money),
        (r"(?<=[0-9])(?:°C|℃|°|km|kg|cm|mm|m²|㎡)(?![A-Za-z])", _unit),
        (r"(?<=[0-9])[+=×÷](?=[0-9])", _sum),
        (r"(?<=[0-9%])[-~–—](?=(?P<right>[0-9]+))", _joint),
        (r"(?<![0-9A-Za-z%.-])-(?=[0-9])", _minus),
        (r"(?<![0-9.])(?P<value>[0-9]+\.[0-9]+)(?P<unit>万亿|万|亿)?(?![.0-9])", _decimal),
        (r"(?<![0-9,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])", _grouped),
        (r"(?<=[A-Za-z])[0-9]+|[0-9]+(?=[A-Za-z])", _lettered),
        (r"[0-9]+(?=(?P<after>.?))", _whole),
    )
)
