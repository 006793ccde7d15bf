"""Shares, fractions, decimals, money and measurements; the unit words stay as they are said."""

from __future__ import annotations

from asr_core.text.itn.line import Amount, Edit, Line, Match
from asr_core.text.itn.numerals import Numeral, write_digits

_SIGNS = {"百": "%", "千": "‰"}
_WEAK_DEGREE_BEFORE = (
    "零下",
    "零上",
    "气温",
    "温度",
    "体温",
    "降到",
    "升到",
    "降了",
    "升了",
    "高了",
    "低了",
)
_DEGREE_AFTER = tuple("电角左右以的到至，。、？！；： ,.了多")
_PRICE_AFTER = (
    "左右",
    "以上",
    "以下",
    "以内",
    "包邮",
    "起步",
    "起",
    "不等",
    "每",
    "的",
    "多",
    "呢",
    "吧",
    "了",
    "啊",
)
_PER_BEFORE = tuple("块毛元角钱五六七八九二三四零0123456789")
_SCORE_BEFORE = ("得", "扣", "加", "减", "差", "领先", "落后", "拿", "打", "得了", "扣了", "追回")


def match_percent(line: Line, numeral: Numeral) -> Match | None:
    """百分之五, 千分之三, 百分之一百二, 百分之百, 百分之三十到四十; 百分之七八十 stays."""
    text, begin = line.text, numeral.begin
    sign = _SIGNS.get(text[begin], "")
    if not sign or numeral.end != begin + 1 or not line.follows(begin + 1, "分"):
        return None
    has_of = line.follows(begin + 1, "分之")
    at = begin + (3 if has_of else 2)
    share = line.amount(at)
    if share is None:
        other = line.numeral(at)
        if other is None:
            return None
        if sign == "%" and has_of and text[at : other.end] == "百":
            return _shares(line, numeral, other.end, [Edit(begin, other.end, "100%")])
        return Match(other.end)
    if not has_of and (sign == "‰" or share.is_small):
        return None
    edits = [Edit(begin, share.end, share.written + sign)]
    end = share.end
    if line.char(end) in ("到", "至"):
        second = line.amount(end + 1)
        if second is not None and not _is_counted(line, second.end):
            edits.append(Edit(second.begin, second.end, second.written + sign))
            end = second.end
    return _shares(line, numeral, end, edits)


def _shares(line: Line, numeral: Numeral, end: int, edits: list[Edit]) -> Match:
    if line.style.percent == "words":
        return Match(end)
    if edits[0].written == "100%" and line.follows(end, "分") and numeral.end == end:
        return Match(end)
    return Match(end, tuple(edits))


def match_fraction(line: Line, numeral: Numeral) -> Match | None:
    """三分之一, 一又五分之二; 万分之一 stays."""
    whole = ""
    below = numeral
    if numeral.kind == "cardinal" and line.char(numeral.end) == "又":
        following = line.numeral(numeral.end + 1)
        if following is None:
            return None
        below, whole = following, numeral.written + "又"
    if below.kind != "cardinal" or not 2 <= below.value < 10_000:
        return None
    if not line.follows(below.end, "分之") or not line.is_free(below.end):
        return None
    above = line.numeral(below.end + 2)
    if above is None:
        return None
    is_whole = line.char(above.end) != "点" and line.char(numeral.begin - 1) != "点"
    if above.kind != "cardinal" or not is_whole:
        return Match(above.end)
    written = f"{whole}{above.value}/{below.value}"
    return Match(above.end, (Edit(numeral.begin, above.end, written),))


def match_decimal(line: Line, numeral: Numeral) -> Match | None:
    """三点一四, 二点五万亿, 一百二十点五."""
    amount = line.amount(numeral.begin)
    if amount is None or not amount.is_decimal:
        return None
    return Match(amount.end, (_edit(amount),))


def match_money(line: Line, numeral: Numeral) -> Match | None:
    """三百五十块五, 三千三百八十元五角八分, 五毛, 九块九包邮; 五块蛋糕 stays."""
    amount = line.amount(numeral.begin)
    if amount is None:
        return None
    end = line.money_end(amount.end)
    if end == amount.end or line.char(numeral.begin - 1) in ("第", "每", "整", "那", "这"):
        return None
    unit = line.text[amount.end : end]
    chain = _change(line, end) if unit in ("块", "元", "毛", "角", "块钱") else ()
    if amount.is_small and not chain and not _is_price(line, amount, unit, end):
        return None
    edits = (_edit(amount), *chain)
    return Match(edits[-1].end if chain else end, edits)


def _is_price(line: Line, amount: Amount, unit: str, end: int) -> bool:
    spoken = line.text[amount.begin : amount.end]
    if unit == "块":
        if line.char(amount.begin - 1) in ("分", "成", "为", "切", "变", "有"):
            return False
        if spoken == "一" or (spoken == "两" and not line.is_boundary(end)):
            return False
        per = line.char(end) == "一" and line.measure_end(end + 1) > end + 1
        return line.is_boundary(end) or per or line.follows(end, *_PRICE_AFTER)
    if unit in ("毛", "角"):
        per = line.char(end) == "一" or line.follows(end, *_PRICE_AFTER)
        return line.is_boundary(end) or (per and spoken != "一")
    if unit == "分":
        if line.is_boundary(end):
            at_start = amount.begin == 0 and amount.value > 1
            return at_start or line.precedes(amount.begin, *_SCORE_BEFORE)
        return False
    if unit == "元" and spoken in ("一", "二"):
        return line.is_boundary(end) or line.follows(end, *_PRICE_AFTER, "硬币", "纸币", "一")
    return not (unit == "元" and spoken == "两")


