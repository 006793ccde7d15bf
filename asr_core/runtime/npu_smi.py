"""What ``npu-smi`` tells of the Ascend devices of this machine.

Tables are read by their headings and reports by their keys, never by column offsets: families of
chips and versions of the driver differ in width, order and completeness. What is not told, or is
told as ``NA``, is ``None``.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from asr_core.runtime.command import Answer, Run, run_command

HOT_C = 85.0
"""A chip above this gets no work."""

HEALTHY = "OK"

COMMAND = "npu-smi"
TIMEOUT_S = 8.0

_UNKNOWN_S = 60.0

_CARD_LABELS = (("npu", "name"), ("health",), ("power", "temp", "hugepages-usage"))
_CHIP_LABELS = (("chip", "device"), ("bus-id",), ("aicore", "memory-usage", "hbm-usage"))
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
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
        health: ``OK``, ``Warning``, ``Alarm``, ``Critical``, ``UNKNOWN``; empty if not told.
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
    def is_fit(self) -> bool:
        """Whether it may be given work; an untold temperature does not speak against it."""
        return self.health.upper() == HEALTHY and (self.temp_c is None or self.temp_c <= HOT_C)


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


@dataclass(frozen=True, slots=True)
class NpuUsages:
    """``-t usages`` of one chip: how much of what is used, in percent; sizes in MB."""

    chip: int
    memory_mb: float | None
    memory_percent: float | None
    aicore_percent: float | None
    aicpu_percent: float | None
    ctrlcpu_percent: float | None
    vector_percent: float | None
    bandwidth_percent: float | None
    npu_percent: float | None


@dataclass(frozen=True, slots=True)
class NpuCommon:
    """``-t common`` of one chip; power stands in the block of the card's controller on some."""

    chip: int
    memory_percent: float | None
    aicore_percent: float | None
    aicore_mhz: float | None
    temp_c: float | None
    power_w: float | None


@dataclass(frozen=True, slots=True)
class NpuHealth:
    """``-t health`` of one chip, or of the card, which is then chip 0."""

    chip: int
    status: str
    error_code: str
    error: str


@dataclass(frozen=True, slots=True)
class NpuTemperature:
    """``-t temp`` of one chip."""

    chip: int
    temp_c: float | None


@dataclass(frozen=True, slots=True)
class NpuMemory:
    """``-t memory`` of one chip: of HBM where it has it, else of DDR."""

    chip: int
    capacity_mb: float | None
    total_mb: float | None
    clock_mhz: float | None


def read_npus(run: Run = run_command, timeout_s: float = TIMEOUT_S) -> NpuReport:
    """Ask ``npu-smi info``; a fault is a state of the report, never an exception."""
    answer = run([COMMAND, "info"], timeout_s)
    if answer.state == "absent":
        return NpuReport("absent")
    if not answer.done:
        return NpuReport("unknown", reason=answer.state)
    return parse_info(answer.text)


