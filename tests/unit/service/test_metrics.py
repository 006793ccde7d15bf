"""Metrics: what a monitoring system reads is what happened, and nothing that anybody said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open
from prometheus_client.parser import text_string_to_metric_families as read_plain
from starlette.applications import Starlette
from starlette.testclient import TestClient

from asr_core.audio.segmenter import Segment
from asr_core.engine import Engine, TranscribeOptions
from asr_core.errors import RecognitionError
from asr_core.recognizers.base import RecognizeOptions
from asr_core.results import Utterance
from asr_core.runtime.npu_smi import NpuMonitor
from asr_core.service.metrics import metrics_route
from asr_core.settings import Settings
from tests.fakes.npu_smi import SimulatedNpuSmi
from tests.golden.paraformer_files import PLAIN
from tests.unit.runtime.smi_outputs import CHIP_310P, CHIP_310P_DUAL

OPTIONS = TranscribeOptions(marks="own")
Sample = tuple[str, tuple[tuple[str, str], ...]]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    settings = Settings(home=tmp_path / "home", model_dir=PLAIN, device="cpu", threads=1)
    with Engine(settings) as opened:
        yield opened


@pytest.fixture
def client(engine: Engine) -> TestClient:
    return TestClient(Starlette(routes=[metrics_route(engine)]))


def samples(client: TestClient) -> dict[Sample, float]:
    """Values by name and labels, as Prometheus' own parser reads them."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in read_plain(answer.text)
        for one in family.samples
    }


def named(found: dict[Sample, float], name: str) -> dict[tuple[str, ...], float]:
    """The samples of a name by the values of their labels, which are in the order of the keys."""
    return {tuple(value for _, value in key[1]): v for key, v in found.items() if key[0] == name}


def test_before_anything_was_done(client: TestClient) -> None:
    found = samples(client)
    assert set(named(found, "tinglu_jobs").values()) == {0.0}
    assert ("queued",) in named(found, "tinglu_jobs")
    assert not named(found, "tinglu_segments_total")
    assert not named(found, "tinglu_model_loaded")
    assert not named(found, "tinglu_npu_fit")
    assert named(found, "tinglu_disk_free_bytes")[()] > 0
    assert named(found, "process_resident_memory_bytes")[()] > 1e6


def test_what_was_recognized_is_counted_by_the_device_that_did_it(
    engine: Engine, client: TestClient, sample: Path
) -> None:
    first = engine.transcribe(sample, OPTIONS)
    second = engine.transcribe(sample, OPTIONS)
    found = samples(client)
    name = first.model.name
    (segments,) = named(found, "tinglu_segments_total").items()
    assert segments == (("cpu", name), 2.0 * dict(first.devices)["cpu"])
    (speech,) = named(found, "tinglu_speech_seconds_total").values()
    assert speech == pytest.approx(
        (first.coverage.speech_ms + second.coverage.speech_ms) / 1000, rel=0.01
    )
    (seconds,) = named(found, "tinglu_recognition_seconds_total").items()
    assert seconds[0] == (name,)
    assert 0 < seconds[1] <= (first.processing_ms + second.processing_ms) / 1000
    assert named(found, "tinglu_jobs")["done",] == 2.0
    (loaded,) = named(found, "tinglu_model_loaded")
    assert loaded == (first.model.backend, "cpu", name, "asked")


@pytest.mark.parametrize("fault", [RecognitionError("simulated"), ValueError("unforeseen")])
def test_groups_that_fail_are_counted(
    engine: Engine,
    client: TestClient,
    sample: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
) -> None:
    def broken(_segments: list[Segment], _options: RecognizeOptions) -> list[Utterance]:
        raise fault

    with engine._equipment.pool.lease(engine.status().model) as worker:
        recognizer = worker.ready()
    monkeypatch.setattr(recognizer, "recognize", broken)
    with pytest.raises(type(fault)):
        engine.transcribe(sample, OPTIONS)
    assert named(samples(client), "tinglu_failed_groups_total")[engine.status().model,] == 1.0


def test_devices_are_told_by_card_and_chip(engine: Engine, client: TestClient) -> None:
    """The command is a simulation."""
    engine._equipment.npus = NpuMonitor(SimulatedNpuSmi(CHIP_310P))
    found = samples(client)
    cool, hot = ("0", "0", "310P3"), ("5", "0", "310P3")
    assert named(found, "tinglu_npu_fit") == {cool: 1.0, hot: 0.0}
    assert named(found, "tinglu_npu_temperature_celsius") == {cool: 44.0, hot: 88.0}
    assert named(found, "tinglu_npu_utilization_ratio")[cool] == pytest.approx(0.03)
    assert named(found, "tinglu_npu_memory_used_bytes")[hot] == 19400 * 2**20
    assert named(found, "tinglu_npu_power_watts")[cool] == pytest.approx(16.2)


def test_values_that_nothing_tells_are_left_out(engine: Engine, client: TestClient) -> None:
    engine._equipment.npus = NpuMonitor(SimulatedNpuSmi(CHIP_310P_DUAL))
    found = samples(client)
    assert len(named(found, "tinglu_npu_fit")) == 3
    assert not named(found, "tinglu_npu_power_watts")
    assert len(named(found, "tinglu_npu_temperature_celsius")) == 2


def test_a_failing_command_costs_nothing_else(engine: Engine, client: TestClient) -> None:
    engine._equipment.npus = NpuMonitor(SimulatedNpuSmi("no table at all"))
    found = samples(client)
    assert not named(found, "tinglu_npu_fit")
    assert named(found, "tinglu_jobs")


def test_the_newer_format_is_given_to_who_asks_for_it(client: TestClient) -> None:
    accept = "application/openmetrics-text; version=1.0.0"
    answer = client.get("/metrics", headers={"accept": accept})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert "tinglu_jobs" in {family.name for family in read_open(answer.text)}


def test_no_name_and_no_text_is_told(engine: Engine, client: TestClient, sample: Path) -> None:
    made = engine.transcribe(sample, OPTIONS)
    text = client.get("/metrics").text
    assert made.text
    assert sample.stem not in text
    assert not [line for line in text.splitlines() if any(char > "\u2fff" for char in line)]
