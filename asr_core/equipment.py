"""What transcriptions work with, made from the settings when it is first needed."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from asr_core import __version__
from asr_core.audio.decode import DecodeOptions
from asr_core.errors import DeviceUnavailableError, NormalizationError
from asr_core.messages import message
from asr_core.models.offers import ascend_folder, runs_on_cpu
from asr_core.recognizers.base import Recognizer
from asr_core.recognizers.npus import NpuOptions, NpuRecognizer
from asr_core.recognizers.paraformer import ParaformerRecognizer
from asr_core.recognizers.placing import Forms, Placing
from asr_core.recognizers.whisper import WhisperRecognizer
from asr_core.results import DeviceChoice, ModelInfo
from asr_core.runtime.affinity import cores_for, device_cores, pin
from asr_core.runtime.cann import cann_version
from asr_core.runtime.npu_smi import NpuMonitor
from asr_core.runtime.pool import MemberStatus
from asr_core.settings import Settings
from asr_core.shelf import ModelShelf
from asr_core.text.itn.normalizer import InverseNormalizer, RuleNormalizer
from asr_core.text.punctuation.marks import Punctuator
from asr_core.text.punctuation.opening import open_punctuation
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.options import OWN_MARKS, TranscribeOptions
from asr_core.transcription.pipeline import Stages
from asr_core.transcription.pool import RecognizerPool

logger = logging.getLogger(__name__)

_MOST_DEFAULT_THREADS = 8  # a base-size model gains nothing from more
_SEGMENTS = 2  # that take as long as a window, on average
_WHISPER = "whisper"
_MARK_THREADS = 2  # a sentence is too short for more


class Equipment:
    """The recognizers' owners and the stages around them; usable from any thread.

    Args:
        settings: of this installation.
        shelf: which models there are.

    Attributes:
        pool: owns the recognizers, each of which is loaded at its first use.
        limits: ``max_duration_s`` and ``stall_s`` of every recording.
        npus: asks ``npu-smi``.
    """

    def __init__(self, settings: Settings, shelf: ModelShelf) -> None:
        self._settings = settings
        self._shelf = shelf
        self._lock = threading.RLock()  # guards the fields below
        self._opening = threading.Lock()  # one punctuation model at a time; before the other one
        self._cores: frozenset[int] | None = None
        self._normalizer: RuleNormalizer | None = None
        self._punctuators: dict[str, Punctuator | None] = {OWN_MARKS: None}
        self._usable = frozenset(os.sched_getaffinity(0))
        self._placing: Placing | None = None
        self._choices: dict[str, DeviceChoice] = {}
        self._on_npus: dict[str, NpuRecognizer] = {}
        self.npus = NpuMonitor()
        self.pool = RecognizerPool(self._load_recognizer, settings.loaded_models)
        self.limits = DecodeOptions(
            max_duration_s=settings.max_hours * 3600.0, stall_s=float(settings.decode_stall_s)
        )

    @property
    def threads(self) -> int:
        """CPU threads of the recognizer."""
        return self._settings.threads or min(len(self.cores), _MOST_DEFAULT_THREADS)

    @property
    def cores(self) -> frozenset[int]:
        """The cores that the recognizer and what prepares its input stay on."""
        with self._lock:
            if self._cores is None:
                self._cores = cores_for(self._settings.cpu_affinity, self._settings.device)
            return self._cores

    def pin(self) -> None:
        """Keep the calling thread, and those that it makes, on these cores.

        Raises:
            SettingsError: the setting names no core that may be used.
        """
        pin(self._settings.cpu_affinity, self.cores)

    @property
    def normalizer(self) -> RuleNormalizer:
        """Writes numbers by our rules and the user's file of rules, which is read when it changes.

        Raises:
            NormalizationError: our rules cannot be read.
        """
        with self._lock:
            if self._normalizer is None:
                self._normalizer = RuleNormalizer(
                    self._settings.itn_rules,
                    allow_patterns=self._settings.itn_patterns == "on",
                )
            return self._normalizer

    @contextmanager
    def stages(
        self, options: TranscribeOptions, cancel: CancelToken | None = None
    ) -> Iterator[Stages]:
        """The stages of one transcription; its recognizer stays loaded until the end.

        Args:
            options: name the model.
            cancel: ends the waiting for room in memory.

        Raises:
            TranscriptionCancelled: while it waited for room.
            SessionClosedError: everything is closed.
        """
        name = options.model or self._shelf.default()
        with self.pool.lease(name, cancel) as worker:
            yield Stages(
                worker,
                self._normalizer_or_none(),
                self._settings.vad,
                marks=self._settings.punctuation,
                open_punctuator=self.punctuator,
                fsmn_folder=self._shelf.folder("fsmn-vad"),
                limits=self.limits,
                channel_label=message("speaker.channel", self._settings.locale, number="{number}"),
                placed=lambda info: self._placed(name, info),
            )

    def punctuator(self, name: str) -> Punctuator | None:
        """The punctuation model of that name, opened once; ``None`` for ``own``.

        Raises:
            ModelError: its files cannot be used.
        """
        source = str(self._shelf.folder(name)) if name == "ct-punc" else name
        # Loading takes long; what only asks for the state is not to wait for it.
        with self._opening:
            with self._lock:
                if source in self._punctuators:
                    return self._punctuators[source]
            model = open_punctuation(source, threads=min(self.threads, _MARK_THREADS))
            opened = Punctuator(model)
            with self._lock:
                self._punctuators[source] = opened
            return opened

    def fingerprint(self, options: TranscribeOptions, stages: Stages) -> str:
        """What decides over recognized tokens besides the recording and the options of its job.

        Raises:
            ModelError, DeviceError: the recognizer cannot be loaded.
        """
        model = stages.worker.ready().info
        vad = options.vad or self._settings.vad
        folder = self._shelf.folder(model.name)
        made = f"{__version__} {model.name} {model.backend} {vad} {self._settings.batch_windows}"
        return f"{made} {folder}"

    def _normalizer_or_none(self) -> InverseNormalizer | None:
        """Transcripts carry a warning when there is none."""
        try:
            return self.normalizer
        except NormalizationError:
            logger.warning("number normalization is not available", exc_info=True)
            return None

    def choice(self, name: str) -> DeviceChoice | None:
        """Why a model runs where it runs; ``None`` before it was loaded."""
        with self._lock:
            return self._choices.get(name)

    def devices(self, name: str) -> tuple[MemberStatus, ...]:
        """The Ascend devices of a model; none while it is not loaded or runs on the CPU."""
        worker = self.pool.worker(name)
        with self._lock:
            recognizer = self._on_npus.get(name)
        if recognizer is None or worker is None or worker.info is None:
            return ()
        return recognizer.status()

    def _placed(self, name: str, info: ModelInfo) -> ModelInfo:
        return replace(info, choice=self.choice(name))

    def _load_recognizer(self, name: str) -> Recognizer:
        # Before the runtimes are loaded: their threads inherit what this thread may use.
        self.pin()
        entry = self._shelf.recognizer(name)
        device = self._settings.device
        if entry.family == _WHISPER:
            if device.startswith("npu"):
                raise DeviceUnavailableError(
                    f"{entry.title} runs on the CPU only; start with --device cpu",
                    device=device,
                    reason="cpu_only",
                    model=entry.title,
                )
            recognizer: Recognizer = self._load_whisper(entry.name, self._shelf.ensure(entry.name))
            choice = DeviceChoice("cpu", "asked" if device == "cpu" else "cpu_only")
        else:
            forms = self._forms(entry.name, self._shelf.ensure(entry.name))
            recognizer, choice = self._place().open(forms)
        with self._lock:
            self._choices[name] = choice
            self._on_npus.pop(name, None)
            if isinstance(recognizer, NpuRecognizer):
                self._on_npus[name] = recognizer
        return recognizer

    def _load_whisper(self, name: str, folder: Path) -> Recognizer:
        return WhisperRecognizer(
            folder, name=name, threads=self.threads, batch_windows=self._settings.batch_windows
        )

    def _forms(self, name: str, folder: Path) -> Forms:
        def open_cpu() -> Recognizer:
            return ParaformerRecognizer(
                folder,
                name=name,
                threads=self.threads,
                batch_segments=self._batch_segments,
                runtime=self._settings.runtime,
            )

        on_cpu = runs_on_cpu(folder, name)
        return Forms(name, open_cpu if on_cpu else None, ascend_folder(folder, name))

    @property
    def _batch_segments(self) -> int:
        return self._settings.batch_windows * _SEGMENTS

    def _place(self) -> Placing:
        with self._lock:
            if self._placing is None:
                affinity = self._settings.cpu_affinity
                options = NpuOptions(
                    threads=self.threads,
                    batch_segments=self._batch_segments,
                    monitor=self.npus,
                    cann=cann_version(),
                    cores=lambda index: device_cores(affinity, index, self._usable),
                )
                self._placing = Placing(self._settings.device, options)
            return self._placing
