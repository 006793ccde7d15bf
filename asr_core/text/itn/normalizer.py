"""Spoken numbers to written numbers, as a newspaper prints them.

A number becomes digits only where a rule below expects one: from ten upwards almost everywhere,
below ten in dates, clock times, measurements, scores and numbering. Approximations (三五个, 几百),
fixed words (一起, 十分, 双十一) and the unit words themselves keep their characters; in doubt
nothing changes. wetext writes the digits of one bare number at a time, so its own style (slashed
dates, currency signs, ``km``) never reaches the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from asr_core.errors import NormalizationError
from asr_core.results import Token, WrittenSpan

_D = "零〇幺一二两三四五六七八九"
_ALL = _D + "十百千万亿"
_N = f"[{_ALL}]+"
_NOT_AFTER = f"(?<![几数{_ALL}点])"
_END = f"(?![{_ALL}几来点])"
_SMALL = "[一二两三四五六七八九]"
_GROUP = f"(?:{_SMALL}千)?(?:零?{_SMALL}百)?(?:零?{_SMALL}?十)?(?:零?{_SMALL})?"
_CARDINAL = re.compile(
    f"(?!零)(?:{_GROUP}(?<=[{_ALL}])万?亿)?(?:零?{_GROUP}(?<=[一二两三四五六七八九十百千])万)?{_GROUP}"
)
_DIGITS = {ord(spoken): written for spoken, written in zip(_D, "0011223456789", strict=True)}
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:万亿|[万亿%‰])?|\d+/\d+|\d+亿\d+万")

_FIXED = re.compile(
    f"(?<![{_ALL}点])(?:一点一滴|两点一线|一五一十|五十步笑百步|三十六计|十二指肠|十二生肖|女大十八变|双十[一二]"
    "|十一(?:黄金周|假期|长假|小长假|国庆|放假|期间)|国庆十一|一千零一夜|[二两]万五千里|十万八千里|十[一二三四五]五(?:规划|时期|计划|期间)"
    "|[一二十]+届[一二三四五六七]中全会|(?:十[一二三四五六七八九]?|二十)大(?![约概小多])|路易十[三四五六]"
    f"|(?<![{_ALL}点米])(?:一[二两]|[二两]三|三[四五]|四五|五六|六七|七八|八九)(?![{_ALL}])"
    f"|(?<![{_ALL}块点])(?:五四|七七|三八|六一|五一|八一|九一八|一二九|二百五|三百两)(?![{_ALL}])|百分百|[一两]元[一二三]次|三十而立|四十不惑|五十知天命|九九八十一|七十二变"
    "|十月怀胎|(?:正|腊|冬)月[一二三四五六七八九十]+|大?年三十|初[一二三四五六七八九十]+"
    "|(?:农历|阴历|民国|乾隆|康熙|光绪|雍正|嘉庆|道光|咸丰|同治|宣统|贞观|洪武|万历|崇祯|永乐)[零〇一二两三四五六七八九十百年月]+"
    f"|[一二三四五六七八九十]月[一二三四五六七八九十]+(?![{_ALL}日号])|(?<![{_ALL}点])十分(?!钟)"
    "|(?:星期|礼拜|周)[一二三四五六]|十[足字全有之]|万[一分]|千万别|一[起些下般定共样直切旦律半边]"
    "|九九乘法|七七八八|三六九等|[上千]百万[人次个]|零距离|[一二三四五六七八九十]年级)"
)
_TIME = "(?:上午|下午|中午|早上|早晨|清晨|凌晨|晚上|傍晚|今晚|明晚|昨晚|今早|明早|夜里|半夜|午后)"
_UNIT = (
    "(?:公里|千米|厘米|毫米|微米|纳米|米(?![饭粒])|公斤|千克|毫克|克(?![服制隆])|吨|斤|毫升|升(?![级职])|毫秒|微秒"
    "|摄氏度|平方|平米|亩|英寸|公顷|兆|伏|千瓦|元(?![素旦老宵里])|块钱|美元|欧元|美金|日元|英镑|个?百分点)"
)
_MEASURE = (
    "[个名岁年天月日号人倍位张次条块家场台辆本件只种套页篇章集届楼层路米斤吨度秒句遍步例期项轮]"
)
_JOIN = "(?:比|加上?|减去?|乘以?|除以|等于|的平方|的立方)"
_LATIN = "(?<![A-Za-z])(?:[A-Z]{1,4}|iPhone|iPad|iOS|Android|Windows|Office|Python|Java)"
_NO_COUNT = "(?![个位种页次天年月张家条项点台名层款起些定直样般共下旦])"

_RULES = tuple(
    re.compile(rule)
    for rule in (
        # share and fraction: 百分之八十五 三分之一
        f"(负?[百千]分之{_N}(?:点[{_D}]+)?){_END}",
        f"{_NOT_AFTER}({_N}分之{_N}){_END}",
        # years and decades that are read digit by digit: 九五年 九零后
        f"{_NOT_AFTER}([零〇九八][{_D}])(?=年(?![级前后以]))",
        f"{_NOT_AFTER}([零〇五六七八九][零〇五])(?=后)",
        # calendar: 三月十五号 三月开学
        f"{_NOT_AFTER}({_N})月(?!初{_N}|{_N}(?![{_ALL}日号]))(?:({_N})(?=[日号]))?",
        f"{_NOT_AFTER}({_N})(?=号)",
        # clock: 下午三点半 八点三十 八点到十点
        f"{_TIME}({_N})点(?![都也儿])(?:({_N})(?![{_ALL}几]))?",
        f"{_NOT_AFTER}(?<!第)({_N})点(?=半|整|钟|[一三]刻)",
        f"{_NOT_AFTER}(?<!第)({_N})点([二三四五]?十[{_D}]?|零[{_D}](?=分))(?![{_ALL}几])",
        f"{_NOT_AFTER}({_N})点[到至]({_N})点(?![{_D}])",
        f"{_NOT_AFTER}(十[一二三四五六七八九]?|二十[一二三四]?)点(?![{_ALL}几])",
        # decimals and versions: 三点五 五点幺点二
        f"(?<![早晚快慢有这那多少大小高低好第几数{_ALL}])"
        f"(负?{_N}(?:点[{_D}]+)+(?:万亿|[万亿])?)(?<!点一)(?![{_ALL}几])",
        f"{_NOT_AFTER}(负?{_N}点一)(?=[万亿倍%]|{_UNIT}|个百分|左右|版|\\W|$)",
        # below zero: 负五 零下五度
        f"(?<![胜担抱欺肩])(负{_N}){_END}(?![楼层])",
        f"零下({_N}){_END}",
        f"{_NOT_AFTER}([{_ALL}]+?)(?=千[克米瓦])",
        # money and length keep their shape: 三块五 一米八
        f"{_NOT_AFTER}({_N})块([{_D}])(?=[毛钱的每包\\W]|左右|一[斤个份]|$)(?:毛(?:([{_D}])分)?)?",
        f"{_NOT_AFTER}({_N})元([{_D}])角(?:([{_D}])分)?",
        f"{_NOT_AFTER}({_N})元([{_D}])毛",
        f"{_NOT_AFTER}({_N})米([{_D}]{{1,2}})(?![{_ALL}米])",
        # ranges and measurements: 三到五个 五公斤
        f"{_NOT_AFTER}(?<!第)([二三四五六七八九]|{_SMALL}?十[{_D}]?)[到至]"
        f"([三四五六七八九]|{_SMALL}?十[{_D}]?)(?=周|点|分钟|小时|{_MEASURE}|{_UNIT})",
        f"{_NOT_AFTER}(?<!第)([二两三四五六七八九])(?={_UNIT})",
        f"{_NOT_AFTER}(?<![第每])(一)(?=公里|毫秒|公斤|千克|吨|摄氏度|美元|欧元|英镑|块钱)",
        # numbering: 三号楼 五单元 八车厢十二排
        f"{_NOT_AFTER}(?<![第负])({_N})(?=单元|车厢|次列车)",
        f"{_NOT_AFTER}(?<![第负])([二三四五六七八九])(?=楼)",
        f"车厢({_N})(?=排)",
        # scores and spoken sums: 三比二 二的三次方
        f"{_NOT_AFTER}(?<!第)({_N}){_JOIN}({_N})(?:(?:等于|比|加|减)({_N}))?{_END}",
        f"{_NOT_AFTER}({_N})的(?:({_N})次方|[平立]方)(?:[是等于]+({_N}){_END})?",
        # Latin neighbours: PM二点五 五G CET六
        f"{_LATIN}({_N}点[{_D}]+)",
        f"{_LATIN}(?!一)({_N}){_END}{_NO_COUNT}",
        "(?<![A-Za-z])[A-Z](一)(?=[赛二])",
        f"{_NOT_AFTER}([二三四五六七八九]|[{_D}十百千]{{2,}})(?=[A-Z](?![A-Za-z]))",
        # digits read one by one: 八零二六 幺二零
        f"{_NOT_AFTER}(?!一二三(?![{_D}])|三四五(?![{_D}]))([零〇幺一二三四五六七八九]{{3,}})(?![{_ALL}])",
        # numbers said back to back: 三十五四十六
        f"{_NOT_AFTER}({_SMALL}?十{_SMALL})({_SMALL}?十{_SMALL})({_SMALL}?十{_SMALL})?(?![{_ALL}])",
        # ten and above
        f"第(十){_END}",
        f"(?<![几数上成{_ALL}点])(十)(?={_MEASURE}|分钟|小时|元|多|余|周|[到至]{_N}|美元|毫|公|平|英|度|比)",
        f"(?<![几数上成{_ALL}点])(?!十(?![{_ALL}]))(?=[{_D}]*[十百千万亿])({_N}){_END}",
    )
)


class InverseNormalizer(Protocol):
    """Finds what is written differently from how it is spoken."""

    def spans(self, tokens: Sequence[Token]) -> tuple[WrittenSpan, ...]:
        """Written spans of one sentence: disjoint, sorted, indices into ``tokens``.

        Raises:
            NormalizationError: the normalizer failed; the spoken form stands.
        """
        ...


class WetextNormalizer:
    """Rules that choose the numbers, wetext that writes them.

    Raises:
        NormalizationError: wetext is not installed or cannot be loaded.
    """

    def __init__(self) -> None:
        try:
            from wetext import Normalizer

            normalizer = Normalizer(lang="zh", operator="itn")
            self._wetext = lru_cache(maxsize=4096)(normalizer.normalize)
            self._wetext("二十六")
        except (ImportError, OSError, RuntimeError, ValueError) as exc:
            raise NormalizationError(f"wetext cannot be loaded: {exc}", reason=str(exc)) from exc

    def spans(self, tokens: Sequence[Token]) -> tuple[WrittenSpan, ...]:
        """Written spans of one sentence: disjoint, sorted, indices into ``tokens``.

        Raises:
            NormalizationError: wetext failed.
        """
        if not any(char in _ALL for token in tokens for char in token.text):
            return ()
        text, starts = _layout(tokens)
        written = self._written(text)
        firsts = {start: index for index, start in enumerate(starts)}
        lasts = {start + len(tokens[index].text): index for index, start in enumerate(starts)}
        spans = [
            WrittenSpan(firsts[begin], lasts[end], value)
            for (begin, end), value in sorted(written.items())
            if begin in firsts and end in lasts
        ]
        return _join_latin(tokens, spans)

    def _written(self, text: str) -> dict[tuple[int, int], str]:
        """``(begin, end)`` of each number in the text and what to write there."""
        taken = [False] * len(text)
        for match in _FIXED.finditer(text):
            taken[match.start() : match.end()] = [True] * len(match[0])
        written: dict[tuple[int, int], str] = {}
        for rule in _RULES:
            for match in rule.finditer(text):
                groups = [span for span in match.regs[1:] if span[0] >= 0]
                values = [self._write(text[begin:end]) for begin, end in groups]
                if any(any(taken[begin:end]) for begin, end in groups) or None in values:
                    continue
                for (begin, end), value in zip(groups, values, strict=True):
                    taken[begin:end] = [True] * (end - begin)
                    written[begin, end] = value or ""
        return written

    def _write(self, spoken: str) -> str | None:
        """Digits of one number; ``None`` when it is not well formed."""
        if spoken.startswith("负"):
            value = self._write(spoken[1:])
            return None if value is None else "-" + value
        if spoken[:3] in ("百分之", "千分之"):
            rest = spoken[3:]
            value = "100" if rest == "百" else self._write(rest)
            return None if value is None else value + ("%" if spoken[0] == "百" else "‰")
        if "分之" in spoken:
            below, above = spoken.split("分之", 1)
            parts = [self._write(above), self._write(below)]
            return None if None in parts else "/".join(part or "" for part in parts)
        if "点" in spoken:
            whole, fraction = spoken.split("点", 1)
            value = self._write(whole)
            return (
                None
                if value is None
                else f"{value}.{fraction.replace('点', '.').translate(_DIGITS)}"
            )
        if all(char in _D for char in spoken):
            return spoken.translate(_DIGITS)
        if not _CARDINAL.fullmatch(spoken):
            return None
        return _tidy(spoken, self._ask(spoken))

    def _ask(self, spoken: str) -> str:
        try:
            return str(self._wetext(spoken))
        except (ArithmeticError, AssertionError, AttributeError, LookupError, OSError) as exc:
            raise NormalizationError(f"wetext failed: {exc}", reason=str(exc)) from exc
        except (RuntimeError, TypeError, ValueError) as exc:
            raise NormalizationError(f"wetext failed: {exc}", reason=str(exc)) from exc


def _tidy(spoken: str, written: str) -> str | None:
    """Whole 万 and 亿 keep the word; 亿 with at most two decimals becomes a decimal."""
    if re.fullmatch(f"{_SMALL}亿{_SMALL}?", spoken):
        digits = spoken.translate(_DIGITS)
        return ".".join((digits[0], *digits[2:])) + "亿"
    if spoken.endswith("万") and re.fullmatch(r"\d+0000", written):
        written = written[:-4] + "万"
    if spoken.endswith("万亿") and re.fullmatch(r"\d+0000亿", written):
        written = written[:-5] + "万亿"
    match = re.fullmatch(r"(\d+)万(\d+)", written)
    if match:
        written = match[1] + match[2].zfill(4)
    match = re.fullmatch(r"(\d+)亿(\d+)万", written)
    if match and int(match[2]) % 100 == 0:
        written = f"{match[1]}.{match[2].zfill(4)[:2].rstrip('0')}亿"
    return written if _PLAIN.fullmatch(written) else None


def _layout(tokens: Sequence[Token]) -> tuple[str, list[int]]:
    """The spoken line with marks, and where each token starts in it."""
    line = ""
    starts = []
    for token in tokens:
        if line and line[-1].isascii() and token.text[0].isascii():
            line += " "
        starts.append(len(line))
        line += token.text + token.mark
    return line, starts


def _join_latin(tokens: Sequence[Token], spans: Sequence[WrittenSpan]) -> tuple[WrittenSpan, ...]:
    """Write a number and the letters it belongs to as one word: 5G, PM2.5."""
    joined: list[WrittenSpan] = []
    for span in spans:
        first, last, written = span.first_token, span.last_token, span.written
        free = joined[-1].last_token + 1 if joined else 0
        if first > free - 1 and first > 0 and first - 1 >= free:
            before = tokens[first - 1]
            if not before.mark and re.fullmatch(_LATIN, before.text):
                first, written = first - 1, before.text + written
        if last + 1 < len(tokens) and not tokens[last].mark:
            after = tokens[last + 1]
            if re.fullmatch("[A-Z]{1,2}", after.text):
                last, written = last + 1, written + after.text
        joined.append(WrittenSpan(first, last, written))
    return tuple(joined)
