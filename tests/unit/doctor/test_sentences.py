"""Every finding has its sentences in every language, and no sentence is left over."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import asr_core.doctor
from asr_core.doctor import report, report_html
from asr_core.doctor.examination import GROUPS, examine
from asr_core.doctor.finding import SHARED, Finding, State
from asr_core.messages import LOCALES, load_messages
from tests.unit.doctor.conftest import Examine
from tests.unit.doctor.machines import Machine

JUDGES = {"ok", "warn", "fail", "none", "judge"}
CHOSEN = {"npu_devices": {"hangs", "refuses", "unreadable"}}
"""What a check picks from a table; why there is no device is shared."""

FRAME = (
    r"doctor\.(title|made|summary|running|written|state\..*|why|mend|todo|nothing_to_do|group\..*)"
)


def findings() -> dict[str, set[str]]:
    """What each check can find, read off the code."""
    found: dict[str, set[str]] = {check: set(names) for check, names in CHOSEN.items()}
    for path in Path(asr_core.doctor.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_judge = (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in JUDGES
                and len(node.args) >= 2
            )
            if is_judge and isinstance(node.args[0], ast.Constant):
                names = found.setdefault(str(node.args[0].value), set())
                if isinstance(node.args[1], ast.Constant):
                    names.add(str(node.args[1].value))
    return found


def needed() -> set[str]:
    keys = {f"doctor.group.{name}" for name, _ in GROUPS}
    keys |= {f"doctor.state.{state.value}" for state in State}
    keys |= {f"doctor.any.{name}" for name in SHARED}
    for check, names in findings().items():
        keys |= {f"doctor.{check}", f"doctor.{check}.why"}
        keys |= {Finding(check, State.OK, name).key for name in names}
    return keys


def test_the_code_is_read() -> None:
    assert len(findings()) == sum(len(checks) for _, checks in GROUPS)
    assert findings()["numa_balancing"] == {"on", "off", "one_node", "untold"}


@pytest.mark.parametrize("locale", LOCALES)
def test_every_finding_has_its_sentences(locale: str) -> None:
    assert needed() - set(load_messages(locale)) == set()


@pytest.mark.parametrize("locale", LOCALES)
def test_no_sentence_is_left_over(locale: str) -> None:
    given = {key for key in load_messages(locale) if key.startswith("doctor.")}
    left = {key for key in given - needed() if not re.fullmatch(FRAME, key)}
    assert left == set()


@pytest.mark.parametrize("locale", LOCALES)
def test_reports_have_no_blank_unfilled(context: Examine, arm: Machine, locale: str) -> None:
    arm.files["/proc/sys/kernel/numa_balancing"] = "1\n"
    found = examine(context(arm, is_quick=True))
    text = "\n".join(report.to_lines(found, locale))
    assert re.findall(r"\{\w+\}", text + report.to_json(found, locale)) == []
    style = report_html.to_html(found, locale).partition("</style>")[2]
    assert re.findall(r"\{\w+\}", style) == []
