"""Normalizations of texts before they are compared, chosen by name.

Every character of a normalized text knows where it stands in the text that it comes from, so
differences are shown in the words of the reader. White space never counts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from asr_core.errors import UsageError
from asr_core.text.simplify import Simplifier
from asr_core.text.spoken import find_numbers

NORMALIZATIONS = ("width", "upper", "simplified", "numbers", "erhua", "fillers", "punctuation")
"""Names, in the order in which they are applied whatever the order of the choice:

``width`` full-width forms become half-width (NFKC); ``upper`` Latin letters become capitals;
``simplified`` traditional characters become simplified; ``numbers`` written numbers become spoken
(25 and 二十五 are equal); ``erhua`` 儿 after a character that takes it is left out; ``fillers``
嗯, 啊, 呃 and the like are left out; ``punctuation`` all but letters and digits is left out.
"""

DEFAULT_NORMALIZATIONS = ("width", "upper", "simplified", "numbers", "punctuation")
"""What changes no word; ``erhua`` and ``fillers`` forgive differences that were heard."""

FILLERS = frozenset("嗯啊呃哦噢唔诶欸呣哼")
"""Characters that are nothing but hesitation in nearly all running speech."""

_SAME_NUMERALS = str.maketrans({"两": "二", "〇": "零", "○": "零", "幺": "一"})
_IN_NAMES = frozenset("昇喆堃犇龢甦迺淼濛")
"""Once variants, since 2013 standard characters of their own (通用规范汉字表)."""
_TAKES_ERHUA = frozenset(
    "这那哪会点玩事孩花味劲样份活字词门口头边面块片根条串时今明昨前后圈本盘馅皮句号数阵伴班岔茬天空坎弯"
    "道官角腕范妞们哥姐爷娘瓶罐碗桌凳狗鱼虫鸟歌曲调音声话理法戏画影人心眼嘴脸手腿仁核瓣叶芽尖刺缝洞坑堆摊"
    "店馆屋院家村湾沟坡顶底里外上下间截准慢好悄个盹烟闷名神信杂阄意特儿棍杆球带袋盒包管饼丝汁粒蛋刀针线"
    "座位名牌油色圆方远近早晚高低多少热凉棒碴渣沫气魂肝腰背脖脚趾"
)
_KEEPS_ERHUA = ("儿子", "儿童", "儿女", "儿媳", "儿科", "儿歌", "儿戏", "儿孙", "儿时", "儿媳")


@dataclass(frozen=True, slots=True)
class Normalized:
    """A text to compare and where its characters come from.

    Attributes:
        source: the text as it was given.
        text: the normalized text.
        starts: for each normalized character, where its origin begins in ``source``.
        ends: for each normalized character, where its origin ends; characters that came into
            being together (百分之五 from 5%) share one origin.
    """

    source: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def shown(self, start: int, end: int) -> str:
        """``text[start:end]`` as the source has it.

        Where the part cuts through an origin that its neighbour shares, the normalized
        characters are shown.
        """
        if start >= end:
            return ""
        cuts_before = start > 0 and self.ends[start - 1] > self.starts[start]
        cuts_after = end < len(self.text) and self.ends[end - 1] > self.starts[end]
        if cuts_before or cuts_after:
            return self.text[start:end]
        return self.source[self.starts[start] : self.ends[end - 1]]

    def gap(self, index: int) -> str:
        """What the source has between the characters ``index - 1`` and ``index``: marks, spaces."""
        before = self.ends[index - 1] if index > 0 else 0
        after = self.starts[index] if index < len(self.text) else len(self.source)
        return self.source[before:after]


def normalize(text: str, names: Iterable[str], *, other: str = "") -> Normalized:
    """Apply normalizations by name.

    Args:
        other: the text that it will be compared with. Of several readings of a number, ``numbers``
            takes the one that stands there.

    Raises:
        UsageError: a name is not known.
    """
    chosen = set(names)
    if not chosen <= set(NORMALIZATIONS):
        unknown = ", ".join(sorted(chosen - set(NORMALIZATIONS)))
        raise UsageError(f"no normalization has the name {unknown}")
    work = _Work(text)
    if "width" in chosen:
        work.map(lambda char: unicodedata.normalize("NFKC", char))
    if "simplified" in chosen:
        work.translate(_simplify)
    if "numbers" in chosen:
        work.speak_numbers(_heard(other))
    if "upper" in chosen:
        work.map(str.upper)
    if "erhua" in chosen:
        work.drop(_erhua(work.text))
    if "fillers" in chosen:
        work.map(lambda char: "" if char in FILLERS else char)
    work.map(_word_or_nothing if "punctuation" in chosen else _unless_space)
    return work.result()


def choose_reading(readings: tuple[str, ...], heard: str) -> str:
    """The first reading that was heard, else the usual one."""
    return next((r for r in readings if r and r.translate(_SAME_NUMERALS) in heard), readings[0])


class _Work:
    """A text that is being normalized, one string for each character, with its origins."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._chars = list(source)
        self._starts = list(range(len(source)))
        self._ends = list(range(1, len(source) + 1))

    @property
    def text(self) -> str:
        return "".join(self._chars)

    def map(self, change: Callable[[str], str]) -> None:
        """Each character becomes a string of any length."""
        changed = [change(char) for char in self._chars]
        if all(len(new) == 1 for new in changed):
            self._chars = changed
            return
        counts = [len(new) for new in changed]
        self._starts = [at for at, n in zip(self._starts, counts, strict=True) for _ in range(n)]
        self._ends = [at for at, n in zip(self._ends, counts, strict=True) for _ in range(n)]
        self._chars = list("".join(changed))

    def translate(self, change: Callable[[str], str]) -> None:
        """The whole text at once, without moving a character."""
        self._chars = list(change(self.text))

    def drop(self, places: Iterable[int]) -> None:
        gone = set(places)
        kept = [index for index in range(len(self._chars)) if index not in gone]
        self._chars = [self._chars[index] for index in kept]
        self._starts = [self._starts[index] for index in kept]
        self._ends = [self._ends[index] for index in kept]

    def speak_numbers(self, heard: str) -> None:
        chars: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        done = 0
        for number in find_numbers(self.text):
            spoken = choose_reading(number.readings, heard)
            chars += [*self._chars[done : number.start], *spoken]
            count = len(spoken)
            starts += [*self._starts[done : number.start], *[self._starts[number.start]] * count]
            ends += [*self._ends[done : number.start], *[self._ends[number.end - 1]] * count]
            done = number.end
        self._chars = [*chars, *self._chars[done:]]
        self._starts = [*starts, *self._starts[done:]]
        self._ends = [*ends, *self._ends[done:]]
        self.map(lambda char: char.translate(_SAME_NUMERALS))

    def result(self) -> Normalized:
        return Normalized(self._source, self.text, tuple(self._starts), tuple(self._ends))


def _simplify(text: str) -> str:
    """Simplified characters; those that simplified texts use in names stay (昇腾, 李喆)."""
    simplified = _simplifier().simplify(text)
    if _IN_NAMES.isdisjoint(text):
        return simplified
    pairs = zip(text, simplified, strict=True)
    return "".join(old if old in _IN_NAMES else new for old, new in pairs)


def _heard(other: str) -> str:
    """The other text as readings of numbers are looked up in it."""
    folded = unicodedata.normalize("NFKC", other)
    return "".join(char for char in folded if char.isalnum()).translate(_SAME_NUMERALS)


def _erhua(text: str) -> list[int]:
    """Places of 儿 that only colours the syllable before it."""
    return [
        index
        for index in range(1, len(text))
        if text[index] == "儿"
        and text[index - 1] in _TAKES_ERHUA
        and text[index : index + 2] not in _KEEPS_ERHUA
    ]


def _word_or_nothing(char: str) -> str:
    return char if char.isalnum() or unicodedata.category(char) == "Mn" else ""


def _unless_space(char: str) -> str:
    return "" if char.isspace() else char


@cache
def _simplifier() -> Simplifier:
    return Simplifier()
