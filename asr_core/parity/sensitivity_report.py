"""A sensitivity report as a table and as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape

from asr_core.messages import message
from asr_core.models.quantize import is_kept
from asr_core.parity.sensitivity import PartEffect, Sensitivity

COLUMNS = (
    "operator",
    "part",
    "inputs",
    "outputs",
    "kept_fp32",
    "weight_error",
    "max_abs",
    "mean_abs",
    "agreement",
)
"""Of the table: an operator, then what eight-bit weights in its part alone change."""

_STYLE = """
:root { color-scheme: light dark; --bg: #f6f7f8; --card: #fff; --ink: #1c2529; --soft: #566268; --line: #e2e6e8; --accent: #0f766e; --bar: #b9d9d5; }
@media (prefers-color-scheme: dark) { :root { --bg: #12181b; --card: #1a2226; --ink: #e6ecee; --soft: #a5b1b7; --line: #2b363b; --accent: #4fb8ac; --bar: #24534e; } }
body { margin: 0; background: var(--bg); color: var(--ink); font: 15px/1.7 "PingFang SC", "Noto Sans CJK SC", "Microsoft YaHei", system-ui, sans-serif; }
main { max-width: 1080px; margin: auto; padding: 24px 16px; }
h1 { font-size: 20px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px; margin: 16px 0; overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } td, th { text-align: left; padding: 3px 16px 3px 0; border-bottom: 1px solid var(--line); font-weight: 400; vertical-align: top; white-space: nowrap; }
th { color: var(--soft); font-size: 13px; } .n { text-align: right; } .soft { color: var(--soft); font-size: 13px; }
.big { font-size: 24px; line-height: 1.3; color: var(--accent); }
.bar { display: block; height: 8px; min-width: 1px; border-radius: 4px; background: var(--bar); } .scale { width: 120px; }
"""  # noqa: E501 - one rule a line


def to_table(report: Sensitivity) -> str:
    """Tab-separated, with a header: one line for each operator, in the order of the graphs."""
    lines = ["\t".join(COLUMNS)]
    for part in report.parts:
        effect = part.effect
        for operator, error in part.operators:
            cells = (
                operator.name,
                part.name,
                operator.inputs,
                operator.outputs,
                int(is_kept(operator.name, report.kept)),
                f"{error:.6f}",
                f"{effect.max_abs:.6f}",
                f"{effect.mean_abs:.6f}",
                f"{effect.agreement:.6f}",
            )
            lines.append("\t".join(map(str, cells)))
    return "\n".join(lines) + "\n"


def to_html(report: Sensitivity, locale: str) -> str:
    """The report; every text from outside is escaped, nothing is loaded from anywhere."""
    title = escape(message("sensitivity.title", locale))
    parts = sorted(report.parts, key=lambda part: (part.effect.agreement, -part.effect.mean_abs))
    return (
        f'<!doctype html>\n<html lang="{escape(locale)}">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><main><h1>{title}</h1>\n"
        f"{_summary(report, locale)}\n{_rows(report, parts, locale)}\n</main></body></html>\n"
    )


def _summary(report: Sensitivity, locale: str) -> str:
    said = [
        message("sensitivity.model", locale, model=report.model, method=report.method.value),
        message(
            "sensitivity.recordings",
            locale,
            count=len(report.recordings),
            tokens=report.tokens,
            names=", ".join(report.recordings),
        ),
        message("sensitivity.kept", locale, names=", ".join(report.kept)),
    ]
    lines = "".join(f'<p class="soft">{escape(line)}</p>' for line in said)
    share = f"{100 * report.chosen.agreement:.2f} %"
    found = message(
        "sensitivity.chosen", locale, share=share, mean_abs=f"{report.chosen.mean_abs:.4f}"
    )
    return f'<section><p class="big">{escape(found)}</p>{lines}</section>'


def _rows(report: Sensitivity, parts: list[PartEffect], locale: str) -> str:
    names = ("part", "operators", "kept", "weight_error", "max_abs", "mean_abs", "agreement")
    heads = "".join(f"<th>{escape(message(f'sensitivity.{name}_head', locale))}" for name in names)
    largest = max((part.effect.mean_abs for part in parts), default=0.0) or 1.0
    rows = []
    for part in parts:
        effect = part.effect
        operators = "<br>".join(
            escape(f"{each.name.rpartition('.')[2]} {each.inputs}×{each.outputs}")
            for each, _ in part.operators
        )
        errors = "<br>".join(f"{error:.4f}" for _, error in part.operators)
        kept = all(is_kept(each.name, report.kept) for each, _ in part.operators)
        width = 100 * effect.mean_abs / largest
        rows.append(
            f"<tr><td>{escape(part.name)}<td>{operators}<td>{'fp32' if kept else ''}"
            f'<td class="n">{errors}<td class="n">{effect.max_abs:.4f}'
            f'<td class="n">{effect.mean_abs:.5f}<td class="n">{100 * effect.agreement:.2f} %'
            f'<td class="scale"><span class="bar" style="width: {width:.1f}%"></span></tr>'
        )
    return f"<section><table><tr>{heads}<th></tr>\n" + "\n".join(rows) + "</table></section>"
