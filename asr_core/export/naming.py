"""Names of exported files: from the recording and a template, fit for Windows and Linux."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime

from asr_core.settings import NAME_FIELD, check_export_name

USUAL_NAME = "{name}"
_MAX_NAME_BYTES = 255
_LEAST_NAME_BYTES = 24
"""A recording's name keeps this much in a template that leaves it less room."""
_EMPTY = "transcript"
_FORBIDDEN = frozenset('<>:"|?*/\\')
_JOINER, _NON_JOINER = "\u200d", "\u200c"
_SUFFIX = re.compile(r"\.(?=[0-9]*[A-Za-z])[A-Za-z0-9]{1,5}$")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?")


@dataclass(frozen=True, slots=True)
class Named:
    """What a template is filled with.

    Attributes:
        name: of the recording, with or without folders.
        model: that recognized it.
        created: when it was taken in, in local time; ``None`` leaves date and time empty.
        duration_ms: of the recording.
    """

    name: str
    model: str = ""
    created: datetime | None = None
    duration_ms: int = 0


def file_stem(original_name: str) -> str:
    """The name of a recording without folders and extension, without what names cannot hold."""
    base = re.split(r"[/\\]", original_name.rstrip("/\\"))[-1]
    return clean_name(_SUFFIX.sub("", base))


def clean_name(text: str) -> str:
    """A text without what Windows forbids, control and invisible characters."""
    if not text.isprintable() or not _FORBIDDEN.isdisjoint(text):
        text = "".join(char for char in text if _allowed(char))
    return text.strip(" .")


def name_file(template: str, named: Named, extension: str, number: int = 1) -> str:
    """The name of a file.

    Args:
        template: text with ``{date}`` (2026-11-30), ``{time}`` (14.05.09), ``{name}``,
            ``{model}``, ``{duration}`` (1h02m05s) and ``{number}``; empty means ``{name}``.
        named: what it is filled with.
        extension: without a dot.
        number: tells apart files of one name. It stands where the template has it, otherwise it
            is added from 2 on: ``会议 (2).srt``.

    Returns:
        A name without path separators, control characters and what Windows forbids, of at most
        255 bytes in UTF-8; ``transcript`` stands in for a name of which nothing is left. Other
        numbers give other names.

    Raises:
        SettingsError: the template has an unknown field or a path separator.
    """
    template = template or USUAL_NAME
    check_export_name(template)
    values = _values(named, number)
    ending = f".{extension}"
    if "{number}" in template:
        whole = _filled(template, values, _MAX_NAME_BYTES - len(ending.encode()))
        if whole is not None:
            return _safe(whole, ending)
    ending = f" ({number}){ending}" if number > 1 else ending
    room = _MAX_NAME_BYTES - len(ending.encode())
    stem = _filled(template, values, room) or _filled(template, values, None) or ""
    return _safe(_shortened(stem, room), ending)


def _values(named: Named, number: int) -> dict[str, str]:
    seconds = named.duration_ms // 1000
    created = named.created
    return {
        "date": created.strftime("%Y-%m-%d") if created else "",
        "time": created.strftime("%H.%M.%S") if created else "",
        "name": file_stem(named.name),
        "model": clean_name(named.model),
        "duration": f"{seconds // 3600}h{seconds // 60 % 60:02d}m{seconds % 60:02d}s",
        "number": str(number),
    }


def _filled(template: str, values: dict[str, str], room_bytes: int | None) -> str | None:
    """The template's text, its name shortened to the room; ``None`` where that is too little."""
    whole = _fill(template, values)
    if room_bytes is None or len(whole.encode()) <= room_bytes:
        return whole
    names = template.count("{name}")
    rest = len(_fill(template, {**values, "name": ""}).encode())
    least = (room_bytes - rest) // names if names else 0
    if least < _LEAST_NAME_BYTES:
        return None
    short = _shortened(values["name"], least).rstrip(" .").removesuffix(_JOINER)
    return _fill(template, {**values, "name": short})


def _fill(template: str, values: dict[str, str]) -> str:
    return clean_name(NAME_FIELD.sub(lambda found: values[found[1]], template))


def _safe(stem: str, ending: str) -> str:
    stem = stem.rstrip(" .").removesuffix(_JOINER) or _EMPTY
    if _RESERVED.fullmatch(stem):
        stem = _shortened(f"_{stem}", _MAX_NAME_BYTES - len(ending.encode()))
    return stem + ending


def _shortened(text: str, most_bytes: int) -> str:
    """As much of a text as fits, cut where a reader sees a border between characters."""
    kept = text.encode()[:most_bytes].decode(errors="ignore")
    while kept and len(kept) < len(text) and (_extends(text[len(kept)]) or kept[-1] == _JOINER):
        kept = kept[:-1]
    return kept


def _extends(char: str) -> bool:
    """Accents, selectors, joiners, skin tones and later parts of a Hangul syllable go with
    the character before them."""
    is_mark = unicodedata.category(char)[0] == "M" or char in (_JOINER, _NON_JOINER)
    return is_mark or "\U0001f3fb" <= char <= "\U0001f3ff" or "\u1160" <= char <= "\u11ff"


def _allowed(char: str) -> bool:
    if char in _FORBIDDEN:
        return False
    if char in (_JOINER, _NON_JOINER):  # part of how emoji, Persian and Indian scripts are written
        return True
    # Private use and invisible characters can hide what a name really ends in.
    return unicodedata.category(char)[0] != "C" and unicodedata.category(char) not in ("Zl", "Zp")
