"""Waiting for what another thread does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

PATIENCE_S = 240.0


def wait_until(condition: Callable[[], object]) -> None:
    """Poll with a generous limit; how long it takes is not judged."""
    deadline = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail("the condition did not come true")
        pause.wait(0.05)
