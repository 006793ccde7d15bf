"""Devices, driver, CANN and converted models; not applicable where nothing of Ascend is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr_core.doctor.context import Context
from asr_core.doctor.finding import Finding, fail, listed, none, ok, warn
from asr_core.doctor.versions import canns_of, major_minor, needed_hdk, version_key
from asr_core.models.graph_folder import GRAPHS_FILE
from asr_core.models.selftest import has_selftest
from asr_core.runtime.ascend_manifest import ENDING
from asr_core.runtime.npu_smi import (
    HEALTHY,
    HOT_C,
    UNTOLD_HEALTH,
    NpuChip,
    read_health,
    read_soc,
)

_NODES = ("davinci_manager", "devmm_svm", "hisi_hdc")
_CANN_FOLDERS = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
_OPERATORS = "opp/built-in/op_impl/ai_core/tbe"
_GROUP = "sudo usermod -aG HwHiAiUser $USER  # then log in again"
_NOT_ILL = frozenset({HEALTHY, "WARNING", *UNTOLD_HEALTH})


@dataclass(frozen=True, slots=True)
class OmModel:
    """One converted graph: the chip that it is for, and the CANN that converted it."""

    name: str
    soc: str
    cann: str


def check_devices(context: Context) -> Finding:
    report = context.npus
    if context.no_device:
        if context.settings.device.startswith("npu"):
            return fail("npu_devices", "wanted", "export ASR_DEVICE=cpu")
        return none("npu_devices", context.no_device)
    if report.state == "absent":
        return fail("npu_devices", "no_command", "export PATH=$PATH:/usr/local/bin:/usr/local/sbin")
    if report.state != "ok":
        found = {"timeout": "hangs", "failed": "refuses"}.get(report.reason, "unreadable")
        return fail("npu_devices", found, "npu-smi info", "dmesg | grep -i -E 'davinci|devdrv'")
    unfit = [chip for chip in report.chips if chip.unfit]
    ill = [chip for chip in unfit if chip.health.upper() not in _NOT_ILL]
    uneasy = [chip for chip in unfit if chip not in ill]
    untold = [chip for chip in report.chips if chip.health.upper() in UNTOLD_HEALTH]
    if ill:
        shown = _shown(ill, context)
        return fail("npu_devices", "ill", *map(_ask_health, ill), chips=shown)
    if uneasy:
        limit = f"{HOT_C:.0f}"
        mend, shown = map(_ask_health, uneasy), _shown(uneasy, context)
        return warn("npu_devices", "uneasy", *mend, chips=shown, limit=limit)
    if untold:
        return warn(
            "npu_devices", "health_untold", *map(_ask_health, untold), chips=_shown(untold, context)
        )
    return ok("npu_devices", "fit", chips=_shown(report.chips, context))


def check_nodes(context: Context) -> Finding:
    host = context.host
    if context.no_device:
        return none("npu_nodes", context.no_device)
    devices = host.names("/dev", "davinci[0-9]*")
    missing = [name for name in _NODES if not host.exists(f"/dev/{name}")]
    if not devices or missing:
        missing = [*([] if devices else ["davinci0"]), *missing]
        pass_on = " ".join(f"--device=/dev/{name}" for name in ("davinci0", *_NODES))
        return fail(
            "npu_nodes",
            "missing",
            "ls -l /dev/davinci*",
            f"docker run {pass_on} …",
            names=listed(missing),
        )
    closed = [name for name in (*devices, *_NODES) if not host.usable(f"/dev/{name}")]
    if closed:
        return fail("npu_nodes", "closed", _GROUP, names=listed(closed))
    return ok("npu_nodes", "there", names=listed(devices))


def check_driver(context: Context) -> Finding:
    """Driver and firmware, each from its own ``version.info``."""
    if context.no_device:
        return none("npu_driver", context.no_device)
    driver = context.host.fields(f"{_driver_folder(context)}/driver/version.info", "=")
    firmware = context.host.fields(f"{_driver_folder(context)}/firmware/version.info", "=")
    version, firm = driver.get("Version", ""), firmware.get("Version", "")
    if not version:
        return warn(
            "npu_driver", "untold_driver", f"cat {_driver_folder(context)}/driver/version.info"
        )
    between = re.match(r"\[\s*([^,\]]+),([^\]]+)\]", driver.get("compatible_version_fw", ""))
    if between and firm:
        low, high = version_key(between[1]), version_key(between[2])
        if not low <= version_key(firm)[: len(low)] <= high:
            mend = "sudo ./Ascend-hdk-<chip>-npu-firmware_<version>.run --full"
            return fail(
                "npu_driver", "firmware", mend, driver=version, firmware=firm, range=between[0]
            )
    return ok("npu_driver", "fits", driver=version, firmware=firm or "–")


def check_cann(context: Context) -> Finding:
    if context.no_cann:
        return none("cann", context.no_cann)
    home = _cann_home(context)
    installed = [folder for folder in _CANN_FOLDERS if context.host.exists(folder)]
    if not home and installed:
        return fail("cann", "not_set", f"source {_set_env(installed[0])}", folder=installed[0])
    if not home:
        mend = "sudo bash Ascend-cann-toolkit_<version>_linux-<machine>.run --install"
        return fail("cann", "missing", mend)
    if not context.host.exists(home):
        sources = [f"source {_set_env(folder)}" for folder in installed]
        return fail("cann", "gone", *sources, folder=home)
    version = cann_version(context)
    return ok("cann", "there", version=version or "?", folder=home)


def check_cann_paths(context: Context) -> Finding:
    """The variables that CANN's own script sets."""
    home, host = _cann_home(context), context.host
    if context.no_cann:
        return none("cann_paths", context.no_cann)
    if not home:
        return none("cann_paths", "no_cann")
    wrong = []
    opp = host.environ.get("ASCEND_OPP_PATH", "")
    if not opp or not host.exists(opp):
        wrong.append("ASCEND_OPP_PATH")
    libraries = host.environ.get("LD_LIBRARY_PATH", "").split(":")
    if not any(part.rstrip("/").endswith("/lib64") and home in part for part in libraries):
        wrong.append(f"LD_LIBRARY_PATH ({home}/lib64)")
    if context.has_device and not any("driver/lib64" in part for part in libraries):
        wrong.append("LD_LIBRARY_PATH (driver/lib64)")
    python = host.environ.get("PYTHONPATH", "").split(":")
    if not any(part.rstrip("/").endswith(_OPERATORS) for part in python):
        wrong.append(f"PYTHONPATH ({_OPERATORS})")
    if not any(host.names(part, "acl*") for part in python if part):
        wrong.append("PYTHONPATH (acl)")
    if wrong:
        return fail("cann_paths", "wrong", f"source {_set_env(home)}", names=listed(wrong))
    return ok("cann_paths", "set")


