"""Whether a Paraformer runs on the CPU or on Ascend devices, and why."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from asr_core.audio.sample import sample_sentence
from asr_core.audio.segmenter import Segment
from asr_core.errors import (
    AsrError,
    AudioError,
    DeviceError,
    DeviceUnavailableError,
    ModelError,
    RecognitionError,
)
from asr_core.recognizers.base import RecognizeOptions, Recognizer
from asr_core.recognizers.npus import NpuOptions, NpuRecognizer
from asr_core.results import DeviceChoice
from asr_core.runtime.ascend_acl import AclRuntime
from asr_core.runtime.session import Float32

logger = logging.getLogger(__name__)

_MEASURED = "measured"
_NO_ACL = ("no_acl", "other_acl")
_TIMED_RUNS = 2
_FAULTS = (AudioError, DeviceError, ModelError, RecognitionError)


@dataclass(frozen=True, slots=True)
class Forms:
    """How one model can be opened here.

    Attributes:
        name: of the model.
        open_cpu: opens it on the CPU; ``None`` where its files are for Ascend devices alone.
        npu_folder: its converted folder for Ascend devices; ``None`` where there is none.
    """

    name: str
    open_cpu: Callable[[], Recognizer] | None
    npu_folder: Path | None


class Placing:
    """Opens models where the settings say; with ``auto`` where they are faster.

    What was measured counts for as long as the place can be opened; one that could not be used is
    tried again when the model is opened again. Nothing changes its place while it is open: a
    device that is lost is waited for.

    Args:
        device: ``cpu``, ``npu``, ``npu:N`` or ``auto``.
        options: of recognizers on Ascend devices.
        sentence: what is measured with: float32 mono at 16 kHz.
    """

    def __init__(
        self,
        device: str,
        options: NpuOptions,
        sentence: Callable[[], Float32] = sample_sentence,
    ) -> None:
        self._device = device
        self._options = options
        self._sentence = sentence
        self._measured: dict[tuple[str, Path], DeviceChoice] = {}

    def open(self, forms: Forms) -> tuple[Recognizer, DeviceChoice]:
        """Open a model.

        Raises:
            ModelError: its files cannot be used.
            DeviceError: the device cannot be used; ``DeviceUnavailableError`` with ``no_om`` where
                an NPU is asked for and the model has no files for one.
        """
        recognizer, choice = self._open(forms)
        logger.info(
            "device chosen model=%s device=%s reason=%s %s",
            forms.name,
            recognizer.info.device,
            choice.reason,
            " ".join(f"{name}={value}" for name, value in choice.figures),
        )
        return recognizer, choice

    def _open(self, forms: Forms) -> tuple[Recognizer, DeviceChoice]:
        if self._device != "auto":
            place = "cpu" if self._device == "cpu" else "npu"
            return self._open_on(place, forms), DeviceChoice(place, "asked")
        if forms.npu_folder is None:
            return self._open_on("cpu", forms), DeviceChoice("cpu", "no_om")
        missing = missing_devices(self._options.runtime)
        if forms.open_cpu is None:
            return self._open_on("npu", forms), DeviceChoice("npu", "only_npu")
        if missing is not None:
            return forms.open_cpu(), missing
        known = self._measured.get((forms.name, forms.npu_folder))
        if known is not None:
            try:
                return self._open_on(known.device, forms), known
            except _FAULTS as exc:
                # What was measured is no longer true; both are looked at anew.
                logger.warning("%s cannot be used any more: %s", known.device, exc)
                del self._measured[forms.name, forms.npu_folder]
        recognizer, choice = self._measure(forms, forms.open_cpu)
        if choice.reason == _MEASURED:
            self._measured[forms.name, forms.npu_folder] = choice
        return recognizer, choice

    def _open_on(self, place: str, forms: Forms) -> Recognizer:
        if place == "cpu":
            if forms.open_cpu is None:
                raise DeviceUnavailableError(
                    f"{forms.name} holds OM files only, which the CPU cannot execute",
                    device="cpu",
                    reason="only_npu",
                    model=forms.name,
                )
            return forms.open_cpu()
        if forms.npu_folder is None:
            raise DeviceUnavailableError(
                f"{forms.name} has no OM files; make them with convert om",
                device=self._device,
                reason="no_om",
                model=forms.name,
            )
        return NpuRecognizer(
            forms.npu_folder,
            name=forms.name,
            indices=device_indices(self._device, self._options.runtime),
            options=self._options,
        )

    def _measure(
        self, forms: Forms, open_cpu: Callable[[], Recognizer]
    ) -> tuple[Recognizer, DeviceChoice]:
        """The faster one, opened. One that cannot be used leaves the other."""
        try:
            on_npu = self._open_on("npu", forms)
        except _FAULTS as exc:
            return open_cpu(), _failed("npu", exc)
        try:
            npu_s = self._seconds(on_npu)
        except _FAULTS as exc:
            on_npu.close()
            return open_cpu(), _failed("npu", exc)
        except BaseException:
            on_npu.close()
            raise
        try:
            on_cpu = open_cpu()
            try:
                cpu_s = self._seconds(on_cpu)
            except BaseException:
                on_cpu.close()
                raise
        except _FAULTS as exc:
            return on_npu, _failed("cpu", exc)
        except BaseException:
            on_npu.close()
            raise
        figures = (("cpu_s", f"{cpu_s:.3f}"), ("npu_s", f"{npu_s:.3f}"))
        chosen, other = (on_npu, on_cpu) if npu_s <= cpu_s else (on_cpu, on_npu)
        other.close()
        return chosen, DeviceChoice("npu" if chosen is on_npu else "cpu", _MEASURED, figures)

    def _seconds(self, recognizer: Recognizer) -> float:
        """For one sentence, after one that only warms up."""
        waveform = self._sentence()
        segment = Segment(0, len(waveform), 0, len(waveform), waveform)
        seconds = []
        for _ in range(1 + _TIMED_RUNS):
            started = time.perf_counter()
            recognizer.recognize([segment], RecognizeOptions())
            seconds.append(time.perf_counter() - started)
        return min(seconds[1:])


def missing_devices(runtime: AclRuntime) -> DeviceChoice | None:
    """Why no Ascend device can be used here; ``None`` where there is one."""
    try:
        count = runtime.count()
    except DeviceError as exc:
        reason = "no_acl" if exc.details.get("reason") in _NO_ACL else "npu_failed"
        return DeviceChoice("cpu", reason, (("text", str(exc)),))
    return None if count else DeviceChoice("cpu", "no_device")


def device_indices(device: str, runtime: AclRuntime) -> tuple[int, ...]:
    """The devices that a setting means.

    Args:
        device: ``npu:N`` is one of them, anything else all.
        runtime: pyACL of the process.

    Raises:
        DeviceUnavailableError: pyACL is not there, or there is no device.
    """
    named = re.fullmatch(r"npu:(\d+)", device)
    if named:
        return (int(named[1]),)
    count = runtime.count()
    if not count:
        raise DeviceUnavailableError(
            "There is no Ascend device here", device="npu", reason="no_such_device", count=0
        )
    return tuple(range(count))


def _failed(place: str, error: AsrError) -> DeviceChoice:
    """The other place is taken, for this reason."""
    logger.warning("%s cannot be used: %s", place, error)
    other = "cpu" if place == "npu" else "npu"
    return DeviceChoice(other, f"{place}_failed", (("text", str(error)),))
