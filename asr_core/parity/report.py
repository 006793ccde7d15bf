"""A comparison as lines for a terminal and as a JSON document."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

from asr_core.messages import message
from asr_core.parity.compare import Comparison, Layer, Limits
from asr_core.parity.tokens import Agreement
from asr_core.results import ModelInfo

COLUMNS = ("cosine", "max_abs", "mean_abs", "relative")


def to_json(comparison: Comparison) -> str:
    """Everything that was measured; ``schema`` 1. What is no number is null."""
    first = comparison.first_failed
    document = {
        "schema": 1,
        "passed": comparison.passed,
        "reference": _form(comparison.reference, comparison.precisions[0]),
        "other": _form(comparison.other, comparison.precisions[1]),
        "limits": asdict(comparison.limits),
        "first_failed": None if first is None else first.name,
        "layers": [
            {"name": layer.name, "passed": layer.passed}
            | {name: _number(value) for name, value in asdict(layer.difference).items()}
            for layer in comparison.layers
        ],
        "tokens": _agreement(comparison.agreement),
        "recordings": [
            {
                "name": recording.name,
                "reference": list(recording.reference),
                "other": list(recording.other),
                "agreement": _agreement(recording.agreement),
            }
            for recording in comparison.recordings
        ],
    }
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def to_lines(comparison: Comparison, locale: str) -> Iterator[str]:
    """The table and what follows from it."""
    for side, model, precision in (
        ("reference", comparison.reference, comparison.precisions[0]),
        ("other", comparison.other, comparison.precisions[1]),
    ):
        yield f"{message(f'compare.{side}', locale)}\t{model_cell(model, precision)}"
    yield f"{message('compare.limits', locale)}\t{limit_cell(comparison.limits, locale)}"
    yield ""
    width = max([len(layer.name) for layer in comparison.layers], default=0)
    head = [message(f"compare.{name}", locale) for name in ("layer", *COLUMNS)]
    yield "  ".join([head[0].ljust(width), *(name.rjust(10) for name in head[1:])])
    for layer in comparison.layers:
        cells = [cell.rjust(10) for cell in layer_cells(layer)]
        note = layer_note(layer, locale)
        yield "  ".join([layer.name.ljust(width), *cells, *filter(None, [note])])
    yield ""
    for recording in comparison.recordings:
        if recording.agreement.share < 1:
            yield f"{recording.name}\t{agreement_cell(recording.agreement, locale)}"
    yield (
        f"{message('compare.tokens', locale)}\t{share_cell(comparison.agreement)}\t"
        f"{agreement_cell(comparison.agreement, locale)}"
    )
    yield verdict(comparison, locale)


def verdict(comparison: Comparison, locale: str) -> str:
    """One sentence: passed, or what failed first."""
    if comparison.passed:
        return message("compare.passed", locale)
    if not comparison.compared:
        return message("compare.nothing", locale)
    first = comparison.first_failed
    if first is None:
        return message("compare.failed_tokens", locale)
    return message("compare.failed", locale, layer=first.name)


def layer_cells(layer: Layer) -> tuple[str, ...]:
    """Figures of a stage, in the order of :data:`COLUMNS`."""
    one = layer.difference
    if not one.values:
        return ("-",) * len(COLUMNS)
    return (f"{one.cosine:.6f}", *(f"{getattr(one, name):.2e}" for name in COLUMNS[1:]))


def layer_note(layer: Layer, locale: str) -> str:
    """What else there is to say of a stage."""
    notes = []
    if not layer.passed:
        notes.append(message("compare.outside", locale))
    if not layer.difference.values:
        notes.append(message("compare.missing", locale))
    elif layer.difference.unpaired:
        notes.append(message("compare.unpaired", locale, count=layer.difference.unpaired))
    return " · ".join(notes)


def model_cell(model: ModelInfo, precision: str) -> str:
    """Name, runtime, device and precision of a form."""
    parts = (model.name, model.backend, model.device, precision)
    named = " ".join(parts[:3]).split()
    return " · ".join(part for part in parts if part != precision or precision not in named)


def limit_cell(limits: Limits, locale: str) -> str:
    """The limits that are set."""
    values = [(field.name, getattr(limits, field.name)) for field in fields(limits)]
    return " · ".join(
        f"{message(f'compare.{name}', locale)} {'≥' if name in ('cosine', 'tokens') else '≤'} "
        f"{value:g}"
        for name, value in values
        if value is not None
    )


def share_cell(agreement: Agreement) -> str:
    """Share of equal tokens; only all of them are 100 %."""
    share = agreement.share
    shown = f"{100 * share:.2f}%"
    return "99.99%" if shown == "100.00%" and share < 1 else shown


def agreement_cell(agreement: Agreement, locale: str) -> str:
    """Numbers of tokens in words."""
    return message("compare.agreement", locale, **asdict(agreement))


def text_of(numbers: Sequence[int], tokens: Sequence[str]) -> str:
    """Tokens as the model writes them, with a space between them."""
    return " ".join(tokens[number] if number < len(tokens) else f"#{number}" for number in numbers)


def _form(model: ModelInfo, precision: str) -> dict[str, str]:
    return {
        "name": model.name,
        "backend": model.backend,
        "device": model.device,
        "precision": precision,
    }


def _agreement(agreement: Agreement) -> dict[str, Any]:
    return asdict(agreement) | {"share": agreement.share}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
