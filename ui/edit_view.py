"""Edits of transcripts, as plain JSON values for the page's editor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from asr_core.editing import (
    Difference,
    EditableLines,
    EditResult,
    Preview,
    Proposal,
    ReplacePreview,
    Version,
)
from asr_core.messages import error_message
from asr_core.results import Sentence
from ui.view import View, sentence_view, state_of


def opened_view(lines: EditableLines) -> View:
    """Where an edit begins."""
    return {
        "stamp": lines.stamp,
        "revision": lines.revision,
        "total": lines.total,
        "can_undo": lines.can_undo,
        "can_redo": lines.can_redo,
    }


def changed_view(result: EditResult) -> View:
    """What to do to the lines on the page: ``[first, removed, lines]``, one after the other."""
    return {
        "stamp": result.stamp,
        "revision": result.revision,
        "kind": result.kind,
        "total": result.total,
        "can_undo": result.can_undo,
        "can_redo": result.can_redo,
        "changes": [[one.first, one.removed, lines_view(one.sentences)] for one in result.changes],
    }


def lines_view(sentences: Iterable[Sentence]) -> list[View]:
    return [sentence_view(sentence) for sentence in sentences]


def preview_view(found: ReplacePreview | None) -> View:
    """What replacing would do to one transcript; offsets count characters, not UTF-16 units."""
    if found is None:
        return {"hits": 0, "stamp": "", "lines": []}
    return {"hits": found.hits, "stamp": found.stamp, "lines": list(map(_preview, found.previews))}


def _preview(one: Preview) -> View:
    return {
        "position": one.position,
        "before": one.before,
        "hits": [list(hit) for hit in one.hits],
        "after": one.after,
        "places": [list(place) for place in one.places],
    }


def versions_view(versions: Iterable[Version]) -> View:
    return {
        "versions": [
            {
                "revision": version.revision,
                "name": version.name,
                "who": version.who,
                "created_ms": version.created_ms,
                "current": version.current,
            }
            for version in versions
        ]
    }


def differences_view(differences: Iterable[Difference]) -> View:
    """Sentences that changed, each with its time, its speakers and both texts word by word."""
    return {
        "differences": [
            {
                "start": (found.after or found.before)[0].start_ms,
                "who": [_speakers(found.before), _speakers(found.after)],
                "pieces": [list(piece) for piece in found.pieces],
            }
            for found in differences
        ]
    }


def proposal_view(proposal: Proposal, locale: str) -> View:
    """A stretch that is recognized once more."""
    job: Any = proposal.job
    return {
        "job": job.id,
        "state": state_of(job),
        "final": job.state.is_final,
        "error": error_message(job.error_code, job.error_details, locale) if job.error_code else "",
        "start_ms": proposal.stretch.start_ms,
        "end_ms": proposal.stretch.end_ms,
        "lines": lines_view(proposal.sentences),
    }


def _speakers(sentences: Iterable[Sentence]) -> str:
    return "、".join(dict.fromkeys(one.speaker for one in sentences if one.speaker))
