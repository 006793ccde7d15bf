"""Where a model is opened when one of two places fails. The devices are a simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asr_core.recognizers.base import Recognizer
from asr_core.recognizers.npus import NpuOptions
from asr_core.recognizers.paraformer import ParaformerRecognizer
from asr_core.recognizers.placing import Forms, Placing
from asr_core.results import DeviceChoice
from asr_core.runtime.ascend_acl import AclRuntime
from asr_core.runtime.command import Answer
from asr_core.runtime.npu_smi import NpuMonitor
from tests.fakes.ascend_folder import ascend_folder
from tests.fakes.simulation import simulated

pytest.importorskip("mindspore", reason="MindSpore is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")


@pytest.fixture(scope="module")
def npu_folder(plain_fp32: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ascend_folder(plain_fp32, tmp_path_factory.mktemp("placing") / "npu", "gears")


@pytest.fixture
def runtime() -> AclRuntime:
    return AclRuntime()


@pytest.fixture
def placing(runtime: AclRuntime) -> Placing:
    monitor = NpuMonitor(lambda _arguments, _timeout_s: Answer("absent"))
    options = NpuOptions(threads=1, batch_segments=1, monitor=monitor, runtime=runtime)
    return Placing("auto", options, lambda: np.zeros(16_000, np.float32))


def test_a_fault_that_nobody_foresaw_leaves_no_device_open(
    placing: Placing, runtime: AclRuntime, npu_folder: Path
) -> None:
    def broken() -> Recognizer:
        raise LookupError("odd")

    with simulated():
        with pytest.raises(LookupError, match="odd"):
            placing.open(Forms("m", broken, npu_folder))
        assert runtime.users == 0


def test_a_device_that_failed_is_tried_again_when_the_model_is_opened_again(
    placing: Placing, npu_folder: Path, plain_fp32: Path
) -> None:
    def on_cpu() -> Recognizer:
        return ParaformerRecognizer(
            plain_fp32, name="m", threads=1, batch_segments=1, runtime="onnxruntime"
        )

    reasons = []
    with simulated() as machine:
        machine.fail("acl.rt.set_device", 507899)
        for _ in range(2):
            recognizer, choice = placing.open(Forms("m", on_cpu, npu_folder))
            recognizer.close()
            reasons.append(choice.reason)
    assert reasons == ["npu_failed", "measured"]


def test_a_place_that_was_measured_and_is_gone_is_looked_at_anew(
    placing: Placing, npu_folder: Path, plain_fp32: Path
) -> None:
    """As if the program had begun at that moment."""

    def on_cpu() -> Recognizer:
        return ParaformerRecognizer(
            plain_fp32, name="m", threads=1, batch_segments=1, runtime="onnxruntime"
        )

    forms = Forms("m", on_cpu, npu_folder)
    found = []
    with simulated() as machine:
        placing._measured["m", npu_folder] = DeviceChoice("npu", "measured")
        for _ in range(2):
            recognizer, choice = placing.open(forms)
            found.append((recognizer.info.device, choice.reason))
            recognizer.close()
            machine.fail("acl.rt.set_device", 507899, times=2)
    assert found == [("npu:0", "measured"), ("cpu", "npu_failed")]
