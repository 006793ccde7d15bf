"""What ``npu-smi`` tells of the Ascend devices of this machine.

Tables are read by their headings, never by column offsets: families of chips and versions of the
driver differ in width, order and completeness. What the table does not tell, or tells as ``NA``,
is asked for in :mod:`asr_core.runtime.npu_reports`; what nothing tells is ``None``.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from asr_core.runtime.command import Answer, Run, run_command
from asr_core.runtime.npu_reports import NpuDetails, number_in, parse_board, parse_report, told

HOT_C = 85.0
"""A chip above this gets no work."""

HEALTHY = "OK"
MISSING = "Missing"
"""Health of a chip that was in an earlier table and is not in this one."""

UNTOLD_HEALTH = frozenset({"", "NA", "N/A", "-", "UNKNOWN"})

COMMAND = "npu-smi"
TIMEOUT_S = 8.0

Untold = tuple[str, int, int]
"""A value of a chip that no report tells: its name, the card and the chip."""

_UNKNOWN_S = 60.0

_TELLS = {
    "common": ("temp_c", "aicore_percent"),
    "usages": ("aicore_percent", "memory_mb"),
    "temp": ("temp_c",),
    "memory": ("memory_mb",),
    "health": ("health",),
}
"""Kinds of reports in the order in which they are asked for, and what each is asked for."""

_CARD_LABELS = (("npu", "name"), ("health",), ("power", "temp", "hugepages-usage"))
_CHIP_LABELS = (("chip", "device"), ("bus-id",), ("aicore", "memory-usage", "hbm-usage"))
_HAS_LETTERS = re.compile(r"[^\W\d_]")
_VERSION = re.compile(r"npu-smi\s+(?P<short>\S+)(?:.*?Version\s*[:：]\s*(?P<long>[^\s|]+))?", re.I)


@dataclass(frozen=True, slots=True)
class NpuChip:
    """One chip of ``npu-smi info``.

    Attributes:
        card: number of the card; numbers may be sparse.
        chip: number on its card.
        device: logical or physical number, where the table has one.
        name: ``310P3``; ``Ascend910`` on A3, whose exact kind the table does not tell.
        health: ``OK``, ``Warning``, ``Alarm``, ``Critical``, ``UNKNOWN``; empty if not told;
            :data:`MISSING` of a monitor's report.
        memory_used_mb: of HBM where the chip has it, else of DDR.
        aicore_percent: how busy its computing cores are.
    """

    card: int
    chip: int
    device: int | None = None
    name: str = ""
    health: str = ""
    bus_id: str = ""
    power_w: float | None = None
    temp_c: float | None = None
    aicore_percent: float | None = None
    memory_used_mb: float | None = None
    memory_total_mb: float | None = None
    hugepages_used: float | None = None
    hugepages_total: float | None = None

    @property
    def soc(self) -> str:
        """The target that models are converted for, ``Ascend310P3``; empty if it is not told."""
        if not self.name or self.name.lower().startswith("ascend"):
            return ""
        return f"Ascend{self.name}"

    @property
    def unfit(self) -> str:
        """Why it is to get no work; empty where it may, also where nothing is told."""
        if self.health.upper() not in (HEALTHY, *UNTOLD_HEALTH):
            return f"health {self.health}"
        if self.temp_c is not None and self.temp_c > HOT_C:
            return f"{self.temp_c:.0f} °C"
        return ""


@dataclass(frozen=True, slots=True)
class NpuReport:
    """All chips of this machine.

    Attributes:
        state: ``ok``; ``absent`` (no such command); ``unknown``: it failed, hung or said nothing
            that is understood.
        reason: of ``unknown``: ``failed``, ``timeout`` or ``unreadable``.
        version: of the command, which is that of the driver.
    """

    state: str
    chips: tuple[NpuChip, ...] = ()
    version: str = ""
    reason: str = ""


def read_npus(run: Run = run_command, untold: set[Untold] | None = None) -> NpuReport:
    """Ask ``npu-smi info``, and for single reports where its table lacks something.

    A fault is a state of the answer, never an exception.

    Args:
        run: runs the command.
        untold: what no report told before, which is not asked for again; what none tells this
            time is added.
    """
    answer = run([COMMAND, "info"], TIMEOUT_S)
    if answer.state == "absent":
        return NpuReport("absent")
    if not answer.done:
        return NpuReport("unknown", reason=answer.state)
    report = parse_info(answer.text)
    details = _Details(run, set() if untold is None else untold)
    return replace(report, chips=tuple(map(details.completed, report.chips)))


class NpuMonitor:
    """Asks again only after a while, and one caller at a time: ``npu-smi`` wants it so.

    A chip that vanishes from the table stays in the report, as missing: devices are told apart by
    their places in it.

    Args:
        keep_s: how long an answer is current. One that told nothing stays for a minute, for it
            may have cost a long wait; a command that is absent is not looked for again.
    """

    def __init__(
        self,
        run: Run = run_command,
        keep_s: float = 5.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._keeps = {"ok": keep_s, "unknown": _UNKNOWN_S, "absent": math.inf}
        self._now = now
        self._lock = threading.Lock()
        self._report: NpuReport | None = None
        self._untold: set[Untold] = set()
        self._seen: dict[tuple[int, int], NpuChip] = {}
        self._asked_s = 0.0

    def report(self) -> NpuReport:
        """The newest answer."""
        with self._lock:
            known = self._report
            if known is not None and self._now() - self._asked_s < self._keeps[known.state]:
                return known
            self._report = self._completed(read_npus(self._run, self._untold))
            self._asked_s = self._now()
            return self._report

    def _completed(self, report: NpuReport) -> NpuReport:
        if report.state != "ok":
            return report
        for chip in report.chips:
            self._seen[chip.card, chip.chip] = NpuChip(
                chip.card, chip.chip, chip.device, chip.name, MISSING, chip.bus_id
            )
        listed = {(chip.card, chip.chip) for chip in report.chips}
        if len(listed) == len(self._seen):
            return report
        missing = [chip for key, chip in self._seen.items() if key not in listed]
        chips = sorted([*report.chips, *missing], key=lambda chip: (chip.card, chip.chip))
        return replace(report, chips=tuple(chips))


def parse_info(text: str) -> NpuReport:
    """Read the table of ``npu-smi info``."""
    found = _VERSION.search(text)
    version = (found["long"] or found["short"]).rstrip("|") if found else ""
    chips = tuple(_chips(text))
    if not chips:
        return NpuReport("unknown", version=version, reason="unreadable")
    return NpuReport("ok", chips, version)


def read_soc(chip: NpuChip, run: Run = run_command) -> str:
    """What models are converted for to run on a chip; empty if nothing tells."""
    if chip.soc:
        return chip.soc
    answer = run(_asked("board", chip.card, chip.chip), TIMEOUT_S)
    kinds = parse_board(answer.text) if answer.done else {}
    return kinds.get(chip.chip) or next(iter(kinds.values()), "")


def read_health(chip: NpuChip, run: Run = run_command) -> NpuDetails:
    """What is wrong with a chip, by ``-t health``; nothing where that does not answer."""
    answer = run(_asked("health", chip.card, chip.chip), TIMEOUT_S)
    if answer.state == "failed":
        # The newest family knows no chips on a card.
        answer = run(_asked("health", chip.card), TIMEOUT_S)
    found = parse_report(answer.text) if answer.done else {}
    return found.get(chip.chip) or next(iter(found.values()), NpuDetails())


class _Details:
    """The ``-t`` reports of one reading; each is asked for once a card, and only if need be."""

    def __init__(self, run: Run, untold: set[Untold]) -> None:
        self._run = run
        self._untold = untold
        self._reports: dict[tuple[str, int], dict[int, NpuDetails]] = {}
        self._hangs = False

    def completed(self, chip: NpuChip) -> NpuChip:
        """A chip with what the table lacks, as far as a report tells it."""
        known = NpuDetails(
            health=told(chip.health),
            temp_c=chip.temp_c,
            aicore_percent=chip.aicore_percent,
            memory_mb=chip.memory_total_mb or None,
        )
        found = known
        for kind, names in _TELLS.items():
            wanted = {(name, chip.card, chip.chip) for name in _missing(found) if name in names}
            if wanted - self._untold:
                found = found.or_else(self._report(kind, chip))
        if not self._hangs:
            self._untold.update((name, chip.card, chip.chip) for name in _missing(found))
        used = chip.memory_used_mb
        if not known.memory_mb and found.memory_mb:
            share = found.memory_percent
            used = None if share is None else found.memory_mb * share / 100
        return replace(
            chip,
            health=found.health or chip.health,
            temp_c=found.temp_c,
            aicore_percent=found.aicore_percent,
            memory_used_mb=used,
            memory_total_mb=found.memory_mb or chip.memory_total_mb,
        )

    def _report(self, kind: str, chip: NpuChip) -> NpuDetails:
        if kind == "health":
            return read_health(chip, self._ask)
        if (kind, chip.card) not in self._reports:
            answer = self._ask(_asked(kind, chip.card), TIMEOUT_S)
            self._reports[kind, chip.card] = parse_report(answer.text) if answer.done else {}
        return self._reports[kind, chip.card].get(chip.chip, NpuDetails())

    def _ask(self, arguments: Sequence[str], timeout_s: float) -> Answer:
        """One that hangs would cost as long again for each report: it is asked no more."""
        if self._hangs:
            return Answer("timeout")
        answer = self._run(arguments, timeout_s)
        self._hangs = answer.state == "timeout"
        return answer


def _missing(details: NpuDetails) -> list[str]:
    names = {name for names in _TELLS.values() for name in names}
    return [name for name in names if getattr(details, name) in (None, "")]


def _asked(kind: str, card: int, chip: int | None = None) -> list[str]:
    on_card = [] if chip is None else ["-c", str(chip)]
    return [COMMAND, "info", "-t", kind, "-i", str(card), *on_card]


def _chips(text: str) -> Iterator[NpuChip]:
    """Rows come in pairs: one of the card, one of the chip."""
    headings: list[tuple[tuple[str, ...], ...]] = []
    card: dict[str, str] = {}
    seen: dict[int, int] = {}
    for line in text.splitlines():
        cells = _cells(line)
        if not cells or cells[0].lower().startswith("npu-smi"):
            continue
        if "process id" in line.lower():
            return
        if cells[0] and not cells[0][0].isdigit():
            headings.append(tuple(_labels(cell) for cell in cells))
            continue
        number = number_in(card.get("npu", ""))
        if number is None or _HAS_LETTERS.search(cells[0].replace("NA", "")):
            is_card = len(cells) > 1 and not cells[1][:1].isdigit()
            card = _row(cells, _heading(headings, "npu", _CARD_LABELS)) if is_card else {}
        elif len(cells) > 1:
            chip = _row(cells, _heading(headings, "chip", _CHIP_LABELS))
            yield _chip(int(number), card, chip, seen.get(int(number), 0))
            seen[int(number)] = seen.get(int(number), 0) + 1
            card = {}


def _heading(
    headings: Sequence[tuple[tuple[str, ...], ...]],
    first: str,
    usual: tuple[tuple[str, ...], ...],
) -> tuple[tuple[str, ...], ...]:
    """The heading that begins with that label; the usual one if the language is another."""
    return next((labels for labels in headings if labels[0][:1] == (first,)), usual)


def _chip(
    card_number: int, card: Mapping[str, str], chip: Mapping[str, str], order: int
) -> NpuChip:
    used, total = _pair(chip.get("hbm-usage", ""))
    if not total:
        used, total = _pair(chip.get("memory-usage", ""))
    pages_used, pages_total = _pair(card.get("hugepages-usage", ""))
    number, device = (
        number_in(chip.get("chip", "")),
        number_in(chip.get("device", chip.get("phy-id", ""))),
    )
    return NpuChip(
        card=card_number,
        chip=order if number is None else int(number),
        device=None if device is None else int(device),
        name=card.get("name", ""),
        health=card.get("health", ""),
        bus_id=told(chip.get("bus-id", "")),
        power_w=number_in(card.get("power", "")),
        temp_c=number_in(card.get("temp", "")),
        aicore_percent=number_in(chip.get("aicore", chip.get("npu util", ""))),
        memory_used_mb=used,
        memory_total_mb=total,
        hugepages_used=pages_used,
        hugepages_total=pages_total,
    )


def _cells(line: str) -> list[str]:
    line = line.strip()
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


def _labels(cell: str) -> tuple[str, ...]:
    """Headings in a cell without their units; one may hold a single blank."""
    names = re.findall(r"[^\s()]+(?: [^\s()]+)*(?:\([^)]*\))?", cell)
    return tuple(re.sub(r"\(.*\)$", "", name).strip().lower() for name in names)


def _row(cells: Sequence[str], labels: Sequence[Sequence[str]]) -> dict[str, str]:
    row: dict[str, str] = {}
    for cell, names in zip(cells, labels, strict=False):
        values = re.findall(r"\S+\s*/\s*\S+|\S+", cell)
        row.update(zip(names, values, strict=False))
    return row


def _pair(text: str) -> tuple[float | None, float | None]:
    used, slash, total = text.partition("/")
    return (number_in(used), number_in(total)) if slash else (None, None)
