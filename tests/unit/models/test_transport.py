"""Pauses grow, are bounded, and follow what a server asks for."""

from __future__ import annotations

import email.utils
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.models.transport import BrokenConnectionError, Pauses, open_url
from tests.unit.models.hub import Hub


def pause(fruitless: int, asked_s: float = 0.0, chance: float = 1.0) -> float:
    taken: list[float] = []
    Pauses(wait=taken.append, chance=lambda: chance).take(fruitless, asked_s)
    (pause_s,) = taken
    return pause_s


def test_pauses_double_up_to_the_longest() -> None:
    assert [pause(n) for n in range(8)] == [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


@given(fruitless=st.integers(0, 1000), chance=st.floats(0, 1, exclude_max=True))
def test_half_of_a_pause_is_left_to_chance(fruitless: int, chance: float) -> None:
    full_s = pause(fruitless)
    assert full_s / 2 <= pause(fruitless, chance=chance) <= full_s <= 30.0


def test_a_pause_that_the_server_asks_for_is_kept_within_reason() -> None:
    assert [pause(1, asked_s) for asked_s in (0.5, 7.0, 10_000.0)] == [1.0, 7.0, 120.0]


@pytest.mark.parametrize(
    ("header", "wait_s"), [("7", 7.0), (" 0 ", 0.0), ("soon", 0.0), ("-3", 0.0), ("", 0.0)]
)
def test_the_wait_that_a_server_asks_for_is_read(hub: Hub, header: str, wait_s: float) -> None:
    hub.statuses = [(503, header)]
    with pytest.raises(BrokenConnectionError) as caught:
        open_url(f"{hub.url}/x")
    assert caught.value.wait_s == wait_s


def test_the_wait_may_be_a_moment(hub: Hub) -> None:
    now = datetime.now(timezone.utc)
    later = email.utils.format_datetime(now + timedelta(hours=1), usegmt=True)
    earlier = email.utils.format_datetime(now - timedelta(hours=1), usegmt=True)
    hub.statuses = [(503, later), (429, earlier)]
    with pytest.raises(BrokenConnectionError) as caught:
        open_url(f"{hub.url}/x")
    assert 3_000 < caught.value.wait_s <= 3_600
    with pytest.raises(BrokenConnectionError) as caught:
        open_url(f"{hub.url}/x")
    assert caught.value.wait_s == 0.0