def check_cann_driver(context: Context) -> Finding:
    """Whether the driver is new enough for CANN."""
    if context.no_device:
        return none("cann_driver", context.no_device)
    cann = cann_version(context)
    folder = _driver_folder(context)
    driver = context.host.fields(f"{folder}/driver/version.info", "=").get("Version", "")
    driver = driver or context.npus.version
    if not cann or not driver:
        return none("cann_driver", "untold")
    needed = needed_hdk(cann)
    if not needed:
        return warn("cann_driver", "unknown", cann=cann, driver=driver)
    if version_key(driver) < version_key(needed):
        mend = "sudo ./Ascend-hdk-<chip>-npu-driver_<version>_linux-<machine>.run --upgrade"
        return fail("cann_driver", "old", mend, cann=cann, driver=driver, needed=needed)
    return ok("cann_driver", "fits", cann=cann, driver=driver, needed=needed)


def check_mindspore(context: Context) -> Finding:
    """Whether MindSpore runs with this CANN."""
    mindspore = context.host.package("mindspore")
    if context.no_cann:
        return none("mindspore_cann", context.no_cann)
    cann = cann_version(context)
    if not mindspore or not cann:
        return none("mindspore_cann", "untold")
    known = canns_of(mindspore)
    if not known:
        return warn("mindspore_cann", "unknown", mindspore=mindspore, cann=cann)
    if major_minor(cann) not in known:
        mend = "sudo bash Ascend-cann-toolkit_<version>_linux-<machine>.run --upgrade"
        wanted = listed(known)
        return warn("mindspore_cann", "apart", mend, mindspore=mindspore, cann=cann, wanted=wanted)
    return ok("mindspore_cann", "fits", mindspore=mindspore, cann=cann)


def check_visible(context: Context) -> Finding:
    """``ASCEND_RT_VISIBLE_DEVICES`` is read up to its first mistake."""
    value = context.host.environ.get("ASCEND_RT_VISIBLE_DEVICES")
    if context.no_device:
        return none("npu_visible", context.no_device)
    if value is None:
        return ok("npu_visible", "all")
    numbers = [int(part) for part in value.split(",")] if _is_list(value) else []
    if not numbers or numbers != sorted(set(numbers)):
        return fail("npu_visible", "wrong", "export ASCEND_RT_VISIBLE_DEVICES=0,1", value=value)
    count = len(context.npus.chips)
    if context.npus.state == "ok" and numbers[-1] >= count:
        present = ",".join(map(str, range(count)))
        mend = f"export ASCEND_RT_VISIBLE_DEVICES={present}"
        return fail("npu_visible", "too_many", mend, value=value, count=count)
    return ok("npu_visible", "some", value=value)


