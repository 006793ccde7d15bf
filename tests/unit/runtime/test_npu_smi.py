"""What ``npu-smi`` says is understood for every family, and whatever it says nothing breaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.runtime import npu_smi
from asr_core.runtime.command import Answer
from asr_core.runtime.npu_smi import NpuChip, NpuMonitor, NpuReport, parse_info, read_npus
from tests.unit.runtime import smi_outputs as outputs


def chips(text: str) -> tuple[NpuChip, ...]:
    report = parse_info(text)
    assert report.state == "ok"
    return report.chips


def test_310() -> None:
    assert parse_info(outputs.CHIP_310) == NpuReport(
        "ok",
        (
            NpuChip(
                card=3,
                chip=0,
                device=7,
                name="310",
                health="OK",
                bus_id="0000:3B:00.0",
                power_w=11.5,
                temp_c=57,
                aicore_percent=12,
                memory_used_mb=612,
                memory_total_mb=7680,
                hugepages_used=4,
                hugepages_total=960,
            ),
        ),
        version="23.0.3",
    )


def test_310p_without_a_line_of_its_version() -> None:
    first, second = chips(outputs.CHIP_310P)
    assert parse_info(outputs.CHIP_310P).version == ""
    assert (first.soc, first.is_fit, first.memory_used_mb) == ("Ascend310P3", True, 1100)
    assert (second.card, second.device, second.health) == (5, 1, "Warning")
    assert (second.memory_used_mb, second.memory_total_mb) == (19400, 21500)
    assert not second.is_fit


def test_two_chips_on_a_card_with_sparse_numbers_and_untold_power() -> None:
    found = chips(outputs.CHIP_310P_DUAL)
    assert [(c.card, c.chip, c.device, c.power_w, c.temp_c) for c in found] == [
        (24, 0, 0, None, 50),
        (24, 1, 1, None, 47),
        (32768, 0, 2, None, None),
    ]
    assert [c.is_fit for c in found] == [True, True, False]
    assert [c.aicore_percent for c in found] == [0, 9, 0]


def test_310b_on_a_board_has_no_bus() -> None:
    (chip,) = chips(outputs.CHIP_310B)
    assert (chip.soc, chip.bus_id, chip.memory_total_mb) == ("Ascend310B4", "", 7545)


def test_910b_has_hbm_and_no_device_number_and_a_process_is_no_chip() -> None:
    found = chips(outputs.CHIP_910B)
    assert [(c.card, c.chip, c.device, c.soc) for c in found] == [
        (0, 0, None, "Ascend910B3"),
        (1, 0, None, "Ascend910B3"),
    ]
    assert [(c.memory_used_mb, c.memory_total_mb) for c in found] == [(5120, 65536), (4096, 65536)]
    assert [c.is_fit for c in found] == [True, False]
    assert parse_info(outputs.CHIP_910B).version == "25.3.rc1"


def test_a3_tells_no_exact_kind_and_the_power_of_one_chip_only() -> None:
    first, second = chips(outputs.CHIP_A3)
    assert (first.chip, first.device, first.power_w, first.soc) == (0, 0, 181.0, "")
    assert (second.chip, second.device, second.power_w) == (1, 1, None)
    assert second.memory_used_mb == 2900


def test_a_newer_family_with_other_and_more_columns() -> None:
    (chip,) = chips(outputs.CHIP_950)
    assert (chip.card, chip.chip, chip.aicore_percent) == (2, 0, 64)
    assert (chip.temp_c, chip.memory_used_mb, chip.memory_total_mb) == (41, 9000, 131072)


def test_headings_of_another_language_are_read_by_their_usual_places() -> None:
    (chip,) = chips(outputs.OTHER_LANGUAGE)
    assert (chip.name, chip.health, chip.power_w, chip.temp_c) == ("910B3", "OK", 97.5, 51)
    assert (chip.aicore_percent, chip.memory_used_mb) == (37, 5120)


@pytest.mark.parametrize("health", ["Warning", "Alarm", "Critical", "UNKNOWN", ""])
def test_only_a_healthy_chip_is_fit(health: str) -> None:
    assert not NpuChip(0, 0, health=health, temp_c=40).is_fit


@pytest.mark.parametrize(("temp_c", "fit"), [(None, True), (85, True), (85.1, False)])
def test_a_hot_chip_is_not_fit(temp_c: float | None, fit: bool) -> None:
    assert NpuChip(0, 0, health="OK", temp_c=temp_c).is_fit is fit


@pytest.mark.parametrize(
    ("answer", "report"),
    [
        (Answer("absent"), NpuReport("absent")),
        (Answer("failed", "dcmi module initialize failed"), NpuReport("unknown", reason="failed")),
        (Answer("timeout"), NpuReport("unknown", reason="timeout")),
        (Answer("done", ""), NpuReport("unknown", reason="unreadable")),
        (Answer("done", "HBM Total: 32GB"), NpuReport("unknown", reason="unreadable")),
    ],
)
def test_a_command_that_tells_nothing_is_a_state(answer: Answer, report: NpuReport) -> None:
    assert read_npus(lambda _arguments, _timeout_s: answer) == report


@given(st.text(alphabet="|+-=:/. \n0123456789NAOK()%npuchi：", max_size=400))
def test_whatever_it_says_nothing_breaks(text: str) -> None:
    parse_info(text)
    for parse in (
        npu_smi.parse_usages,
        npu_smi.parse_common,
        npu_smi.parse_health,
        npu_smi.parse_temp,
        npu_smi.parse_memory,
        npu_smi.parse_board,
    ):
        parse(text)


@given(st.integers(0, len(outputs.CHIP_910B)))
def test_a_table_that_breaks_off_tells_what_it_has(length: int) -> None:
    whole = chips(outputs.CHIP_910B)
    for part, chip in zip(parse_info(outputs.CHIP_910B[:length]).chips, whole, strict=False):
        assert (part.card, part.name) == (chip.card, chip.name)


def test_usages_of_each_family() -> None:
    (board,) = npu_smi.parse_usages(outputs.USAGES_310B)
    assert (board.memory_mb, board.memory_percent, board.aicore_percent) == (7545, 41, 22)
    assert (board.bandwidth_percent, board.npu_percent) == (5, None)
    first, second = npu_smi.parse_usages(outputs.USAGES_310P_DUAL)
    assert (first.chip, first.aicore_percent, first.vector_percent) == (0, 71, 60)
    assert (second.chip, second.memory_mb, second.aicore_percent) == (1, 43500, None)
    (hbm,) = npu_smi.parse_usages(outputs.USAGES_910B)
    assert (hbm.memory_mb, hbm.memory_percent, hbm.bandwidth_percent) == (65536, 88, 33)
    assert (hbm.aicore_percent, hbm.vector_percent, hbm.npu_percent) == (9, 7, 12)


def test_common_takes_the_chip_before_its_controller() -> None:
    (server,) = npu_smi.parse_common(outputs.COMMON_910B)
    assert (server.temp_c, server.power_w, server.aicore_mhz) == (48, 121.7, 1650)
    assert server.memory_percent == 88
    (card,) = npu_smi.parse_common(outputs.COMMON_310P)
    assert (card.temp_c, card.power_w, card.memory_percent) == (52, 23.4, 6)


def test_health_temperature_and_memory() -> None:
    (health,) = npu_smi.parse_health(outputs.HEALTH)
    assert (health.status, health.error_code, health.error) == ("Warning", "80E18005", "fan speed")
    (fine,) = npu_smi.parse_health("\tHealth : OK\n\tError Code : NA\n")
    assert (fine.status, fine.error_code) == ("OK", "")
    assert npu_smi.parse_temp(outputs.TEMP_SERVER)[0].temp_c == 54
    (hbm,) = npu_smi.parse_memory(outputs.MEMORY_910B)
    assert (hbm.capacity_mb, hbm.total_mb, hbm.clock_mhz) == (65536, None, 1600)
    (ddr,) = npu_smi.parse_memory(outputs.MEMORY_310)
    assert (ddr.capacity_mb, ddr.total_mb, ddr.clock_mhz) == (7680, 8192, 1600)


def test_the_exact_kind_of_a_chip_that_the_table_does_not_tell() -> None:
    asked = []

    def run(arguments: list[str], _timeout_s: float) -> Answer:
        asked.append(" ".join(arguments))
        return Answer("done", outputs.BOARD_A3)

    first, second = chips(outputs.CHIP_A3)
    assert npu_smi.read_soc(second, run) == "Ascend910_9362"
    assert asked == ["npu-smi info -t board -i 0 -c 1"]
    (told,) = chips(outputs.CHIP_310B)
    assert (npu_smi.read_soc(told, run), len(asked)) == ("Ascend310B4", 1)
    assert npu_smi.read_soc(first, lambda *_: Answer("timeout")) == ""
    assert npu_smi.parse_board("\tChip Name : Ascend910\n\tNPU Name : NA\n") == {}


def test_a_report_is_asked_for_by_card() -> None:
    asked = []
    npu_smi.read_type("usages", 32768, lambda arguments, _s: asked.append(arguments) or Answer(""))
    assert asked == [["npu-smi", "info", "-t", "usages", "-i", "32768"]]


class Smi:
    """Answers in turn and counts."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, _arguments: object, _timeout_s: float) -> Answer:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


