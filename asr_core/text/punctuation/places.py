"""Where punctuation may stand: never inside a number, a spelled acronym or a fixed word.

Owns the rules that hold for every punctuation model. Knows nothing of models and scores.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from asr_core.results import Token
from asr_core.text.tokens import is_wide

# A digit word; 一 of a common word is none: 第一，一定要去.
_DIGIT = "(?:(?!一[定些般直起样切旦共向律致])[一二两三四五六七八九])"
_STRING = "(?:(?!一[定些般直起样切旦共向律致])[零〇幺一二三四五六七八九])"
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
    f"(?:[一二三四五六七八九]{_DIGIT}[十百千]+|几[十百千万亿]+|十几|几"
    "|(?<![总人岁分次])数[十百千万]+|(?<![马早晚网线路天身头手世以])上[百千万]+(?!一))"
)
_SPOKEN = f"{_ABOUT}|{_THOUSANDS}|{_HUNDREDS}|{_TENS}|{_STRING}+{_WHOLE_DIGIT}|两{_WHOLE_DIGIT}"
_GROUP = rf"(?:{_SPOKEN}|\d[\d.,:]*%?)"
_PART = f"(?:零?(?:{_SPOKEN})(?!万(?!分之)|亿))"
_MYRIADS = f"(?:{_GROUP}万(?!分之)亿?{_PART}?)"
_WHOLE = f"(?:{_GROUP}亿(?:零?{_MYRIADS}(?!亿)|{_PART})?|{_MYRIADS}|{_GROUP}|[百千万亿](?=分之))"
# 三点一四 and 五点一点二, but 三点，一是.
_ENUMERATES = "(?!一(?:[是个边种条方开]|点(?![零〇幺一二三四五六七八九])))"
_FRACTION = f"(?:(?<!几)点{_ENUMERATES}(?:{_TENS}|[零〇幺一二三四五六七八九]+)[百千万亿]*)"
_NUMBER = (
    f"(?:第|(?<![胜\\d])负|零[上下])?{_WHOLE}{_FRACTION}{{0,4}}(?:(?<=[十百千万亿])多(?![少么]))?"
)

# Words that begin like a unit: 一共三十，年底再说.
_NO_UNIT = (
    "(?!分[数别析享为成配开工布类]|天[气空天然]|年[底初轻龄前后度终]|月[亮底初]|点[击头名评赞]|个[别性体]"
    "|号[码称召]|块头|日[期常子后志本报语程记]|次[数要]|度[过假]|名[字单称]|项[目次]|条件|位[置于]|元[旦素]|层次|级别"
    "|期[间待望]|页面|章程|台[湾词上中南北东]|秒杀|角[度色落]|份额|种[类植]|米饭|克[服制])"
)
_UNIT = (
    f"(?:{_NO_UNIT}(?:公里|公斤|公顷|千克|千米|千瓦|毫米|毫升|厘米|平方米|平方|立方米|小时|分钟|刻钟|点半|点钟"
    "|点整|星期|年级|年代|世纪|百分点|摄氏度|人民币|美元|欧元|周岁|月份|个|岁|年|月|日|号|天|点|分|秒|元"
    "|块|毛|角|米|斤|吨|克|度|亩|升|位|名|次|倍|项|条|届|层|楼|级|期|页|章|种|份|台|辆|架|套|亿|万|千|百"
    "|℃|%|％|‰|°))"
)
_MEASURED = f"{_NUMBER}(?:{_UNIT}(?:半(?![夜路天]))?)?"
_DAYS = (
    f"(?:{_NUMBER}年)?{_NUMBER}月(?!份额){_NUMBER}(?:日|号(?![线楼门院]))"
    f"|{_NUMBER}年{_NUMBER}月(?!亮)"
)
_CLOCK = f"{_NUMBER}点{_NUMBER}分(?:{_NUMBER}秒)?|{_NUMBER}分{_NUMBER}秒|{_NUMBER}点[一三]刻"
_MONEY = (
    f"{_NUMBER}[块元](?:{_NUMBER}[毛角])(?:{_NUMBER}分)?"
    f"|{_NUMBER}[块米][一二三四五六七八九]{{1,2}}(?![个块米天十百千万座位条人年月种名只间层家次])"
)
# B二B, A零七ZX三F, 五G, PM二点五, G一零二次; but iPhone，三个月后.
_LETTERED = (
    f"[A-Za-z]{{1,3}}(?:{_STRING}+[A-Za-z]{{1,3}}(?![A-Za-z]))+{_STRING}*"
    f"|{_NUMBER}(?:[A-Za-z]|[KMGT]B|k[mg]|[cm]m|ml|[MG]?Hz)(?![A-Za-z])"
    f"|[A-Za-z]+(?![几数第])(?:{_STRING}{{3,}}|{_NUMBER}(?!{_UNIT}|[一二两三四五六七八九十百千万亿点多是种家人件]))"
)
_RATIOS = (
    f"(?:{_NUMBER}又)?(?:{_DIGIT}[百千万]|{_NUMBER})分之{_NUMBER}|百分{_TENS}"
    f"|{_NUMBER}比{_NUMBER}|{_NUMBER}(?:杠{_NUMBER})+"
)
_WEEKDAY = "(?:星期|礼拜)[一二三四五六日天]"

# Longer words first where one begins another; 虽然后来 is found as 虽然, 后来.
_WORDS = (
    "万一|千万|十分(?!之)|百分点|百分百|百分之百|总之|之一|为什么|怎么样|怎么办|怎么说|这么样"
    "|对不起|不好意思|实际上|事实上|也就是说|比如说|换句话说|总的来说|虽然|当然|忽然|突然|仍然|自然|必然|显然|居然|竟然|既然|偶然|不然"
    "|然后|然而|因为|如果|但是|可是|而且|而已|或者|我们|你们|他们|她们|它们|咱们|人们|什么|怎么|那么|这么|多么"
    "|应该|知道|觉得|需要|已经|今天|明天|昨天|时候|问题|这样|那样|非常|特别|比较"
    "|一定|一些|一般|一直|一起|一样|一切|一旦|一下|一共|喜欢|朋友|老师|哪里|哪儿|这儿|那儿"
)
_WHOLES = re.compile(
    "|".join(
        (_WORDS, _WEEKDAY, _DAYS, _CLOCK, _MONEY, _LETTERED, _RATIOS, _MEASURED, "[百千万]分之")
    )
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
                yield _tokens_of(starts, match)


def _bound_ranges(
    tokens: Sequence[Token], protected: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    yield from protected
    line, starts = _line(tokens)
    for pattern in (_WHOLES, _LETTERS):
        for match in pattern.finditer(line):
            yield _tokens_of(starts, match)


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


def _tokens_of(starts: Sequence[int], match: re.Match[str]) -> tuple[int, int]:
    return bisect_right(starts, match.start()) - 1, bisect_right(starts, match.end() - 1) - 1
