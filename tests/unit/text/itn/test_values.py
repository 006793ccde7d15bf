"""What is said and what is written have the same value."""

from __future__ import annotations

import functools
import re
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.text.itn.normalizer import RuleNormalizer
from asr_core.text.itn.style import ItnStyle

DIGITS = "零一二三四五六七八九"
BIG = ((10**8, "亿"), (10**4, "万"))


@functools.cache
def normalizer() -> RuleNormalizer:
    return RuleNormalizer()


def say_below_wan(value: int) -> str:
    line = ""
    for scale, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = value // scale % 10
        if digit:
            line += DIGITS[digit] + name
        elif line and value % scale and not line.endswith("零"):
            line += "零"
    return line


def say(value: int) -> str:
    """The usual reading of a whole number below 10^12."""
    if value == 0:
        return "零"
    line = ""
    for scale, name in BIG:
        if value >= scale:
            part = value // scale
            zero = "零" if line and part < 1000 else ""
            line += zero + say_below_wan(part) + name
            value %= scale
    if value:
        line += ("零" if line and value < 1000 else "") + say_below_wan(value)
    return line.removeprefix("一") if re.match("一十[^亿万]?", line) else line


def say_digits(digits: str) -> str:
    return "".join(DIGITS[int(digit)] for digit in digits)


def read(written: str) -> Decimal:
    """The value of digits with 万 and 亿 in them."""
    total = Decimal(0)
    rest = written
    for name, scale in (("万亿", 10**12), ("亿", 10**8), ("万", 10**4)):
        if name in rest:
            head, rest = rest.split(name, 1)
            total += Decimal(head) * scale
    return total + (Decimal(rest) if rest else 0)


@settings(deadline=None)
@given(st.integers(10, 10**12 - 1))
def test_a_whole_number(value: int) -> None:
    written = normalizer().write(f"共{say(value)}户")
    if value == 10:
        assert written == "共10户"
    assert read(written.removeprefix("共").removesuffix("户")) == value


@settings(deadline=None)
@given(st.integers(2, 99_999), st.text("0123456789", min_size=1, max_size=6))
def test_a_decimal(whole: int, fraction: str) -> None:
    spoken = f"比例是{say(whole)}点{say_digits(fraction)}倍"
    assert normalizer().write(spoken) == f"比例是{whole}.{fraction}倍"


@settings(deadline=None)
@given(st.integers(0, 9_999), st.text("0123456789", max_size=3), st.booleans())
def test_a_percentage(whole: int, fraction: str, negative: bool) -> None:
    number = say(whole) + (f"点{say_digits(fraction)}" if fraction else "")
    spoken = ("负" if negative else "") + f"百分之{number}"
    digits = f"{whole}.{fraction}" if fraction else str(whole)
    sign = "-" if negative else ""
    assert normalizer().write(f"变化{spoken}，") == f"变化{sign}{digits}%，"


@settings(deadline=None)
@given(st.dates())
def test_a_date(day) -> None:
    year = f"{day.year:04d}"
    spoken = f"{say_digits(year)}年{say(day.month)}月{say(day.day)}"
    assert normalizer().write(f"于{spoken}日") == f"于{year}年{day.month}月{day.day}日"
    assert normalizer().write(f"于{spoken}号") == f"于{year}年{day.month}月{day.day}号"
    dashed = normalizer().write(f"于{spoken}日", style=ItnStyle(dates="dash"))
    assert dashed == f"于{year}-{day.month:02d}-{day.day:02d}"


@settings(deadline=None)
@given(st.times())
def test_a_time_of_day(time) -> None:
    minute = f"零{DIGITS[time.minute]}" if time.minute < 10 else say(time.minute)
    spoken = f"{say(time.hour)}点{minute}分"
    assert normalizer().write(spoken) == f"{time.hour}点{time.minute:02d}分"
    digital = normalizer().write(spoken, style=ItnStyle(clock="digits"))
    assert digital == f"{time.hour}:{time.minute:02d}"


@settings(deadline=None)
@given(st.text("0123456789", min_size=4, max_size=30))
def test_digits_read_one_by_one(digits: str) -> None:
    assert normalizer().write(f"号码{say_digits(digits)}") == f"号码{digits}"
    telephone = say_digits(digits).replace("一", "幺")
    assert normalizer().write(f"号码{telephone}") == f"号码{digits}"


@settings(deadline=None)
@given(st.integers(2, 999), st.integers(1, 999))
def test_a_fraction(below: int, above: int) -> None:
    spoken = f"占{say(below)}分之{say(above)}"
    if below not in (100,):
        assert normalizer().write(spoken) == f"占{above}/{below}"


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 9))
def test_an_approximation_of_neighbours_stays(first: int, second: int) -> None:
    if second - first == 1:
        pair = DIGITS[first] + DIGITS[second]
        for spoken in (f"{pair}个人", f"{pair}十块", f"三百{pair}十", f"{pair}万", f"十{pair}岁"):
            assert normalizer().write(spoken) == spoken
