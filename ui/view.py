"""What the engine hands out, as plain JSON values for the page's own components.

The browser puts every text into the page as text, never as markup, so nothing is escaped here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from asr_core.engine import (
    Batch,
    EngineStatus,
    HistoryRecord,
    Job,
    JobState,
    LiveView,
)
from asr_core.messages import error_message, warning_message
from asr_core.results import Sentence, Token, Transcript, join_text, needs_space
from ui.i18n import optional_message

View = dict[str, Any]

FORMATS = (
    "txt",
    "docx",
    "srt",
    "vtt",
    "csv",
    "pdf",
    "md",
    "lrc",
    "ass",
    "json",
    "jsonl",
    "tsv",
)
"""Formats offered for download, the usual ones first."""

LOW_CONFIDENCE = 0.5
"""Below this a token is marked as doubtful."""

PLAIN, DOUBTFUL, REWRITTEN, CORRECTED = 0, 1, 2, 3
"""Flags of a piece of text: as heard, of low confidence, a written number, another word."""

Piece = tuple[Any, ...]
"""``(text, start_ms, flag, confidence, first_token)``: the confidence is in percent; a corrected
one tells what was heard instead."""

_SURE = 100
_CLOSED = "。，、！？；："


def to_json(view: View) -> str:
    """A view as it travels: JSON text without ``<``, so nothing in it looks like markup.

    As text, since Gradio's page wraps every list of a value in an observer of its own, which
    takes a minute for the transcript of ten hours.
    """
    text = json.dumps(view, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def live_view(live: LiveView, have: int, locale: str) -> View:
    """A job that is not finished; only the sentences from index ``have`` on are sent.

    Args:
        have: sentences that the browser already shows; more than there are starts over.
    """
    progress = live.progress
    start = have if 0 <= have <= len(live.sentences) else 0
    return {
        **_job_view(live.job, locale),
        "from": start,
        "lines": [sentence_view(sentence) for sentence in live.sentences[start:]],
        "position": live.queue_position,
        "done_ms": progress.done_ms if progress else live.job.recognized_ms,
        "total_ms": (progress.total_ms if progress else None) or live.job.duration_ms or None,
        "elapsed_ms": progress.elapsed_ms if progress else 0,
        "remaining_ms": progress.remaining_ms if progress else None,
    }


def record_view(record: HistoryRecord, locale: str) -> View:
    """A stored recording with its whole transcript."""
    view = {
        **_job_view(record.job, locale),
        "from": 0,
        "lines": [],
        "created_ms": record.entry.created_ms,
        "playable": record.path is not None,
    }
    return view if record.transcript is None else view | transcript_view(record.transcript, locale)


def transcript_view(transcript: Transcript, locale: str) -> View:
    lost = _lost(transcript)
    gaps = _without(transcript.coverage.gaps, lost)
    text_ms, silent_ms = _account(transcript, gaps)
    return {
        "lines": [sentence_view(sentence) for sentence in transcript.sentences],
        "revision": transcript.revision,
        "total_ms": transcript.duration_ms,
        "elapsed_ms": transcript.processing_ms,
        "rtf": transcript.rtf,
        "model": model_title(transcript.model.name, locale),
        "device": transcript.ran_on,
        "text_ms": text_ms,
        "silent_ms": silent_ms,
        "gaps": [list(gap) for gap in gaps],
        "lost": [list(part) for part in lost],
        "warnings": warning_texts(transcript, locale),
        "words": words_view(transcript),
    }


def words_view(transcript: Transcript) -> list[list[Any]]:
    """What became of the hotwords."""
    return [[use.word, use.recognized, use.corrected] for use in transcript.hotwords]


def warning_texts(transcript: Transcript, locale: str) -> list[str]:
    """Sentences about a transcript; an unknown code keeps its English message."""
    missing_ms = transcript.coverage.speech_ms - transcript.coverage.transcribed_ms
    seconds = max(1, round(missing_ms / 1000))
    return [warning_message(warning, locale, seconds=seconds) for warning in transcript.warnings]


def _lost(transcript: Transcript) -> list[tuple[int, int]]:
    """Damaged and missing parts of the recording."""
    return sorted(part for warning in transcript.warnings for part in warning.ranges)


def _without(
    gaps: Sequence[tuple[int, int]], lost: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The gaps less the lost parts."""
    left = list(gaps)
    for lost_start, lost_end in lost:
        pieces = [
            piece
            for start, end in left
            for piece in ((start, min(end, lost_start)), (max(start, lost_end), end))
        ]
        left = [(start, end) for start, end in pieces if start < end]
    return left


