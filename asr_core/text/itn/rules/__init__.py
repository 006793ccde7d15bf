"""The decision list: every rule class in its order of precedence.

A rule looks at one number and its neighbours and either owns a stretch of the line, with or
without edits, or passes. The first rule that does not pass decides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from asr_core.text.itn.line import Line, Match
from asr_core.text.itn.numerals import Numeral
from asr_core.text.itn.rules import amounts, calendar, clock, codes, counts, kept, relations


@dataclass(frozen=True, slots=True)
class Rule:
    """A named rule class.

    Attributes:
        name: stable word.
        match: gives what the rule owns from this number on, or ``None``.
        after: the rule is asked only where one of these characters follows the number; empty
            asks always.
        signed: a 负 right before the number belongs to it.
    """

    name: str
    match: Callable[[Line, Numeral], Match | None]
    after: str = ""
    signed: bool = False


RULES = (
    Rule("kept", kept.match_kept),
    Rule("date", calendar.match_date, "年月后届级"),
    Rule("day", calendar.match_day, "号日"),
    Rule("era", calendar.match_era, "世年"),
    Rule("clock", clock.match_clock, "点时分刻"),
    Rule("dotted", codes.match_dotted, "点"),
    Rule("dashed", codes.match_dashed, "杠"),
    Rule("latin", codes.match_latin),
    Rule("digit string", codes.match_digits),
    Rule("code", codes.match_code),
    Rule("numbering", codes.match_numbering, codes.NUMBERED),
    Rule("score", relations.match_score, "比点", signed=True),
    Rule("maths", relations.match_maths, signed=True),
    Rule("range", relations.match_range, "到至点"),
    Rule("percent", amounts.match_percent, "分", signed=True),
    Rule("fraction", amounts.match_fraction, "又分", signed=True),
    Rule("decimal", amounts.match_decimal, "点", signed=True),
    Rule("money", amounts.match_money, signed=True),
    Rule("unit", amounts.match_unit, signed=True),
    Rule("negative", counts.match_negative, signed=True),
    Rule("ordinal", counts.match_ordinal),
    Rule("count", counts.match_count, signed=True),
)
"""Protected words come before all of these: the line leaves them out."""


@functools.lru_cache(maxsize=4096)
def rules_before(char: str) -> tuple[Rule, ...]:
    """The rules that a number is asked which ``char`` follows, in their order."""
    return tuple(rule for rule in RULES if not rule.after or (char and char in rule.after))
