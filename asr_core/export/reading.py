"""For reading: plain text and Markdown, and what Word and PDF share with them."""

from __future__ import annotations

import re

from asr_core.export.clean import one_line, whole_clock
from asr_core.export.options import Sheet
from asr_core.messages import message
from asr_core.results import Sentence

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")
_BLOCK_START = re.compile(r"^(?:[-+=]|\d{1,9}(?=[.)]))")


def write_txt(sheet: Sheet) -> bytes:
    """One sentence a line, after its time if wanted and its speaker if known; no title."""
    lines = [stamp(sheet, one) + spoken_line(one) for one in sheet.transcript.sentences]
    return "".join(line + "\n" for line in lines).encode()


def write_md(sheet: Sheet) -> bytes:
    """Markdown: title, line of facts, one table row for each sentence.

    Without times and speakers it has paragraphs instead.
    """
    sentences = sheet.transcript.sentences
    lines = [f"# {_escaped(sheet.title)}", "", _escaped(facts(sheet)), ""]
    speakers = any(one_line(sentence.speaker) for sentence in sentences)
    shown = [*["time"] * sheet.times, *["speaker"] * speakers, "text"]
    columns = [message(f"document.{name}", sheet.locale) for name in shown]
    if not sentences:
        lines.append(_escaped(no_speech(sheet)))
    elif len(columns) > 1:
        lines += [_row(columns), _row(["---"] * len(columns))]
        lines += [_row(_cells(sheet, one, speakers)) for one in sentences]
    else:
        for sentence in sentences:
            lines += [_paragraph(sentence.text), ""]
    return "".join(line + "\n" for line in lines).encode()


def facts(sheet: Sheet) -> str:
    """The line below a headline: date, length, model and speakers."""
    transcript, locale = sheet.transcript, sheet.locale
    parts = []
    if sheet.created:
        date = sheet.created.strftime("%Y-%m-%d %H:%M")
        parts.append(message("document.date", locale, date=date))
    parts.append(message("document.length", locale, length=whole_clock(transcript.duration_ms)))
    name, device = (one_line(text) for text in (transcript.model.name, transcript.model.device))
    parts.append(message("document.model", locale, name=name, device=device))
    speakers = dict.fromkeys(one_line(sentence.speaker) for sentence in transcript.sentences)
    names = [name for name in speakers if name]
    if names:
        joined = message("document.comma", locale).join(names)
        parts.append(message("document.speakers", locale, names=joined))
    return " · ".join(parts)


def no_speech(sheet: Sheet) -> str:
    """What stands in a document in place of a text."""
    return message("document.no_speech", sheet.locale)


def stamp(sheet: Sheet, sentence: Sentence) -> str:
    """``[00:01:02] `` where times are wanted."""
    return f"[{whole_clock(sentence.start_ms)}] " if sheet.times else ""


def spoken_line(sentence: Sentence) -> str:
    """The text of a sentence after its speaker, if known."""
    return named(sentence) + one_line(sentence.text)


def named(sentence: Sentence) -> str:
    """``甲：`` where the speaker is known."""
    speaker = one_line(sentence.speaker)
    return f"{speaker}：" if speaker else ""


def _cells(sheet: Sheet, sentence: Sentence, speakers: bool) -> list[str]:
    time = [whole_clock(sentence.start_ms)] * sheet.times
    return [*time, *[_escaped(sentence.speaker)] * speakers, _escaped(sentence.text)]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _paragraph(text: str) -> str:
    """A paragraph that does not begin a list, a rule or a headline."""
    escaped = _escaped(text)
    begin = _BLOCK_START.match(escaped)
    if not begin:
        return escaped
    cut = begin.end() if begin[0][0].isdigit() else 0
    return f"{escaped[:cut]}\\{escaped[cut:]}"


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text))
