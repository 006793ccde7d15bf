"""Cores: lists, nodes of made-up machines, the choice, and the real call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import SettingsError
from asr_core.runtime.affinity import (
    Node,
    choose_cores,
    cores_for,
    device_cores,
    device_nodes,
    format_cores,
    idle_shares,
    machine_index,
    near_nodes,
    parse_cores,
    pin,
    read_nodes,
)

FOUR = tuple(Node(n, frozenset(range(n * 32, n * 32 + 32))) for n in range(4))
ALL = frozenset(range(128))


def machine(root: Path, nodes: dict[int, str], devices: dict[str, tuple[str, str, str]]) -> Path:
    """A tree like ``/sys``: cores by node, and class, vendor and node by PCI address."""
    for number, cores in nodes.items():
        folder = root / f"devices/system/node/node{number}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{cores}\n", encoding="utf-8")
    for address, texts in devices.items():
        folder = root / "bus/pci/devices" / address
        folder.mkdir(parents=True)
        for name, text in zip(("class", "vendor", "numa_node"), texts, strict=True):
            (folder / name).write_text(f"{text}\n", encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("", set()),
        ("3", {3}),
        ("0-2,8", {0, 1, 2, 8}),
        (" 0-1 , 4 \n", {0, 1, 4}),
        ("5,5,4-6", {4, 5, 6}),
    ],
)
def test_lists_are_read(text: str, cores: set[int]) -> None:
    assert parse_cores(text) == cores


@pytest.mark.parametrize("text", ["a", "3-1", "-1", "1-", "0-99999999", "1;2"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the numbers' own error
        parse_cores(text)


@given(st.frozensets(st.integers(0, 300)))
def test_a_list_that_is_written_is_read_again(cores: frozenset[int]) -> None:
    assert parse_cores(format_cores(cores)) == cores


def test_ranges_are_written_short() -> None:
    assert format_cores({8, 0, 2, 1, 5}) == "0-2,5,8"


def test_nodes_are_read_in_order_and_those_without_cores_left_out(tmp_path: Path) -> None:
    sysfs = machine(tmp_path, {10: "64-95", 2: "0-31", 3: "", 4: "nonsense"}, {})
    assert read_nodes(sysfs) == (
        Node(2, frozenset(range(32))),
        Node(10, frozenset(range(64, 96))),
    )
    assert read_nodes(tmp_path / "none") == ()


def test_devices_are_accelerators_of_the_vendor_whose_node_is_known(tmp_path: Path) -> None:
    sysfs = machine(
        tmp_path,
        {},
        {
            "0000:82:00.0": ("0x120000", "0x19e5", "3"),
            "0000:01:00.0": ("0x120000", "0x19e5", "1"),
            "0000:02:00.0": ("0x120000", "0x19e5", "-1"),
            "0000:03:00.0": ("0x020000", "0x19e5", "0"),
            "0000:04:00.0": ("0x120000", "0x10de", "0"),
        },
    )
    assert device_nodes(sysfs) == {"0000:01:00.0": 1, "0000:82:00.0": 3}


@pytest.mark.parametrize(
    ("device", "nodes"),
    [("auto", [1, 1, 3]), ("npu", [1, 1, 3]), ("npu:1", [3, 1, 3]), ("npu:7", [1, 3]), ("cpu", [])],
)
def test_the_device_in_use_comes_first(tmp_path: Path, device: str, nodes: list[int]) -> None:
    sysfs = machine(
        tmp_path,
        {},
        {
            "0000:82:00.0": ("0x120000", "0x19e5", "3"),
            "0000:01:00.0": ("0x120000", "0x19e5", "1"),
        },
    )
    assert near_nodes(device, sysfs) == nodes


def test_none_changes_nothing() -> None:
    assert choose_cores("none", ALL, FOUR, [2]) is ALL


def test_on_one_node_nothing_changes() -> None:
    usable = frozenset(range(32))
    assert choose_cores("auto", usable, FOUR[:1], [0]) is usable
    assert choose_cores("auto", usable, FOUR, [2]) is usable
    assert choose_cores("auto", usable, ()) is usable


def test_the_node_of_the_device_is_taken() -> None:
    assert choose_cores("auto", ALL, FOUR, [2, 0]) == FOUR[2].cores


def test_a_device_on_a_node_without_usable_cores_does_not_decide() -> None:
    usable = frozenset(range(64))
    assert choose_cores("auto", usable, FOUR, [3]) == FOUR[0].cores


def test_without_a_device_the_node_with_most_free_cores_is_taken() -> None:
    busy = dict.fromkeys(range(32), 0.05) | dict.fromkeys(range(32, 128), 0.9)
    busy |= dict.fromkeys(range(100, 128), 0.1)
    assert choose_cores("auto", ALL, FOUR, idle=lambda: busy) == FOUR[1].cores


def test_cores_of_a_list_that_may_not_be_used_are_left_out() -> None:
    assert choose_cores("0-3,200", frozenset({1, 2, 9}), FOUR) == {1, 2}


def test_a_list_without_any_usable_core_chooses_nothing() -> None:
    assert choose_cores("200", ALL, FOUR) is ALL


def test_the_load_is_measured_between_two_readings(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    start = "cpu  9 9 9 9\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 100 0 0 100 0 0 0 0 0 0\nintr 5\n"
    later = "cpu  9 9 9 9\ncpu0 100 0 0 120 0 0 0 0 0 0\ncpu1 115 0 0 103 2 0 0 0 0 0\nintr 6\n"
    stat.write_text(start, encoding="utf-8")
    shares = idle_shares(tmp_path, lambda _s: stat.write_text(later, encoding="utf-8"))
    assert shares == {0: 1.0, 1: 0.25}


def test_a_machine_that_tells_nothing_has_no_load(tmp_path: Path) -> None:
    assert idle_shares(tmp_path, lambda _s: None) == {}


def test_this_machine_answers() -> None:
    usable = frozenset(os.sched_getaffinity(0))
    assert cores_for("none") == usable
    assert cores_for("auto") <= usable
    assert cores_for(str(min(usable))) == {min(usable)}


def test_a_list_without_any_usable_core_is_refused_by_name() -> None:
    usable = frozenset(os.sched_getaffinity(0))
    with pytest.raises(SettingsError) as caught:
        pin("8000", usable)
    assert caught.value.details["name"] == "ASR_CPU_AFFINITY"
    assert format_cores(usable) in caught.value.details["allowed"]
    assert frozenset(os.sched_getaffinity(0)) == usable


PINNED = """
import json, os, threading
from asr_core.runtime.affinity import pin

