"""What the engine tells of itself, its jobs and its models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from asr_core.events import Progress
from asr_core.jobs.model import Job
from asr_core.results import DeviceChoice, ModelInfo, Sentence
from asr_core.runtime.npu_smi import NpuReport
from asr_core.runtime.pool import MemberStatus
from asr_core.transcription.tally import Work


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """What the header line says.

    Attributes:
        model: name of the default recognizer (``whisper-base``).
        backend: runtime that executes it (``ctranslate2 int8``).
        device: where it really runs (``cpu``); what was asked for while it is unavailable.
        threads: CPU threads it uses.
        state: ``loading``, ``ready``, ``busy`` or ``unavailable``.
        queued: jobs that wait.
        error_code: why it is unavailable, empty otherwise.
        error_details: to format the user's sentence.
        choice: why it runs there; ``None`` before it was loaded.
        members: the Ascend devices that it runs on.
    """

    model: str
    backend: str
    device: str
    threads: int
    state: str
    queued: int
    error_code: str
    error_details: dict[str, str]
    choice: DeviceChoice | None = None
    members: tuple[MemberStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class Measures:
    """What a monitoring system is told.

    Attributes:
        work: what was recognized since the process started.
        jobs: how many there are in each state.
        loaded: recognizers in memory, by the names of their models.
        choices: why they run where they run.
        members: Ascend devices that they run on.
        npus: all Ascend devices of the machine, as they were a moment ago.
        disk_free_bytes: where the data lies.
    """

    work: Work
    jobs: Mapping[str, int]
    loaded: Mapping[str, ModelInfo]
    choices: Mapping[str, DeviceChoice]
    members: Mapping[str, tuple[MemberStatus, ...]]
    npus: NpuReport
    disk_free_bytes: int


@dataclass(frozen=True, slots=True)
class LiveView:
    """A job as it stands now: the stored row, the last progress and the sentences so far."""

    job: Job
    progress: Progress | None
    sentences: tuple[Sentence, ...]
    queue_position: int  # 0 when it does not wait


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One model: of the catalogue, or in a folder that the user brought.

    Attributes:
        licence: SPDX identifier; empty where nothing tells.
        size_bytes: ``None`` while only the model hub knows it.
        state: ``installed``, ``present`` (nothing tells whether the files are right),
            ``missing`` or ``damaged``.
        active: whether it is the default recognizer.
        family: as in the catalogue.
        is_recognizer: whether it turns speech into text.
        hears_hotwords: whether the network itself takes hotwords.
        backend: what runs it (``onnxruntime int8``); empty while it is not loaded.
        runtime: what runs it, as its folder tells; empty where that is not known.
        brought: whether its folder was typed in.
        setting: variable that names its folder; empty where none does.
    """

    name: str
    title: str
    licence: str
    size_bytes: int | None
    state: str
    active: bool
    path: Path
    family: str
    is_recognizer: bool
    hears_hotwords: bool
    backend: str
    runtime: str
    brought: bool
    setting: str

    @property
    def is_usable(self) -> bool:
        return self.state in ("installed", "present")
