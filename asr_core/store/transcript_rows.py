"""Transcripts and their sentences as rows: written whole, read back equal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import sqlite_utils

from asr_core.errors import RecordNotFoundError
from asr_core.jobs.model import Job
from asr_core.results import (
    Coverage,
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
        "hotwords": to_json([(u.word, u.recognized, u.corrected) for u in transcript.hotwords]),
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
            _sentence(tokens, spans, speaker, bool(row["spaced"]))
            for tokens, spans, speaker in sentences
        ),
        duration_ms=row["duration_ms"],
        language=row["language"],
        model=ModelInfo(row["model_name"], row["backend"], row["device"]),
        processing_ms=row["processing_ms"],
        coverage=Coverage(row["speech_ms"], row["transcribed_ms"], gaps),
        warnings=tuple(_warning(*warning) for warning in json.loads(row["warnings"])),
        partial=bool(row["partial"]),
        hotwords=tuple(HotwordUse(*use) for use in json.loads(row["hotwords"])),
    )


def drop_span(
    db: sqlite_utils.Database, recording_id: str, position: int, first_token: int
) -> Transcript:
    """Let tokens of one sentence of the newest transcript stand as they were recognized.

    Returns:
        The transcript as it is now.

    Raises:
        RecordNotFoundError: there is no such span.
    """
    transcript = load_transcript(db, recording_id)
    sentences = list(transcript.sentences) if transcript else []
    if not transcript or not 0 <= position < len(sentences):
        raise RecordNotFoundError("no such sentence", id=recording_id)
    before = sentences[position]
    spans = tuple(span for span in before.spans if span.first_token != first_token)
    dropped = [span for span in before.spans if span.first_token == first_token]
    if not dropped:
        raise RecordNotFoundError("no such correction", id=recording_id)
    sentences[position] = replace(before, spans=spans)
    undone = [span.written for span in dropped if span.kind in ("hotword", "replacement")]
    uses = tuple(
        replace(use, corrected=max(use.corrected - undone.count(use.word), 0))
        for use in transcript.hotwords
    )
    transcript = replace(transcript, sentences=tuple(sentences), hotwords=uses)
    number = db.execute(
        "SELECT max(id) FROM transcripts WHERE recording_id = ?", [recording_id]
    ).fetchone()[0]
    db.execute(
        "UPDATE sentences SET text = ?, spans = ? WHERE transcript_id = ? AND position = ?",
        [sentences[position].text, to_json(_span_rows(spans)), number, position],
    )
    rows = to_json([(u.word, u.recognized, u.corrected) for u in uses])
    db.execute(
        "UPDATE transcripts SET text = ?, hotwords = ? WHERE id = ?",
        [transcript.text, rows, number],
    )
    return transcript


def _span_rows(spans: Sequence[WrittenSpan]) -> list[tuple[int, int, str, str]]:
    return [(s.first_token, s.last_token, s.written, s.kind) for s in spans]


def _sentence(tokens: str, spans: str, speaker: str, spaced: bool) -> Sentence:
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
