"""A comparison as one HTML file that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from asr_core.messages import message
from asr_core.parity.compare import Comparison, Layer, Recording
from asr_core.parity.report import (
    COLUMNS,
    agreement_cell,
    layer_cells,
    layer_note,
    limit_cell,
    model_cell,
    share_cell,
    text_of,
    verdict,
)

_STYLE = """
:root { color-scheme: light dark; --bg: #f6f7f8; --card: #fff; --ink: #1c2529; --soft: #566268; --line: #e2e6e8;
  --accent: #0f766e; --bar: #b9d9d5; --bad: #b42318; --bad-bg: #fdecea; --bad-bar: #f0b3ac; }
@media (prefers-color-scheme: dark) { :root { --bg: #12181b; --card: #1a2226; --ink: #e6ecee; --soft: #a5b1b7; --line: #2b363b;
  --accent: #4fb8ac; --bar: #24534e; --bad: #f08f86; --bad-bg: #3a2220; --bad-bar: #7a3a34; } }
body { margin: 0; background: var(--bg); color: var(--ink); font: 15px/1.7 "PingFang SC", "Noto Sans CJK SC", "Microsoft YaHei", system-ui, sans-serif; }
main { max-width: 1080px; margin: auto; padding: 24px 16px; }
h1 { font-size: 20px; } h2 { font-size: 16px; margin: 0 0 8px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px; margin: 16px 0; overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } td, th { text-align: left; padding: 3px 16px 3px 0; border-bottom: 1px solid var(--line); font-weight: 400; white-space: nowrap; vertical-align: top; }
.facts td { white-space: normal; overflow-wrap: anywhere; }
th { color: var(--soft); font-size: 13px; } .n { text-align: right; } .soft { color: var(--soft); font-size: 13px; }
.big { font-size: 24px; line-height: 1.3; color: var(--accent); } .big.bad { color: var(--bad); }
tr.bad td { background: var(--bad-bg); } tr.bad .note { color: var(--bad); }
.bar { display: block; height: 8px; min-width: 1px; border-radius: 4px; background: var(--bar); } tr.bad .bar { background: var(--bad-bar); }
.scale { width: 120px; padding-top: 9px; } .text { overflow-wrap: anywhere; margin: 2px 0 12px; }
"""  # noqa: E501 - one rule a line

_SMALLEST = -9.0
"""Exponent of a relative difference that has no bar; rounding in single precision is about -7."""


def to_html(
    comparison: Comparison, tokens: Sequence[str], locale: str, notes: Sequence[str] = ()
) -> str:
    """The report; every text from outside is escaped, nothing is loaded from anywhere.

    Args:
        comparison: what was measured.
        tokens: text of each token, by number.
        locale: language of the report.
        notes: what else there is to say of the result.
    """
    words = _Words(locale)
    parts = [_summary(comparison, words, notes), _layers(comparison, words)]
    parts.append(_recordings(comparison.recordings, tokens, words))
    title = words("title")
    return (
        f'<!doctype html>\n<html lang="{escape(locale)}">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>{title}</h1>\n" + "\n".join(parts) + "</main></body></html>\n"
    )


class _Words:
    """Sentences of one language, escaped."""

    def __init__(self, locale: str) -> None:
        self.locale = locale

    def __call__(self, key: str, **values: object) -> str:
        return escape(message(f"compare.{key}", self.locale, **values))


def _section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    body = "".join(f'<tr><th scope="row">{name}</th><td>{cell}</td></tr>' for name, cell in rows)
    return f'<table class="facts"><tbody>{body}</tbody></table>'


def _summary(comparison: Comparison, words: _Words, notes: Sequence[str]) -> str:
    right, found = comparison.precisions
    agreement = comparison.agreement
    shown = f"{share_cell(agreement)} · {agreement_cell(agreement, words.locale)}"
    rows = [
        (words("reference"), escape(model_cell(comparison.reference, right))),
        (words("other"), escape(model_cell(comparison.other, found))),
        (words("limits"), escape(limit_cell(comparison.limits, words.locale))),
        (words("tokens"), escape(shown)),
    ]
    kind = "big" if comparison.passed else "big bad"
    head = f'<p class="{kind}">{escape(verdict(comparison, words.locale))}</p>'
    said = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return _section(words("result"), head + said + _rows(rows))


def _layers(comparison: Comparison, words: _Words) -> str:
    head = "".join(f'<th class="n" scope="col">{words(name)}</th>' for name in COLUMNS)
    body = "".join(_layer(layer, words.locale) for layer in comparison.layers)
    return _section(
        words("layers"),
        f'<p class="soft">{words("layers_about")}</p>'
        f'<table><thead><tr><th scope="col">{words("layer")}</th>{head}<td></td><td></td></tr>'
        f"</thead><tbody>{body}</tbody></table>",
    )


def _layer(layer: Layer, locale: str) -> str:
    cells = "".join(f'<td class="n">{escape(cell)}</td>' for cell in layer_cells(layer))
    note = escape(layer_note(layer, locale))
    kind = "" if layer.passed else ' class="bad"'
    return (
        f"<tr{kind}><td>{escape(layer.name)}</td>{cells}"
        f'<td><div class="scale">{_bar(layer)}</div></td><td class="note">{note}</td></tr>'
    )


def _bar(layer: Layer) -> str:
    """How large the relative difference is, by its power of ten."""
    relative = layer.difference.relative
    if not layer.difference.values or relative == 0:
        return ""
    exponent = math.log10(relative) if 0 < relative < math.inf else 0.0
    share = min(max(1 - exponent / _SMALLEST, 0.0), 1.0)
    return f'<span class="bar" style="width:{100 * share:.0f}%"></span>'


def _recordings(recordings: Sequence[Recording], tokens: Sequence[str], words: _Words) -> str:
    """Every recording, those that differ most first, these with their tokens."""
    parts = []
    for one in sorted(recordings, key=lambda recording: recording.agreement.share):
        cell = f"{share_cell(one.agreement)} · {agreement_cell(one.agreement, words.locale)}"
        parts.append(f'<div class="soft">{escape(one.name)} · {escape(cell)}</div>')
        if one.agreement.share < 1:
            for side, numbers in (("reference", one.reference), ("other", one.other)):
                shown = escape(text_of(numbers, tokens))
                parts.append(f'<div class="text">{words(side)}: {shown}</div>')
    return _section(words("recordings"), "".join(parts))
