"""Cores, the memory nodes they belong to, and what the kernel does with them."""

from __future__ import annotations

import re
from functools import partial

from asr_core.doctor.context import Context
from asr_core.doctor.finding import Finding, listed, none, ok, warn
from asr_core.runtime.affinity import choose_cores, format_cores, idle_shares, parse_cores

_KUNPENG = {"0xd01": "Kunpeng 920 (TaiShan v110)", "0xd02": "Kunpeng (TaiShan v120)"}
_HISILICON = "0x48"
_FAST = {"x86_64": ("avx2", "avx512_vnni", "avx_vnni"), "aarch64": ("asimd", "asimddp", "i8mm")}
_NEEDED = {"x86_64": "avx2", "aarch64": "asimddp"}
_FOREIGN = re.compile(
    r"nvidia\w*|nouveau|amdgpu|radeon|i915|kvm_intel|kvm_amd|intel_\w+|coretemp|k10temp"
    r"|x86_pkg_temp_thermal|acpi_cpufreq|aesni_intel"
)


def check_processor(context: Context) -> Finding:
    """Which processor it is, and whether it has the instructions of eight-bit networks."""
    host = context.host
    facts = host.fields("/proc/cpuinfo")
    flags = set(facts.get("flags", facts.get("Features", "")).split())
    if not flags:
        return none("processor", "untold")
    name = facts.get("model name", "")
    if not name and facts.get("CPU implementer") == _HISILICON:
        name = _KUNPENG.get(facts.get("CPU part", ""), "HiSilicon")
    values = {
        "name": name or host.machine,
        "cores": len(context.online),
        "features": listed([flag for flag in _FAST.get(host.machine, ()) if flag in flags]) or "–",
    }
    needed = _NEEDED.get(host.machine, "")
    if needed and needed not in flags:
        return warn("processor", "slow", needed=needed, **values)
    return ok("processor", "fits", **values)


def check_cores(context: Context) -> Finding:
    """Cores of this process against those of the machine, and the quota of a container."""
    if not context.allowed:
        return none("cores", "untold")
    values = {
        "allowed": len(context.allowed),
        "list": format_cores(context.allowed),
        "online": len(context.online),
    }
    quota = _quota(context)
    if quota is not None and quota < len(context.allowed):
        shown = f"{quota:.1f}"
        return warn(
            "cores", "quota", f"export ASR_THREADS={max(int(quota), 1)}", quota=shown, **values
        )
    if len(context.allowed) == 1:
        return warn("cores", "one", "taskset -cp 0-<last> <pid>", **values)
    return ok("cores", "enough", **values)


def check_numa(context: Context) -> Finding:
    """Memory nodes, and whether the recognizer stays on one."""
    if not context.nodes:
        return none("numa", "untold")
    if len(context.nodes) == 1:
        return ok("numa", "one", cores=len(context.nodes[0].cores))
    shown = listed([f"{node.number}: {format_cores(node.cores)}" for node in context.nodes])
    setting = context.settings.cpu_affinity
    usable = context.allowed or context.online
    values = {"nodes": shown, "count": len(context.nodes), "setting": setting}
    if setting not in ("auto", "none") and not parse_cores(setting) & usable:
        return warn("numa", "unusable", "export ASR_CPU_AFFINITY=auto", **values)
    near = list(dict.fromkeys(context.near_nodes))
    idle = partial(idle_shares, context.host.path("/proc"))
    cores = choose_cores(setting, usable, context.nodes, near, idle)
    touched = [node.number for node in context.nodes if node.cores & cores]
    if len(touched) > 1:
        return warn(
            "numa", "spread", "export ASR_CPU_AFFINITY=auto", touched=listed(touched), **values
        )
    if near and touched and touched[0] not in near:
        return warn(
            "numa",
            "far",
            "export ASR_CPU_AFFINITY=auto",
            near=listed(near),
            touched=touched[0],
            **values,
        )
    return ok("numa", "kept", touched=listed(touched) or "?", **values)


def check_balancing(context: Context) -> Finding:
    """Automatic moving of memory between nodes."""
    value = context.host.number("/proc/sys/kernel/numa_balancing")
    if len(context.nodes) < 2:
        return none("numa_balancing", "one_node")
    if value is None:
        return none("numa_balancing", "untold")
    if value:
        return warn("numa_balancing", "on", "sudo sysctl -w kernel.numa_balancing=0")
    return ok("numa_balancing", "off")


def check_cache(context: Context) -> Finding:
    """The last cache before memory, which cores share."""
    base = "/sys/devices/system/cpu/cpu0/cache"
    for index in reversed(context.host.names(base, "index*")):
        if context.host.text(f"{base}/{index}/level") == "3":
            size = context.host.text(f"{base}/{index}/size")
            shared = context.host.text(f"{base}/{index}/shared_cpu_list")
            return ok("cache", "there", size=_readable(size), cores=shared or "?")
    return none("cache", "untold")


def check_governor(context: Context) -> Finding:
    """Whether the clock may rise."""
    names = {
        context.host.text(f"/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor")
        for cpu in context.host.names("/sys/devices/system/cpu", "cpu[0-9]*")
    } - {""}
    if not names:
        return none("governor", "untold")
    if "powersave" in names and not context.host.exists("/sys/devices/system/cpu/intel_pstate"):
        mend = "sudo cpupower frequency-set -g performance"
        return warn("governor", "slow", mend, names=listed(sorted(names)))
    return ok("governor", "fits", names=listed(sorted(names)))


def check_modules(context: Context) -> Finding:
    """Modules for other processors on an ARM machine are left-overs of a copied image."""
    if context.host.machine != "aarch64":
        return none("modules", "not_arm")
    lines = context.host.text("/proc/modules").splitlines()
    foreign = [name for line in lines if _FOREIGN.fullmatch(name := line.split(" ")[0])]
    if foreign:
        return warn(
            "modules",
            "foreign",
            *(f"sudo modprobe -r {name}" for name in foreign[:4]),
            names=listed(foreign),
        )
    return ok("modules", "none", count=len(lines))


def _quota(context: Context) -> float | None:
    """Cores' worth of time that the container may use."""
    quota, _, period = context.host.text("/sys/fs/cgroup/cpu.max").partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period):
        return int(quota) / int(period)
    old = "/sys/fs/cgroup/cpu/cpu.cfs"
    time, per = context.host.number(f"{old}_quota_us"), context.host.number(f"{old}_period_us")
    return time / per if time and per and time > 0 else None


def _readable(size: str) -> str:
    kilobytes = size.removesuffix("K")
    if size.endswith("K") and kilobytes.isdecimal():
        return f"{int(kilobytes) / 1024:g} MB"
    return size or "?"


CHECKS = (
    check_processor,
    check_cores,
    check_numa,
    check_balancing,
    check_cache,
    check_governor,
    check_modules,
)
