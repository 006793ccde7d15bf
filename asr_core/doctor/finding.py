"""What a check found."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SHARED = frozenset({"no_npu", "no_device", "untold", "skipped"})
"""Findings that several checks share."""


class State(str, enum.Enum):
    """``fail``: it does not work so. ``warn``: it works worse than it could, or soon will not."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    NONE = "not_applicable"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the examination.

    Attributes:
        check: its name; the sentences are ``doctor.<check>``, ``doctor.<check>.why``.
        state: how it stands.
        found: which sentence tells what was found.
        values: what fills its blanks.
        mend: commands that mend it, in order; placeholders in them are in angle brackets.
    """

    check: str
    state: State
    found: str
    values: Mapping[str, str] = field(default_factory=dict)
    mend: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The sentence about what was found."""
        return f"doctor.any.{self.found}" if self.found in SHARED else self.own_key

    @property
    def own_key(self) -> str:
        return f"doctor.{self.check}.{self.found}"


def ok(check: str, found: str, **values: object) -> Finding:
    """All is well."""
    return Finding(check, State.OK, found, _texts(values))


def none(check: str, found: str, **values: object) -> Finding:
    """There is nothing to judge here."""
    return Finding(check, State.NONE, found, _texts(values))


def warn(check: str, found: str, *mend: str, **values: object) -> Finding:
    """It could be better."""
    return Finding(check, State.WARN, found, _texts(values), mend)


def fail(check: str, found: str, *mend: str, **values: object) -> Finding:
    """It does not work so."""
    return Finding(check, State.FAIL, found, _texts(values), mend)


def listed(names: Sequence[object], most: int = 8) -> str:
    """Names for a sentence, the first of many."""
    more = f" … ({len(names)})" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}
