"""The outer frame of every command: what its log looks like, and how it ends."""

from __future__ import annotations

import logging
import signal

import pytest

from asr_core.cli.common import on_first_interrupt
from asr_core.cli.main import _LineFormatter
from asr_core.errors import ModelError


def logged(error: BaseException) -> list[str]:
    """The lines of a warning about an error that was raised."""
    try:
        raise error
    except BaseException as exc:  # noqa: BLE001 - any kind is logged
        info = (type(exc), exc, exc.__traceback__)
    record = logging.LogRecord("a.b", logging.WARNING, "", 0, "%s failed", ("it",), info)
    return _LineFormatter().format(record).splitlines()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModelError("no such file", name="m", reason="storage"), "no such file"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (OSError(), "OSError"),
    ],
)
def test_a_foreseen_fault_is_one_line(error: Exception, said: str) -> None:
    assert logged(error) == [f"WARNING a.b: it failed: {said}"]


@pytest.mark.parametrize("error", [KeyError("token"), ValueError("of what?"), RuntimeError()])
def test_any_other_fault_is_told_with_where_it_was_raised(error: Exception) -> None:
    first, *others = logged(error)
    assert first == "WARNING a.b: it failed"
    assert others[0] == "Traceback (most recent call last):"
    assert any(__file__ in line for line in others)
    assert others[-1].startswith(type(error).__name__)


def test_a_record_without_a_fault_is_its_message() -> None:
    record = logging.LogRecord("a.b", logging.ERROR, "", 0, "gone", (), None)
    assert _LineFormatter().format(record) == "ERROR a.b: gone"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_for_a_stop_and_the_second_ends(number: signal.Signals) -> None:
    both = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(one) for one in both]
    asked: list[bool] = []
    try:
        on_first_interrupt(lambda: asked.append(True))
        signal.raise_signal(number)
        assert asked == [True]
        assert [signal.getsignal(one) for one in both] == [signal.SIG_DFL] * 2
    finally:
        for one, handler in zip(both, before, strict=True):
            signal.signal(one, handler)
