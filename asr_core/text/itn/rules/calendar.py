"""Years, months, days, decades and centuries."""

from __future__ import annotations

from asr_core.text.itn.line import Edit, Line, Match
from asr_core.text.itn.numerals import Numeral, is_approximate_pair

_LUNAR_DAYS = frozenset({(1, 15), (7, 15), (8, 15), (5, 15), (3, 3), (2, 2), (7, 7), (9, 9)})
_NO_MONTH_AFTER = ("第", "几", "半", "每", "整", "数")
_NOT_A_DATE = "级"
_NO_DAY = ("游", "内", "后", "之", "间", "里", "不", "前", "三", "两", "一", "夜", "来", "而", "复")


def match_date(line: Line, numeral: Numeral) -> Match | None:
    """二零二五年三月十五号, 三月开学, 九五年, 零零后."""
    short = _short_year(line, numeral)
    if short:
        return short
    edits: list[Edit] = []
    year = _year(line, numeral)
    month = numeral
    if year:
        edits.append(Edit(numeral.begin, numeral.end, year))
        following = line.numeral(numeral.end + 1)
        if following is None or not _is_month(line, following):
            return Match(numeral.end, tuple(edits))
        month = following
    elif not _is_month(line, numeral) or line.char(numeral.begin - 1) in _NO_MONTH_AFTER:
        return None
    end = month.end + 1
    if line.char(end) == "初" and line.char(end + 1) in tuple("一二三四五六七八九十"):
        return Match(end, tuple(edits))
    day = line.numeral(end)
    if month.value == 1 and not year and line.char(end) == "一":
        return Match(month.end)
    edits.append(Edit(month.begin, month.end, str(month.value)))
    if day is None or not _is_day(day):
        return Match(end, tuple(edits))
    if line.char(day.end) in ("日", "号"):
        edits.append(Edit(day.begin, day.end, str(day.value)))
        return Match(day.end + 1, _dashed(line, edits, day.end + 1) if year else tuple(edits))
    if line.char(day.end) in (
        "个",
        "人",
        "天",
        "点",
        "时",
        "分",
        "万",
        "岁",
        "名",
        "次",
        "块",
        "元",
    ):
        return Match(end, tuple(edits))
    if year or _is_gregorian(month.value, day.value):
        edits.append(Edit(day.begin, day.end, str(day.value)))
        return Match(day.end, tuple(edits))
    return Match(day.end)


def match_day(line: Line, numeral: Numeral) -> Match | None:
    """十五号, 三号早上, 十九日; not 三日游, 一日三餐."""
    after = line.char(numeral.end)
    if numeral.kind != "cardinal" or after not in ("号", "日") or not after:
        return None
    if line.char(numeral.begin - 1) in ("第", "负", "零", "今", "昨", "明"):
        return None
    if after == "号":
        is_number = not line.follows(numeral.end, "号召", "号称", "号码", "号角", "号令")
        return _edit(numeral) if is_number and not numeral.shorthand else None
    if not 2 <= numeral.value <= 31 or numeral.shorthand:
        return None
    if numeral.value < 10 and line.char(numeral.end + 1) in _NO_DAY:
        return None
    is_alone = line.is_boundary(numeral.end + 1) or line.is_boundary(numeral.begin - 1)
    if numeral.value == 6 and not is_alone:  # 六日 may be Saturday and Sunday
        return None
    return _edit(numeral)


def match_era(line: Line, numeral: Numeral) -> Match | None:
    """公元前三世纪, 公元五年, 九八级, 二十世纪."""
    if line.follows(numeral.end, "世纪") and numeral.kind == "cardinal":
        before = line.precedes(numeral.begin, "公元", "公元前")
        return _edit(numeral) if before or numeral.value >= 2 else None
    if numeral.kind == "cardinal" and line.char(numeral.end) == "年":
        return _edit(numeral) if line.precedes(numeral.begin, "公元", "公元前") else None
    return None


def _year(line: Line, numeral: Numeral) -> str:
    """Digits of a year that is read in full; empty when this is no year."""
    if line.char(numeral.end) != "年" or line.follows(numeral.end, "年级", "年期", "年制"):
        return ""
    if "两" in line.text[numeral.begin : numeral.end] and numeral.kind == "digits":
        return ""
    if numeral.kind == "digits" and 3 <= numeral.end - numeral.begin <= 4:
        return numeral.written
    if numeral.kind == "digits" and line.numeral(numeral.end + 1):
        month = line.numeral(numeral.end + 1)
        return numeral.written if month and _is_month(line, month) else ""
    if numeral.kind == "cardinal" and 1000 <= numeral.value <= 2999 and not numeral.shorthand:
        return str(numeral.value)
    return ""


def _short_year(line: Line, numeral: Numeral) -> Match | None:
    """九五年, 零八级, 八五后; 三五年 and 七八年 may be a number of years."""
    if numeral.kind != "digits" or numeral.end - numeral.begin != 2:
        return None
    spoken = line.text[numeral.begin : numeral.end]
    after = line.char(numeral.end)
    if "两" in spoken or "幺" in spoken or line.char(numeral.begin - 1) in ("第", "点"):
        return None
    if after == "后" and spoken[0] in "五六七八九零〇一" and spoken[1] in "零〇五":
        is_people = not (spoken[0] == "五" and spoken[1] == "五")
        return _edit(numeral) if is_people and line.is_free(numeral.end) else None
    if after in ("届", "级") and after:
        is_school = line.follows(numeral.end + 1, "学生", "研究生", "新生", "本科", "硕士", "博士")
        is_class = spoken[0] in "零〇九八七二一" and (is_school or not is_approximate_pair(spoken))
        return _edit(numeral) if is_class else None
    if after != "年" or line.follows(numeral.end, "年级", "年期", "年制"):
        return None
    if line.numeral(numeral.end + 1) and _year(line, numeral):
        return None
    if not is_approximate_pair(spoken):
        return _edit(numeral)
    is_year = line.precedes(numeral.begin, "是", "生于", "在", "从", "自") and line.follows(
        numeral.end, "年的", "年到"
    )
    is_year = is_year or line.follows(numeral.end, "年出生", "年生", "年毕业", "年入学")
    return _edit(numeral) if is_year and spoken[0] in "五六七八九" else None


def _is_month(line: Line, numeral: Numeral) -> bool:
    if numeral.kind != "cardinal" or not 1 <= numeral.value <= 12 or numeral.shorthand:
        return False
    if line.text[numeral.begin] == "两" or not line.is_free(numeral.end):
        return False
    return line.char(numeral.end) == "月" and line.char(numeral.end + 1) not in ("子", "嫂", "亮")


def _is_day(numeral: Numeral) -> bool:
    return numeral.kind == "cardinal" and 1 <= numeral.value <= 31 and not numeral.shorthand


def _is_gregorian(month: int, day: int) -> bool:
    """Whether a date said without 日 or 号 cannot be read as a lunar one."""
    if month >= 11 and day >= 10:
        return True
    return day > 10 and (month, day) not in _LUNAR_DAYS


def _dashed(line: Line, edits: list[Edit], end: int) -> tuple[Edit, ...]:
    if line.style.dates != "dash":
        return tuple(edits)
    year, month, day = (edit.written for edit in edits)
    return (Edit(edits[0].begin, end, f"{year}-{month.zfill(2)}-{day.zfill(2)}"),)


def _edit(numeral: Numeral) -> Match:
    return Match(numeral.end, (Edit(numeral.begin, numeral.end, numeral.written),))
