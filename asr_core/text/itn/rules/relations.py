"""Two numbers and the word between them: scores, spoken maths, ranges."""

from __future__ import annotations

from asr_core.text.itn.line import Amount, Edit, Line, Match
from asr_core.text.itn.numerals import Numeral

_OPERATORS = ("不等于", "加上", "加", "减去", "减", "乘以", "乘", "除以", "除", "等于")
_MATHS_AFTER = "加减乘除等不的点"
_RESULTS = ("不等于", "等于", "大于", "小于", "得", "是", "为")
_POWERS = (
    "平方根",
    "立方根",
    "平方",
    "立方",
    "绝对值",
    "倒数",
    "相反数",
    "阶乘",
    "开方",
    "开平方",
    "对数",
)
_ELIDED = frozenset("百千")
_RANGE_EXTRA = ("月", "号", "日", "点", "分", "楼", "层", "成", "折", "级", "倍", "路")


def match_score(line: Line, numeral: Numeral) -> Match | None:
    """三比二, 七十八比九十六, 三比二比一, 按一比三."""
    first = line.amount(numeral.begin)
    if first is None or line.char(numeral.begin - 1) in ("第", "百", "点"):
        return None
    return _joined(line, first, ("比",), ())


def match_maths(line: Line, numeral: Numeral) -> Match | None:
    """三乘五等于十五, 二的三次方, 负二的绝对值是二, 根号二."""
    after = line.char(numeral.end)
    if after not in _MATHS_AFTER and line.char(numeral.begin - 1) not in ("号", "乘", "于"):
        return None
    first = line.amount(numeral.begin)
    if first is None or line.char(numeral.begin - 1) == "第":
        return None
    power = _power(line, first)
    if power:
        return power
    if line.precedes(numeral.begin, "根号", "阶乘") or _is_unknown(line, numeral.begin):
        return Match(first.end, (_edit(first),))
    return _joined(line, first, _OPERATORS, _RESULTS)


def match_range(line: Line, numeral: Numeral) -> Match | None:
    """三到五个, 两到三周, 八到十二个月; 一到两周, 二到四 and 三到五百 stay."""
    short_years = _year_range(line, numeral)
    if short_years:
        return short_years
    first = line.amount(numeral.begin)
    if first is None or line.char(numeral.begin - 1) in ("第", "周", "点", "块"):
        return None
    if line.char(first.end) not in ("到", "至") or not line.is_free(first.end):
        return None
    sign_chars = 2 if line.follows(first.end + 1, "零下", "零上") else 0
    second = line.amount(first.end + 1 + sign_chars)
    if second is None or line.char(second.end) == "来":
        return None
    spoken = line.text[second.begin : second.end]
    if first.is_small and not second.is_small and _is_elided(spoken, first, second):
        return Match(second.end)
    if line.text[first.begin : second.end] in ("一到两", "一至两", "一到二"):
        return Match(second.end)
    if line.lexicon.kept_before.end(line.text, second.end) > second.end:
        return Match(second.end)
    if not (_is_counted(line, second.end) or not (first.is_small or second.is_ten)):
        is_bare = first.is_small and (second.is_small or second.is_ten)
        if is_bare or (not second.is_decimal and second.value < 10):
            return None
    return Match(second.end, (_edit(first), _edit(second)))


def _year_range(line: Line, numeral: Numeral) -> Match | None:
    """九五到九八年."""
    if numeral.kind != "digits" or line.char(numeral.end) not in ("到", "至"):
        return None
    other = line.numeral(numeral.end + 1)
    if other is None or other.kind != "digits" or line.char(other.end) != "年":
        return None
    edits = tuple(Edit(each.begin, each.end, each.written) for each in (numeral, other))
    return Match(other.end, edits)


def _is_elided(spoken: str, first: Amount, second: Amount) -> bool:
    """Whether the first number may share the unit of the second: 三到五百, 二到三十."""
    if len(spoken) == 2 and spoken[1] in _ELIDED | {"十"}:
        return True
    head = second.written.rstrip("0")
    is_round = second.written.isdigit() and len(head) == 1
    return is_round and not second.is_ten and first.value < int(head)


def _is_counted(line: Line, at: int) -> bool:
    if line.measure_end(at) > at or line.unit_end(at) > at or line.money_end(at) > at:
        return True
    return line.follows(at, *_RANGE_EXTRA)


def _joined(
    line: Line, first: Amount, words: tuple[str, ...], results: tuple[str, ...]
) -> Match | None:
    """``first`` and every further number that one of ``words`` ties to it."""
    amounts = [first]
    ended = False
    while not ended:
        end = amounts[-1].end
        if not line.is_free(end):
            break
        word = next((word for word in words if line.follows(end, word)), "")
        if not word and len(amounts) > 1:
            word = next((word for word in results if line.follows(end, word)), "")
            ended = True
        found = _signed(line, end + len(word)) if word else None
        if found is None or _is_purchase(line, amounts, found, word):
            break
        amounts.append(found)
    if len(amounts) < 2:
        return None
    return Match(amounts[-1].end, tuple(_edit(amount) for amount in amounts))


def _is_purchase(line: Line, amounts: list[Amount], found: Amount, word: str) -> bool:
    """买一加一个, 一比一个强: the second number counts things."""
    if not found.is_small or not amounts[-1].is_small or word == "等于":
        return False
    spoken = line.text[found.begin : found.end]
    if spoken == "一" and line.lexicon.protected.end(line.text, found.begin) > found.end:
        return True
    return line.follows(found.end, "个", "张", "件", "天", "年") and word in (
        "加",
        "比",
        "是",
        "为",
    )


def _power(line: Line, base: Amount) -> Match | None:
    if line.char(base.end) != "的":
        return None
    edits = [_edit(base)]
    exponent = _signed(line, base.end + 1)
    end = base.end + 1
    if exponent is not None and line.follows(exponent.end, "次方", "次幂", "次根", "阶乘"):
        edits.append(_edit(exponent))
        end = exponent.end + 2
    else:
        name = next((name for name in _POWERS if line.follows(end, name)), "")
        if not name or line.follows(end, "平方米", "平方公里", "立方米"):
            return None
        end += len(name)
    for word in (*_RESULTS, "都是"):
        result = _signed(line, end + len(word)) if line.follows(end, word) else None
        if result is not None:
            if not result.is_ten and _is_counted(line, result.end) and result.is_small:
                break
            edits.append(_edit(result))
            end = result.end
            break
    return Match(end, tuple(edits))


def _signed(line: Line, at: int) -> Amount | None:
    if line.char(at) != "负":
        return line.amount(at)
    found = line.amount(at + 1)
    if found is None:
        return None
    return Amount(at, found.end, "-" + found.written, -found.value, True, False)


def _is_unknown(line: Line, at: int) -> bool:
    """x等于五: a letter on the left of the sign."""
    if not line.precedes(at, "等于"):
        return False
    letter = line.char(at - 3)
    return bool(letter) and letter.isascii() and letter.isalpha()


def _edit(amount: Amount) -> Edit:
    return Edit(amount.begin, amount.end, amount.written)
