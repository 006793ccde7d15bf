"""Memory: what recognition needs against what there is and what limits allow."""

from __future__ import annotations

import re

from asr_core.doctor.context import Context
from asr_core.doctor.finding import Finding, fail, none, ok, warn

MB = 1 << 20

_PROGRAM_MB = 500  # interpreter, page and libraries
_ADDRESS_MB = 1500  # addresses that libraries reserve and never use
_UNTOLD_MODEL_MB = 300
_BEAMS = 5
_BEAM_MB = 11  # keys and values of one beam over a whole window of Whisper base
_SEGMENT_MB = 40  # encoder and scores of one segment of Paraformer
_FEWEST_FILES, _FEW_FILES = 256, 4096
_LOCKED_MB = 64
_MOST_SWAPPINESS = 10
_HUGE_SHARE = 0.3
_COARSE_PAGES_KB = 128 * 1024  # huge pages of this size belong to pages of 64 KB


def check_memory(context: Context) -> Finding:
    """The model and its beam buffers against the memory that is free, container included."""
    facts = context.host.fields("/proc/meminfo")
    available = _kb(facts.get("MemAvailable", ""))
    if available is None:
        return none("memory", "untold")
    limit = context.host.number("/sys/fs/cgroup/memory.max")
    if limit is None:
        limit = context.host.number("/sys/fs/cgroup/memory/memory.limit_in_bytes")
    free_mb = available // 1024
    if limit is not None and limit // MB < free_mb:
        used = context.host.number("/sys/fs/cgroup/memory.current")
        if used is None:
            used = context.host.number("/sys/fs/cgroup/memory/memory.usage_in_bytes") or 0
        free_mb = max(limit - used, 0) // MB
    values = {"free_mb": free_mb, "needed_mb": needed_mb(context), "buffer_mb": beam_mb(context)}
    if free_mb < needed_mb(context):
        mend = f"export ASR_BATCH_WINDOWS={max(context.settings.batch_windows // 2, 1)}"
        return fail("memory", "short", mend, **values)
    return ok("memory", "enough", **values)


def check_address_space(context: Context) -> Finding:
    """``ulimit -v`` against the model with its beam buffers and what libraries reserve."""
    limit = _limit(context, "Max address space")
    needed = needed_mb(context) + _ADDRESS_MB
    if limit is None:
        return none("limit_memory", "untold")
    if limit == "unlimited":
        return ok("limit_memory", "unlimited")
    values = {"limit_mb": int(limit) // MB, "needed_mb": needed, "buffer_mb": beam_mb(context)}
    if int(limit) // MB < needed:
        return fail("limit_memory", "short", "ulimit -v unlimited", **values)
    return ok("limit_memory", "enough", **values)


def check_files(context: Context) -> Finding:
    """``ulimit -n``."""
    limit = _limit(context, "Max open files")
    if limit is None:
        return none("limit_files", "untold")
    if limit == "unlimited" or int(limit) >= _FEW_FILES:
        return ok("limit_files", "enough", limit=limit)
    judge = fail if int(limit) < _FEWEST_FILES else warn
    return judge("limit_files", "few", "ulimit -n 65535", limit=limit)


def check_locked(context: Context) -> Finding:
    """``ulimit -l``: host buffers of an NPU are locked in memory."""
    limit = _limit(context, "Max locked memory")
    if context.no_device:
        return none("limit_locked", context.no_device)
    if limit is None:
        return none("limit_locked", "untold")
    if limit == "unlimited" or int(limit) // MB >= _LOCKED_MB:
        shown = limit if limit == "unlimited" else f"{int(limit) // MB} MB"
        return ok("limit_locked", "enough", limit=shown)
    shown = f"{int(limit) // 1024} KB"
    return warn("limit_locked", "little", "ulimit -l unlimited", limit=shown)


def check_hugepages(context: Context) -> Finding:
    """Reserved huge pages are lost to everybody who does not ask for them."""
    facts = context.host.fields("/proc/meminfo")
    total, free = facts.get("HugePages_Total", ""), facts.get("HugePages_Free", "")
    size, memory = _kb(facts.get("Hugepagesize", "")), _kb(facts.get("MemTotal", ""))
    if not total.isdecimal() or not free.isdecimal() or not size or not memory:
        return none("hugepages", "untold")
    if total == "0":
        return ok("hugepages", "none")
    values = {"total": total, "free": free, "size_mb": size // 1024}
    if int(free) * size > memory * _HUGE_SHARE:
        return warn("hugepages", "idle", "sudo sysctl -w vm.nr_hugepages=0", **values)
    return ok("hugepages", "some", **values)


def check_transparent(context: Context) -> Finding:
    """Transparent huge pages: with pages of 64 KB each takes half a gigabyte."""
    text = context.host.text("/sys/kernel/mm/transparent_hugepage/enabled")
    found = re.search(r"\[(\w+)\]", text)
    if not found:
        return none("transparent_hugepage", "untold")
    size = _kb(context.host.fields("/proc/meminfo").get("Hugepagesize", "")) or 0
    if found[1] == "always" and size >= _COARSE_PAGES_KB:
        mend = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
        return warn("transparent_hugepage", "coarse", mend, size_mb=size // 1024)
    return ok("transparent_hugepage", "fits", mode=found[1])


def check_swappiness(context: Context) -> Finding:
    """A model that was moved to the disk makes the first words after a pause slow."""
    value = context.host.number("/proc/sys/vm/swappiness")
    if len(context.host.text("/proc/swaps").splitlines()) < 2:
        return none("swappiness", "no_swap")
    if value is None:
        return none("swappiness", "untold")
    if value > _MOST_SWAPPINESS:
        return warn(
            "swappiness", "high", f"sudo sysctl -w vm.swappiness={_MOST_SWAPPINESS}", value=value
        )
    return ok("swappiness", "low", value=value)


def beam_mb(context: Context) -> int:
    """What a batch keeps beside the model: the beams of its windows, or its segments."""
    model = context.model
    windows = context.settings.batch_windows
    if model is not None and model.family != "whisper":
        return windows * 2 * _SEGMENT_MB
    return windows * _BEAMS * _BEAM_MB


def needed_mb(context: Context) -> int:
    """Memory of the program, the model and a batch; an estimate on the safe side."""
    model = context.model
    size_mb = (model.size_bytes or 0) // MB if model is not None else 0
    return _PROGRAM_MB + (size_mb or _UNTOLD_MODEL_MB) * 3 // 2 + beam_mb(context)


def _limit(context: Context, name: str) -> str | None:
    """The soft limit of this process: a number or ``unlimited``."""
    for line in context.host.text("/proc/self/limits").splitlines():
        if line.startswith(name):
            word = line.removeprefix(name).split()[:1]
            return word[0] if word and (word[0] == "unlimited" or word[0].isdecimal()) else None
    return None


def _kb(text: str) -> int | None:
    digits = text.removesuffix("kB").strip()
    return int(digits) if digits.isdecimal() else None


CHECKS = (
    check_memory,
    check_address_space,
    check_files,
    check_locked,
    check_hugepages,
    check_transparent,
    check_swappiness,
)
