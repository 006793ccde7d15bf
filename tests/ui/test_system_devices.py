"""The system tab says where the model runs, why there, and how each device is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asr_core.engine import EngineStatus
from asr_core.messages import LOCALES
from asr_core.results import DeviceChoice
from asr_core.runtime.pool import MemberState, MemberStatus
from asr_core.settings import Settings
from tests.seeding import sentence, transcript
from ui.handlers import system
from ui.view import transcript_view

STATUS = EngineStatus(
    model="seaco-paraformer",
    backend="ascend fp16",
    device="npu:0,npu:1",
    threads=8,
    state="ready",
    queued=0,
    error_code="",
    error_details={},
    choice=DeviceChoice("npu", "measured", (("cpu_s", "0.520"), ("npu_s", "0.210"))),
    members=(
        MemberStatus("npu:0", MemberState.READY, 0.0, 12, 0, ""),
        MemberStatus("npu:1", MemberState.RESTING, 0.0, 7, 0, "91 °C"),
        MemberStatus("npu:2", MemberState.LOST, 0.0, 3, 1, "hang"),
    ),
)


def rows(status: EngineStatus, locale: str) -> list[list[str]]:
    return system._device_rows(status, locale)


def test_devices_and_the_reason() -> None:
    assert rows(STATUS, "en") == [
        ["Device", "NPU:0,NPU:1"],
        ["Why there", "Chosen by measuring one sentence: CPU 0.520 s, NPU 0.210 s"],
        ["NPU:0", "ready · 12 parts done"],
        ["NPU:1", "rests: 91 °C · 7 parts done"],
        ["NPU:2", "lost, is opened again: hang · 3 parts done"],
    ]


@pytest.mark.parametrize(
    "reason",
    ["cpu_only", "no_om", "no_acl", "no_device", "only_npu", "npu_failed", "cpu_failed"],
)
@pytest.mark.parametrize("locale", LOCALES)
def test_every_reason_has_a_sentence(reason: str, locale: str) -> None:
    choice = DeviceChoice("cpu", reason, (("text", "507010"),))
    told = rows(replace(STATUS, choice=choice), locale)[1][1]
    assert reason not in told
    assert "{" not in told
    assert ("507010" in told) == reason.endswith("failed")


def test_what_was_asked_for_needs_no_reason() -> None:
    asked = replace(STATUS, choice=DeviceChoice("npu", "asked"), members=())
    assert rows(asked, "zh-CN") == [["设备", "NPU:0,NPU:1"]]


@pytest.mark.parametrize(
    ("devices", "text"),
    [
        ((), "cpu"),
        ((("npu:1", 9),), "npu:1"),
        ((("npu:0", 12), ("npu:1", 11)), "npu:0 ×12, npu:1 ×11"),
    ],
)
def test_a_transcript_shows_where_it_ran(devices: tuple[tuple[str, int], ...], text: str) -> None:
    made = replace(transcript((sentence("好", 0),)), devices=devices)
    assert transcript_view(made, "en")["device"] == text


def test_the_settings_take_every_device(tmp_path) -> None:
    for device in ("auto", "cpu", "npu", "npu:0", "npu:15"):
        assert Settings(home=tmp_path, device=device).device == device
