"""All checks in the order in which people read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from asr_core import __version__
from asr_core.doctor import ascend, memory, models, processor, service, software, sound
from asr_core.doctor.context import Context
from asr_core.doctor.finding import Finding, State

Check = Callable[[Context], Finding]

GROUPS: tuple[tuple[str, tuple[Check, ...]], ...] = (
    ("software", software.CHECKS),
    ("npu", ascend.CHECKS),
    ("models", models.CHECKS),
    ("sound", sound.CHECKS),
    ("processor", processor.CHECKS),
    ("memory", memory.CHECKS),
    ("service", service.CHECKS),
    ("trial", models.TRIAL),
)
"""Checks by group; the groups' names are ``doctor.group.<name>``."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What all checks found.

    Attributes:
        groups: findings by the name of their group.
        machine: processor architecture.
        made: when, in UTC.
        version: of this program.
    """

    groups: tuple[tuple[str, tuple[Finding, ...]], ...]
    machine: str
    made: datetime
    version: str = __version__

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for _, findings in self.groups for finding in findings)

    @property
    def counts(self) -> dict[State, int]:
        return {state: sum(one.state is state for one in self.findings) for state in State}

    @property
    def failed(self) -> bool:
        return self.counts[State.FAIL] > 0


def examine(context: Context, on_group: Callable[[str], None] = lambda _name: None) -> Examination:
    """Run every check.

    Args:
        context: what they look at.
        on_group: told the name of a group before its checks run.
    """
    groups = []
    for name, checks in GROUPS:
        on_group(name)
        groups.append((name, tuple(check(context) for check in checks)))
    made = datetime.fromtimestamp(context.host.now_s(), timezone.utc)
    return Examination(tuple(groups), context.host.machine, made)