class NpuMonitor:
    """Asks again only after a while, and one caller at a time: ``npu-smi`` wants it so.

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
        self._asked_s = 0.0

    def report(self) -> NpuReport:
        """The newest answer."""
        with self._lock:
            known = self._report
            if known is not None and self._now() - self._asked_s < self._keeps[known.state]:
                return known
            self._report = read_npus(self._run)
            self._asked_s = self._now()
            return self._report


def parse_info(text: str) -> NpuReport:
    """Read the table of ``npu-smi info``."""
    found = _VERSION.search(text)
    version = (found["long"] or found["short"]).rstrip("|") if found else ""
    chips = tuple(_chips(text))
    if not chips:
        return NpuReport("unknown", version=version, reason="unreadable")
    return NpuReport("ok", chips, version)


def parse_usages(text: str) -> tuple[NpuUsages, ...]:
    """Read ``npu-smi info -t usages -i N``, one entry a chip."""
    return tuple(
        NpuUsages(
            chip=chip,
            memory_mb=_best(values, "hbm capacity", "ddr capacity", "memory capacity"),
            memory_percent=_rate(values, "hbm", "ddr", "memory"),
            aicore_percent=_number(values, "aicore usage rate"),
            aicpu_percent=_number(values, "aicpu usage rate"),
            ctrlcpu_percent=_number(values, "ctrlcpu usage rate"),
            vector_percent=_number(values, "aivector usage rate", "vectorcore usage rate"),
            bandwidth_percent=_rate(values, "hbm bandwidth", "ddr bandwidth", "memory bandwidth"),
            npu_percent=_number(values, "npu utilization"),
        )
        for chip, values in _blocks(text)
    )


def parse_common(text: str) -> tuple[NpuCommon, ...]:
    """Read ``npu-smi info -t common -i N``, one entry a chip."""
    power = next(
        (value for _, values in _blocks(text, controller=True) if (value := _power(values))), None
    )
    return tuple(
        NpuCommon(
            chip=chip,
            memory_percent=_rate(values, "hbm", "ddr", "memory"),
            aicore_percent=_number(values, "aicore usage rate"),
            aicore_mhz=_number(values, "aicore curfreq", "aicore freq"),
            temp_c=_number(values, "temperature", "npu temperature"),
            power_w=_power(values) or power,
        )
        for chip, values in _blocks(text)
    )


def parse_health(text: str) -> tuple[NpuHealth, ...]:
    """Read ``npu-smi info -t health -i N [-c C]``."""
    return tuple(
        NpuHealth(
            chip=chip,
            status=values.get("health status") or values.get("health") or "",
            error_code=_told(values.get("error code", "")),
            error=_told(values.get("error information", "")),
        )
        for chip, values in _blocks(text)
    )


def parse_temp(text: str) -> tuple[NpuTemperature, ...]:
    """Read ``npu-smi info -t temp -i N``, one entry a chip."""
    return tuple(
        NpuTemperature(chip, _number(values, "npu temperature", "temperature"))
        for chip, values in _blocks(text)
    )


def parse_memory(text: str) -> tuple[NpuMemory, ...]:
    """Read ``npu-smi info -t memory -i N``, one entry a chip."""
    return tuple(
        NpuMemory(
            chip=chip,
            capacity_mb=_best(values, "hbm capacity", "ddr capacity", "capacity"),
            total_mb=_best(values, "total hbm capacity", "total ddr capacity", "total capacity"),
            clock_mhz=_best(values, "hbm clock speed", "ddr clock speed", "clock speed"),
        )
        for chip, values in _blocks(text)
    )


def parse_board(text: str) -> dict[int, str]:
    """Read ``npu-smi info -t board -i N [-c C]`` of A3 and later: chip to its exact kind.

    Returns:
        ``{0: "Ascend910_9362"}``, as models are converted for; chips that do not tell are left out.
    """
    found: dict[int, str] = {}
    for chip, values in _blocks(text):
        name, kind = _told(values.get("chip name", "")), _told(values.get("npu name", ""))
        if name and kind:
            family = name if name.lower().startswith("ascend") else f"Ascend{name}"
            found[chip] = f"{family.replace(' ', '')}_{kind}"
    return found


def read_soc(chip: NpuChip, run: Run = run_command) -> str:
    """What models are converted for to run on a chip; empty if nothing tells."""
    if chip.soc:
        return chip.soc
    asked = [COMMAND, "info", "-t", "board", "-i", str(chip.card), "-c", str(chip.chip)]
    answer = run(asked, TIMEOUT_S)
    kinds = parse_board(answer.text) if answer.done else {}
    return kinds.get(chip.chip) or next(iter(kinds.values()), "")


def read_type(kind: str, card: int, run: Run = run_command) -> Answer:
    """Ask ``npu-smi info -t KIND -i CARD``; the answer's text is for the parser of that kind."""
    return run([COMMAND, "info", "-t", kind, "-i", str(card)], TIMEOUT_S)


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
        number = _value(card.get("npu", ""))
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
        _value(chip.get("chip", "")),
        _value(chip.get("device", chip.get("phy-id", ""))),
    )
    return NpuChip(
        card=card_number,
        chip=order if number is None else int(number),
        device=None if device is None else int(device),
        name=card.get("name", ""),
        health=card.get("health", ""),
        bus_id=_told(chip.get("bus-id", "")),
        power_w=_value(card.get("power", "")),
        temp_c=_value(card.get("temp", "")),
        aicore_percent=_value(chip.get("aicore", chip.get("npu util", ""))),
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


def _blocks(text: str, *, controller: bool = False) -> Iterator[tuple[int, dict[str, str]]]:
    """Keys of each chip, the first of a name counting; those of the card's controller apart.

    A report without chips is one of the card, which counts as chip 0.
    """
    blocks: list[tuple[int | None, dict[str, str]]] = []
    head: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = (part.strip() for part in line.replace("：", ":").partition(":"))
        if not colon or not key:
            continue
        name = re.sub(r"\s*\([^)]*\)\s*$", "", re.sub(r"\s+", " ", key)).lower()
        if name == "chip id" and _value(value) is not None:
            blocks.append((int(_value(value) or 0), {}))
        elif name == "chip name" and value.lower() == "mcu":
            blocks.append((None, {}))
        else:
            (blocks[-1][1] if blocks else head).setdefault(name, value)
    head = {name: value for name, value in head.items() if name not in ("npu id", "chip count")}
    if not any(chip is not None for chip, _ in blocks) and head:
        blocks.insert(0, (0, head))
    for chip, values in blocks:
        if (chip is None) == controller:
            yield (chip or 0), values


def _told(text: str) -> str:
    return "" if text.strip().upper() in ("NA", "N/A", "-", "--") else text.strip()


def _value(text: str) -> float | None:
    found = _NUMBER.fullmatch(text.strip())
    return float(found[0].replace(",", ".")) if found else None


def _pair(text: str) -> tuple[float | None, float | None]:
    used, slash, total = text.partition("/")
    return (_value(used), _value(total)) if slash else (None, None)


def _number(values: Mapping[str, str], *names: str) -> float | None:
    """The first that is told."""
    return next(
        (value for name in names if (value := _value(values.get(name, ""))) is not None), None
    )


def _best(values: Mapping[str, str], *names: str) -> float | None:
    """The first that is not 0: a chip with HBM states its DDR as 0."""
    return next((value for name in names if (value := _number(values, name))), None)


def _rate(values: Mapping[str, str], *kinds: str) -> float | None:
    """How full the memory is that the chip has, in percent.

    A chip with HBM states 0 for the memory that it lacks, so the first kind that is told counts.
    """
    return _number(values, *(f"{kind} usage rate" for kind in kinds))


def _power(values: Mapping[str, str]) -> float | None:
    return _number(values, "npu real-time power", "power dissipation", "rated power dissipation")
