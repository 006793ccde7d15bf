"""What ``npu-smi`` says is understood for every family, and whatever it says nothing breaks."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.runtime import npu_smi
from asr_core.runtime.command import Answer
from asr_core.runtime.npu_reports import NpuDetails, parse_board, parse_report
from asr_core.runtime.npu_smi import NpuChip, NpuMonitor, NpuReport, parse_info, read_npus
from tests.fakes.npu_smi import SimulatedNpuSmi
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
    assert (first.soc, first.unfit, first.memory_used_mb) == ("Ascend310P3", "", 1100)
    assert (second.card, second.device, second.health) == (5, 1, "Warning")
    assert (second.memory_used_mb, second.memory_total_mb) == (19400, 21500)
    assert second.unfit == "health Warning"


def test_two_chips_on_a_card_with_sparse_numbers_and_untold_power() -> None:
    found = chips(outputs.CHIP_310P_DUAL)
    assert [(c.card, c.chip, c.device, c.power_w, c.temp_c) for c in found] == [
        (24, 0, 0, None, 50),
        (24, 1, 1, None, 47),
        (32768, 0, 2, None, None),
    ]
    assert [c.unfit for c in found] == ["", "", "health Critical"]
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
    assert [bool(c.unfit) for c in found] == [False, True]
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


@pytest.mark.parametrize("health", ["Warning", "Alarm", "Critical", "Missing"])
def test_an_ill_chip_is_not_fit(health: str) -> None:
    assert NpuChip(0, 0, health=health, temp_c=40).unfit == f"health {health}"


@pytest.mark.parametrize("health", ["OK", "UNKNOWN", "NA", ""])
def test_what_is_not_told_does_not_speak_against_a_chip(health: str) -> None:
    assert NpuChip(0, 0, health=health).unfit == ""
    assert NpuChip(0, 0, health=health, temp_c=85.6).unfit == "86 °C"


@pytest.mark.parametrize(("temp_c", "fit"), [(None, True), (85, True), (85.1, False)])
def test_a_hot_chip_is_not_fit(temp_c: float | None, fit: bool) -> None:
    assert (NpuChip(0, 0, health="OK", temp_c=temp_c).unfit == "") is fit


def test_a_chip_that_vanishes_stays_in_its_place_as_missing() -> None:
    """Devices are told apart by their places; the others must not move up."""
    whole = outputs.CHIP_910B
    lines = whole.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if line.startswith("| 0 "))
    cut = "".join([*lines[:first], *lines[first + 3 :]])
    assert [chip.card for chip in chips(cut)] == [1]
    answers = [whole, cut, whole]
    clock = itertools.count(0.0, 60.0)
    monitor = NpuMonitor(
        lambda command, _s: Answer("failed" if "-t" in command else "done", answers[0]),
        now=lambda: next(clock),
    )
    seen = []
    while answers:
        seen.append([(chip.card, chip.health) for chip in monitor.report().chips])
        answers.pop(0)
    health = [chip.health for chip in chips(whole)]
    assert seen[0] == seen[2] == [(0, health[0]), (1, health[1])]
    assert seen[1] == [(0, "Missing"), (1, health[1])]


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
    parse_report(text)
    parse_board(text)


@given(st.integers(0, len(outputs.CHIP_910B)))
def test_a_table_that_breaks_off_tells_what_it_has(length: int) -> None:
    whole = chips(outputs.CHIP_910B)
    for part, chip in zip(parse_info(outputs.CHIP_910B[:length]).chips, whole, strict=False):
        assert (part.card, part.name) == (chip.card, chip.name)


def test_usages_of_each_family() -> None:
    assert parse_report(outputs.USAGES_310B) == {
        0: NpuDetails(memory_mb=7545, memory_percent=41, aicore_percent=22)
    }
    assert parse_report(outputs.USAGES_310P_DUAL) == {
        0: NpuDetails(memory_mb=44000, memory_percent=3, aicore_percent=71),
        1: NpuDetails(memory_mb=43500),
    }
    assert parse_report(outputs.USAGES_910B) == {
        0: NpuDetails(memory_mb=65536, memory_percent=88, aicore_percent=9)
    }


def test_common_takes_the_chip_before_its_controller() -> None:
    (server,) = parse_report(outputs.COMMON_910B).values()
    assert (server.temp_c, server.aicore_percent, server.memory_percent) == (48, 9, 88)
    (card,) = parse_report(outputs.COMMON_310P).values()
    assert (card.temp_c, card.memory_percent) == (52, 6)


def test_health_temperature_and_memory() -> None:
    assert parse_report(outputs.HEALTH) == {
        0: NpuDetails(health="Warning", fault="80E18005 fan speed")
    }
    assert parse_report("\tHealth : OK\n\tError Code : NA\n") == {0: NpuDetails(health="OK")}
    assert parse_report(outputs.TEMP_SERVER)[0].temp_c == 54
    assert parse_report(outputs.MEMORY_910B)[0].memory_mb == 65536
    assert parse_report(outputs.MEMORY_310)[0].memory_mb == 7680


LACKING = """\
| NPU     Name      | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device    | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
| 1       910B3     | NA              | NA           NA                0    / 0              |
| 0       0         | 0000:5E:00.0    | NA           0    / 0                                |
"""


def test_what_the_table_lacks_is_taken_from_the_reports() -> None:
    reports = {("common", 1): outputs.COMMON_910B, ("usages", 1): outputs.USAGES_910B}
    smi = SimulatedNpuSmi(LACKING, reports, {(1, 0): ("Alarm", "8C1F8608", "HBM")})
    (chip,) = read_npus(smi).chips
    assert (chip.health, chip.temp_c, chip.aicore_percent) == ("Alarm", 48, 9)
    assert (chip.memory_total_mb, chip.memory_used_mb) == (65536, 65536 * 0.88)
    assert smi.asked == ["", "-t common -i 1", "-t usages -i 1", "-t health -i 1 -c 0"]


def test_reports_of_other_kinds_tell_it_where_the_first_do_not() -> None:
    reports = {("temp", 1): outputs.TEMP_SERVER, ("memory", 1): outputs.MEMORY_910B}
    (chip,) = read_npus(SimulatedNpuSmi(LACKING, reports, takes_chips=False)).chips
    assert (chip.health, chip.temp_c, chip.aicore_percent) == ("OK", 54, None)
    assert (chip.memory_total_mb, chip.memory_used_mb) == (65536, None)


def test_a_complete_table_needs_no_report() -> None:
    smi = SimulatedNpuSmi(outputs.CHIP_A3)
    assert read_npus(smi) == parse_info(outputs.CHIP_A3)
    assert smi.asked == [""]


def test_a_chip_of_several_gets_what_is_its_own() -> None:
    table = outputs.CHIP_310P_DUAL.replace("| 9            1600", "| NA           1600")
    usages = outputs.USAGES_310P_DUAL.replace(": NA", ": 17")
    smi = SimulatedNpuSmi(table, {("usages", 24): usages})
    first, second, hot = read_npus(smi).chips
    assert (first.aicore_percent, second.aicore_percent) == (0, 17)
    assert (second.memory_total_mb, hot.temp_c) == (43500, None)


def test_what_nothing_tells_is_not_asked_for_again() -> None:
    smi = SimulatedNpuSmi(LACKING, {("common", 1): outputs.COMMON_910B})
    clock = [0.0]
    monitor = NpuMonitor(smi, keep_s=5.0, now=lambda: clock[0])
    assert monitor.report().chips[0].memory_total_mb == 0
    asked, clock[0] = len(smi.asked), 5.0
    assert monitor.report().chips[0].temp_c == 48
    assert smi.asked[asked:] == ["", "-t common -i 1", "-t health -i 1 -c 0"]


def test_a_report_that_hangs_is_waited_for_once_and_asked_for_another_time() -> None:
    reports = {("usages", 1): outputs.USAGES_910B}
    smi = SimulatedNpuSmi(LACKING, reports, hangs=["common"])
    untold: set[npu_smi.Untold] = set()
    for _ in range(2):
        (chip,) = read_npus(smi, untold).chips
        assert (chip.health, chip.temp_c, chip.memory_total_mb) == ("NA", None, 0)
    assert smi.asked == ["", "-t common -i 1"] * 2
    assert untold == set()


def test_what_is_wrong_with_a_chip() -> None:
    smi = SimulatedNpuSmi(LACKING, faults={(1, 3): ("Alarm", "8C1F8608", "HBM multi-bit")})
    assert npu_smi.read_health(NpuChip(1, 3), smi).fault == "8C1F8608 HBM multi-bit"
    assert npu_smi.read_health(NpuChip(1, 0), smi) == NpuDetails(health="OK")
    newest = SimulatedNpuSmi(LACKING, takes_chips=False)
    assert npu_smi.read_health(NpuChip(1, 3), newest).health == "OK"
    assert newest.asked == ["-t health -i 1 -c 3", "-t health -i 1"]
    assert npu_smi.read_health(NpuChip(1, 0), lambda *_: Answer("timeout")) == NpuDetails()


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
    assert parse_board("\tChip Name : Ascend910\n\tNPU Name : NA\n") == {}


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
