"""An examination as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from asr_core.doctor.examination import Examination
from asr_core.doctor.finding import Finding, State
from asr_core.doctor.report import found_of, heading_of, summary_of, title_of, why_of
from asr_core.messages import message

_STYLE = """
:root { color-scheme: light dark; --bg: #f6f7f8; --card: #fff; --ink: #1c2529; --soft: #566268; --line: #e2e6e8; --code: #eef1f2;
  --ok: #0f766e; --ok-bg: #e2f3f0; --warn: #8a4306; --warn-bg: #fdf3e1; --fail: #b42318; --fail-bg: #fdecea; }
@media (prefers-color-scheme: dark) { :root { --bg: #12181b; --card: #1a2226; --ink: #e6ecee; --soft: #a5b1b7; --line: #2b363b; --code: #232d32;
  --ok: #4fb8ac; --ok-bg: #173430; --warn: #e9b777; --warn-bg: #33291a; --fail: #f08f86; --fail-bg: #3a2220; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink); font: 15px/1.7 "PingFang SC", "Noto Sans CJK SC", "Microsoft YaHei", system-ui, sans-serif; }
main { max-width: 860px; margin: auto; padding: 24px 16px; }
h1 { font-size: 20px; margin: 0; } h2 { font-size: 16px; margin: 0 0 8px; } h3 { font-size: 15px; font-weight: 600; margin: 0; }
p { margin: 2px 0; overflow-wrap: anywhere; } .soft { color: var(--soft); font-size: 13px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px; margin: 16px 0; }
article { display: grid; grid-template-columns: 5.5em minmax(0, 1fr); gap: 0 12px; padding: 10px 0; border-top: 1px solid var(--line); }
article:first-of-type { border-top: 0; }
.badge { align-self: start; justify-self: start; border-radius: 6px; padding: 1px 8px; font-size: 13px; background: var(--code); color: var(--soft); white-space: nowrap; }
.ok .badge { background: var(--ok-bg); color: var(--ok); } .warn .badge { background: var(--warn-bg); color: var(--warn); }
.fail .badge { background: var(--fail-bg); color: var(--fail); }
.not_applicable h3, .not_applicable p { color: var(--soft); font-weight: 400; }
pre { margin: 6px 0 0; padding: 6px 10px; background: var(--code); border-radius: 6px; font: 13px/1.6 ui-monospace, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 480px) { article { grid-template-columns: minmax(0, 1fr); gap: 4px; } main { padding: 16px 12px; } }
"""  # noqa: E501 - one rule a line


def to_html(examination: Examination, locale: str) -> str:
    """The report: what is to do first, then everything. All texts are escaped."""
    title = escape(message("doctor.title", locale))
    urgent = [
        finding
        for state in (State.FAIL, State.WARN)
        for finding in examination.findings
        if finding.state is state
    ]
    parts = [
        f"<h1>{title}</h1><p class='soft'>{escape(heading_of(examination, locale))}</p>"
        f"<p class='summary'>{escape(summary_of(examination, locale))}</p>",
        _section("todo", message("doctor.todo", locale), urgent, locale),
    ]
    for name, findings in examination.groups:
        parts.append(_section(name, message(f"doctor.group.{name}", locale), findings, locale))
    return (
        f'<!doctype html>\n<html lang="{escape(locale)}">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><main>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def _section(name: str, title: str, findings: Sequence[Finding], locale: str) -> str:
    body = "".join(_article(finding, locale, is_open=name == "todo") for finding in findings)
    body = body or f"<p>{escape(message('doctor.nothing_to_do', locale))}</p>"
    return f'<section id="{name}"><h2>{escape(title)}</h2>{body}</section>'


def _article(finding: Finding, locale: str, *, is_open: bool) -> str:
    """One finding; for what is to do, why and what mends it stand in the list at the top."""
    state = finding.state.value
    parts = [
        f'<article class="{state}"><span class="badge">'
        f"{escape(message(f'doctor.state.{state}', locale))}</span><div>"
        f"<h3>{escape(title_of(finding, locale))}</h3><p>{escape(found_of(finding, locale))}</p>"
    ]
    if is_open or finding.state is State.OK:
        parts.append(f'<p class="soft">{escape(why_of(finding, locale))}</p>')
    if is_open and finding.mend:
        parts.append(f"<pre>{escape(chr(10).join(finding.mend))}</pre>")
    return "".join(parts) + "</div></article>"
