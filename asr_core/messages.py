"""Sentences for people, from the tables in ``assets/i18n``, for the page and the command line."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path

from asr_core.errors import AsrError
from asr_core.results import TranscriptWarning

LOCALES = ("zh-CN", "en")
_MOST_PLACES = 3

TABLES = Path(__file__).resolve().parent.parent / "assets" / "i18n"


@functools.cache
def load_messages(locale: str) -> Mapping[str, str]:
    """The whole table of one locale, key to template."""
    table: dict[str, str] = json.loads((TABLES / f"{locale}.json").read_text(encoding="utf-8"))
    return table


def message(key: str, locale: str, **values: object) -> str:
    """One sentence. Raises KeyError for an unknown key: tables are complete by test."""
    return load_messages(locale)[key].format_map(_Values(values))


def error_message(code: str, details: Mapping[str, object], locale: str) -> str:
    """The user's sentence for an error code.

    ``error.<code>.<reason>`` is preferred over ``error.<code>`` when the details hold a reason
    that has its own sentence.
    """
    table = load_messages(locale)
    specific = f"error.{code}.{details.get('reason', '')}"
    key = specific if specific in table else f"error.{code}"
    return message(key, locale, **dict(details))


def describe(error: AsrError, locale: str) -> str:
    """The user's sentence for an error."""
    return error_message(error.code, error.details, locale)


def warning_message(warning: TranscriptWarning, locale: str, **values: object) -> str:
    """The user's sentence for a warning, with the places that it is about.

    A code without a sentence, as a database of a newer version may hold, keeps its English one.
    """
    key = f"warning.{warning.code}"
    known = key in load_messages(locale)
    names = ", ".join(warning.names)
    sentence = message(key, locale, names=names, **values) if known else warning.message
    if not warning.ranges:
        return sentence
    places = [f"{_clock(start)}–{_clock(end)}" for start, end in warning.ranges[:_MOST_PLACES]]
    more = " …" if len(warning.ranges) > _MOST_PLACES else ""
    return sentence + message("warning.where", locale, ranges=", ".join(places) + more)


def _clock(milliseconds: int) -> str:
    """``0:07``, ``1:02:07``."""
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class _Values(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return f"{{{key}}}"
