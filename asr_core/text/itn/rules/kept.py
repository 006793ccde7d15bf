"""Numbers that stay in characters because of the word beside them."""

from __future__ import annotations

from asr_core.text.itn.line import Line, Match
from asr_core.text.itn.numerals import Numeral

_CHAIN = "年月日号世代"
_LUNAR = "初正腊冬闰"
_SURNAMES = frozenset(
    "李张王刘陈杨赵吴孙郑冯蒋沈韩朱秦许吕曹魏陶姜戚谢邹苏潘葛范彭鲁韦袁柳唐薛贺汤罗郝"
    "宋程邓傅曾萧田董于余蔡贾夏侯孟熊阎崔廖邱武乔龚"
)


def match_kept(line: Line, numeral: Numeral) -> Match | None:
    """乾隆六十年, 路易十六, 农历七月初七, 神舟十三号; 五年级, 三室一厅, 十一届三中全会."""
    if line.lexicon.kept_before.end(line.text, numeral.end) > numeral.end:
        return Match(numeral.end)
    if numeral.is_small and line.char(numeral.end) in ("室", "房"):
        following = line.numeral(numeral.end + 1)
        if following and line.char(following.end) in ("厅", "卫"):
            return Match(following.end)
    if _is_person(line, numeral):
        return Match(numeral.end)
    return Match(_chain_end(line, numeral)) if _has_name_before(line, numeral) else None


def _is_person(line: Line, numeral: Numeral) -> bool:
    """李十三, 韩十八: a surname and a place in the order of birth, then no counted thing."""
    before = line.char(numeral.begin - 1)
    if not before or before not in _SURNAMES or numeral.kind != "cardinal":
        return False
    if not 10 <= numeral.value <= 19 or numeral.end - numeral.begin > 2:
        return False
    after = line.char(numeral.end)
    return line.is_boundary(numeral.end) or after in tuple("的说和是来去在郎娘爷妹姨哥姐叔嫂")


def _has_name_before(line: Line, numeral: Numeral) -> bool:
    lexicon, text, begin = line.lexicon, line.text, numeral.begin
    after = line.char(numeral.end)
    if lexicon.lunar.begin(text, begin) < begin:
        return True
    if lexicon.eras.begin(text, begin) < begin:
        return after in ("年", "载")
    if lexicon.series.begin(text, begin) < begin:
        return after == "号"
    if lexicon.rulers.begin(text, begin) < begin:
        return after == "世" or line.measure_end(numeral.end) == numeral.end
    return False


def _chain_end(line: Line, numeral: Numeral) -> int:
    """End of the date that a name of an era or a calendar opens."""
    end = numeral.end
    while line.char(end) in tuple(_CHAIN):
        following = end + 1
        if line.char(following) in tuple(_LUNAR):
            following += 1
        found = line.numeral(following)
        if found is None or (line.char(end) != "月" and line.char(found.end) not in ("", *_CHAIN)):
            break
        end = found.end
    return end
