"""Which Ascend devices are fit for work, by what ``npu-smi`` tells while they are in use."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence

from asr_core.runtime.affinity import machine_index
from asr_core.runtime.npu_smi import NpuChip, NpuMonitor, NpuReport

logger = logging.getLogger(__name__)

LOOK_S = 5.0
_PATIENCE_S = 1.0


def chip_of(
    index: int, report: NpuReport, environ: Mapping[str, str] = os.environ
) -> NpuChip | None:
    """The chip behind a device of this process; ``None`` where nothing tells.

    Args:
        index: of the device, as pyACL counts: of those that ``ASCEND_RT_VISIBLE_DEVICES`` names.
        report: of ``npu-smi``.
        environ: of the process.
    """
    chips = report.chips
    if all(chip.device is not None for chip in chips):
        chips = tuple(sorted(chips, key=lambda chip: chip.device or 0))
    place = machine_index(index, environ)
    # In a container the numbers of the chips may have gaps.
    return chips[place] if place is not None and place < len(chips) else None


def unfit(chip: NpuChip | None) -> str:
    """Why a chip is to get no work; empty where it may, also where nothing is told of it."""
    return "" if chip is None else chip.unfit


class NpuWatch:
    """Takes devices out while they are too hot or ill, and lets them come back by themselves.

    Where ``npu-smi`` tells nothing, everything stays as it is.

    Args:
        indices: of the devices, in the order of their places in the pool.
        rest: takes the device of a place out, with the reason.
        resume: lets it work again.
        monitor: asks ``npu-smi``.
    """

    def __init__(
        self,
        indices: Sequence[int],
        rest: Callable[[int, str], None],
        resume: Callable[[int], None],
        monitor: NpuMonitor,
    ) -> None:
        self._indices = tuple(indices)
        self._rest, self._resume = rest, resume
        self._monitor = monitor
        self._resting: set[int] = set()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="npu-watch", daemon=True)

    def start(self) -> None:
        """Look every few seconds; not where there is no ``npu-smi``."""
        self._thread.start()

    def look(self) -> NpuReport:
        """Look once."""
        report = self._monitor.report()
        if report.state != "ok":
            return report
        for place, index in enumerate(self._indices):
            reason = unfit(chip_of(index, report))
            if reason:
                self._resting.add(place)
                self._rest(place, reason)
            elif place in self._resting:
                self._resting.discard(place)
                self._resume(place)
                logger.info("device works again device=npu:%d", index)
        return report

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            # An npu-smi that hangs is not waited for; what it says changes nothing any more.
            self._thread.join(_PATIENCE_S)

    def _watch(self) -> None:
        while self.look().state != "absent" and not self._closing.wait(LOOK_S):
            pass