def _change(line: Line, at: int) -> tuple[Edit, ...]:
    """What follows 块 or 元: 五, 五毛, 五角八分, 六毛五."""
    if line.char(at) == "零" and line.char(at + 2) in ("毛", "角", "分"):
        at += 1
    spoken = _change_digits(line, at)
    if not spoken:
        return ()
    edits = [Edit(at, at + len(spoken), write_digits(spoken))]
    end = at + len(spoken)
    while len(spoken) == 1 and line.char(end) in ("毛", "角", "分"):
        if line.char(end) == "分":
            break
        spoken = _change_digits(line, end + 1)
        if not spoken:
            break
        edits.append(Edit(end + 1, end + 1 + len(spoken), write_digits(spoken)))
        end += 1 + len(spoken)
    return tuple(edits)


def _change_digits(line: Line, at: int) -> str:
    """One or two digits of change; 一 and 两 before a measure word are a price for one thing."""
    spoken = line.digits(at)
    if (
        len(spoken) > 1
        and spoken[-1] == "一"
        and line.measure_end(at + len(spoken)) > at + len(spoken)
    ) or (
        len(spoken) > 1
        and spoken[-1] == "一"
        and line.unit_end(at + len(spoken)) > at + len(spoken)
    ):
        spoken = spoken[:-1]
    end = at + len(spoken)
    if not 1 <= len(spoken) <= 2 or line.char(end) in tuple("十百千万亿点几来两比"):
        return ""
    if line.char(end) in ("毛", "角", "分") or line.text[end : end + 1] == "一":
        return spoken if len(spoken) == 1 else ""
    if line.measure_end(end) > end or line.unit_end(end) > end or line.money_end(end) > end:
        is_price = line.follows(end, "块钱", "钱")
        return spoken if is_price else ""
    if line.follows(end, "到", "至", "月", "号"):
        return ""
    return spoken


def match_unit(line: Line, numeral: Numeral) -> Match | None:
    """五公斤, 零下五度, 身高一米七五, 五个百分点; 他一度以为, 二两酒 stay."""
    amount = line.amount(numeral.begin)
    if amount is None or line.char(numeral.begin - 1) in ("第", "几"):
        return None
    begin, end = amount.end, line.unit_end(amount.end)
    if end == begin:
        return _seconds(line, amount)
    unit = line.text[begin:end]
    below = line.precedes(numeral.begin, "零下", "负")
    if unit == "度" and amount.is_small and not below and not _is_degree(line, amount, end):
        return None
    if (
        unit == "平"
        and amount.is_small
        and not (line.is_boundary(end) or line.char(end) in tuple("的左多"))
    ):
        return None
    is_one = amount.is_small and line.text[amount.begin : amount.end] == "一" and not below
    if is_one and not _is_one(line, amount, unit, end):
        return None
    part = _part(line, end) if unit in ("米", "度", "斤", "公斤") else None
    if part is not None and part.written == "":
        return Match(part.end)
    edits = (_edit(amount),) if part is None else (_edit(amount), part)
    return Match(edits[-1].end if part else end, edits)


def _seconds(line: Line, amount: Amount) -> Match | None:
    """Results of races: 九秒五八, 三分二十秒."""
    end = amount.end + 1
    if line.char(amount.end) == "秒":
        part = _part(line, end)
        return Match(part.end, (_edit(amount), part)) if part and part.written else None
    second = line.numeral(end) if line.char(amount.end) == "分" else None
    if second is None or not second.is_ten_up or line.char(second.end) != "秒":
        return None
    return Match(second.end, (_edit(amount), Edit(second.begin, second.end, second.written)))


def _is_degree(line: Line, amount: Amount, end: int) -> bool:
    if line.precedes(amount.begin, *_WEAK_DEGREE_BEFORE):
        return True
    if amount.value <= 1:
        return line.char(end) == "电"
    following = line.char(end)
    return not following or following in _DEGREE_AFTER


def _is_one(line: Line, amount: Amount, unit: str, end: int) -> bool:
    """Whether 一 before a unit measures: not 三块五一斤, 每一公里, 一寸一寸."""
    before = line.char(amount.begin - 1)
    if before in ("每", "第", "这", "那", "某", "钱", *_PER_BEFORE) and before:
        return unit in ("米", "公斤", "斤") and _part(line, end) is not None
    if unit in ("寸", "尺", "平") or line.char(amount.begin - 2) == "一":
        return False
    return line.char(end) != "一"


def _part(line: Line, at: int) -> Edit | None:
    """The tail of 一米七五, 三十九度五; an empty edit when it is approximate (一米八几)."""
    spoken = line.digits(at)
    if not spoken or len(spoken) > 2:
        return None
    end = at + len(spoken)
    following = line.char(end)
    if following == "几":
        return Edit(at, end + 1, "")
    if following in tuple("十百千万亿点两来") or line.unit_end(end) > end:
        return None
    if line.measure_end(end) > end or line.money_end(end) > end:
        return None
    if len(spoken) == 1 and spoken == "一" and line.lexicon.protected.end(line.text, at) > end:
        return None
    return Edit(at, end, write_digits(spoken))


def _is_counted(line: Line, at: int) -> bool:
    return line.measure_end(at) > at or line.unit_end(at) > at or line.money_end(at) > at


def _edit(amount: Amount) -> Edit:
    return Edit(amount.begin, amount.end, amount.written)
