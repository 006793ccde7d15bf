"""Numbers that name something: versions, telephone numbers, codes, plates, rooms, lines."""

from __future__ import annotations

import itertools

from asr_core.text.itn.line import Edit, Line, Match
from asr_core.text.itn.numerals import DIGIT_VALUES, Numeral, is_approximate_pair, write_digits

_PLATES = tuple("京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼")
_LINKS = (
    "后四位数是",
    "后四位是",
    "后四位",
    "后三位",
    "后两位",
    "前三位",
    "前四位",
    "末四位",
    "末尾",
)
_VERBS = ("就是", "应该是", "是", "为", "叫", "改成", "改为", "：", ":", " ", "的")
_SIZE_SUFFIX = frozenset(
    {"gb", "mb", "kb", "tb", "pb", "hz", "khz", "mhz", "ghz", "km", "cm", "mm", "kg"}
)
_SIZE_SUFFIX_MORE = frozenset(
    {"mg", "ml", "db", "kw", "kwh", "mah", "fps", "dpi", "ppm", "nm", "mbps", "rpm"}
)
_BUS_BEFORE = ("坐", "乘", "换乘", "换", "搭", "等", "转", "赶")
_BUILDING_NOUN = (
    "楼房",
    "别墅",
    "房",
    "建筑",
    "大楼",
    "小楼",
    "高楼",
    "楼",
    "写字楼",
    "公寓",
    "老",
)
_MOST_PARTS = 8
"""Parts of a dotted number; a longer row is no version."""
_PLACES = "层区口楼座栋号门厅馆线"
NUMBERED = "单车次路楼栋幢排室层座户门号房"
"""First characters of what follows a number that match_numbering may own."""

_CHAIN_UNITS = ("层", "排", "座", "室", "户", "门", "栋", "幢", "楼", "号", "房")


def match_dotted(line: Line, numeral: Numeral) -> Match | None:
    """Two or more points: versions and addresses: 五点幺点二, 幺二七点零点零点幺."""
    if line.char(numeral.begin - 1) == "点":
        return None
    parts: list[str] = []
    at = numeral.begin
    while len(parts) <= _MOST_PARTS:
        found = line.numeral(at)
        if found is None or (found.kind == "fixed" and line.text[at : found.end] != "幺"):
            return None
        spoken = line.text[found.begin : found.end]
        is_string = all(char in DIGIT_VALUES for char in spoken)
        if "两" in spoken or (not is_string and found.value > 999):
            return None
        parts.append(write_digits(spoken) if is_string else str(found.value))
        at = found.end
        if line.char(at) != "点" or not line.is_free(at) or line.numeral(at + 1) is None:
            break
        at += 1
    if not 3 <= len(parts) <= _MOST_PARTS or line.char(at) in ("点", "分", "半", "几"):
        return None
    return Match(at, (Edit(numeral.begin, at, ".".join(parts)),))


def match_dashed(line: Line, numeral: Numeral) -> Match | None:
    """Numbers with 杠 between them: 三杠二十三, 幺零二杠五."""
    parts: list[str] = []
    at = numeral.begin
    while True:
        found = line.numeral(at)
        if found is None or (found.kind == "fixed" and line.text[at : found.end] != "幺"):
            return None
        spoken = line.text[found.begin : found.end]
        parts.append("1" if spoken == "幺" else found.written)
        at = found.end
        if line.char(at) != "杠" or line.numeral(at + 1) is None:
            break
        at += 1
    if len(parts) < 2:
        return None
    return Match(at, (Edit(numeral.begin, at, "-".join(parts)),))


def match_latin(line: Line, numeral: Numeral) -> Match | None:
    """A number attached to Latin letters: PM二点五, 五G, CA一八三二, 京A零七ZX三F."""
    begin = numeral.begin
    if not (_is_latin(line.char(begin - 1)) or _is_letter(line.char(numeral.end))) and (
        line.char(numeral.end) != "点"
    ):
        return None
    if line.char(begin - 1) == "第":
        return None
    while _is_latin(line.char(begin - 1)) and line.is_free(begin - 1):
        begin -= 1
    left = line.text[begin : numeral.begin]
    is_plate = line.char(begin - 1) in _PLATES and len(left) == 1
    written, at = left, numeral.begin
    end = -1
    while True:
        number = _attached(line, at)
        if number is None:
            break
        text, after = number
        suffix = _suffix(line, after)
        is_left = bool(left) and (is_plate or end >= 0 or _takes_number(line, left, at, after))
        is_right = bool(suffix) and (is_plate or _takes_suffix(line, at, after, suffix))
        if not is_left and not is_right:
            break
        written += text + suffix
        at = end = after + len(suffix)
        left = left or suffix
        if not suffix or line.numeral(at) is None:
            break
    if end < 0:
        return None
    begin = begin if begin < numeral.begin else numeral.begin
    return Match(end, (Edit(begin, end, written),))


