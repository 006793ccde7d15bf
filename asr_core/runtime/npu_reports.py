"""The reports of ``npu-smi info -t``, which tell of single chips what the table may lack.

They are read by their keys: lines whose sensor cannot be read are left out, and families of chips
name the same thing differently.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_MEMORIES = ("hbm", "ddr", "memory")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")


@dataclass(frozen=True, slots=True)
class NpuDetails:
    """What reports tell of one chip; ``None`` or empty what they do not.

    Attributes:
        health: as in the table.
        fault: what is wrong with it, code and words.
        temp_c: of the chip, not of the controller of its card.
        aicore_percent: how busy its computing cores are.
        memory_mb: of HBM where the chip has it, else of DDR.
        memory_percent: how much of that is used.
    """

    health: str = ""
    fault: str = ""
    temp_c: float | None = None
    aicore_percent: float | None = None
    memory_mb: float | None = None
    memory_percent: float | None = None

    def or_else(self, other: NpuDetails) -> NpuDetails:
        """These details, and the other's where these are missing."""
        names = [field.name for field in dataclasses.fields(self)]
        missing = [name for name in names if getattr(self, name) in (None, "")]
        return dataclasses.replace(self, **{name: getattr(other, name) for name in missing})


def parse_report(text: str) -> dict[int, NpuDetails]:
    """Read ``npu-smi info -t KIND -i N [-c C]`` of the kinds usages, common, health, temp, memory.

    Returns:
        By the number of the chip; a report without chips is one of chip 0.
    """
    return {
        chip: NpuDetails(
            health=told(values.get("health status") or values.get("health") or ""),
            fault=" ".join(
                told(values.get(key, "")) for key in ("error code", "error information")
            ).strip(),
            temp_c=_first(values, "npu temperature", "temperature"),
            aicore_percent=_first(values, "aicore usage rate"),
            memory_mb=_best(values, *_MEMORIES, ""),
            # Chips with HBM state 0 for the memory that they lack.
            memory_percent=_first(values, *(f"{kind} usage rate" for kind in _MEMORIES)),
        )
        for chip, values in _blocks(text)
    }


def parse_board(text: str) -> dict[int, str]:
    """Read ``npu-smi info -t board -i N [-c C]`` of A3 and later: chip to its exact kind.

    Returns:
        ``{0: "Ascend910_9362"}``, as models are converted for; chips that do not tell are left out.
    """
    found: dict[int, str] = {}
    for chip, values in _blocks(text):
        name, kind = told(values.get("chip name", "")), told(values.get("npu name", ""))
        if name and kind:
            family = name if name.lower().startswith("ascend") else f"Ascend{name}"
            found[chip] = f"{family.replace(' ', '')}_{kind}"
    return found


def told(text: str) -> str:
    """A value, empty where it stands for none."""
    return "" if text.strip().upper() in ("NA", "N/A", "-", "--") else text.strip()


def number_in(text: str) -> float | None:
    """A value that is a number and nothing else."""
    found = _NUMBER.fullmatch(text.strip())
    return float(found[0].replace(",", ".")) if found else None


def _blocks(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Keys of each chip, the first of a name counting; not those of the card's controller.

    A report without chips is one of the card, which counts as chip 0.
    """
    blocks: list[tuple[int | None, dict[str, str]]] = []
    head: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = (part.strip() for part in line.replace("：", ":").partition(":"))
        if not colon or not key:
            continue
        name = re.sub(r"\s*\([^)]*\)\s*$", "", re.sub(r"\s+", " ", key)).lower()
        number = number_in(value) if name == "chip id" else None
        if number is not None:
            blocks.append((int(number), {}))
        elif name == "chip name" and value.lower() == "mcu":
            blocks.append((None, {}))
        else:
            (blocks[-1][1] if blocks else head).setdefault(name, value)
    head = {name: value for name, value in head.items() if name not in ("npu id", "chip count")}
    if not any(chip is not None for chip, _ in blocks) and head:
        blocks.insert(0, (0, head))
    for chip, values in blocks:
        if chip is not None:
            yield chip, values


def _first(values: Mapping[str, str], *names: str) -> float | None:
    """The first that is told."""
    return next(
        (value for name in names if (value := number_in(values.get(name, ""))) is not None), None
    )


def _best(values: Mapping[str, str], *kinds: str) -> float | None:
    """The first capacity that is not 0: a chip with HBM states its DDR as 0."""
    names = (f"{kind} capacity".strip() for kind in kinds)
    return next((value for name in names if (value := _first(values, name))), None)
