"""Ascend devices through the whole engine. The devices are a simulation (``tests/fakes/acl``)."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asr_core import equipment
from asr_core.engine import Engine, TranscribeOptions
from asr_core.errors import (
    DeviceDriftError,
    DeviceLostError,
    DeviceMemoryError,
    DeviceMismatchError,
    DeviceUnavailableError,
    ModelIntegrityError,
)
from asr_core.messages import LOCALES, describe
from asr_core.models.selftest import SELFTEST_FILE, write_selftest
from asr_core.recognizers.npus import NpuOptions
from asr_core.results import Transcript
from asr_core.runtime.ascend_acl import AclRuntime
from asr_core.service.metrics import EngineCollector
from asr_core.settings import Settings
from tests.fakes.acl.machine import Machine
from tests.fakes.ascend_folder import LARGE_SIZES, ascend_folder
from tests.fakes.simulation import simulated
from tests.material import ROOT

pytest.importorskip("mindspore", reason="MindSpore is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

OPTIONS = TranscribeOptions(marks="own")
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def models(seaco_fp32: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """``cpu``: graphs for ONNX Runtime; ``npu``: OM files; ``both``: with OM files beside them."""
    work = tmp_path_factory.mktemp("models")
    cpu = Path(shutil.copytree(seaco_fp32, work / "cpu"))
    npu = ascend_folder(cpu, work / "npu", "gears", sizes=LARGE_SIZES)
    write_selftest(npu, cpu)
    shutil.copytree(cpu, work / "both")
    shutil.copytree(npu, work / "both.ascend")
    return {"cpu": cpu, "npu": npu, "both": work / "both"}


@contextmanager
def machine_of(patch: pytest.MonkeyPatch, **options: Any) -> Iterator[Machine]:
    """Simulated devices, with a pyACL of their own that is ended afterwards."""
    runtime = AclRuntime()
    made = functools.partial(
        NpuOptions, runtime=runtime, back_off_s=(0.01,), patience_s=options.pop("patience_s", 30.0)
    )
    patch.setattr(equipment, "NpuOptions", made)
    with simulated(**options) as machine:
        yield machine
        assert runtime.users == 0
        runtime.shut_down()
        assert machine.finalized or not machine.initialized


@contextmanager
def opened(home: Path, folder: Path, device: str) -> Iterator[Engine]:
    settings = Settings(home=home, model_dir=folder, device=device, threads=1)
    with Engine(settings) as engine:
        yield engine


def tokens(transcript: Transcript) -> list[tuple[str, int, int]]:
    return [
        (token.text, token.start_ms, token.end_ms)
        for sentence in transcript.sentences
        for token in sentence.tokens
    ]


def metrics_of(engine: Engine) -> dict[str, dict[str, float]]:
    """What a monitoring system is told, by name and device."""
    told: dict[str, dict[str, float]] = {}
    for one in (one for family in EngineCollector(engine).collect() for one in family.samples):
        told.setdefault(one.name, {})[one.labels.get("device", "")] = one.value
    return told


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Path:
    """The sample four times."""
    import soundfile

    waveform, rate = soundfile.read(sample, dtype="int16")
    path = tmp_path_factory.mktemp("long") / "长录音.wav"
    soundfile.write(path, np.tile(waveform, 4), rate)
    return path


@pytest.fixture(scope="module")
def expected(
    models: Mapping[str, Path],
    sample: Path,
    long_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[Path, Transcript]:
    """What ONNX Runtime says."""
    with opened(tmp_path_factory.mktemp("home"), models["cpu"], "cpu") as engine:
        made = {path: engine.recognize(path, OPTIONS) for path in (sample, long_file)}
    assert len(tokens(made[sample])) > 50
    assert dict(made[sample].devices).keys() == {"cpu"}
    return made


def test_the_command_line_on_a_simulated_device(
    models: Mapping[str, Path], sample: Path, expected: Mapping[Path, Transcript], tmp_path: Path
) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASR_")}
    environment = kept | {
        "ASR_HOME": str(tmp_path / "home"),
        "ASR_MODEL_DIR": str(models["npu"]),
        "ASR_PUNCTUATION": "own",
        "PYTHONPATH": str(ROOT / "tests" / "fakes"),
    }
    done = subprocess.run(
        [
            *(sys.executable, "-m", "asr_core", "transcribe", str(sample)),
            *("--device", "npu:0", "--format", "json"),
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    said = [
        (token["text"], token["start_ms"], token["end_ms"])
        for sentence in document["sentences"]
        for token in sentence["tokens"]
    ]
    assert said == tokens(expected[sample])
    assert document["model"]["device"] == "npu:0"
    assert document["model"]["backend"] == "ascend fp32"
    assert list(document["devices"]) == ["npu:0"]
    assert sum(document["devices"].values()) == sum(dict(expected[sample].devices).values())


@pytest.mark.parametrize(("device", "count"), [("npu:0", 1), ("npu", 2)])
@pytest.mark.parametrize("how", ["nothing", "lose"])
def test_a_device_that_is_lost_in_the_middle_costs_no_segment(
    models: Mapping[str, Path],
    long_file: Path,
    expected: Mapping[Path, Transcript],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    count: int,
    how: str,
) -> None:
    with machine_of(monkeypatch, devices=count) as machine:
        seen = 0

        def on_event(_: object) -> None:
            nonlocal seen
            seen += 1
            if seen == 3 and how == "lose":
                machine.lose(0)
                machine.recover(0)

        with opened(tmp_path, models["npu"], device) as engine:
            made = engine.recognize(long_file, OPTIONS, on_event=on_event)
            status = engine.status()
            measured = metrics_of(engine)
        assert seen > 3
        assert tokens(made) == tokens(expected[long_file])
        assert made.coverage == expected[long_file].coverage
        names = [f"npu:{index}" for index in range(count)]
        assert [name for name, _ in made.devices] == names
        segments = sum(dict(expected[long_file].devices).values())
        assert sum(dict(made.devices).values()) == segments
        assert made.model.device == ",".join(names)
        assert status.device == ",".join(names)
        losses = [int(how == "lose"), 0][:count]
        assert [one.losses for one in status.members] == losses
        assert measured["tinglu_segments_total"] == dict(made.devices)
        assert measured["tinglu_device_losses_total"] == dict(zip(names, losses, strict=True))
        assert measured["tinglu_device_ready"].keys() == {*names}


def test_a_device_that_stays_away_fails_the_job_by_name_and_never_goes_to_the_cpu(
    models: Mapping[str, Path], sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        machine_of(monkeypatch, patience_s=0.3) as machine,
        opened(tmp_path, models["both"], "npu:0") as engine,
    ):
        engine.recognize(sample, OPTIONS)
        machine.lose(0)
        with pytest.raises(DeviceLostError) as caught:
            engine.recognize(sample, OPTIONS)
        assert caught.value.details["reason"] == "none"
        assert "npu:0" in describe(caught.value, "en")
        machine.recover(0)
        assert engine.recognize(sample, OPTIONS).devices[0][0] == "npu:0"


def test_short_memory_halves_the_rows_and_is_told_when_that_is_not_enough(
    models: Mapping[str, Path],
    long_file: Path,
    expected: Mapping[Path, Transcript],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        machine_of(monkeypatch) as machine,
        opened(tmp_path, models["npu"], "npu:0") as engine,
    ):
        engine.recognize(long_file, OPTIONS)
        runs = machine.calls["acl.mdl.execute_async"]
        engine.recognize(long_file, OPTIONS)
        usual = machine.calls["acl.mdl.execute_async"] - runs
        machine.fail("acl.mdl.execute_async", 207001, at=usual // 2)
        assert tokens(engine.recognize(long_file, OPTIONS)) == tokens(expected[long_file])
        machine.fail("acl.mdl.execute_async", 207001, times=100)
        with pytest.raises(DeviceMemoryError) as caught:
            engine.recognize(long_file, OPTIONS)
        assert "207001" in describe(caught.value, "zh-CN")


def test_a_model_for_another_chip_names_both(
    models: Mapping[str, Path], sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        machine_of(monkeypatch, soc="Ascend910B3"),
        opened(tmp_path, models["npu"], "npu:0") as engine,
    ):
        with pytest.raises(DeviceMismatchError) as caught:
            engine.recognize(sample, OPTIONS)
        for locale in LOCALES:
            text = describe(caught.value, locale)
            assert "Ascend910B3" in text
            assert "Ascend310P3" in text


def test_other_numbers_than_the_cpus_are_refused(
    models: Mapping[str, Path], sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(models["npu"], tmp_path / "drifted"))
    with np.load(folder / SELFTEST_FILE) as arrays:
        stored = dict(arrays)
    stored["decode.out.hidden"] = stored["decode.out.hidden"] * 1.5
    np.savez(folder / SELFTEST_FILE, **stored)
    with machine_of(monkeypatch), opened(tmp_path / "home", folder, "npu:0") as engine:
        with pytest.raises(DeviceDriftError) as caught:
            engine.recognize(sample, OPTIONS)
        assert float(str(caught.value.details["error"])) == pytest.approx(1 / 3, rel=1e-2)
        status = engine.status()
        assert status.error_code == "device_drift"


def test_a_self_test_that_leaves_a_graph_out_is_no_self_test(
    models: Mapping[str, Path], sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(models["npu"], tmp_path / "untested"))
    with np.load(folder / SELFTEST_FILE) as arrays:
        stored = {key: arrays[key] for key in arrays.files if not key.startswith("decode.")}
    np.savez(folder / SELFTEST_FILE, **stored)
    with (
        machine_of(monkeypatch),
        opened(tmp_path / "home", folder, "npu:0") as engine,
        pytest.raises(ModelIntegrityError, match="does not test decode"),
    ):
        engine.recognize(sample, OPTIONS)


@pytest.mark.parametrize("device", ["npu", "npu:0"])
def test_a_model_without_om_files_is_refused_with_the_remedy(
    models: Mapping[str, Path],
    sample: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
) -> None:
    with machine_of(monkeypatch), opened(tmp_path, models["cpu"], device) as engine:
        with pytest.raises(DeviceUnavailableError) as caught:
            engine.recognize(sample, OPTIONS)
        assert caught.value.details["reason"] == "no_om"
        assert "./run.sh convert om" in describe(caught.value, "zh-CN")


def chosen(engine: Engine, sample: Path) -> tuple[Transcript, dict[str, str]]:
    made = engine.recognize(sample, OPTIONS)
    status = engine.status()
    assert status.choice is not None
    assert status.choice == made.model.choice
    return made, {"reason": status.choice.reason, **dict(status.choice.figures)}


def test_auto_measures_both_and_takes_the_faster_one(
    models: Mapping[str, Path],
    sample: Path,
    expected: Mapping[Path, Transcript],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    with machine_of(monkeypatch, devices=2), opened(tmp_path, models["both"], "auto") as engine:
        made, why = chosen(engine, sample)
        faster = "npu" if float(why["npu_s"]) <= float(why["cpu_s"]) else "cpu"
        assert why["reason"] == "measured"
        assert made.model.choice is not None
        assert made.model.choice.device == faster
        assert made.model.device == {"npu": "npu:0,npu:1", "cpu": "cpu"}[faster]
        assert {name[:3] for name, _ in made.devices} == {faster}
        assert tokens(made) == tokens(expected[sample])
        assert f"reason=measured cpu_s={why['cpu_s']} npu_s={why['npu_s']}" in caplog.text


@pytest.mark.parametrize(
    ("folder", "acl", "reason"),
    [("cpu", True, "no_om"), ("both", False, "no_acl"), ("both", True, "no_device")],
)
def test_auto_takes_the_cpu_at_once_and_says_why(
    models: Mapping[str, Path],
    sample: Path,
    expected: Mapping[Path, Transcript],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    acl: bool,
    reason: str,
) -> None:
    count = 0 if reason == "no_device" else 1
    with machine_of(monkeypatch, devices=count):
        if not acl:
            monkeypatch.setitem(sys.modules, "acl", None)
        with opened(tmp_path, models[folder], "auto") as engine:
            made, why = chosen(engine, sample)
    assert why["reason"] == reason
    assert made.model.device == "cpu"
    assert tokens(made) == tokens(expected[sample])


def test_auto_with_a_model_for_another_chip_says_so(
    models: Mapping[str, Path], sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        machine_of(monkeypatch, soc="Ascend910B3"),
        opened(tmp_path, models["both"], "auto") as engine,
    ):
        made, why = chosen(engine, sample)
        assert made.model.device == "cpu"
        assert why["reason"] == "npu_failed"
        assert "Ascend910B3" in why["text"]


def test_om_files_alone_run_on_the_npu(
    models: Mapping[str, Path], sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with machine_of(monkeypatch), opened(tmp_path, models["npu"], "auto") as engine:
        made, why = chosen(engine, sample)
        assert (made.model.device, why["reason"]) == ("npu:0", "only_npu")


@pytest.mark.parametrize(
    ("device", "reason"),
    [("auto", "no_acl"), ("cpu", "only_npu"), ("npu", "no_acl"), ("npu:0", "no_acl")],
)
def test_om_files_without_pyacl_are_refused_by_name(
    models: Mapping[str, Path],
    sample: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    reason: str,
) -> None:
    monkeypatch.setitem(sys.modules, "acl", None)
    with (
        opened(tmp_path, models["npu"], device) as engine,
        pytest.raises(DeviceUnavailableError) as caught,
    ):
        engine.recognize(sample, OPTIONS)
    assert caught.value.details["reason"] == reason
    for locale in LOCALES:
        assert "{" not in describe(caught.value, locale)


def test_several_files_at_once_over_four_devices(
    models: Mapping[str, Path],
    sample: Path,
    long_file: Path,
    expected: Mapping[Path, Transcript],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The segments of each come back to it, and all devices get some."""
    paths: Sequence[Path] = [sample, long_file, sample]
    with (
        machine_of(monkeypatch, devices=4),
        opened(tmp_path, models["npu"], "npu") as engine,
        ThreadPoolExecutor(3) as threads,
    ):
        made = list(threads.map(lambda path: engine.recognize(path, OPTIONS), paths))
    for path, transcript in zip(paths, made, strict=True):
        assert tokens(transcript) == tokens(expected[path])
    used = {name for transcript in made for name, _ in transcript.devices}
    assert used == {f"npu:{index}" for index in range(4)}