def _attached(line: Line, at: int) -> tuple[str, int] | None:
    numeral = line.numeral(at)
    if numeral is None:
        return None
    if line.text[at : numeral.end] == "幺":
        return "1", numeral.end
    if numeral.kind == "digits" and line.char(numeral.end) != "点":
        return numeral.written, numeral.end
    amount = line.amount(at)
    return (amount.written, amount.end) if amount else None


def _suffix(line: Line, at: int) -> str:
    end = at
    while _is_letter(line.char(end)) and line.is_free(end):
        end += 1
    return line.text[at:end]


def _takes_number(line: Line, left: str, at: int, after: int) -> bool:
    """Whether the word ``left`` takes the number that follows it."""
    spoken = line.text[at:after]
    word = left.lower()
    if not _is_letter(left[-1]) and not left.isalnum():
        return False
    is_name = word in line.lexicon.latin or (left.isupper() and len(left) <= 5)
    if "点" in spoken or len(spoken) > 2:
        return is_name or left[:1].isupper() or not _counts(line, after)
    if len(spoken) == 2 and not is_approximate_pair(spoken):
        return is_name or left[:1].isupper() or spoken[0] not in "一二两三四五六七八九"
    is_letter = len(left) == 1 and left.isupper() and spoken != "两"
    is_train = left in "GDKTZCYLS" and line.char(after) == "次"
    if is_letter and (is_train or line.char(after) in tuple(_PLACES)):
        return True
    if spoken == "两" or len(spoken) == 2 or not is_name or _counts(line, after):
        return False
    if spoken != "一":
        return not line.follows(after, "级", "者", "类")
    return len(left) == 1 or (word in line.lexicon.latin and line.is_boundary(after))


def _takes_suffix(line: Line, at: int, after: int, suffix: str) -> bool:
    """Whether the number before the letters ``suffix`` belongs to them."""
    spoken = line.text[at:after]
    is_size = suffix.lower() in _SIZE_SUFFIX | _SIZE_SUFFIX_MORE
    if not is_size and not (len(suffix) <= 2 and suffix.isupper()):
        return len(spoken) > 2 and len(suffix) <= 2
    if len(spoken) == 1:
        if spoken == "两":
            return is_size or suffix in ("G", "M", "K", "T")
        return is_size or (spoken not in "一零" or suffix[0] in "GMKTDV")
    return not is_approximate_pair(spoken)


def _counts(line: Line, at: int) -> bool:
    """Whether a measure word or a date follows: PPT三页 is no name."""
    return line.measure_end(at) > at or line.char(at) in tuple("年月日天点个位种张")


def _is_letter(char: str) -> bool:
    return bool(char) and char.isascii() and char.isalpha()


def _is_latin(char: str) -> bool:
    return bool(char) and char.isascii() and char.isalnum()


def match_digits(line: Line, numeral: Numeral) -> Match | None:
    """Three or more digits read one by one: 九九六, 幺三八零零幺三八零零零."""
    if numeral.kind != "digits" or numeral.end - numeral.begin < 3:
        return None
    spoken = line.text[numeral.begin : numeral.end]
    if "两" in spoken or (line.char(numeral.end) == "点" and line.amount(numeral.begin)):
        return None
    if _is_counting(spoken) and line.char(numeral.end) in tuple("线类级等楼"):
        return Match(numeral.end)
    if len(spoken) == 3 and _is_counting(spoken) and not _is_announced(line, numeral.begin):
        is_line = numeral.begin == 0 and numeral.end == len(line.text)
        if not is_line and not _is_latin(line.char(numeral.begin - 1)):
            return Match(numeral.end)
    return _whole(numeral, numeral.written)


def _is_counting(spoken: str) -> bool:
    values = [DIGIT_VALUES[char] for char in spoken]
    return values[0] > 0 and all(b - a == 1 for a, b in itertools.pairwise(values))


