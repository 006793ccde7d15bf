"""Transcripts and their sentences as rows: written whole, read back equal."""

from __future__ import annotations

import json
from collections.abc import Sequence

import sqlite_utils

from asr_core.jobs.model import Job
from asr_core.results import (
    Coverage,
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
        "warnings": to_json([(w.code, w.message, w.ranges) for w in transcript.warnings]),
        "partial": int(transcript.partial),
        "text": transcript.text,
        "spoken_text": transcript.spoken_text,
    }
    number = insert(db, "transcripts", row)
    db.conn.executemany(
        "INSERT INTO sentences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (number, position, *_sentence_columns(sentence))
            for position, sentence in enumerate(transcript.sentences)
        ),
    )


def _sentence_columns(sentence: Sentence) -> tuple[object, ...]:
    tokens = [(t.text, t.start_ms, t.end_ms, t.confidence, t.mark) for t in sentence.tokens]
    spans = [(s.first_token, s.last_token, s.written, s.kind) for s in sentence.spans]
    return (
        sentence.start_ms,
        sentence.end_ms,
        sentence.confidence,
        sentence.text,
        sentence.spoken_text,
        sentence.speaker,
        to_json(tokens),
        to_json(spans),
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
        sentences=tuple(_sentence(*columns) for columns in sentences),
        duration_ms=row["duration_ms"],
        language=row["language"],
        model=ModelInfo(row["model_name"], row["backend"], row["device"]),
        processing_ms=row["processing_ms"],
        coverage=Coverage(row["speech_ms"], row["transcribed_ms"], gaps),
        warnings=tuple(_warning(*warning) for warning in json.loads(row["warnings"])),
        partial=bool(row["partial"]),
    )


def _sentence(tokens: str, spans: str, speaker: str) -> Sentence:
    return Sentence(
        tokens=tuple(Token(*token) for token in json.loads(tokens)),
        spans=tuple(WrittenSpan(*span) for span in json.loads(spans)),
        speaker=speaker,
    )


def _warning(code: str, message: str, ranges: Sequence[Sequence[int]] = ()) -> TranscriptWarning:
    """Rows of version 0.1.0's first databases have no ranges."""
    return TranscriptWarning(code, message, tuple((start, end) for start, end in ranges))