def _account(transcript: Transcript, gaps: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """``(text_ms, silent_ms)``; what several channels say at once counts once."""
    coverage, total_ms = transcript.coverage, transcript.duration_ms
    if not any(sentence.speaker for sentence in transcript.sentences):
        return coverage.transcribed_ms, max(total_ms - coverage.speech_ms, 0)
    text_ms = end_ms = 0
    for sentence in transcript.sentences:
        text_ms += max(sentence.end_ms - max(sentence.start_ms, end_ms), 0)
        end_ms = max(end_ms, sentence.end_ms)
    gaps_ms = sum(end - start for start, end in gaps)
    return text_ms, max(total_ms - text_ms - gaps_ms, 0)


def sentence_view(sentence: Sentence) -> View:
    """One line: times, speaker, and both forms as pieces; ``spoken`` is ``None`` where both are
    the same."""
    same = not sentence.spans and not sentence.spaced
    return {
        "start": sentence.start_ms,
        "end": sentence.end_ms,
        "who": sentence.speaker,
        "spoken": None if same else _spaced(_spoken_pieces(sentence)),
        "written": _spaced(_spoken_pieces(sentence) if same else _written_pieces(sentence)),
    }


def _flag(confidence: float) -> int:
    return DOUBTFUL if confidence < LOW_CONFIDENCE else PLAIN


def _spoken_pieces(sentence: Sentence) -> Iterator[Piece]:
    for index, token in enumerate(sentence.tokens):
        yield _plain(token, token.text + token.mark, index)


def _written_pieces(sentence: Sentence) -> Iterator[Piece]:
    by_first = {span.first_token: span for span in sentence.spans}
    index = 0
    for text, mark in sentence.written_parts():
        token, span = sentence.tokens[index], by_first.get(index)
        first, index = index, span.last_token + 1 if span else index + 1
        if not text:
            continue
        if span is None:
            yield _plain(token, text + mark, first)
        elif span.kind in ("number", "polish", "edit"):
            flag = REWRITTEN if span.kind == "number" else PLAIN
            yield text + mark, token.start_ms, flag, _SURE, first
        else:
            heard = join_text((spoken.text, "") for spoken in sentence.tokens[first:index])
            yield text + mark, token.start_ms, CORRECTED, heard, first


def _plain(token: Token, text: str, index: int) -> Piece:
    percent = round(token.confidence * _SURE)
    return text, token.start_ms, _flag(token.confidence), percent, index


def _spaced(pieces: Iterable[Piece]) -> list[list[Any]]:
    """Give every piece the space that belongs before it, so that the pieces join to the line."""
    spaced: list[list[Any]] = []
    last = ""
    for text, *more in pieces:
        is_apart = last and last not in _CLOSED and needs_space(last, text)
        spaced.append([f" {text}" if is_apart else text, *more])
        last = text[-1]
    return spaced


def _job_view(job: Job, locale: str) -> View:
    failed = job.state is JobState.FAILED
    return {
        "job": job.id,
        "recording": job.recording_id,
        "name": job.name,
        "state": state_of(job),
        "final": job.state.is_final,
        "error": error_message(job.error_code, job.error_details, locale) if failed else "",
        "warnings": [],
        "gaps": [],
        "lost": [],
        "total_ms": job.duration_ms or None,
        "done_ms": 0,
        "elapsed_ms": job.processing_ms,
        "remaining_ms": None,
        "position": 0,
    }


def state_of(job: Job) -> str:
    """The state as people see it: a job that waits for the user is ``paused``."""
    return "paused" if job.paused and job.state is JobState.QUEUED else job.state.value


def job_row(live: LiveView) -> View:
    """A job in the list of what the server does."""
    progress = live.progress
    return {
        "job": live.job.id,
        "batch": "",
        "name": live.job.name,
        "state": state_of(live.job),
        "position": live.queue_position,
        "done_ms": progress.done_ms if progress else live.job.recognized_ms,
        "total_ms": (progress.total_ms if progress else None) or live.job.duration_ms or None,
    }


def batch_row(batch: Batch) -> View:
    """A batch in the list of what the server does."""
    return {
        "job": "",
        "batch": batch.id,
        "name": batch.name,
        "state": batch.state.value,
        "done": sum(count for state, count in batch.items.items() if state.is_final),
        "total": batch.total,
        "done_ms": batch.done_ms,
        "total_ms": batch.duration_ms or None,
    }


def model_title(name: str, locale: str, fallback: str = "") -> str:
    return optional_message(f"model.{name}", locale, fallback or name)


def status_view(status: EngineStatus, locale: str) -> View:
    """The header line."""
    unavailable = status.state == "unavailable"
    return {
        "model": model_title(status.model, locale),
        "backend": status.backend,
        "device": status.device,
        "threads": status.threads,
        "state": status.state,
        "queued": status.queued,
        "error": error_message(status.error_code, status.error_details, locale)
        if unavailable and status.error_code
        else "",
        "embedded": status.model == "whisper-base",
    }


def file_view(kind: str, path: Path, recording_id: str, serial: int) -> View:
    """A file for the browser: ``kind`` is ``audio`` or ``download``; ``serial`` is never reused."""
    return {
        "kind": kind,
        "path": path.as_posix(),
        "name": path.name,
        "recording": recording_id,
        "serial": serial,
    }


def outline_view(points: bytes, recording_id: str, serial: int, peaks: Path | None = None) -> View:
    """The outline of a recording: lowest and highest values in turn, int8, in base64.

    ``serial`` is never reused; ``peaks`` is the file with every point.
    """
    return {
        "kind": "outline",
        "recording": recording_id,
        "points": base64.b64encode(points).decode("ascii"),
        "peaks": peaks.as_posix() if peaks else "",
        "serial": serial,
    }
