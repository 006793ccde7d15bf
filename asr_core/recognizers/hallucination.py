"""What an autoregressive recognizer writes that nobody said: loops, its own prompt, phantoms."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_LONGEST_UNIT = 30  # characters; longer repeats are real speech (a slogan, a refrain)
_LEAST_REPEATS = 4
_LONG_UNIT = 8  # characters; nobody says a whole clause three times in a row
_LEAST_LONG_REPEATS = 3
_LEAST_LOOP_CHARS = 12  # 哈哈哈哈 and 对对对 are speech

# Subtitle credits from the training data of Whisper, which it writes over noise and music.
_PHANTOMS = (
    "字幕由amara.org社区提供",
    "字幕志愿者",
    "中文字幕志愿者",
    "字幕提供",
    "明镜与点点栏目",
    "请不吝点赞订阅转发打赏",
    "谢谢观看",
    "感谢观看",
    "谢谢收看",
    "优优独播剧场",
    "yoyotelevisionseriesexclusive",
)
_PHANTOM_SLACK_CHARS = 12  # names and courtesies around a credit


@dataclass(frozen=True, slots=True)
class Loop:
    """A unit repeated without end: ``[start, end)`` in characters, ``unit`` long each time."""

    start: int
    end: int
    unit: int


def bare(text: str) -> str:
    """Lower case without spaces and punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if char.isalnum() or char == ".").strip(".")


def find_loop(items: Sequence[object]) -> Loop | None:
    """A stretch in which a short unit stands four times in a row, or a clause three times.

    Args:
        items: characters or token ids.

    Returns:
        The earliest one of the shortest unit, ``None`` without one.
    """
    for unit in range(1, min(_LONGEST_UNIT, len(items) // _LEAST_LONG_REPEATS) + 1):
        run = 0
        repeats = _LEAST_REPEATS if unit < _LONG_UNIT else _LEAST_LONG_REPEATS
        needed = max(unit * (repeats - 1), _LEAST_LOOP_CHARS - unit)
        for index in range(unit, len(items) + 1):
            if index < len(items) and items[index] == items[index - unit]:
                run += 1
                continue
            if run >= needed:
                return Loop(index - run - unit, index, unit)
            run = 0
    return None


def is_phantom(text: str) -> bool:
    """Whether a whole window consists of a subtitle credit."""
    spoken = bare(text)
    return any(
        phantom in spoken and len(spoken) <= len(phantom) + _PHANTOM_SLACK_CHARS
        for phantom in _PHANTOMS
    )


def find_prompt(text: str, prompt: str) -> tuple[int, int] | None:
    """Where a text holds the recognizer's own prompt, or the prompt's first clause.

    Returns:
        ``[start, end)`` in characters of ``text`` with the punctuation around it, or ``None``.
    """
    kept = [index for index, char in enumerate(text) if char.isalnum()]
    spoken = "".join(text[index] for index in kept)
    whole = "".join(char for char in prompt if char.isalnum())
    first_clause = "".join(char for char in prompt.split("，", maxsplit=1)[0] if char.isalnum())
    for wanted in (whole, first_clause):
        at = spoken.find(wanted)
        if at >= 0:
            last = at + len(wanted)
            return kept[at], kept[last] if last < len(kept) else len(text)
    return None
