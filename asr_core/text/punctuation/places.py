"""Where punctuation may stand: never inside a number, a spelled acronym or a fixed word.

Owns the rules that hold for every punctuation model. Knows nothing of models and scores.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from asr_core.results import Token
from asr_core.text.tokens import is_wide

# 一 of a common word is no digit, 第一，一定要去, and stands as this while numbers are found.
_NO_DIGIT = "\ue00f"
_COMMON_ONE = re.compile("(?<!之)一(?=[定些般直起样切旦共下向律致])")

_DIGIT = "[一二两三四五六七八九]"
_STRING = "[零〇幺一二三四五六七八九]"
# No unit follows; 百分之 and 千克 begin anew.
_WHOLE_DIGIT = "(?!十|百(?!分之)|千(?!分之|[克米瓦]))"
# The last digit of a number, alone or as an approximation (十五六): what follows is no unit of it.
_LAST = f"(?:{_DIGIT}{{1,2}}{_WHOLE_DIGIT})"
# 十一十二十三 is 十一, 十二, 十三, but 二十三十 is 二十, 三十.
_TENS = f"(?:十{_DIGIT}(?=十{_DIGIT})|{_DIGIT}?十(?:一(?=十)|{_LAST})?)"
_FULL_TENS = f"(?:{_DIGIT}十(?:一(?=十)|{_LAST})?)"
_HUNDREDS = f"(?:{_DIGIT}百(?!分之)(?:零(?:{_TENS}|{_LAST})|{_FULL_TENS}|{_LAST})?)"
_THOUSANDS = f"(?:{_DIGIT}千(?!分之)(?:零(?:{_TENS}|{_LAST})|{_HUNDREDS}|{_LAST})?)"
_ABOUT = (
    "(?:(?:[一两]二|[二两]三|三四|四五|五六|六七|七八|八九|三五)[十百千]+|几[十百千万亿]+|十几|几"
    "|(?<![总人岁分次])数[十百千万]+|(?<![马早晚网线路天身头手机世以])上[百千万]+(?!一))"
)
_SPOKEN = f"{_ABOUT}|{_THOUSANDS}|{_HUNDREDS}|{_TENS}|{_STRING}+{_WHOLE_DIGIT}|两{_WHOLE_DIGIT}"
_GROUP = rf"(?:{_SPOKEN}|\d[\d.,:]*%?)"
_PART = f"(?:零?(?:{_SPOKEN})(?!万(?!分之)|亿))"
_MYRIADS = f"(?:{_GROUP}万(?!分之)亿?{_PART}?)"
_WHOLE = f"(?:{_GROUP}亿(?:零?{_MYRIADS}(?!亿)|{_PART})?|{_MYRIADS}|{_GROUP}|[百千万亿](?=分之))"
# 三点一四 and 五点一点二, but 三点，一是; 三点一刻 is a time.
_NOT_BEHIND_POINT = "(?![一三]刻|一(?:[是个边种条方开]|点(?![零〇幺一二三四五六七八九])))"
_FRACTION = f"(?:(?<!几)点{_NOT_BEHIND_POINT}(?:{_TENS}|{_STRING}+)[百千万亿]*)"


@cache
def _numbers() -> re.Pattern[str]:
    return re.compile(
        f"(?:第|(?<![胜\\d])负|零[上下])?{_WHOLE}{_FRACTION}{{0,4}}"
        "(?:(?<=[十百千万亿])多(?![少么]))?"
    )


# What stands for a number while the units around it are found, by its kind.
_SHORT, _CODE, _VAGUE, _OTHER = "\ue000\ue001\ue002\ue003"
_N = f"[{_SHORT}-{_OTHER}]"
_SHORT_NUMBER = re.compile("[一二三四五六七八九]{1,2}")
_CODE_NUMBER = re.compile(f"{_STRING}{{3,}}")

# Words that begin like a unit: 一共三十，年底再说.
_NO_UNIT = (
    "(?!分[数别析享为成配开工布类]|天[气空天然]|年[底初轻龄前后度终]|月[亮底初]|点[击头名评赞]|个[别性体]"
    "|号[码称召]|块头|日[期常子后志本报语程记]|次[数要]|度[过假]|名[字单称]|项[目次]|条件|位[置于]|元[旦素]"
    "|层次|级别|期[间待望]|页面|章程|台[湾词上中南北东]|秒杀|角[度色落]|份额|种[类植]|米饭|克[服制])"
)
_UNIT = (
    f"(?:{_NO_UNIT}(?:公里|公斤|公顷|千克|千米|千瓦|毫米|毫升|厘米|平方米|平方|立方米|小时|分钟|刻钟|点半|点钟"
    f"|点整|点{_SHORT}刻|星期|年级|年代|世纪|百分点|摄氏度|人民币|美元|欧元|周岁|月份|个|岁|年|月|日|号|天|点|分"
    "|秒|元|块|毛|角|米|斤|吨|克|度|亩|升|位|名|次|倍|项|条|届|层|楼|级|期|页|章|种|份|台|辆|架|套|亿|万|千|百"
    "|℃|%|％|‰|°))"
)
_MEASURED = f"{_N}(?:{_UNIT}(?:半(?![夜路天]))?)?"
_DAYS = f"(?:{_N}年)?{_N}月(?!份额){_N}(?:日|号(?![线楼门院]))|{_N}年{_N}月(?!亮)"
_CLOCK = f"{_N}点{_N}分(?:{_N}秒)?|{_N}分{_N}秒"
_MONEY = (
    f"{_N}[块元]{_N}[毛角](?:{_N}分)?"
    f"|{_N}[块米]{_SHORT}(?![个块米天十百千万座位条人年月种名只间层家次])"
)
# B二B, A零七ZX三F, 五G, PM二点五, G一零二次; but iPhone，三个月后.
_LETTERED = (
    f"[A-Za-z]{{1,3}}(?:{_N}[A-Za-z]{{1,3}}(?![A-Za-z]))+{_N}?"
    f"|{_N}(?:[A-Za-z]|[KMGT]B|k[mg]|[cm]m|ml|[MG]?Hz)(?![A-Za-z])"
    f"|[A-Za-z]+(?:{_CODE}|[{_SHORT}{_OTHER}](?!{_UNIT}|[多是种家人件]))(?:[A-Za-z](?![A-Za-z]))?"
)
_RATIOS = f"(?:{_N}又)?{_N}?{_N}分之(?:{_N}|百)|百分{_N}|{_N}比{_N}|{_N}(?:杠{_N})+"
_WEEKDAY = f"(?:星期|礼拜)(?:{_N}|[日天])"

# A word that holds another one stands before it: 虽然后来 is found as 虽然, 后来.
_WORDS = (
    f"万一|千万|百分[点百]|总之|(?<!分)之{_SHORT}|{_NO_DIGIT}[定些般直起样切旦共下]"
    "|为什么|怎么样|怎么办|怎么说|这么样|对不起|不好意思|实际上|事实上|也就是说|比如说|换句话说|总的来说"
    "|虽然|当然|忽然|突然|仍然|自然|必然|显然|居然|竟然|既然|偶然|不然|然后|然而|因为|如果|但是|可是|而且|而已"
    "|或者|我们|你们|他们|她们|它们|咱们|人们|什么|怎么|那么|这么|多么|应该|知道|觉得|需要|已经|今天|明天|昨天"
    "|时候|问题|这样|那样|非常|特别|比较|喜欢|朋友|老师|哪里|哪儿|这儿|那儿"
)


@cache
def _wholes() -> re.Pattern[str]:
    return re.compile(
        "|".join((_WORDS, _WEEKDAY, _DAYS, _CLOCK, _MONEY, _LETTERED, _RATIOS, _MEASURED))
    )


_LETTERS = re.compile(r"(?<![A-Za-z\d])[A-Za-z](?: [A-Za-z](?![A-Za-z\d]))+")
_DIGITS = re.compile(
    "(?<![一二两三四五六七八九十百千万亿零〇幺几点之第负])[一二三四五六七八九]{3,}"
    "(?![一二两三四五六七八九十百千万亿零〇幺点号]|年(?!级))"
)

# What cannot begin a clause, and the words that begin with the same character.
_PARTICLE = re.compile(
    "[吗呢们么呗啦喽]|嘛|吧(?![台嗒])|的(?![确士])|了(?![解不如结却断然无得])"
    "|着(?![急手重力装眼火凉陆想实迷落])|[%％‰℃°/&=+×÷]"
)
_BINDS_NEXT = frozenset("/&=+×÷")


def allowed_places(
    tokens: Sequence[Token], protected: Sequence[tuple[int, int]] = ()
) -> list[bool]:
    """Whether a mark may stand after each token; always after the last one.

    Args:
        tokens: a text.
        protected: inclusive ranges of tokens that nothing divides; what lies outside is ignored.
    """
    allowed = [True] * len(tokens)
    for first, last in _bound_ranges(tokens, protected):
        for index in range(max(first, 0), min(last, len(tokens) - 1)):
            allowed[index] = False
    for index in range(len(tokens) - 1):
        following = tokens[index + 1].text + (
            tokens[index + 2].text[:1] if index + 2 < len(tokens) else ""
        )
        if _PARTICLE.match(following) or tokens[index].text in _BINDS_NEXT:
            allowed[index] = False
    return allowed


def possible_lists(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Ranges of tokens that are one number or acronym, or else a list of its characters.

    三五七 is a list where every place inside has 、; so is A B C. Ranges are inclusive, their
    characters ascend.
    """
    line, starts = _line(tokens)
    for pattern in (_DIGITS, _LETTERS):
        for match in pattern.finditer(line):
            items = match[0].replace(" ", "")
            ranks = ["一二三四五六七八九".find(item) for item in items]
            ascending = ranks if pattern is _DIGITS else [ord(item) for item in items]
            if len(items) > 2 and all(a < b for a, b in pairwise(ascending)):
                yield _tokens_of(starts, match.start(), match.end())


