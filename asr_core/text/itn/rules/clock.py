"""Times of day: 下午三点半, 八点零五分, 差五分九点, 八点到十点."""

from __future__ import annotations

from asr_core.text.itn.line import Edit, Line, Match
from asr_core.text.itn.numerals import Numeral, write_digits

_NOT_WHOLE = ("整理", "整个", "整体", "整合", "整治", "整改", "整顿", "整天", "整套")
_FILLERS = (
    "大概",
    "大约",
    "差不多",
    "大致",
    "的",
    "约",
    "在",
    "到",
    "至",
    "快",
    "近",
    "才",
    "就",
    "又",
    "是",
)
_AFTERNOON = ("下午", "晚上", "傍晚", "午后", "今晚", "明晚", "昨晚", "当晚", "夜里", "晚间")
_NOT_HOUR = ("时候", "时间", "时代", "时期", "时常", "时而", "时光", "时刻", "时尚")
_SCORED = ("得了", "打了", "得分", "评分", "考了", "平均", "分数", "扣了", "打", "得", "考", "扣")
_NOT_A_TIME = "都也儿点不没滴些"


def match_clock(line: Line, numeral: Numeral) -> Match | None:
    """A clock only with a time word nearby, 半 分 钟 整 刻, minutes, or an hour from ten."""
    to_hour = _minutes_to(line, numeral)
    if to_hour:
        return to_hour
    if line.text[numeral.begin : numeral.end + 1] == "九十点" and not line.digits(numeral.end + 1):
        return Match(numeral.end)  # nine or ten o'clock
    if numeral.kind != "cardinal" or numeral.value > 24 or numeral.shorthand:
        return None
    unit = line.char(numeral.end)
    before = line.char(numeral.begin - 1)
    if unit not in ("点", "时") or not unit or before in ("第", "几", "数", "负"):
        return None
    if not line.is_free(numeral.end) or (unit == "时" and line.follows(numeral.end, *_NOT_HOUR)):
        return None
    if (
        unit == "点"
        and numeral.value == 1
        and before in tuple("早晚快慢这那多少大小高低好某强差有")
    ) and (before not in ("早", "晚") or not _time_before(line, numeral.begin)):
        return None
    return _with_minutes(line, numeral) or _hour_only(line, numeral)


def _minutes_to(line: Line, numeral: Numeral) -> Match | None:
    """差五分九点, 差一刻八点."""
    if line.char(numeral.begin - 1) != "差" or line.char(numeral.end) not in ("分", "刻"):
        return None
    hour = line.numeral(numeral.end + 1)
    if hour is None or hour.kind != "cardinal" or hour.value > 24 or line.char(hour.end) != "点":
        return None
    edits = [Edit(hour.begin, hour.end, hour.written)]
    if line.char(numeral.end) == "分" and numeral.kind == "cardinal":
        edits.insert(0, Edit(numeral.begin, numeral.end, numeral.written))
    return Match(hour.end + 1, tuple(edits))


def _with_minutes(line: Line, hour: Numeral) -> Match | None:
    at = hour.end + 1
    after = line.char(at)
    if after == "半" and not line.follows(at, "半天", "半点"):
        return _write(line, hour, None, 30, at + 1)
    if (after == "整" and not line.follows(at, *_NOT_WHOLE)) or (
        after == "钟" and line.is_free(at)
    ):
        return _write(line, hour, None, 0 if after == "整" else -1, at + 1)
    minute = line.numeral(at)
    if minute is None or minute.shorthand or minute.kind == "fixed":
        return None
    if line.char(minute.end) == "刻" and minute.value in (1, 2, 3):
        return _write(line, hour, None, minute.value * 15, minute.end + 1)
    is_minute = line.char(minute.end) == "分" and not line.follows(minute.end, "分之", "分钟")
    spoken = line.text[minute.begin : minute.end]
    if minute.kind == "digits" and len(spoken) == 2 and spoken[0] in "零〇":
        if is_minute or _time_before(line, hour.begin):
            written = write_digits(spoken)
            return _write(line, hour, Edit(minute.begin, minute.end, written), minute.value, -1)
        return None
    if minute.kind != "cardinal" or not 1 <= minute.value <= 59:
        return None
    if minute.value < 10:
        if not is_minute or line.precedes(hour.begin, *_SCORED):
            return None
    elif not is_minute and line.char(minute.end) in ("点", "比", "分", "%"):
        return None
    edit = Edit(minute.begin, minute.end, minute.written)
    return _write(line, hour, edit, minute.value, -1)


