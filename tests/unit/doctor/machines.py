"""Made-up machines: trees of files, variables and answers of commands, of the documented form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from asr_core.doctor.host import Host
from asr_core.runtime.command import Answer
from tests.unit.runtime import smi_outputs

GB = 1 << 30
NOW_S = 1_790_000_000.0  # in September 2026

FITTING = {"mindspore": "2.7.1", "numpy": "1.26.4"}

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max address space         {space}            unlimited            bytes
Max open files            {files}              1048576              files
Max locked memory         {locked}           unlimited            bytes
"""

MEMINFO = """\
MemTotal:       {total} kB
MemFree:         9000000 kB
MemAvailable:   {available} kB
HugePages_Total:   {pages}
HugePages_Free:    {pages_free}
Hugepagesize:    {page} kB
"""

CPUINFO_920 = """\
processor\t: 0
BogoMIPS\t: 200.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimddp ssbs
CPU implementer\t: 0x48
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd01
CPU revision\t: 0
"""

CPUINFO_X86 = """\
processor\t: 0
model name\t: Example CPU @ 2.50GHz
flags\t\t: fpu sse2 avx avx2 avx512_vnni
"""

DRIVER = """\
Version={driver}
ascendhal_version=7.35.23
compatible_version_fw=[7.5.0,7.7.99]
package=Ascend-hdk-npu-driver
"""


@dataclass
class Machine:
    """One machine; ``files`` are written below its root when it is asked for its host.

    Attributes:
        files: content by absolute path; ``None`` takes the file away again.
        answers: of commands, by their first words.
        packages: versions that stand in for the installed ones.
    """

    root: Path
    machine: str
    files: dict[str, str | None] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=lambda: dict(FITTING))
    python: tuple[int, int, int] = (3, 11, 4)
    now_s: float = NOW_S
    free_bytes: int = 500 * GB

    def host(self) -> Host:
        for name, content in self.files.items():
            path = self.root / name.lstrip("/")
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
        return Host(
            root=self.root,
            environ=self.environ,
            run=self.run,
            machine=self.machine,
            python=self.python,
            package=lambda name: self.packages.get(name, ""),
            now_s=lambda: self.now_s,
            free_bytes=lambda _folder: self.free_bytes,
        )

    def run(self, arguments: Sequence[str], _timeout_s: float) -> Answer:
        words = " ".join(arguments)
        known = [answer for start, answer in self.answers.items() if words.startswith(start)]
        return known[0] if known else Answer("absent")


def limits(space: str = "unlimited", files: str = "65535", locked: str = "unlimited") -> str:
    return LIMITS.format(space=space, files=files, locked=locked)


def meminfo(
    available: int = 200_000_000, pages: int = 0, pages_free: int = 0, page: int = 2048
) -> str:
    return MEMINFO.format(
        total=260_000_000, available=available, pages=pages, pages_free=pages_free, page=page
    )


def base_files(cpuinfo: str, nodes: Mapping[int, str], online: str) -> dict[str, str | None]:
    """What any Linux has."""
    files: dict[str, str | None] = {
        "/proc/cpuinfo": cpuinfo,
        "/proc/meminfo": meminfo(),
        "/proc/self/limits": limits(),
        "/proc/self/status": f"Name:\tpython\nCpus_allowed_list:\t{online}\n",
        "/proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
        "/proc/sys/kernel/numa_balancing": "0\n",
        "/proc/sys/vm/swappiness": "10\n",
        "/proc/modules": "ext4 1000 1 - Live 0x0\n",
        "/sys/devices/system/cpu/online": f"{online}\n",
        "/sys/devices/system/cpu/cpu0/cache/index3/level": "3\n",
        "/sys/devices/system/cpu/cpu0/cache/index3/size": "24576K\n",
        "/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list": f"{nodes[min(nodes)]}\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    }
    for number, cores in nodes.items():
        files[f"/sys/devices/system/node/node{number}/cpulist"] = f"{cores}\n"
    return files


def kunpeng(root: Path) -> Machine:
    """A Kunpeng 920 with 128 cores on four nodes and two Atlas cards, all as it should be."""
    home = "/usr/local/Ascend/ascend-toolkit/latest"
    nodes = {number: f"{number * 32}-{number * 32 + 31}" for number in range(4)}
    files = base_files(CPUINFO_920, nodes, "0-127")
    for address, node in (("0000:5e:00.0", "1"), ("0000:86:00.0", "1")):
        folder = f"/sys/bus/pci/devices/{address}"
        files[f"{folder}/vendor"] = "0x19e5\n"
        files[f"{folder}/class"] = "0x120000\n"
        files[f"{folder}/numa_node"] = f"{node}\n"
    for name in ("davinci0", "davinci1", "davinci_manager", "devmm_svm", "hisi_hdc"):
        files[f"/dev/{name}"] = ""
    files["/etc/ascend_install.info"] = "Driver_Install_Path_Param=/usr/local/Ascend\n"
    files["/usr/local/Ascend/driver/version.info"] = DRIVER.format(driver="25.3.rc1")
    files["/usr/local/Ascend/firmware/version.info"] = "Version=7.7.0.3.220\n"
    files[f"{home}/compiler/version.info"] = "Version=8.3.RC1\n"
    files[f"{home}/opp/version.info"] = "Version=8.3.RC1\n"
    files[f"{home}/python/site-packages/acl.so"] = ""
    environ = {
        "ASCEND_HOME_PATH": home,
        "ASCEND_OPP_PATH": f"{home}/opp",
        "LD_LIBRARY_PATH": f"{home}/lib64:/usr/local/Ascend/driver/lib64",
        "PYTHONPATH": f"{home}/python/site-packages:{home}/opp/built-in/op_impl/ai_core/tbe",
    }
    smi = smi_outputs.CHIP_310P.replace("Warning", "OK     ").replace("88  ", "48  ")
    answers = {
        "npu-smi info -t": Answer("failed", "The type is not supported"),
        "npu-smi info": Answer("done", smi),
        "timedatectl": Answer("done", "yes\n"),
    }
    return Machine(root, "aarch64", files, environ, answers)


def plain(root: Path) -> Machine:
    """An x86 machine without anything of Ascend, all as it should be."""
    return Machine(root, "x86_64", base_files(CPUINFO_X86, {0: "0-7"}, "0-7"))
