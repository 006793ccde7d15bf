"""CSV and TSV for spreadsheets, Markdown for reading."""

from __future__ import annotations

import csv
import io
import re

from asr_core.export.clean import clock, one_line, whole_clock
from asr_core.results import Transcript

COLUMNS = ("start", "end", "speaker", "text", "spoken_text", "confidence")
_FORMULA_STARTS = frozenset("=+-@\t\r＝＋－＠")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")


def write_csv(transcript: Transcript, title: str) -> bytes:
    """Comma separated, UTF-8 with byte order mark so that Excel reads Chinese."""
    del title
    return _table(transcript, ",")


def write_tsv(transcript: Transcript, title: str) -> bytes:
    """Tab separated, UTF-8 with byte order mark."""
    del title
    return _table(transcript, "\t")


def write_md(transcript: Transcript, title: str) -> bytes:
    """Markdown: title, model line, one table row for each sentence."""
    heading = _escape(title)
    model = transcript.model
    facts = f"{model.name} · {model.device} · {whole_clock(transcript.duration_ms)}"
    lines = [f"# {heading}", "", f"模型：{_escape(facts)}", ""]
    speakers = any(sentence.speaker for sentence in transcript.sentences)
    if transcript.sentences:
        lines.append("| 时间 | 说话人 | 内容 |" if speakers else "| 时间 | 内容 |")
        lines.append("| --- | --- | --- |" if speakers else "| --- | --- |")
    else:
        lines.append("没有识别到语音。")
    for sentence in transcript.sentences:
        cells = [whole_clock(sentence.start_ms), _escape(sentence.text)]
        if speakers:
            cells.insert(1, _escape(sentence.speaker))
        lines.append(f"| {' | '.join(cells)} |")
    return "".join(line + "\n" for line in lines).encode()


def _table(transcript: Transcript, delimiter: str) -> bytes:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for sentence in transcript.sentences:
        writer.writerow(
            (
                clock(sentence.start_ms),
                clock(sentence.end_ms),
                plain_cell(sentence.speaker),
                plain_cell(sentence.text),
                plain_cell(sentence.spoken_text),
                f"{sentence.confidence:.4f}",
            )
        )
    return buffer.getvalue().encode("utf-8-sig")


def plain_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    line = one_line(text)
    return f"'{line}" if line[:1] in _FORMULA_STARTS and line else line


def _escape(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text))
