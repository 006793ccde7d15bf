"""Numbers for a monitoring system, in the text format of Prometheus.

They are read when they are asked for; nothing is kept but what the engine counts anyway. No name
or text of a recording is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from asr_core import __version__
from asr_core.engine import Engine, JobState, Measures
from asr_core.runtime.npu_smi import NpuChip, NpuReport
from asr_core.runtime.pool import MemberState

PATH = "/metrics"

_MEGABYTE = 1024 * 1024
_CHIP = ("card", "chip", "name")


class EngineCollector(Collector):
    """Reads an engine.

    Args:
        engine: is asked at every :meth:`collect`.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        """All metrics; see the table in README.

        Raises:
            StoreError: the database cannot be read.
        """
        measures = self._engine.measures()
        yield _gauge("tinglu_build", "Version of the program", ["version"], [(__version__, 1)])
        yield from _work(measures)
        states = [(state.value, measures.jobs.get(state.value, 0)) for state in JobState]
        yield _gauge("tinglu_jobs", "Jobs in each state", ["state"], states)
        yield from _models(measures)
        yield from _npus(measures.npus)
        yield GaugeMetricFamily(
            "tinglu_disk_free_bytes", "Free disk space for data", measures.disk_free_bytes
        )


def metrics_route(engine: Engine) -> Route:
    """Answers ``GET /metrics``, on a thread of its own.

    Args:
        engine: is asked at every request.
    """
    registry = CollectorRegistry()
    registry.register(EngineCollector(engine))
    ProcessCollector(registry=registry)

    def answer(request: Request) -> Response:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), headers={"content-type": media_type})

    return Route(PATH, answer, methods=["GET"])


def _work(measures: Measures) -> Iterator[Metric]:
    """Counters, which begin anew with the process."""
    labels = ["model", "device"]
    done = measures.work.recognized
    yield _counter(
        "tinglu_segments",
        "Segments of speech that were recognized, by the device that did it",
        labels,
        [(one.model, one.device, one.segments) for one in done],
    )
    yield _counter(
        "tinglu_speech_seconds",
        "Speech in these segments",
        labels,
        [(one.model, one.device, one.speech_s) for one in done],
    )
    yield _counter(
        "tinglu_recognition_seconds",
        "Time that recognizing took",
        ["model"],
        [*measures.work.seconds.items()],
    )
    yield _counter(
        "tinglu_failed_groups",
        "Groups of segments that a recognizer failed at",
        ["model"],
        [*measures.work.failed.items()],
    )


def _models(measures: Measures) -> Iterator[Metric]:
    """What is loaded, why it runs there, and the devices that it runs on."""
    yield _gauge(
        "tinglu_model_loaded",
        "Recognizers in memory, with what runs them and why it was chosen",
        ["model", "backend", "device", "reason"],
        [
            (name, info.backend, info.device, choice.reason if choice else "", 1)
            for name, info in measures.loaded.items()
            for choice in [measures.choices.get(name)]
        ],
    )
    members = [(name, one) for name, some in measures.members.items() for one in some]
    labels = ["model", "device"]
    yield _gauge(
        "tinglu_device_ready",
        "Whether an Ascend device takes work; 0 while it rests or is lost",
        labels,
        [(name, one.name, int(one.state is MemberState.READY)) for name, one in members],
    )
    yield _gauge(
        "tinglu_device_work_seconds",
        "Speech that an Ascend device has before it: what runs and what waits for it",
        labels,
        [(name, one.name, one.waiting) for name, one in members],
    )
    yield _counter(
        "tinglu_device_losses",
        "How often an Ascend device was lost",
        labels,
        [(name, one.name, one.losses) for name, one in members],
    )


def _npus(report: NpuReport) -> Iterator[Metric]:
    """What ``npu-smi`` tells; values that it does not tell are left out."""
    fit = [(*_labels(chip), int(not chip.unfit)) for chip in report.chips]
    yield _gauge("tinglu_npu_fit", "Whether a chip is healthy and cool enough", _CHIP, fit)
    values: dict[str, tuple[str, Callable[[NpuChip], float | None], float]] = {
        "temperature_celsius": ("Temperature", lambda chip: chip.temp_c, 1.0),
        "utilization_ratio": ("Use of its computing cores", lambda chip: chip.aicore_percent, 0.01),
        "memory_used_bytes": ("Memory in use", lambda chip: chip.memory_used_mb, _MEGABYTE),
        "memory_total_bytes": ("Memory", lambda chip: chip.memory_total_mb, _MEGABYTE),
        "power_watts": ("Power", lambda chip: chip.power_w, 1.0),
    }
    for name, (text, read, unit) in values.items():
        told = [
            (*_labels(chip), value * unit)
            for chip in report.chips
            if (value := read(chip)) is not None
        ]
        yield _gauge(f"tinglu_npu_{name}", f"{text} of a chip", _CHIP, told)


def _labels(chip: NpuChip) -> tuple[str, str, str]:
    return str(chip.card), str(chip.chip), chip.name


def _gauge(
    name: str, text: str, labels: Sequence[str], rows: Sequence[tuple[str | float, ...]]
) -> Metric:
    return _filled(GaugeMetricFamily(name, text, labels=labels), rows)


def _counter(
    name: str, text: str, labels: Sequence[str], rows: Sequence[tuple[str | float, ...]]
) -> Metric:
    return _filled(CounterMetricFamily(name, text, labels=labels), rows)


def _filled(
    family: GaugeMetricFamily | CounterMetricFamily, rows: Sequence[tuple[str | float, ...]]
) -> Metric:
    for *labels, value in rows:
        family.add_metric([str(label) for label in labels], float(value))
    return family
