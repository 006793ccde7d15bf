"""One scan over the numbers of a line: the first rule that owns a number decides."""

from __future__ import annotations

from collections.abc import Iterable

from asr_core.text.itn.lexicon import Lexicon
from asr_core.text.itn.line import Edit, Line
from asr_core.text.itn.numerals import NUMERALS
from asr_core.text.itn.rules import rules_before
from asr_core.text.itn.rules.counts import is_signed
from asr_core.text.itn.style import ItnStyle


def find_edits(
    text: str, lexicon: Lexicon, style: ItnStyle, blocked: Iterable[tuple[int, int]] = ()
) -> list[Edit]:
    """Edits of one line: disjoint, in order, each with a written form that differs.

    Args:
        text: the line.
        lexicon: word lists.
        style: how numbers are written.
        blocked: half-open character ranges that stay as they are.
    """
    if NUMERALS.isdisjoint(text):
        return []
    line = Line(text, lexicon, style, blocked)
    edits: list[Edit] = []
    owned = 0
    for numeral in line.numerals:
        if numeral.begin < owned:
            continue
        for rule in rules_before(line.char(numeral.end)):
            match = rule.match(line, numeral)
            if match is None or (match.edits and match.edits[0].begin < owned):
                continue
            found = list(match.edits)
            if rule.signed and found and _has_sign(line, found[0].begin, owned):
                first = found[0]
                found[0] = Edit(first.begin - 1, first.end, "-" + first.written)
            edits.extend(found)
            owned = match.end
            break
    return [edit for edit in edits if text[edit.begin : edit.end] != edit.written]


def _has_sign(line: Line, begin: int, owned: int) -> bool:
    return (
        begin > owned
        and line.char(begin - 1) == "负"
        and line.is_free(begin - 1)
        and is_signed(line, begin)
    )
