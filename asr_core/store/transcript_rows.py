"""Transcripts and their sentences as rows: written whole, read back equal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import sqlite_utils

from asr_core.jobs.model import Job
from asr_core.results import (
    Coverage,
    DeviceChoice,
    HotwordUse,
    ModelInfo,
    Sentence,
    Token,
    Transcript,
    TranscriptWarning,
    WrittenSpan,
)
from asr_core.store.rows import insert, to_json


def insert_transcript(
    db: sqlite_utils.Database, job: Job, transcript: Transcript, created_ms: int
) -> None:
    """Write a transcript and its sentences."""
    row = {
        "recording_id": job.recording_id,
        "job_id": job.id,
        "created_ms": created_ms,
        "language": transcript.language,
        "model_name": transcript.model.name,
        "backend": transcript.model.backend,
        "device": transcript.model.device,
        "duration_ms": transcript.duration_ms,
        "processing_ms": transcript.processing_ms,
        "speech_ms": transcript.coverage.speech_ms,
        "transcribed_ms": transcript.coverage.transcribed_ms,
        "gaps": to_json(transcript.coverage.gaps),
        "warnings": to_json([(w.code, w.message, w.ranges, w.names) for w in transcript.warnings]),
        "partial": int(transcript.partial),
        "text": transcript.text,
        "spoken_text": transcript.spoken_text,
        "spaced": int(any(sentence.spaced for sentence in transcript.sentences)),
        "hotwords": uses_to_json(transcript.hotwords),
        "devices": to_json(transcript.devices),
        "device_choice": _choice_to_json(transcript.model.choice),
    }
    number = insert(db, "transcripts", row)
    insert_rows(
        db,
        number,
        (
            (position, *sentence_columns(sentence))
            for position, sentence in enumerate(transcript.sentences)
        ),
    )


def insert_rows(
    db: sqlite_utils.Database, transcript: int, rows: Iterable[tuple[object, ...]]
) -> None:
    """Write sentences: order key and what :func:`sentence_columns` gives."""
    db.conn.executemany(
        "INSERT INTO sentences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((transcript, *row) for row in rows),
    )


def sentence_columns(sentence: Sentence) -> tuple[object, ...]:
    """What a row holds behind its order key."""
    tokens = [(t.text, t.start_ms, t.end_ms, t.confidence, t.mark) for t in sentence.tokens]
    return (
        sentence.start_ms,
        sentence.end_ms,
        sentence.confidence,
        sentence.text,
        sentence.spoken_text,
        sentence.speaker,
        to_json(tokens),
        to_json(_span_rows(sentence.spans)),
    )


def load_transcript(db: sqlite_utils.Database, recording_id: str) -> Transcript | None:
    """The newest transcript of a recording."""
    sql = "SELECT * FROM transcripts WHERE recording_id = ? ORDER BY id DESC LIMIT 1"
    row = next(iter(db.query(sql, [recording_id])), None)
    if row is None:
        return None
    sentences = db.execute(
        "SELECT tokens, spans, speaker FROM sentences WHERE transcript_id = ? ORDER BY position",
        [row["id"]],
    )
    gaps = tuple((start_ms, end_ms) for start_ms, end_ms in json.loads(row["gaps"]))
    return Transcript(
        sentences=tuple(
            sentence_of(tokens, spans, speaker, bool(row["spaced"]))
            for tokens, spans, speaker in sentences
        ),
        duration_ms=row["duration_ms"],
        language=row["language"],
        model=ModelInfo(
            row["model_name"],
            row["backend"],
            row["device"],
            _choice_from_json(row["device_choice"]),
        ),
        processing_ms=row["processing_ms"],
        coverage=Coverage(row["speech_ms"], row["transcribed_ms"], gaps),
        warnings=tuple(_warning(*warning) for warning in json.loads(row["warnings"])),
        partial=bool(row["partial"]),
        hotwords=uses_from_json(row["hotwords"]),
        revision=row["revision"],
        devices=tuple((device, count) for device, count in json.loads(row["devices"])),
    )


def uses_to_json(uses: Sequence[HotwordUse]) -> str:
    return to_json([(use.word, use.recognized, use.corrected) for use in uses])


def uses_from_json(text: str) -> tuple[HotwordUse, ...]:
    return tuple(HotwordUse(*use) for use in json.loads(text))


def _choice_to_json(choice: DeviceChoice | None) -> str | None:
    return to_json((choice.device, choice.reason, choice.figures)) if choice else None


def _choice_from_json(text: str | None) -> DeviceChoice | None:
    if text is None:
        return None
    device, reason, figures = json.loads(text)
    return DeviceChoice(device, reason, tuple((name, value) for name, value in figures))


def _span_rows(spans: Sequence[WrittenSpan]) -> list[tuple[int, int, str, str]]:
    return [(s.first_token, s.last_token, s.written, s.kind) for s in spans]


def sentence_of(tokens: str, spans: str, speaker: str, spaced: bool) -> Sentence:
    """A sentence from the columns that are the truth of it."""
    return Sentence(
        tokens=tuple(Token(*token) for token in json.loads(tokens)),
        spans=tuple(WrittenSpan(*span) for span in json.loads(spans)),
        speaker=speaker,
        spaced=spaced,
    )


def _warning(
    code: str,
    message: str,
    ranges: Sequence[Sequence[int]] = (),
    names: Sequence[str] = (),
) -> TranscriptWarning:
    """Rows of older databases have neither ranges nor names."""
    places = tuple((start, end) for start, end in ranges)
    return TranscriptWarning(code, message, places, tuple(names))
