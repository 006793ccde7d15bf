"""Written numbers are read aloud as a speaker would."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.text.spoken import cardinal, digits, find_numbers, to_spoken

_UNITS = {"十": 10, "百": 100, "千": 1000}


def counted(spoken: str) -> int:
    """The value of a counted number, straight from the rules of counting."""
    for word, unit in (("亿", 10**8), ("万", 10**4)):
        if word in spoken:
            high, low = spoken.rsplit(word, 1)
            return counted(high) * unit + counted(low)
    total = digit = 0
    for char in spoken:
        if char in _UNITS:
            total += (digit or 1) * _UNITS[char]
            digit = 0
        elif char != "零":
            digit = "零一二三四五六七八九".index("二" if char == "两" else char)
    return total + digit


@given(st.integers(0, 10**16 - 1))
def test_a_counted_number_keeps_its_value(value: int) -> None:
    spoken = cardinal(value)
    assert counted(spoken) == value
    assert "零零" not in spoken
    assert not spoken.endswith("零") or value == 0


@pytest.mark.parametrize(
    ("value", "spoken"),
    [
        (0, "零"),
        (10, "十"),
        (15, "十五"),
        (20, "二十"),
        (101, "一百零一"),
        (110, "一百一十"),
        (305, "三百零五"),
        (1005, "一千零五"),
        (2000, "两千"),
        (20_000, "两万"),
        (100_000, "十万"),
        (10_001, "一万零一"),
        (12_345, "一万二千三百四十五"),
        (100_000_001, "一亿零一"),
        (1_000_000_000_000, "一万亿"),
        (-7, "负七"),
    ],
)
def test_counting(value: int, spoken: str) -> None:
    assert cardinal(value) == spoken


def test_what_is_too_large_is_not_counted() -> None:
    with pytest.raises(ValueError, match="too large"):
        cardinal(10**16)


def test_digit_by_digit() -> None:
    assert digits("2025") == "二零二五"
    assert digits("1-2") == "一-二"


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("共25台", "共二十五台"),
        ("2025年3月15日", "二零二五年三月十五日"),
        ("2025-03-15", "二零二五年三月十五日"),
        ("2018到2022年", "二零一八到二零二二年"),
        ("公元前221年", "公元前二二一年"),
        ("98年和05年", "九八年和零五年"),
        ("用了20年", "用了二十年"),
        ("80年代的90后", "八十年代的九零后"),
        ("下午3:30", "下午三点三十"),
        ("15:05开始", "十五点零五开始"),
        ("3:2获胜", "三比二获胜"),
        ("85%", "百分之八十五"),
        ("-3.5%", "百分之负三点五"),
        ("100%", "百分之百"),
        ("5‰", "千分之五"),
        ("1/3", "三分之一"),
        ("3.14", "三点一四"),
        ("0.05", "零点零五"),
        ("192.168.1.1", "一九二点一六八点一点一"),
        ("1.2亿", "一点二亿"),
        ("300万人", "三百万人"),
        ("1,234,567", "一百二十三万四千五百六十七"),
        ("007", "零零七"),
        ("13812345678", "一三八一二三四五六七八"),
        ("010-12345678", "零一零一二三四五六七八"),
        ("1203室", "一二零三室"),
        ("G1234次", "G一二三四次"),
        ("A4纸5G手机", "A四纸五G手机"),
        ("PM2.5", "PM二点五"),
        ("3-5个", "三到五个"),
        ("-5度", "负五度"),
        ("¥100", "一百元"),
        ("25°C", "二十五摄氏度"),
        ("2个2月", "两个二月"),
        ("1+1=2", "一加一等于二"),
    ],
)
def test_usual_readings(written: str, spoken: str) -> None:
    assert to_spoken(written) == spoken


@pytest.mark.parametrize(
    ("written", "reading"),
    [
        ("110", "一百一"),
        ("1200", "一千二"),
        ("35000", "三万五"),
        ("1.2亿", "一亿二千万"),
        ("12345", "一万二千三百四十五"),
        ("15:30", "三点半"),
        ("15", "一五"),
    ],
)
def test_other_readings_are_known(written: str, reading: str) -> None:
    assert reading in find_numbers(written)[0].readings


@given(st.text("0123456789年月日点.,:/%-亿万A元个 ¥", max_size=24))
def test_every_digit_is_read_whatever_stands_around_it(text: str) -> None:
    found = find_numbers(text)
    assert all(number.readings for number in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert not any("0" <= char <= "9" for char in to_spoken(text))


@given(st.text("今天气好，。ABC 二十五", max_size=20))
def test_texts_without_digits_stay(text: str) -> None:
    assert to_spoken(text) == text