def _bound_ranges(
    tokens: Sequence[Token], protected: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    yield from protected
    line, starts = _line(tokens)
    for match in _LETTERS.finditer(line):
        yield _tokens_of(starts, match.start(), match.end())
    short, places = _without_numbers(line)
    for match in _wholes().finditer(short):
        yield _tokens_of(starts, places[match.start()], places[match.end()])


def _without_numbers(line: str) -> tuple[str, list[int]]:
    """The line with one character for each number, and where its characters stood in the line.

    The places are one more than the characters: the last is the end of the line.
    """
    line = _COMMON_ONE.sub(_NO_DIGIT, line)
    parts: list[str] = []
    places: list[int] = []
    done = 0
    for match in _numbers().finditer(line):
        parts += [line[done : match.start()], _kind(match[0])]
        places += range(done, match.start() + 1)
        done = match.end()
    parts.append(line[done:])
    places += range(done, len(line) + 1)
    return "".join(parts), places


def _kind(number: str) -> str:
    if number[0] in "几数上第":
        return _VAGUE
    if _SHORT_NUMBER.fullmatch(number):
        return _SHORT
    return _CODE if _CODE_NUMBER.fullmatch(number) else _OTHER


def _line(tokens: Sequence[Token]) -> tuple[str, list[int]]:
    """The texts joined, a space between two that are not Chinese; where each token starts."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    narrow = False
    for token in tokens:
        if narrow and not is_wide(token.text[0]):
            parts.append(" ")
            length += 1
        starts.append(length)
        parts.append(token.text)
        length += len(token.text)
        narrow = not is_wide(token.text[-1])
    return "".join(parts), starts


def _tokens_of(starts: Sequence[int], begin: int, end: int) -> tuple[int, int]:
    """The tokens that hold the characters from ``begin`` to before ``end``."""
    return bisect_right(starts, begin) - 1, bisect_right(starts, end - 1) - 1
