"""Names of an archive's members: told apart as disks tell them apart, in little memory."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing

from asr_core.export.taken_names import TakenNames

MANY = """
import resource
from pathlib import Path
from asr_core.export.taken_names import TakenNames

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

names = TakenNames()
names.take(["a.txt"], "a.txt", 1)
before = resident()
for number in range(150_000):
    name = f"会议 {number}"
    names.take([f"{name}.txt", f"{name}.srt"], f"{name}.txt", 1)
grown = resident() - before
assert names.any_taken(["会议 7.srt"]) and names.last("会议 149999.txt") == 1
assert not names.any_taken(["会议 150000.txt"])
print(grown)
"""


def test_names_that_a_disk_takes_for_one_are_one() -> None:
    with closing(TakenNames()) as names:
        names.take(["Ａ会议.txt", "Ａ会议.srt"], "Ａ会议.txt", 1)
        assert names.any_taken(["other.txt", "a会议.SRT"])
        assert not names.any_taken(["a会议 (2).txt"])
        assert (names.last("a会议.txt"), names.last("a会议 (2).txt")) == (1, 0)


def test_the_last_number_of_a_name_is_known() -> None:
    with closing(TakenNames()) as names:
        for number, name in enumerate(["a.txt", "a (2).txt", "a (3).txt"], 1):
            assert names.last("a.txt") + 1 == number
            names.take([name], "a.txt", number)
        assert names.last("A.TXT") == 3
        assert names.last("a (3).txt") == 0


def test_hundreds_of_thousands_of_names_take_a_few_megabytes() -> None:
    """As objects they would take 40 MB."""
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8_000_000
