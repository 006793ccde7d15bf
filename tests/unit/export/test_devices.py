"""JSON tells which devices recognized how much, and why the model ran there."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from asr_core.export.registry import export
from asr_core.results import DeviceChoice, ModelInfo, Transcript

MADE = Transcript((), 1_000, "zh", ModelInfo("seaco-paraformer", "ascend fp16", "npu:0,npu:1"), 100)


def document(transcript: Transcript) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(export(transcript, "json", title="会议.wav"))
    return found


def test_segments_are_counted_by_device() -> None:
    made = replace(MADE, devices=(("npu:0", 12), ("npu:1", 11)))
    assert document(made)["devices"] == {"npu:0": 12, "npu:1": 11}


def test_what_was_chosen_has_its_reason_and_figures() -> None:
    choice = DeviceChoice("npu", "measured", (("cpu_s", "0.520"), ("npu_s", "0.210")))
    made = replace(MADE, model=replace(MADE.model, choice=choice))
    assert document(made)["model"] == {
        "name": "seaco-paraformer",
        "backend": "ascend fp16",
        "device": "npu:0,npu:1",
        "device_choice": {"reason": "measured", "cpu_s": "0.520", "npu_s": "0.210"},
    }


def test_nothing_is_said_of_what_was_asked_for_or_is_not_known() -> None:
    asked = replace(MADE, model=replace(MADE.model, choice=DeviceChoice("npu", "asked")))
    for made in (MADE, asked):
        assert "devices" not in document(made)
        assert "device_choice" not in document(made)["model"]
