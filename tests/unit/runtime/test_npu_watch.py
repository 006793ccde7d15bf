"""Devices that are too hot or ill get no work until they are fit again."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence

import pytest

from asr_core.runtime.command import Answer
from asr_core.runtime.npu_smi import NpuMonitor, parse_info
from asr_core.runtime.npu_watch import NpuWatch, chip_of, unfit
from asr_core.runtime.pool import DevicePool, MemberState
from tests.unit.runtime.smi_outputs import CHIP_310, CHIP_310P, CHIP_310P_DUAL

COOL = CHIP_310P.replace(" 88 ", " 71 ").replace("Warning", "OK     ")
HOT = CHIP_310P.replace("Warning", "OK     ")
EDGE = HOT.replace(" 88 ", " 85 ")
ILL = COOL.replace("OK              | 17.0", "Alarm           | 17.0")
UNTOLD = COOL.replace("OK              | 17.0         71", "NA              | 17.0         NA")


class Smi:
    """What ``npu-smi info`` answers, one after the other."""

    def __init__(self, *answers: str | None) -> None:
        self._answers = list(answers)

    def __call__(self, command: Sequence[str], _timeout_s: float) -> Answer:
        if "-t" in command:
            return Answer("failed", "The type is not supported")
        text = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return Answer("absent", "") if text is None else Answer("done", text)


def watched(*answers: str | None) -> tuple[DevicePool[str], NpuWatch]:
    pool: DevicePool[str] = DevicePool(["npu:0", "npu:1"], str, lambda _: None)
    clock = itertools.count(0.0, 120.0)
    monitor = NpuMonitor(Smi(*answers), now=lambda: next(clock))
    return pool, NpuWatch((0, 1), pool.rest, pool.resume, monitor)


def states(pool: DevicePool[str]) -> list[tuple[MemberState, str]]:
    return [(member.state, member.reason) for member in pool.status()]


READY = (MemberState.READY, "")


def test_a_hot_device_rests_and_comes_back_by_itself() -> None:
    pool, watch = watched(COOL, HOT, HOT, EDGE)
    watch.look()
    assert states(pool) == [READY, READY]
    for _ in range(2):
        watch.look()
        assert states(pool) == [READY, (MemberState.RESTING, "88 °C")]
    assert {pool.run(lambda device: device) for _ in range(4)} == {"0"}
    watch.look()
    assert states(pool) == [READY, READY]
    pool.close()


def test_an_ill_device_rests() -> None:
    pool, watch = watched(ILL, COOL)
    watch.look()
    assert states(pool) == [READY, (MemberState.RESTING, "health Alarm")]
    watch.look()
    assert states(pool) == [READY, READY]
    pool.close()


def test_what_is_not_told_changes_nothing() -> None:
    pool, watch = watched(UNTOLD, "no table", HOT, "no table")
    for _ in range(2):
        watch.look()
        assert states(pool) == [READY, READY]
    watch.look()
    assert states(pool)[1] == (MemberState.RESTING, "88 °C")
    pool.close()


def test_without_npu_smi_the_watch_ends() -> None:
    pool, watch = watched(None)
    watch.start()
    watch.close()
    assert "npu-watch" not in {thread.name for thread in threading.enumerate()}
    assert states(pool) == [READY, READY]
    pool.close()


@pytest.mark.parametrize(
    ("text", "index", "visible", "bus"),
    [
        (CHIP_310P, 1, "", "0000:86:00.0"),
        (CHIP_310P_DUAL, 1, "", "0000:17:00.0"),
        (CHIP_310P_DUAL, 2, "", "0000:65:00.0"),
        (CHIP_310P_DUAL, 0, "2", "0000:65:00.0"),
        (CHIP_310P_DUAL, 1, "0,2", "0000:65:00.0"),
        (CHIP_310, 0, "", "0000:3B:00.0"),
    ],
)
def test_devices_are_found_in_the_table(text: str, index: int, visible: str, bus: str) -> None:
    environ = {"ASCEND_RT_VISIBLE_DEVICES": visible} if visible else {}
    chip = chip_of(index, parse_info(text), environ)
    assert chip is not None
    assert chip.bus_id == bus


@pytest.mark.parametrize(("index", "visible"), [(5, ""), (1, "0"), (0, "x"), (0, "9")])
def test_a_device_that_is_not_in_the_table_is_fit(index: int, visible: str) -> None:
    environ = {"ASCEND_RT_VISIBLE_DEVICES": visible} if visible else {}
    assert unfit(chip_of(index, parse_info(CHIP_310P), environ)) == ""
