"""An examination for the terminal and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from asr_core.doctor.examination import Examination
from asr_core.doctor.finding import Finding, State
from asr_core.messages import message

_SIGNS = {State.OK: "✓", State.WARN: "!", State.FAIL: "✗", State.NONE: "–"}
_INDENT = "    "


def title_of(finding: Finding, locale: str) -> str:
    return message(f"doctor.{finding.check}", locale)


def found_of(finding: Finding, locale: str) -> str:
    return message(finding.key, locale, **finding.values)


def why_of(finding: Finding, locale: str) -> str:
    return message(f"doctor.{finding.check}.why", locale)


def summary_of(examination: Examination, locale: str) -> str:
    counts = examination.counts
    return message(
        "doctor.summary",
        locale,
        ok=counts[State.OK],
        warn=counts[State.WARN],
        fail=counts[State.FAIL],
        none=counts[State.NONE],
    )


def heading_of(examination: Examination, locale: str) -> str:
    return message(
        "doctor.made",
        locale,
        version=examination.version,
        machine=examination.machine,
        time=f"{examination.made:%Y-%m-%d %H:%M} UTC",
    )


def to_lines(examination: Examination, locale: str) -> Iterator[str]:
    """What was found, and for what is not well why it matters and what mends it."""
    yield f"{message('doctor.title', locale)} · {heading_of(examination, locale)}"
    for name, findings in examination.groups:
        yield ""
        yield message(f"doctor.group.{name}", locale)
        for finding in findings:
            colon = "：" if locale.startswith("zh") else ": "
            title, found = title_of(finding, locale), found_of(finding, locale)
            yield f"  {_SIGNS[finding.state]} {title}{colon}{found}"
            if finding.state in (State.WARN, State.FAIL):
                yield f"{_INDENT}{why_of(finding, locale)}"
                yield from (f"{_INDENT}$ {command}" for command in finding.mend)
    yield ""
    yield summary_of(examination, locale)


def to_json(examination: Examination, locale: str) -> str:
    """Everything, with the sentences of one language."""
    return json.dumps(
        {
            "schema": 1,
            "version": examination.version,
            "machine": examination.machine,
            "made": examination.made.isoformat(timespec="seconds"),
            "counts": {state.value: count for state, count in examination.counts.items()},
            "findings": [
                {
                    "group": name,
                    "check": finding.check,
                    "state": finding.state.value,
                    "title": title_of(finding, locale),
                    "found": found_of(finding, locale),
                    "why": why_of(finding, locale),
                    "mend": list(finding.mend),
                    "values": dict(finding.values),
                }
                for name, findings in examination.groups
                for finding in findings
            ],
        },
        ensure_ascii=False,
        indent=2,
    )
