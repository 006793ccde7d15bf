"""How numbers are written where the reader has a choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ItnStyle:
    """Styles of written numbers; the defaults keep every spoken unit word.

    Attributes:
        dates: ``words`` writes 2025年3月15日, ``dash`` writes 2025-03-15; only a date with year,
            month and day takes dashes.
        clock: ``words`` writes 下午3点半, ``digits`` writes 15:30 where minutes are known.
        percent: ``sign`` writes 85%, ``words`` leaves 百分之八十五 as it was said.
    """

    dates: Literal["words", "dash"] = "words"
    clock: Literal["words", "digits"] = "words"
    percent: Literal["sign", "words"] = "sign"
