"""Whole examinations of made-up machines."""

from __future__ import annotations

import dataclasses

import pytest

from asr_core.doctor.ascend import check_devices
from asr_core.doctor.examination import GROUPS, examine
from asr_core.doctor.finding import State
from asr_core.doctor.memory import check_memory
from tests.fakes.npu_smi import SimulatedNpuSmi
from tests.unit.doctor.conftest import Examine
from tests.unit.doctor.machines import Machine
from tests.unit.runtime import smi_outputs


def states(context: Examine, machine: Machine, **changes: object) -> dict[str, State]:
    found = examine(context(machine, is_quick=True, **changes))
    return {finding.check: finding.state for finding in found.findings}


def test_every_check_has_one_line_and_a_name_of_its_own(context: Examine, arm: Machine) -> None:
    found = examine(context(arm, is_quick=True))
    assert len(found.findings) == sum(len(checks) for _, checks in GROUPS)
    assert len({finding.check for finding in found.findings}) == len(found.findings)
    assert sum(found.counts.values()) == len(found.findings)


def test_a_good_arm_server_with_npus_has_nothing_to_mend(context: Examine, arm: Machine) -> None:
    found = states(context, arm)
    # Packages and models are those of the machine that runs the test.
    ours = {"packages", "model_files", "codecs"}
    bad = {
        check: state
        for check, state in found.items()
        if state in (State.WARN, State.FAIL) and check not in ours
    }
    assert bad == {}
    assert {found[check] for check in ("npu_devices", "npu_nodes", "npu_driver", "cann")} == {
        State.OK
    }
    assert found["om_models"] is State.NONE
    assert found["modules"] is State.OK


def test_on_plain_x86_everything_of_npus_is_not_applicable(context: Examine, x86: Machine) -> None:
    found = examine(context(x86, is_quick=True))
    groups = dict(found.groups)
    assert {finding.state for finding in groups["npu"]} == {State.NONE}
    assert {finding.found for finding in groups["npu"]} == {"no_npu"}
    assert states(context, x86)["limit_locked"] is State.NONE


def test_a_machine_that_tells_nothing_fails_nowhere_for_that(
    context: Examine, x86: Machine
) -> None:
    x86.files.clear()
    found = states(context, x86)
    ours = {"packages", "model_files", "codecs"}
    assert {found[check] for check in set(found) - ours} <= {State.OK, State.NONE}
    assert found["processor"] is found["memory"] is found["limit_files"] is State.NONE


def test_files_of_nonsense_break_nothing(context: Examine, arm: Machine) -> None:
    for name in arm.files:
        arm.files[name] = "\x00,;=:[-1] kB\n\n:::"
    arm.environ = dict.fromkeys(arm.environ, "::")
    arm.answers["npu-smi info"] = arm.answers["npu-smi info"].__class__("done", "|||\n| 0 | |")
    assert len(states(context, arm)) > 30


@pytest.mark.parametrize("device", ["npu", "npu:1"])
def test_asking_for_a_device_that_is_not_there_fails(
    context: Examine, x86: Machine, device: str
) -> None:
    assert states(context, x86, device=device)["npu_devices"] is State.FAIL


def test_the_exit_is_decided_by_failures_alone(context: Examine, arm: Machine) -> None:
    arm.files["/proc/sys/kernel/numa_balancing"] = "1\n"
    warned = examine(context(arm, is_quick=True))
    by_check = {finding.check: finding for finding in warned.findings}
    assert by_check["numa_balancing"].state is State.WARN
    assert warned.failed is any(f.state is State.FAIL for f in warned.findings)


def test_a_machine_that_only_converts_needs_no_device(context: Examine, x86: Machine) -> None:
    home = "/usr/local/Ascend/ascend-toolkit/latest"
    x86.files[f"{home}/compiler/version.info"] = "Version=8.3.RC1\n"
    x86.files[f"{home}/opp/version.info"] = ""
    x86.files[f"{home}/python/site-packages/acl.so"] = ""
    x86.environ = {
        "ASCEND_HOME_PATH": home,
        "ASCEND_OPP_PATH": f"{home}/opp",
        "LD_LIBRARY_PATH": f"{home}/lib64",
        "PYTHONPATH": f"{home}/python/site-packages:{home}/opp/built-in/op_impl/ai_core/tbe",
    }
    found = examine(context(x86, is_quick=True))
    npu = {finding.check: finding for finding in dict(found.groups)["npu"]}
    assert {check for check, finding in npu.items() if finding.state is State.OK} == {
        "cann",
        "cann_paths",
        "mindspore_cann",
    }
    assert npu["npu_devices"].found == "no_device"
    assert State.FAIL not in {finding.state for finding in npu.values()}


def test_a_driver_without_its_device_fails(context: Examine, x86: Machine) -> None:
    x86.files["/usr/local/Ascend/driver/version.info"] = "Version=25.2.0\n"
    found = states(context, x86)
    assert found["npu_devices"] is found["npu_nodes"] is State.FAIL


def test_memory_that_a_container_of_the_older_kind_uses_is_counted(
    context: Examine, x86: Machine
) -> None:
    folder = "/sys/fs/cgroup/memory"
    x86.files[f"{folder}/memory.limit_in_bytes"] = f"{4 << 30}\n"
    x86.files[f"{folder}/memory.usage_in_bytes"] = f"{(4 << 30) - (100 << 20)}\n"
    finding = check_memory(context(x86))
    assert (finding.found, finding.values["free_mb"]) == ("short", "100")


def test_a_device_whose_health_is_not_told_is_no_ill_one(context: Examine, arm: Machine) -> None:
    table = smi_outputs.CHIP_910B.replace("| OK    ", "| NA    ").replace("| Alarm ", "| NA    ")
    examined = context(arm)
    unknown = {(card, 0): ("UNKNOWN", "NA", "NA") for card in (0, 1)}
    host = dataclasses.replace(examined.host, run=SimulatedNpuSmi(table, faults=unknown))
    finding = check_devices(dataclasses.replace(examined, host=host))
    assert (finding.state, finding.found) == (State.WARN, "health_untold")


@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        (("Alarm", "8C1F8608", "HBM multi-bit"), "910B3 1/0 Alarm 49 °C (8C1F8608 HBM multi-bit)"),
        (("Alarm", "NA", "NA"), "910B3 1/0 Alarm 49 °C"),
    ],
)
def test_what_is_wrong_with_a_device_is_told(
    context: Examine, arm: Machine, fault: tuple[str, str, str], shown: str
) -> None:
    smi = SimulatedNpuSmi(smi_outputs.CHIP_910B, faults={(1, 0): fault})
    examined = context(arm)
    host = dataclasses.replace(examined.host, run=smi)
    finding = check_devices(dataclasses.replace(examined, host=host))
    assert (finding.found, finding.values["chips"]) == ("ill", shown)
    assert smi.asked == ["", "-t health -i 1 -c 0"]
