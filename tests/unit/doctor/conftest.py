"""An engine with an empty history, and the examination of made-up machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asr_core.doctor.context import Context
from asr_core.engine import Engine
from asr_core.settings import Settings
from tests.application import unused_port
from tests.idle import engine, settings
from tests.unit.doctor.machines import Machine, kunpeng, plain

__all__ = ["engine", "settings"]

Examine = Callable[..., Context]


@pytest.fixture
def arm(tmp_path: Path) -> Machine:
    return kunpeng(tmp_path / "arm")


@pytest.fixture
def x86(tmp_path: Path) -> Machine:
    return plain(tmp_path / "x86")


@pytest.fixture
def context(settings: Settings, engine: Engine) -> Examine:
    """What checks look at: ``context(machine, **settings)``."""

    def make(machine: Machine, *, is_quick: bool = False, **changes: Any) -> Context:
        changed = replace(settings, **{"port": unused_port(), **changes})
        return Context(machine.host(), changed, lambda: engine, is_quick)

    return make
