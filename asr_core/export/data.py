"""Everything that is known, for programs and spreadsheets: JSON, JSON Lines, CSV and TSV."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

from asr_core.export.clean import one_line, whole_clock
from asr_core.export.options import Sheet
from asr_core.results import DeviceChoice, Sentence, Transcript, TranscriptWarning

SCHEMA = 1
COLUMNS = (
    "start",
    "end",
    "speaker",
    "text",
    "spoken_text",
    "confidence",
    "start_ms",
    "end_ms",
)
_FORMULA_STARTS = frozenset("=+-@\t\r＝＋－＠")
_NUMBER_LIKE = re.compile(
    r"(?i)true|false|(?=.*\d)(?:[\d.,:/%+\-() ¥￥$€e年月日号时点分秒上下午]|[ap]m"
    r"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|jun(?!e)|june|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)+"
)
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def write_json(sheet: Sheet) -> bytes:
    """One document, as the published schema states it."""
    text = json.dumps(_document(sheet.transcript), ensure_ascii=False, indent=2)
    return (text + "\n").encode("utf-8", errors="replace")


def write_jsonl(sheet: Sheet) -> bytes:
    """One sentence a line, each as in the JSON document."""
    lines = []
    for sentence in sheet.transcript.sentences:
        text = json.dumps(_sentence(sentence), ensure_ascii=False)
        # Some programs end a line at more than a line feed.
        lines.append(text.translate(_LINE_ENDS) + "\n")
    return "".join(lines).encode("utf-8", errors="replace")


def write_csv(sheet: Sheet) -> bytes:
    """Comma separated, UTF-8 with byte order mark so that Excel reads Chinese."""
    return _table(sheet.transcript, ",")


def write_tsv(sheet: Sheet) -> bytes:
    """Tab separated, UTF-8 with byte order mark."""
    return _table(sheet.transcript, "\t")


def plain_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula, a number, a date or a truth value.

    Such a text gets an apostrophe in front: a telephone number keeps its zeros, and ``3-5`` does
    not become a day in March.
    """
    line = one_line(text)
    if not line:
        return line
    is_risky = line[0] in _FORMULA_STARTS or bool(_NUMBER_LIKE.fullmatch(line))
    return f"'{line}" if is_risky else line


def _table(transcript: Transcript, delimiter: str) -> bytes:
    """Times twice: as a spreadsheet shows them right, and in milliseconds.

    Excel shows ``01:02:03.004`` as ``02:03.0``, so the readable ones have whole seconds.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for sentence in transcript.sentences:
        writer.writerow(
            (
                whole_clock(sentence.start_ms),
                whole_clock(sentence.end_ms),
                plain_cell(sentence.speaker),
                plain_cell(sentence.text),
                plain_cell(sentence.spoken_text),
                f"{sentence.confidence:.4f}",
                sentence.start_ms,
                sentence.end_ms,
            )
        )
    return buffer.getvalue().encode("utf-8-sig")


def _document(transcript: Transcript) -> dict[str, Any]:
    model, coverage = transcript.model, transcript.coverage
    return {
        "schema": SCHEMA,
        "text": transcript.text,
        "spoken_text": transcript.spoken_text,
        "duration_ms": transcript.duration_ms,
        "language": transcript.language,
        "model": {
            "name": model.name,
            "backend": model.backend,
            "device": model.device,
            **_choice(model.choice),
        },
        **({"devices": dict(transcript.devices)} if transcript.devices else {}),
        "processing_ms": transcript.processing_ms,
        "rtf": round(transcript.rtf, 4),
        "coverage": {
            "speech_ms": coverage.speech_ms,
            "transcribed_ms": coverage.transcribed_ms,
            "gaps": [[start, end] for start, end in coverage.gaps],
        },
        "warnings": [_warning(warning) for warning in transcript.warnings],
        **_hotwords(transcript),
        **_edits(transcript),
        "sentences": [_sentence(sentence) for sentence in transcript.sentences],
    }


def _edits(transcript: Transcript) -> dict[str, Any]:
    """``edited`` and ``revision`` stand only where people changed the text."""
    is_edited = transcript.revision > 0
    return {"edited": True, "revision": transcript.revision} if is_edited else {}


def _choice(choice: DeviceChoice | None) -> dict[str, Any]:
    """``device_choice`` stands only where the device was chosen, not asked for."""
    if choice is None or choice.reason == "asked":
        return {}
    return {"device_choice": {"reason": choice.reason, **dict(choice.figures)}}


def _hotwords(transcript: Transcript) -> dict[str, Any]:
    """``hotwords`` stands only where there were some."""
    uses = [
        {"word": use.word, "recognized": use.recognized, "corrected": use.corrected}
        for use in transcript.hotwords
    ]
    return {"hotwords": uses} if uses else {}


def _sentence(sentence: Sentence) -> dict[str, Any]:
    """``speaker`` stands only where one is known, ``spans`` only where something is rewritten."""
    speaker = {"speaker": sentence.speaker} if sentence.speaker else {}
    spans = [
        {
            "first_token": span.first_token,
            "last_token": span.last_token,
            "written": span.written,
            "kind": span.kind,
        }
        for span in sentence.spans
    ]
    return {
        **speaker,
        "text": sentence.text,
        "spoken_text": sentence.spoken_text,
        "start_ms": sentence.start_ms,
        "end_ms": sentence.end_ms,
        "confidence": round(sentence.confidence, 4),
        "tokens": [
            {
                "text": token.text,
                "start_ms": token.start_ms,
                "end_ms": token.end_ms,
                "confidence": round(token.confidence, 4),
            }
            for token in sentence.tokens
        ],
        **({"spans": spans} if spans else {}),
    }


def _warning(warning: TranscriptWarning) -> dict[str, Any]:
    """``ranges`` and ``names`` stand only where the warning is about some."""
    ranges = [list(part) for part in warning.ranges]
    about: dict[str, Any] = {"ranges": ranges} if ranges else {}
    if warning.names:
        about["names"] = list(warning.names)
    return {"code": warning.code, "message": warning.message, **about}