def _hour_only(line: Line, hour: Numeral) -> Match | None:
    at = hour.end + 1
    near = _time_before(line, hour.begin) or (
        hour.value >= 3 and line.char(hour.begin - 1) in ("早", "晚")
    )
    if line.lexicon.points.end(line.text, at) > at or line.char(at) in tuple(_NOT_A_TIME):
        return None
    following = line.numeral(at)
    if following is not None and not (near or hour.value >= 10):
        return None
    if following is not None and not near and _starts_fraction(line, following):
        return None
    if line.char(hour.end) == "时":
        return _edit(hour, at) if near or hour.value >= 10 else None
    if near or (hour.value >= 10 and not line.precedes(hour.begin, "这", "那", "以下", "以上")):
        return _edit(hour, at)
    if hour.value < 2 or line.precedes(hour.begin, "这", "那", "以下", "以上", "有", "讲", "说"):
        return None
    other = line.numeral(at + 1) if line.char(at) in ("到", "至") else None
    if other is not None and other.kind == "cardinal" and line.char(other.end) == "点":
        edits = (
            Edit(hour.begin, hour.end, hour.written),
            Edit(other.begin, other.end, other.written),
        )
        is_plain = other.value <= 24 and line.numeral(other.end + 1) is None
        is_plain = is_plain and line.char(other.end + 1) not in ("半", "整", "钟")
        return Match(other.end + 1, edits) if is_plain else _edit(hour, at)
    if line.lexicon.clock_after.end(line.text, at) > at:
        return _edit(hour, at)
    return None


def _starts_fraction(line: Line, numeral: Numeral) -> bool:
    """Whether what follows 点 reads as decimals: 十点五, 二十点一万."""
    return bool(line.digits(numeral.begin)) and line.text[numeral.begin] != "十"


def _time_before(line: Line, at: int) -> bool:
    """Whether a time word, a weekday, a date or another clock time stands right before."""
    for _ in range(2):
        if line.lexicon.time_words.begin(line.text, at) < at:
            return True
        if line.char(at - 1) in ("号", "日") and line.char(at - 2) in tuple(
            "一二三四五六七八九十0123456789"
        ):
            return True
        if line.char(at - 1) in tuple("一二三四五六日天") and (
            line.precedes(at - 1, "周", "星期", "礼拜") and not line.is_free(at - 2)
        ):
            return True
        if line.precedes(at, "点到", "点至", "半到", "半至", "分到", "分至"):
            return True
        filler = next((word for word in _FILLERS if line.precedes(at, word)), "")
        if not filler:
            return False
        at -= len(filler)
    return False


def _write(line: Line, hour: Numeral, minute: Edit | None, minutes: int, end: int) -> Match:
    """The edits of one time; ``end`` -1 stands for the end of the minutes and their 分 and 秒."""
    edits = [Edit(hour.begin, hour.end, hour.written)]
    if minute is not None:
        edits.append(minute)
        end = minute.end
        if line.char(end) == "分" and not line.follows(end, "分之", "分钟"):
            end += 1
            second = line.numeral(end)
            if second is not None and second.kind != "fixed" and line.char(second.end) == "秒":
                edits.append(Edit(second.begin, second.end, second.written))
                return Match(second.end + 1, tuple(edits))
    if line.style.clock == "digits" and minutes >= 0:
        return Match(end, (_digital(line, hour, minutes, end),))
    return Match(end, tuple(edits))


def _digital(line: Line, hour: Numeral, minutes: int, end: int) -> Edit:
    """15:30; an afternoon word before it is in the hour."""
    begin, value = hour.begin, hour.value
    word = next((word for word in _AFTERNOON if line.precedes(begin, word)), "")
    if word in ("下午", "晚上", "傍晚", "午后", "夜里", "晚间") and 1 <= value <= 12:
        begin -= len(word)
        value = value + 12 if value < 12 else (12 if word in ("下午", "午后") else 0)
    elif word and 1 <= value < 12:
        value += 12
    return Edit(begin, end, f"{value}:{minutes:02d}")


def _edit(numeral: Numeral, end: int) -> Match:
    return Match(end, (Edit(numeral.begin, numeral.end, numeral.written),))
