"""An evaluation as a JSON document and as lines for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from asr_core.evaluation.alignment import Edit
from asr_core.evaluation.marks import MarkScore, MarkScores
from asr_core.evaluation.measure import Evaluation, Group, HotwordScore, Utterance
from asr_core.evaluation.written import NumberScore
from asr_core.messages import message
from asr_core.results import ModelInfo
from asr_core.text.scoring import ErrorRate

_MOST_LINES = 10
"""Confusions, suggestions and names of recordings in the terminal; the reports have all."""


def to_json(evaluation: Evaluation, model: ModelInfo | None) -> str:
    """Everything that was measured; ``schema`` 1. Rates are fractions."""
    spoken = evaluation.spoken_counts
    document = {
        "schema": 1,
        "model": _model(model),
        "normalizations": list(evaluation.normalizations),
        "utterances": len(evaluation.utterances),
        "cer": _rate(evaluation.counts),
        "spoken_cer": None if spoken is None else _rate(spoken),
        "empty": list(evaluation.empty),
        "failed": [
            {"audio": one.sample.audio, "reason": one.outcome.error}
            for one in evaluation.utterances
            if one.outcome.error
        ],
        "speakers": [_group(group) for group in evaluation.speakers],
        "tags": [_group(group) for group in evaluation.tags],
        "punctuation": None if evaluation.marks is None else _marks(evaluation.marks),
        "numbers": None if evaluation.numbers is None else _numbers(evaluation.numbers),
        "hotwords": [_hotword(score) for score in evaluation.hotwords],
        "confusions": [
            {
                "reference": pair.reference,
                "hypothesis": pair.hypothesis,
                "count": pair.count,
                "contexts": [
                    [place.before, place.reference, place.hypothesis, place.after]
                    for place in pair.contexts
                ],
            }
            for pair in evaluation.confusions
        ],
        "suggested_hotwords": [
            {"word": one.word, "missed": one.missed, "total": one.total}
            for one in evaluation.suggestions
        ],
        "duration_ms": evaluation.duration_ms,
        "processing_ms": evaluation.processing_ms,
        "rtf": round(evaluation.rtf, 4),
        "items": [_item(utterance) for utterance in evaluation.utterances],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def to_lines(evaluation: Evaluation, locale: str) -> Iterator[str]:
    """The figures as a table, cells separated by tabs, for a terminal or a spreadsheet."""

    def row(key: str, *cells: str) -> str:
        return "\t".join([message(f"evaluate.{key}", locale), *cells])

    yield row("utterances", str(len(evaluation.utterances)))
    yield row("cer", percent(evaluation.counts.rate), _counts(evaluation.counts, locale))
    if evaluation.spoken_counts is not None:
        counts = evaluation.spoken_counts
        yield row("spoken_cer", percent(counts.rate), _counts(counts, locale))
    for title, groups in (("speaker", evaluation.speakers), ("tag", evaluation.tags)):
        for group in groups:
            name = group.name or message("evaluate.unnamed", locale)
            yield row(title, name, percent(group.counts.rate), _counts(group.counts, locale))
    if evaluation.marks is not None:
        yield from _mark_lines(evaluation.marks, locale)
    if evaluation.numbers is not None:
        yield row("numbers", *number_cells(evaluation.numbers, locale))
    for score in evaluation.hotwords:
        yield row("hotword", score.word, hotword_cell(score, locale))
    if evaluation.duration_ms:
        yield row("rtf", f"{evaluation.rtf:.3f}")
    for pair in evaluation.confusions[:_MOST_LINES]:
        yield row("confusion", f"{pair.reference} → {pair.hypothesis}", str(pair.count))
    for one in evaluation.suggestions[:_MOST_LINES]:
        yield row("suggestion", one.word, f"{one.missed}/{one.total}")
    yield from _listed("empty", evaluation.empty, locale)


def percent(rate: float) -> str:
    """0.1234 as ``12.34 %``."""
    return f"{100 * rate:.2f} %"


def number_cells(numbers: NumberScore, locale: str) -> tuple[str, str]:
    """How many numbers are written as they should be: of all, and of those heard right."""
    return (
        f"{numbers.exact}/{numbers.expected}",
        message("evaluate.numbers_heard", locale, exact=numbers.heard_exact, heard=numbers.heard),
    )


def hotword_cell(score: HotwordScore, locale: str) -> str:
    return message(
        "evaluate.hotword_found",
        locale,
        hits=score.hits,
        expected=score.expected,
        alarms=score.false_alarms,
    )


def _counts(counts: ErrorRate, locale: str) -> str:
    return message(
        "evaluate.counts",
        locale,
        substitutions=counts.substitutions,
        deletions=counts.deletions,
        insertions=counts.insertions,
        chars=counts.reference_chars,
    )


def _mark_lines(scores: MarkScores, locale: str) -> Iterator[str]:
    for name, score in mark_rows(scores, locale):
        cells = (name, *(percent(value) for value in (score.precision, score.recall, score.f1)))
        yield "\t".join([message("evaluate.marks", locale), *cells])


def mark_rows(scores: MarkScores, locale: str) -> list[tuple[str, MarkScore]]:
    """Each mark, all marks, and any mark, with its name for people."""
    return [
        *scores.marks.items(),
        (message("evaluate.marks_micro", locale), scores.micro),
        (message("evaluate.marks_boundary", locale), scores.boundary),
    ]


def _listed(key: str, names: Sequence[str], locale: str) -> Iterator[str]:
    for name in names[:_MOST_LINES]:
        yield f"{message(f'evaluate.{key}', locale)}\t{name}"
    if len(names) > _MOST_LINES:
        more = message("evaluate.more", locale, count=len(names) - _MOST_LINES)
        yield f"{message(f'evaluate.{key}', locale)}\t{more}"


def _model(model: ModelInfo | None) -> dict[str, str] | None:
    if model is None:
        return None
    return {"name": model.name, "backend": model.backend, "device": model.device}


def _rate(counts: ErrorRate) -> dict[str, Any]:
    return {
        "rate": round(counts.rate, 6),
        "substitutions": counts.substitutions,
        "deletions": counts.deletions,
        "insertions": counts.insertions,
        "reference_chars": counts.reference_chars,
    }


def _group(group: Group) -> dict[str, Any]:
    return {"name": group.name, "utterances": group.utterances, "cer": _rate(group.counts)}


def _mark(score: MarkScore) -> dict[str, Any]:
    return {
        "expected": score.expected,
        "given": score.given,
        "hits": score.hits,
        "precision": round(score.precision, 6),
        "recall": round(score.recall, 6),
        "f1": round(score.f1, 6),
    }


def _marks(scores: MarkScores) -> dict[str, Any]:
    return {
        "marks": {mark: _mark(score) for mark, score in scores.marks.items()},
        "micro": _mark(scores.micro),
        "boundary": _mark(scores.boundary),
    }


def _numbers(numbers: NumberScore) -> dict[str, int]:
    return {
        "expected": numbers.expected,
        "exact": numbers.exact,
        "heard": numbers.heard,
        "heard_exact": numbers.heard_exact,
        "extra": numbers.extra,
    }


def _hotword(score: HotwordScore) -> dict[str, Any]:
    return {
        "word": score.word,
        "expected": score.expected,
        "hits": score.hits,
        "false_alarms": score.false_alarms,
    }


def _item(utterance: Utterance) -> dict[str, Any]:
    sample, outcome = utterance.sample, utterance.outcome
    return {
        "audio": sample.audio,
        "speaker": sample.speaker,
        "tag": sample.tag,
        "reference": sample.reference,
        "hypothesis": outcome.text,
        "cer": _rate(utterance.comparison.counts),
        "differences": [
            [piece.kind.value, piece.reference, piece.hypothesis]
            for piece in utterance.comparison.pieces()
            if piece.kind is not Edit.EQUAL
        ],
    }