def test_the_monitor_keeps_an_answer_for_a_while() -> None:
    smi = Smi(Answer("done", outputs.CHIP_310), Answer("timeout"))
    clock = [0.0]
    monitor = NpuMonitor(smi, keep_s=5.0, now=lambda: clock[0])
    assert [monitor.report().state for _ in range(3)] == ["ok"] * 3
    assert smi.asked == 1
    clock[0] = 5.0
    assert (monitor.report().state, smi.asked) == ("unknown", 2)


def test_an_answer_that_told_nothing_is_not_waited_for_again_at_once() -> None:
    smi = Smi(Answer("timeout"), Answer("done", outputs.CHIP_310))
    clock = [0.0]
    monitor = NpuMonitor(smi, keep_s=5.0, now=lambda: clock[0])
    for clock[0] in (0.0, 59.0):
        assert (monitor.report().state, smi.asked) == ("unknown", 1)
    clock[0] = 60.0
    assert monitor.report().state == "ok"


def test_a_command_that_is_absent_is_not_looked_for_again() -> None:
    smi = Smi(Answer("absent"))
    clock = [0.0]
    monitor = NpuMonitor(smi, now=lambda: clock[0])
    for clock[0] in (0.0, 100.0, 10_000.0):
        assert monitor.report().state == "absent"
    assert smi.asked == 1
