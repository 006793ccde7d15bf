"""Each thing that goes wrong on a machine, the state it gets and the command that mends it."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from asr_core.doctor import ascend, memory, models, processor, service, software, sound
from asr_core.doctor.finding import State
from asr_core.errors import StoreError
from asr_core.models.selftest import SELFTEST_FILE
from asr_core.runtime.ascend_manifest import OmFile, OmGraph, OmTensor, write_om_graph
from asr_core.runtime.command import Answer
from tests.unit.doctor.conftest import Examine
from tests.unit.doctor.machines import (
    CPUINFO_920,
    DRIVER,
    GB,
    Machine,
    kunpeng,
    limits,
    meminfo,
    plain,
)
from tests.unit.runtime import smi_outputs

OK, WARN, FAIL, NONE = State.OK, State.WARN, State.FAIL, State.NONE
HOME = "/usr/local/Ascend/ascend-toolkit/latest"


@dataclass
class Case:
    """What is changed on a good machine, and what a check then finds."""

    check: Callable
    state: State
    found: str
    mend: str = ""
    files: dict[str, str | None] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    smi: Answer | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)
    now_s: float | None = None
    free_bytes: int | None = None
    python: tuple[int, int, int] | None = None
    on: Callable[[Path], Machine] = kunpeng


def done(text: str) -> Answer:
    return Answer("done", text)


CASES = [
    Case(software.check_python, FAIL, "old", "python3.12", python=(3, 9, 1)),
    Case(software.check_python, WARN, "new", "python3.12", python=(3, 13, 0)),
    Case(software.check_python, OK, "fits", python=(3, 10, 0)),
    Case(software.check_packages, FAIL, "wrong", "pip install -r", packages={"av": "3.0.0"}),
    Case(software.check_numpy, FAIL, "two", "numpy>=1.26,<2", packages={"numpy": "2.1.0"}),
    Case(software.check_numpy, NONE, "no_mindspore", packages={"mindspore": ""}),
    Case(ascend.check_devices, FAIL, "no_command", "PATH", smi=Answer("absent")),
    Case(ascend.check_devices, FAIL, "hangs", "dmesg", smi=Answer("timeout")),
    Case(ascend.check_devices, FAIL, "refuses", "npu-smi info", smi=Answer("failed", "no")),
    Case(ascend.check_devices, FAIL, "unreadable", "npu-smi info", smi=done("nothing")),
    Case(ascend.check_devices, FAIL, "ill", "health -i 1 -c 0", smi=done(smi_outputs.CHIP_910B)),
    Case(ascend.check_devices, WARN, "uneasy", "-i 5 -c 0", smi=done(smi_outputs.CHIP_310P)),
    Case(ascend.check_devices, OK, "fit", smi=done(smi_outputs.CHIP_A3)),
    Case(ascend.check_nodes, FAIL, "missing", "--device=/dev", files={"/dev/hisi_hdc": None}),
    Case(
        ascend.check_nodes,
        FAIL,
        "missing",
        "ls -l /dev/davinci*",
        files={"/dev/davinci0": None, "/dev/davinci1": None},
    ),
    Case(
        ascend.check_driver,
        FAIL,
        "firmware",
        "firmware_<version>.run",
        files={"/usr/local/Ascend/firmware/version.info": "Version=7.1.0.9\n"},
    ),
    Case(
        ascend.check_driver,
        WARN,
        "untold_driver",
        "driver/version.info",
        files={"/usr/local/Ascend/driver/version.info": None},
    ),
    Case(
        ascend.check_cann,
        FAIL,
        "not_set",
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh",
        environ={"ASCEND_HOME_PATH": ""},
    ),
    Case(ascend.check_cann, FAIL, "gone", "source", environ={"ASCEND_HOME_PATH": "/opt/cann-9"}),
    Case(
        ascend.check_cann,
        FAIL,
        "missing",
        "--install",
        files={"/dev/davinci0": ""},
        environ={},
        on=plain,
    ),
    Case(ascend.check_cann_paths, FAIL, "wrong", "set_env.sh", environ={"ASCEND_OPP_PATH": ""}),
    Case(ascend.check_cann_paths, FAIL, "wrong", environ={"LD_LIBRARY_PATH": f"{HOME}/lib64"}),
    Case(ascend.check_cann_paths, FAIL, "wrong", environ={"PYTHONPATH": ""}),
    Case(ascend.check_cann_paths, NONE, "no_cann", environ={"ASCEND_HOME_PATH": ""}),
    Case(
        ascend.check_cann_driver,
        FAIL,
        "old",
        "npu-driver_<version>",
        files={"/usr/local/Ascend/driver/version.info": DRIVER.format(driver="24.1.0")},
    ),
    Case(
        ascend.check_cann_driver,
        WARN,
        "unknown",
        files={f"{HOME}/compiler/version.info": "Version=12.0.0\n"},
    ),
    Case(
        ascend.check_cann_driver,
        NONE,
        "untold",
        files={f"{HOME}/compiler/version.info": None},
    ),
    Case(ascend.check_mindspore, WARN, "apart", "toolkit", packages={"mindspore": "2.9.0"}),
    Case(ascend.check_mindspore, WARN, "unknown", packages={"mindspore": "3.4.0"}),
    Case(ascend.check_mindspore, OK, "fits", packages={"mindspore": "2.10.0"}),
    Case(ascend.check_visible, OK, "some", environ={"ASCEND_RT_VISIBLE_DEVICES": "0,1"}),
    Case(ascend.check_visible, FAIL, "too_many", environ={"ASCEND_RT_VISIBLE_DEVICES": "7,9"}),
    Case(ascend.check_visible, FAIL, "wrong", environ={"ASCEND_RT_VISIBLE_DEVICES": "1,0"}),
    Case(ascend.check_visible, FAIL, "wrong", environ={"ASCEND_RT_VISIBLE_DEVICES": "0, 1"}),
    Case(
        processor.check_processor,
        WARN,
        "slow",
        files={"/proc/cpuinfo": CPUINFO_920.replace("asimddp ", "")},
    ),
    Case(
        processor.check_cores,
        WARN,
        "quota",
        "ASR_THREADS=4",
        files={"/sys/fs/cgroup/cpu.max": "450000 100000\n"},
    ),
    Case(
        processor.check_cores,
        OK,
        "enough",
        files={"/sys/fs/cgroup/cpu.max": "max 100000\n"},
    ),
    Case(
        processor.check_cores,
        WARN,
        "one",
        files={"/proc/self/status": "Cpus_allowed_list:\t5\n"},
    ),
    Case(processor.check_numa, OK, "kept"),
    Case(processor.check_numa, OK, "one", on=plain),
    Case(
        processor.check_numa,
        WARN,
        "spread",
        "ASR_CPU_AFFINITY=auto",
        settings={"cpu_affinity": "none"},
    ),
    Case(processor.check_numa, WARN, "far", settings={"cpu_affinity": "64-70"}),
    Case(processor.check_numa, WARN, "unusable", settings={"cpu_affinity": "500"}),
    Case(
        processor.check_balancing,
        WARN,
        "on",
        "sysctl -w kernel.numa_balancing=0",
        files={"/proc/sys/kernel/numa_balancing": "1\n"},
    ),
    Case(processor.check_balancing, NONE, "one_node", on=plain),
    Case(processor.check_cache, OK, "there"),
    Case(
        processor.check_governor,
        WARN,
        "slow",
        "performance",
        files={"/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor": "powersave\n"},
    ),
    Case(
        processor.check_modules,
        WARN,
        "foreign",
        "modprobe -r kvm_intel",
        files={"/proc/modules": "ext4 1 0 - Live\nkvm_intel 9 0 - Live\nnvidia 9 0 - Live\n"},
    ),
    Case(processor.check_modules, NONE, "not_arm", on=plain),
    Case(
        memory.check_memory,
        FAIL,
        "short",
        "ASR_BATCH_WINDOWS=2",
        files={"/proc/meminfo": meminfo(available=400_000)},
    ),
    Case(
        memory.check_memory,
        FAIL,
        "short",
        files={
            "/sys/fs/cgroup/memory.max": f"{4 * GB}\n",
            "/sys/fs/cgroup/memory.current": f"{4 * GB - 1}\n",
        },
    ),
    Case(memory.check_memory, OK, "enough", files={"/sys/fs/cgroup/memory.max": "max\n"}),
    Case(
        memory.check_address_space,
        FAIL,
        "short",
        "ulimit -v unlimited",
        files={"/proc/self/limits": limits(space=str(2 * GB))},
    ),
    Case(
        memory.check_address_space,
        OK,
        "enough",
        files={"/proc/self/limits": limits(space=str(64 * GB))},
    ),
    Case(
        memory.check_files,
        WARN,
        "few",
        "ulimit -n",
        files={"/proc/self/limits": limits(files="1024")},
    ),
    Case(memory.check_files, FAIL, "few", files={"/proc/self/limits": limits(files="128")}),
    Case(
        memory.check_locked,
        WARN,
        "little",
        "ulimit -l",
        files={"/proc/self/limits": limits(locked="65536")},
    ),
    Case(
        memory.check_hugepages,
        WARN,
        "idle",
        "nr_hugepages=0",
        files={"/proc/meminfo": meminfo(pages=60_000, pages_free=50_000)},
    ),
    Case(
        memory.check_hugepages,
        OK,
        "some",
        files={"/proc/meminfo": meminfo(pages=1000, pages_free=900)},
    ),
    Case(
        memory.check_transparent,
        WARN,
        "coarse",
        "madvise",
        files={
            "/proc/meminfo": meminfo(page=524_288),
            "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
        },
    ),
    Case(
        memory.check_transparent,
        OK,
        "fits",
        files={"/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"},
    ),
    Case(
        memory.check_swappiness,
        WARN,
        "high",
        "vm.swappiness=10",
        files={
            "/proc/swaps": "Filename Type Size Used Priority\n/dev/sda2 partition 8 0 -2\n",
            "/proc/sys/vm/swappiness": "60\n",
        },
    ),
    Case(memory.check_swappiness, NONE, "no_swap"),
    Case(sound.check_codecs, FAIL, "no_av"),
    Case(sound.check_codecs, OK, "all", packages={"av": "18.1.0"}),
    Case(sound.check_devices, NONE, "no_alsa"),
    Case(sound.check_devices, NONE, "none", files={"/proc/asound/cards": "--- no soundcards ---"}),
    Case(
        sound.check_devices,
        OK,
        "there",
        files={"/proc/asound/card1/pcm0c/info": "", "/proc/asound/card1/pcm0p/info": ""},
    ),
    Case(sound.check_rate, NONE, "none"),
    Case(
        sound.check_rate,
        WARN,
        "locked",
        "arecord -D plughw",
        files={
            "/proc/asound/card0/pcm0c/sub0/hw_params": "format: S16_LE\nrate: 48000 (48000/1)\n"
        },
    ),
    Case(
        sound.check_rate,
        OK,
        "fits",
        files={
            "/proc/asound/card0/pcm0c/sub0/hw_params": "closed\n",
            "/proc/asound/card0/stream0": "Playback:\n Rates: 48000\nCapture:\n Format: S16_LE\n"
            " Rates: 16000, 48000\n",
        },
    ),
    Case(
        sound.check_rate,
        OK,
        "fits",
        files={
            "/proc/asound/card0/pcm0c/info": "",
            "/proc/asound/card0/stream0": "Capture:\n Format: S16_LE\n"
            " Rates: 8000 - 48000 (continuous)\n",
        },
    ),
    Case(
        sound.check_rate,
        WARN,
        "format",
        files={
            "/proc/asound/card0/pcm0c/info": "",
            "/proc/asound/card0/stream0": "Capture:\n Format: S24_3LE\n Rates: 16000\n",
        },
    ),
    Case(service.check_disk, FAIL, "little", "ASR_HOME", free_bytes=GB // 2),
    Case(service.check_disk, WARN, "little", free_bytes=3 * GB),
    Case(service.check_temporary, WARN, "large", "ASR_TMP_MAX_MB=1024", free_bytes=2 * GB),
    Case(service.check_history, OK, "open"),
    Case(service.check_port, OK, "free"),
    Case(service.check_port, FAIL, "refused", settings={"host": "203.0.113.9"}),
    Case(service.check_microphone, OK, "local", settings={"host": "localhost"}),
    Case(service.check_microphone, OK, "local", settings={"host": "::1"}),
    Case(
        service.check_microphone,
        WARN,
        "insecure",
        "ssh -L",
        settings={"host": "0.0.0.0"},  # noqa: S104 - judged, not bound
    ),
    Case(service.check_clock, FAIL, "wrong", "sudo date", now_s=0.0),
    Case(service.check_clock, OK, "synchronized"),
    Case(service.check_clock, OK, "plausible", on=plain),
    Case(service.check_clock, WARN, "free", "set-ntp true", answers={"timedatectl": done("no\n")}),
    Case(
        service.check_clock,
        OK,
        "synchronized",
        answers={
            "timedatectl": done("no\n"),
            "chronyc tracking": done("Stratum : 3\nLeap status     : Normal\n"),
        },
    ),
    Case(
        service.check_clock,
        WARN,
        "free",
        answers={"chronyc tracking": done("Leap status     : Not synchronised\n")},
        on=plain,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.check.__name__}-{c.found}")
def test_a_machine_like_this(case: Case, tmp_path: Path, context: Examine) -> None:
    machine = case.on(tmp_path / "machine")
    machine.files.update(case.files)
    machine.environ.update(case.environ)
    machine.answers.update(case.answers)
    machine.packages.update(case.packages)
    if case.smi is not None:
        machine.answers["npu-smi info"] = case.smi
    machine.now_s = machine.now_s if case.now_s is None else case.now_s
    machine.free_bytes = machine.free_bytes if case.free_bytes is None else case.free_bytes
    machine.python = case.python or machine.python
    finding = case.check(context(machine, **case.settings))
    assert (finding.state, finding.found) == (case.state, case.found)
    assert case.mend in " ".join(finding.mend)
    assert bool(finding.mend) <= (finding.state in (WARN, FAIL))


def test_a_device_file_that_the_user_may_not_open(
    context: Examine, arm: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, _mode: not str(path).endswith("davinci1"))
    finding = ascend.check_nodes(context(arm))
    assert (finding.state, finding.found) == (FAIL, "closed")
    assert finding.values["names"] == "davinci1"
    assert "HwHiAiUser" in finding.mend[0]


def converted(context: Examine, machine: Machine, manifest: object, *, tested: bool = True):
    made = context(machine)
    folder = made.settings.models / "升腾模型"
    folder.mkdir(parents=True)
    (folder / "graphs.json").write_text(json.dumps(manifest), encoding="utf-8")
    if tested:
        (folder / SELFTEST_FILE).touch()
    return ascend.check_om_models(made)


@pytest.mark.parametrize(
    ("manifest", "state", "found"),
    [
        ({"runtime": "ascend", "soc": "Ascend310P3", "cann": "8.3.RC1"}, OK, "fit"),
        ({"runtime": "ascend", "soc": "Ascend310P3", "cann": "8.2.RC1"}, OK, "fit"),
        ({"runtime": "ascend", "soc": "Ascend910B", "cann": "8.3.RC1"}, FAIL, "other"),
        ({"runtime": "ascend", "soc": "Ascend310P3", "cann": "8.5.0"}, FAIL, "other"),
        ({"runtime": "ascend"}, WARN, "untold_soc"),
        ({"runtime": "onnxruntime", "soc": "Ascend910B"}, NONE, "no_models"),
        (["no", "mapping"], NONE, "no_models"),
    ],
)
def test_converted_models_are_held_against_the_chip(
    context: Examine, arm: Machine, manifest: object, state: State, found: str
) -> None:
    finding = converted(context, arm, manifest)
    assert (finding.state, finding.found) == (state, found)


def test_a_model_that_does_not_test_the_device_is_told(context: Examine, arm: Machine) -> None:
    manifest = {"runtime": "ascend", "soc": "Ascend310P3", "cann": "8.3.RC1"}
    finding = converted(context, arm, manifest, tested=False)
    assert (finding.state, finding.found) == (WARN, "untested")
    assert finding.values["names"] == "升腾模型"


def test_the_mending_of_a_model_names_the_chip_that_is_here(context: Examine, arm: Machine) -> None:
    finding = converted(context, arm, {"runtime": "ascend", "soc": "Ascend910B"})
    assert (
        "./run.sh convert om <folder> --output <folder>.ascend --soc Ascend310P3" in finding.mend[0]
    )
    assert finding.values["names"] == "升腾模型: Ascend910B"


def om_graph(folder: Path, soc: str) -> None:
    """A graph as conversion leaves it."""
    folder.mkdir(parents=True)
    (folder / "encode.om").write_bytes(b"12345")
    write_om_graph(
        OmGraph(
            folder=folder,
            graph="encode",
            mode="static",
            soc=soc,
            cann="8.3.RC1",
            precision="fp16",
            source_sha256="0" * 64,
            batch="batch",
            inputs=(OmTensor("features", "float32", ("batch", "frames", 560)),),
            outputs=(OmTensor("alphas", "float32", ("batch", "frames")),),
            files=(
                OmFile(
                    "encode.om",
                    hashlib.sha256(b"12345").hexdigest(),
                    5,
                    ({"batch": 1, "frames": 64},),
                ),
            ),
        )
    )


@pytest.mark.parametrize(("soc", "state"), [("Ascend310P3", OK), ("Ascend910B3", FAIL)])
def test_each_graph_of_a_converted_model_is_held_against_the_chip(
    context: Examine, arm: Machine, soc: str, state: State
) -> None:
    made = context(arm)
    om_graph(made.settings.models / "升腾", soc)
    finding = ascend.check_om_models(made)
    assert finding.state is state
    assert "升腾/encode" in finding.values["names"]


def test_a_graph_with_another_content_is_found(context: Examine, x86: Machine) -> None:
    made = context(x86)
    folder = made.settings.models / "升腾"
    om_graph(folder, "Ascend310P3")
    right = models.check_hashes(context(x86))
    assert (right.state, right.values) == (OK, {"names": "升腾"})
    (folder / "encode.om").write_bytes(b"12346")
    wrong = models.check_hashes(context(x86))
    assert (wrong.state, wrong.values) == (FAIL, {"names": "升腾/encode.om"})
    (folder / "encode.om").unlink()
    assert models.check_hashes(context(x86)).found == "unreadable"


def test_beam_buffers_count_against_the_limit(context: Examine, x86: Machine) -> None:
    few = memory.check_address_space(context(x86, batch_windows=1))
    assert few.found == "unlimited"
    assert memory.beam_mb(context(x86, batch_windows=8)) == 8 * memory.beam_mb(
        context(x86, batch_windows=1)
    )


def test_the_quota_of_an_older_container(context: Examine, x86: Machine) -> None:
    x86.files["/sys/fs/cgroup/cpu/cpu.cfs_quota_us"] = "150000\n"
    x86.files["/sys/fs/cgroup/cpu/cpu.cfs_period_us"] = "100000\n"
    finding = processor.check_cores(context(x86))
    assert (finding.found, finding.values["quota"]) == ("quota", "1.5")


def test_a_kunpeng_is_named(context: Examine, arm: Machine) -> None:
    finding = processor.check_processor(context(arm))
    assert "Kunpeng 920" in finding.values["name"]
    assert (finding.values["cores"], finding.values["features"]) == ("128", "asimd, asimddp")


def test_the_node_of_the_device_is_named(context: Examine, arm: Machine) -> None:
    assert processor.check_numa(context(arm)).values["touched"] == "1"


def test_a_history_that_cannot_be_opened_fails(context: Examine, x86: Machine) -> None:
    made = context(x86)

    def refuse():
        raise StoreError("no", reason="坏了")

    broken = made.__class__(made.host, made.settings, refuse)
    finding = service.check_history(broken)
    assert (finding.state, finding.found) == (FAIL, "closed")
    assert models.check_files(broken).state is NONE


class _Page(BaseHTTPRequestHandler):
    body = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.mark.parametrize(
    ("body", "state", "found"),
    [("<title>听录</title>", OK, "ours"), ("<title>nginx</title>", FAIL, "taken")],
)
def test_a_port_that_is_taken_by_a_page(
    context: Examine, x86: Machine, body: str, state: State, found: str
) -> None:
    page = type("Page", (_Page,), {"body": body.encode()})
    with HTTPServer(("127.0.0.1", 0), page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        finding = service.check_port(context(x86, port=server.server_port))
        server.shutdown()
        thread.join()
    assert (finding.state, finding.found) == (state, found)


def test_a_port_that_is_taken_by_something_that_is_no_page(
    context: Examine, x86: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_ANSWER_S", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        finding = service.check_port(context(x86, port=port))
    assert (finding.state, finding.found) == (FAIL, "taken")
    assert f":{port}" in finding.mend[0]


def test_quick_leaves_out_what_takes_long(context: Examine, x86: Machine) -> None:
    made = context(x86, is_quick=True)
    assert models.check_hashes(made).found == models.check_transcription(made).found == "skipped"


def test_a_recognizer_that_cannot_be_loaded_fails_the_trial(
    context: Examine, x86: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = context(x86)
    engine = made.engine()

    def refuse(*_: object) -> None:
        raise StoreError("no", reason="坏了")

    monkeypatch.setattr(engine, "recognize", refuse)
    finding = models.check_transcription(made)
    assert (finding.state, finding.found) == (FAIL, "fails")
