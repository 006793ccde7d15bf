"""Plain text, JSON and Word."""

from __future__ import annotations

import io
import json
from typing import Any

from asr_core.export.clean import one_line, whole_clock
from asr_core.results import Sentence, Transcript, TranscriptWarning

SCHEMA = 1
_FONT = "Microsoft YaHei"


def write_txt(transcript: Transcript, title: str) -> bytes:
    """One sentence a line, after its speaker if known, without times and without a title."""
    del title
    return "".join(_line(sentence) + "\n" for sentence in transcript.sentences).encode()


def write_json(transcript: Transcript, title: str) -> bytes:
    """Everything that is known, as the published schema states it."""
    del title
    text = json.dumps(_document(transcript), ensure_ascii=False, indent=2)
    return (text + "\n").encode("utf-8", errors="replace")


def write_docx(transcript: Transcript, title: str) -> bytes:
    """Word: title, a line about the model, one paragraph with its time for each sentence."""
    from docx import Document
    from docx.oxml.ns import qn
    from docx.shared import Pt, RGBColor

    document = Document()
    normal = document.styles["Normal"]
    normal.font.name = _FONT
    normal.font.size = Pt(11)
    normal.element.rPr.rFonts.set(qn("w:eastAsia"), _FONT)
    document.core_properties.title = one_line(title)[:255]
    document.core_properties.author = "听录"
    document.core_properties.comments = ""
    heading = document.add_heading(one_line(title), level=1)
    for run in heading.runs:
        run.font.name = _FONT
        run._element.get_or_add_rPr().get_or_add_rFonts().set(qn("w:eastAsia"), _FONT)
    document.add_paragraph(one_line(_facts(transcript)))
    for sentence in transcript.sentences:
        paragraph = document.add_paragraph()
        time = paragraph.add_run(f"[{whole_clock(sentence.start_ms)}] ")
        time.font.color.rgb = RGBColor(0x6B, 0x72, 0x80)
        paragraph.add_run(_line(sentence))
    if not transcript.sentences:
        document.add_paragraph("没有识别到语音。")
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _facts(transcript: Transcript) -> str:
    model = transcript.model
    length = whole_clock(transcript.duration_ms)
    return f"模型：{model.name}（{model.backend}，{model.device}）　时长：{length}"


def _line(sentence: Sentence) -> str:
    text = one_line(sentence.text)
    speaker = one_line(sentence.speaker)
    return f"{speaker}：{text}" if speaker else text


def _document(transcript: Transcript) -> dict[str, Any]:
    model, coverage = transcript.model, transcript.coverage
    return {
        "schema": SCHEMA,
        "text": transcript.text,
        "spoken_text": transcript.spoken_text,
        "duration_ms": transcript.duration_ms,
        "language": transcript.language,
        "model": {"name": model.name, "backend": model.backend, "device": model.device},
        "processing_ms": transcript.processing_ms,
        "rtf": round(transcript.rtf, 4),
        "coverage": {
            "speech_ms": coverage.speech_ms,
            "transcribed_ms": coverage.transcribed_ms,
            "gaps": [[start, end] for start, end in coverage.gaps],
        },
        "warnings": [_warning(warning) for warning in transcript.warnings],
        **_hotwords(transcript),
        "sentences": [_sentence(sentence) for sentence in transcript.sentences],
    }


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