seen = {"before": sorted(os.sched_getaffinity(0))}

def look(name):
    seen[name] = sorted(os.sched_getaffinity(0))

def own():
    pin("auto", frozenset(seen["before"][:1]))
    look("owner")
    child = threading.Thread(target=look, args=("child",))
    child.start()
    child.join()

owner = threading.Thread(target=own)
owner.start()
owner.join()
look("main")
print(json.dumps(seen))
"""


def test_a_thread_and_those_that_it_makes_stay_on_their_cores() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PINNED], capture_output=True, text=True, check=True, timeout=120
    )
    seen = json.loads(done.stdout)
    assert seen["owner"] == seen["child"] == seen["before"][:1]
    assert seen["main"] == seen["before"]


def test_each_device_has_the_cores_of_its_own_node(tmp_path: Path) -> None:
    ascend = ("0x120000", "0x19e5")
    sysfs = machine(
        tmp_path,
        {0: "0-3", 1: "4-7"},
        {"0000:01:00.0": (*ascend, "1"), "0000:82:00.0": (*ascend, "0")},
    )
    usable = frozenset(range(1, 8))
    assert device_cores("auto", 0, usable, sysfs) == {4, 5, 6, 7}
    assert device_cores("auto", 1, usable, sysfs) == {1, 2, 3}
    assert device_cores("auto", 2, usable, sysfs) == frozenset()
    assert device_cores("none", 0, usable, sysfs) == frozenset()
    assert device_cores("0-5", 0, usable, sysfs) == frozenset()


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        ("", [0, 1, 2]),
        ("1", [1, None, None]),
        ("1,3", [1, 3, None]),
        ("1,3,2", [1, 3, None]),
        ("1, 3", [1, None, None]),
        ("one", [None, None, None]),
    ],
)
def test_devices_of_a_process_are_counted_from_0_again(
    visible: str, found: list[int | None]
) -> None:
    environ = {"ASCEND_RT_VISIBLE_DEVICES": visible}
    assert [machine_index(index, environ) for index in range(3)] == found
    assert [machine_index(index, {}) for index in range(3)] == [0, 1, 2]


def test_the_node_is_that_of_the_device_which_the_process_sees(tmp_path: Path) -> None:
    """Its first device is the second one of the machine."""
    devices = {f"0000:0{n}:00.0": ("0x120000", "0x19e5", str(n)) for n in range(2)}
    sysfs = machine(tmp_path, {0: "0-3", 1: "4-7"}, devices)
    usable, environ = frozenset(range(8)), {"ASCEND_RT_VISIBLE_DEVICES": "1"}
    assert device_cores("auto", 0, usable, sysfs, environ) == {4, 5, 6, 7}
    assert device_cores("auto", 1, usable, sysfs, environ) == frozenset()
    assert near_nodes("npu:0", sysfs, environ)[0] == 1


def test_on_one_node_a_device_has_nothing_to_choose(tmp_path: Path) -> None:
    sysfs = machine(tmp_path, {0: "0-3"}, {"0000:01:00.0": ("0x120000", "0x19e5", "0")})
    assert device_cores("auto", 0, frozenset(range(4)), sysfs) == frozenset()