def match_code(line: Line, numeral: Numeral) -> Match | None:
    """One or two digits behind the word that announces a code: 工号三七, 尾号零五."""
    if numeral.kind == "fixed" or numeral.is_ten_up:
        return None
    if not _is_announced(line, numeral.begin):
        return None
    if "两" in line.text[numeral.begin : numeral.end]:
        return None
    is_next = line.lexicon.code_words.begin(line.text, numeral.begin) < numeral.begin
    if numeral.is_small and not (line.is_boundary(numeral.end) and is_next):
        return None
    if numeral.kind == "digits" and line.measure_end(numeral.end) > numeral.end:
        return None
    return _whole(numeral, numeral.written)


def _is_announced(line: Line, at: int) -> bool:
    """Whether a word for a code stands before ``at``: 密码是, 卡号后四位."""
    for words in (_VERBS, _LINKS, _VERBS):
        link = next((word for word in words if line.precedes(at, word)), "")
        at -= len(link)
    return line.lexicon.code_words.begin(line.text, at) < at


def match_numbering(line: Line, numeral: Numeral) -> Match | None:
    """六单元, 五楼, 三路公交, 八车厢十二排, 五排六座; 负一楼 and 三层小楼 stay."""
    if (
        numeral.kind != "cardinal"
        or numeral.shorthand
        or line.char(numeral.begin - 1) in ("第", "每")
    ):
        return None
    at = numeral.end
    after = line.char(at)
    if line.char(numeral.begin - 1) == "负":
        return Match(at) if after in ("楼", "层") and after else None
    if not after or "两" in line.text[numeral.begin : at] or not line.is_free(at):
        return None
    if not (_is_named(line, numeral) or _is_chained(line, numeral)):
        return None
    line.numbering_end = at + (2 if line.follows(at, "单元", "车厢", "号楼") else 1)
    return _whole(numeral, numeral.written)


def _is_named(line: Line, numeral: Numeral) -> bool:
    """Whether the word behind the number makes it a name on its own."""
    at = numeral.end
    is_one = numeral.value == 1
    if line.follows(at, "单元"):
        return not is_one or line.numeral(at + 2) is not None or line.is_boundary(at + 2)
    if line.follows(at, "次列车", "次航班", "次高铁", "次动车", "次特快", "次快车"):
        return True
    if line.follows(at, "车厢"):
        return not is_one or line.numeral(at + 2) is not None
    if line.follows(at, "路"):
        if line.follows(at + 1, "公交", "汽车", "电车", "巴士", "车", "公共汽车"):
            is_bus = not line.follows(at + 1, "车") or line.precedes(numeral.begin, *_BUS_BEFORE)
            return not is_one or is_bus
        return (
            numeral.value > 1 and line.precedes(numeral.begin, *_BUS_BEFORE) and _ends(line, at + 1)
        )
    if line.follows(at, "楼"):
        return not line.follows(at, "楼盘", "楼梯", "楼宇", "楼层", "楼房") and not line.follows(
            at + 1, "一底"
        )
    if line.follows(at, "层"):
        room = line.numeral(at + 1)
        return room is not None and room.kind == "digits" and room.end - room.begin > 2
    if line.follows(at, "栋", "幢"):
        address = line.numeral(at + 1) is not None or line.is_boundary(at + 1)
        return address and (not is_one or line.numeral(at + 1) is not None)
    if line.follows(at, "排"):
        seat = line.numeral(at + 1)
        if seat is not None and not is_one and line.char(seat.end) in ("座", "号"):
            return True
        return line.precedes(numeral.begin, "坐", "在", "坐在") and _ends(line, at + 1)
    return line.follows(at, "室") and not is_one and _ends(line, at + 1)


def _ends(line: Line, at: int) -> bool:
    return line.is_boundary(at) or line.char(at) in tuple("的吧了呢啊吗到去回上下在和有是")


def _is_chained(line: Line, numeral: Numeral) -> bool:
    """Whether the number goes on an address or a seat: 二号楼三层, 五排六座."""
    if not line.follows(numeral.end, *_CHAIN_UNITS) or line.follows(numeral.end, "层楼"):
        return False
    before = numeral.begin - 1
    return line.numbering_end == numeral.begin or (
        line.char(before) in ("座", "栋", "幢", "区") and _is_latin(line.char(before - 1))
    )


def _whole(numeral: Numeral, written: str) -> Match:
    return Match(numeral.end, (Edit(numeral.begin, numeral.end, written),))
