"""Which processor cores the recognizer may use, and which memory nodes they belong to.

A node is a group of cores with memory of its own. Work that stays on one node never waits for
the memory of another; on a machine with one node there is nothing to choose.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asr_core.errors import SettingsError

SYS = Path("/sys")
PROC = Path("/proc")

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
"""Names the devices of a process; they are counted from 0 again."""

_HUAWEI = "0x19e5"
_ACCELERATOR = "0x12"  # class of a PCI device: processing accelerators
_SAMPLE_S = 0.2
_IDLE_SHARE = 0.5  # a core that idles for less than this is in use
_MOST_CORES = 10_000


@dataclass(frozen=True, slots=True)
class Node:
    """One memory node and its cores."""

    number: int
    cores: frozenset[int]


def parse_cores(text: str) -> frozenset[int]:
    """``0-2,8`` as ``{0, 1, 2, 8}``; the kernel and the setting write it so.

    Raises:
        ValueError: it is no such list, a range runs backwards, or a number is absurd.
    """
    cores: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = part.partition("-")
        start = int(first)
        end = int(last) if dash else start
        if not 0 <= start <= end < _MOST_CORES:
            raise ValueError(f"{part} is no range of cores")
        cores.update(range(start, end + 1))
    return frozenset(cores)


def format_cores(cores: Collection[int]) -> str:
    """``{0, 1, 2, 8}`` as ``0-2,8``."""
    parts: list[list[int]] = []
    for core in sorted(cores):
        if parts and parts[-1][1] == core - 1:
            parts[-1][1] = core
        else:
            parts.append([core, core])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def read_nodes(sysfs: Path = SYS) -> tuple[Node, ...]:
    """Nodes that have cores, by number; empty where the system does not tell."""
    nodes = []
    for folder in (sysfs / "devices/system/node").glob("node[0-9]*"):
        cores = _cores_in(folder / "cpulist")
        if cores:
            nodes.append(Node(int(folder.name.removeprefix("node")), cores))
    return tuple(sorted(nodes, key=lambda node: node.number))


def device_nodes(sysfs: Path = SYS) -> dict[str, int]:
    """PCI address to node of each Ascend device whose node the system knows."""
    found: dict[str, int] = {}
    for folder in (sysfs / "bus/pci/devices").glob("*"):
        kind = _text(folder / "class")
        if _text(folder / "vendor") == _HUAWEI and kind.startswith(_ACCELERATOR):
            number = _text(folder / "numa_node")
            if number.isdecimal():
                found[folder.name] = int(number)
    return dict(sorted(found.items()))


def choose_cores(
    setting: str,
    usable: frozenset[int],
    nodes: Sequence[Node],
    devices: Sequence[int] = (),
    idle: Callable[[], Mapping[int, float]] = dict,
) -> frozenset[int]:
    """The cores to work on.

    Args:
        setting: ``auto``, ``none`` or a list of cores.
        usable: cores that the process may use now.
        nodes: of this machine.
        devices: nodes of the devices, the one in use first.
        idle: share of time that each core idles; asked only when there is a choice. A core of
            which nothing is told counts as idle.

    Returns:
        ``usable`` itself where nothing is to be changed, and where the list names no usable core.
    """
    if setting == "none":
        return usable
    if setting != "auto":
        return parse_cores(setting) & usable or usable
    parts = {node.number: node.cores & usable for node in nodes if node.cores & usable}
    if len(parts) < 2:
        return usable
    for number in devices:
        if number in parts:
            return parts[number]
    shares = idle()

    def free(number: int) -> tuple[int, int]:
        cores = parts[number]
        return sum(shares.get(core, 1.0) >= _IDLE_SHARE for core in cores), len(cores)

    return parts[max(sorted(parts), key=free)]


def idle_shares(proc: Path = PROC, pause: Callable[[float], None] = time.sleep) -> dict[int, float]:
    """Share of time, 0 to 1, that each core idled during a fifth of a second."""
    before = _core_times(proc / "stat")
    pause(_SAMPLE_S)
    shares: dict[int, float] = {}
    for core, (idle, total) in _core_times(proc / "stat").items():
        old_idle, old_total = before.get(core, (0, 0))
        if total > old_total:
            shares[core] = (idle - old_idle) / (total - old_total)
    return shares


def machine_index(index: int, environ: Mapping[str, str] = os.environ) -> int | None:
    """Which device of the machine a device of this process is; ``None`` where it has no such one.

    Args:
        index: as pyACL counts: of those that ``ASCEND_RT_VISIBLE_DEVICES`` names, which is read up
            to its first mistake; a blank is one, and so is a number that is not above the last.
        environ: of the process.
    """
    visible = environ.get(VISIBLE, "")
    if not visible:
        return index
    named: list[int] = []
    for word in visible.split(","):
        if not re.fullmatch("[0-9]+", word) or (named and int(word) <= named[-1]):
            break
        named.append(int(word))
    return named[index] if index < len(named) else None


def near_nodes(
    device: str, sysfs: Path = SYS, environ: Mapping[str, str] = os.environ
) -> list[int]:
    """Nodes of the Ascend devices, that of the one in use first.

    Args:
        device: the setting: ``cpu`` uses none, ``npu:1`` the second one of this process.
        sysfs: where the system tells; there devices are counted by PCI address.
        environ: of the process.
    """
    if device == "cpu":
        return []
    nodes = list(device_nodes(sysfs).values())
    _, _, number = device.partition(":")
    first = machine_index(int(number or 0), environ)
    return [*(nodes[first : first + 1] if first is not None else []), *nodes]


def device_cores(
    setting: str,
    index: int,
    usable: frozenset[int],
    sysfs: Path = SYS,
    environ: Mapping[str, str] = os.environ,
) -> frozenset[int]:
    """The cores of an Ascend device's own node; empty where there is nothing to choose.

    Args:
        setting: only ``auto`` chooses.
        index: of the device in this process.
        usable: cores that the process may use.
        sysfs: where the system tells; there devices are counted by PCI address.
        environ: of the process.
    """
    parts = {node.number: node.cores & usable for node in read_nodes(sysfs)}
    numbers = list(device_nodes(sysfs).values())
    place = machine_index(index, environ)
    if setting != "auto" or len(parts) < 2 or place is None or place >= len(numbers):
        return frozenset()
    return parts.get(numbers[place], frozenset())


def cores_for(
    setting: str, device: str = "auto", sysfs: Path = SYS, proc: Path = PROC
) -> frozenset[int]:
    """The cores of this machine that the setting means, of those the caller may use."""
    usable = frozenset(os.sched_getaffinity(0))
    nodes, near = read_nodes(sysfs), near_nodes(device, sysfs)
    return choose_cores(setting, usable, nodes, near, lambda: idle_shares(proc))


def pin(setting: str, cores: frozenset[int]) -> None:
    """Keep the calling thread, and all threads that it makes from now on, on these cores.

    Raises:
        SettingsError: the setting names no core that may be used.
    """
    usable = frozenset(os.sched_getaffinity(0))
    if setting not in ("auto", "none") and not parse_cores(setting) & usable:
        raise SettingsError(
            f"ASR_CPU_AFFINITY={setting} names no core that this process may use",
            name="ASR_CPU_AFFINITY",
            value=setting,
            allowed=f"auto | none | {format_cores(usable)}",
        )
    if cores != usable and cores <= usable:
        os.sched_setaffinity(0, cores)


def _core_times(path: Path) -> dict[int, tuple[int, int]]:
    """Core to its idle and whole time so far, in ticks."""
    times: dict[int, tuple[int, int]] = {}
    for line in _text(path).splitlines():
        name, _, rest = line.partition(" ")
        ticks = [int(word) for word in rest.split()]
        if name[:3] == "cpu" and name[3:].isdecimal() and len(ticks) >= 4:
            times[int(name[3:])] = (sum(ticks[3:5]), sum(ticks[:8]))
    return times


def _cores_in(path: Path) -> frozenset[int]:
    try:
        return parse_cores(_text(path))
    except ValueError:
        return frozenset()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