def check_om_models(context: Context) -> Finding:
    """Models converted for a chip run on that chip alone, and not with an older CANN."""
    models = om_models(context)
    if context.no_device:
        return none("om_models", context.no_device)
    if not models:
        return none("om_models", "no_models")
    socs = {soc for chip in context.npus.chips if (soc := read_soc(chip, context.host.run))}
    cann = cann_version(context)
    wrong = []
    for model in models:
        if model.soc and socs and model.soc not in socs:
            wrong.append(f"{model.name}: {model.soc}")
        elif model.cann and cann and version_key(model.cann) > version_key(cann):
            wrong.append(f"{model.name}: CANN {model.cann}")
    if wrong:
        here = listed(sorted(socs)) or "?"
        soc = min(socs, default="Ascend<name>")
        mend = f"./run.sh convert om <folder> --output <folder>.ascend --soc {soc}"
        return fail("om_models", "other", mend, names=listed(wrong), here=here, cann=cann or "?")
    names = listed([model.name for model in models])
    untested = sorted({path.name for path in _om_folders(context) if not has_selftest(path)})
    if untested:
        mend = "./run.sh convert om <folder> --output <folder>.ascend --force"
        return warn("om_models", "untested", mend, names=listed(untested))
    if not socs or not all(model.soc for model in models):
        return warn("om_models", "untold_soc", names=names)
    return ok("om_models", "fit", names=names)


def cann_version(context: Context) -> str:
    """The version of the CANN in use; empty where it does not tell."""
    home = _cann_home(context)
    for name in ("compiler/version.info", "runtime/version.info", "version.cfg", "version.info"):
        fields = context.host.fields(f"{home}/{name}", "=") if home else {}
        version = fields.get("Version", fields.get("version", ""))
        if version:
            return version
    return ""


def _om_folders(context: Context) -> list[Path]:
    """Converted folders that are whole."""
    return [
        folder
        for folder in context.model_folders
        if _read(folder / GRAPHS_FILE).get("runtime") == "ascend"
    ]


def om_models(context: Context) -> list[OmModel]:
    """Graphs that were converted for Ascend, by what lies beside them."""
    found = []
    for folder in context.model_folders:
        files = sorted(folder.glob(f"*{ENDING}"))
        for path in files or [folder / GRAPHS_FILE]:
            manifest = _read(path)
            if files or manifest.get("runtime") == "ascend":
                graph = f"/{path.name.removesuffix(ENDING)}" if files else ""
                soc, cann = (str(manifest.get(key, "")) for key in ("soc", "cann"))
                found.append(OmModel(f"{folder.name}{graph}", soc, cann))
    return found


def _read(path: Path) -> Mapping[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _cann_home(context: Context) -> str:
    environ = context.host.environ
    return environ.get("ASCEND_HOME_PATH") or environ.get("ASCEND_TOOLKIT_HOME") or ""


def _set_env(folder: str) -> str:
    """The script of the installation that a folder belongs to."""
    path = Path(folder)
    # In the older layout the script lies beside the folders of the versions.
    is_old = path.parent.name == "ascend-toolkit"
    return f"{path.parent if is_old else path}/set_env.sh"


def _driver_folder(context: Context) -> str:
    fields = context.host.fields("/etc/ascend_install.info", "=")
    return fields.get("Driver_Install_Path_Param", "/usr/local/Ascend").rstrip("/")


def _is_list(value: str) -> bool:
    return re.fullmatch(r"\d+(,\d+)*", value) is not None


def _shown(chips: Sequence[NpuChip], context: Context) -> str:
    return listed(
        [f"{chip.name} {chip.card}/{chip.chip} {_state(chip, context)}" for chip in chips]
    )


def _state(chip: NpuChip, context: Context) -> str:
    """Health, warmth, and what the driver says is wrong."""
    warmth = "" if chip.temp_c is None else f" {chip.temp_c:.0f} °C"
    ill = chip.health.upper() not in (HEALTHY, *UNTOLD_HEALTH)
    fault = read_health(chip, context.host.run).fault if ill else ""
    return f"{chip.health or '?'}{warmth}{f' ({fault})' if fault else ''}"


def _ask_health(chip: NpuChip) -> str:
    return f"npu-smi info -t health -i {chip.card} -c {chip.chip}"


CHECKS = (
    check_devices,
    check_nodes,
    check_driver,
    check_cann,
    check_cann_paths,
    check_cann_driver,
    check_mindspore,
    check_visible,
    check_om_models,
)
