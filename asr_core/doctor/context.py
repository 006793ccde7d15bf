"""What the checks of one examination share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from asr_core.doctor.host import Host
from asr_core.engine import Engine, ModelStatus
from asr_core.errors import AsrError
from asr_core.models.offers import ASCEND_ENDING
from asr_core.runtime.affinity import Node, near_nodes, parse_cores, read_nodes
from asr_core.runtime.npu_smi import NpuReport, read_npus
from asr_core.settings import Settings


@dataclass(frozen=True)
class Context:
    """The machine, the installation on it, and what is read once for several checks.

    Attributes:
        engine: opens the engine at the first call, the same one afterwards.
        is_quick: whether what takes long is left out.
    """

    host: Host
    settings: Settings
    engine: Callable[[], Engine]
    is_quick: bool = False

    @cached_property
    def npus(self) -> NpuReport:
        return read_npus(self.host.run)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        return read_nodes(self.host.path("/sys"))

    @cached_property
    def near_nodes(self) -> list[int]:
        """Memory nodes of the Ascend devices that may be used, that of the one in use first."""
        host = self.host
        return near_nodes(self.settings.device, host.path("/sys"), host.environ)

    @cached_property
    def online(self) -> frozenset[int]:
        """Cores of the machine."""
        return _cores(self.host.text("/sys/devices/system/cpu/online"))

    @cached_property
    def allowed(self) -> frozenset[int]:
        """Cores that this process may use."""
        return _cores(self.host.fields("/proc/self/status").get("Cpus_allowed_list", ""))

    @cached_property
    def models(self) -> tuple[ModelStatus, ...]:
        """The known models; none where the history, which lists them, cannot be opened."""
        try:
            return tuple(self.engine().models())
        except AsrError:
            return ()

    @property
    def model(self) -> ModelStatus | None:
        """The recognizer in use."""
        return next((model for model in self.models if model.active), None)

    @cached_property
    def model_folders(self) -> tuple[Path, ...]:
        """Folders of models, whoever put them there."""
        named = {model.path for model in self.models}
        if self.settings.model_dir is not None:
            named.add(self.settings.model_dir)
        named.update(self.settings.models.glob("[!.]*"))
        named.update([path.with_name(f"{path.name}{ASCEND_ENDING}") for path in named])
        return tuple(sorted(path for path in named if path.is_dir()))

    @cached_property
    def has_device(self) -> bool:
        """Whether there is an Ascend device, or a driver that ought to have one."""
        host = self.host
        return bool(
            host.names("/dev", "davinci*")
            or self.npus.state != "absent"
            or host.exists("/usr/local/Ascend/driver")
            or host.exists("/etc/ascend_install.info")
            or any(_is_accelerator(host, name) for name in host.names("/sys/bus/pci/devices"))
        )

    @cached_property
    def has_cann(self) -> bool:
        """Whether CANN is here, or its variables; it can convert models without any device."""
        host = self.host
        named = any(name in host.environ for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"))
        return named or host.exists("/usr/local/Ascend")

    @property
    def no_device(self) -> str:
        """Why checks of devices have nothing to judge; empty where there is a device."""
        if self.has_device:
            return ""
        return "no_device" if self.has_cann else "no_npu"

    @property
    def no_cann(self) -> str:
        """Why checks of CANN have nothing to judge; empty where there is something."""
        return "" if self.has_device or self.has_cann else "no_npu"


def _cores(text: str) -> frozenset[int]:
    try:
        return parse_cores(text)
    except ValueError:
        return frozenset()


def _is_accelerator(host: Host, name: str) -> bool:
    folder = f"/sys/bus/pci/devices/{name}"
    return host.text(f"{folder}/vendor") == "0x19e5" and host.text(f"{folder}/class")[:4] == "0x12"
