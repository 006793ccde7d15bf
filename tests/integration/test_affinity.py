"""The recognizer's thread and those of its libraries stay on the cores of the setting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.material import ROOT

LOAD = """
import json, os, sys
from pathlib import Path
from asr_core.engine import Engine, TranscribeOptions
from asr_core.errors import AsrError
from asr_core.settings import Settings

before = {int(name) for name in os.listdir("/proc/self/task")}
main = sorted(os.sched_getaffinity(0))
with Engine(Settings.from_env(os.environ)) as engine:
    try:
        engine.transcribe(Path(sys.argv[1]), TranscribeOptions())
        error = ""
    except AsrError as exc:
        error = exc.details.get("name", exc.code)
    owners = {}
    for task in map(int, os.listdir("/proc/self/task")):
        name = Path(f"/proc/self/task/{task}/comm").read_text().strip()
        if task not in before:
            owners[name] = owners.get(name, []) + [sorted(os.sched_getaffinity(task))]
    print(json.dumps({
        "main": main, "still": sorted(os.sched_getaffinity(0)), "error": error,
        "threads": engine.status().threads,
        "pinned": sum(cores == main[:1] for all_ in owners.values() for cores in all_),
    }))
"""

pytestmark = pytest.mark.model


def load(setting: str, model_folder: Path, recording: Path, home: Path) -> dict[str, object]:
    environment = {name: value for name, value in os.environ.items() if name[:4] != "ASR_"}
    environment |= {
        "ASR_HOME": str(home),
        "ASR_MODEL_DIR": str(model_folder),
        "ASR_CPU_AFFINITY": setting,
    }
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(recording)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_list_binds_the_owner_and_the_threads_of_its_libraries(
    model_folder: Path, sample: Path, tmp_path: Path
) -> None:
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("there is only one core to choose from")
    found = load(str(usable[0]), model_folder, sample, tmp_path)
    assert (found["error"], found["threads"]) == ("", 1)
    assert found["pinned"] >= 2
    assert found["main"] == found["still"] == usable


def test_a_list_without_a_usable_core_is_an_error_by_name(
    model_folder: Path, sample: Path, tmp_path: Path
) -> None:
    found = load("9000", model_folder, sample, tmp_path)
    assert (found["error"], found["pinned"]) == ("ASR_CPU_AFFINITY", 0)
