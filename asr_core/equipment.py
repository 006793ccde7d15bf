"""What transcriptions work with, made from the settings when it is first needed."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from asr_core import __version__
from asr_core.audio.decode import DecodeOptions
from asr_core.errors import DeviceUnavailableError, NormalizationError, UnknownModelError
from asr_core.messages import message
from asr_core.models.catalog import CATALOGUE, find_entry
from asr_core.models.store import ModelStore
from asr_core.recognizers.base import Recognizer
from asr_core.recognizers.paraformer import ParaformerRecognizer
from asr_core.recognizers.whisper import WhisperRecognizer
from asr_core.runtime.affinity import cores_for, pin
from asr_core.settings import Settings
from asr_core.text.itn.normalizer import InverseNormalizer, RuleNormalizer
from asr_core.text.punctuation.marks import Punctuator
from asr_core.text.punctuation.opening import open_punctuation
from asr_core.transcription.options import OWN_MARKS, TranscribeOptions
from asr_core.transcription.pipeline import Stages
from asr_core.transcription.scheduler import RecognizerWorker

logger = logging.getLogger(__name__)

RECOGNIZERS = ("whisper", "paraformer")
"""Families of models that turn speech into text."""

_MOST_DEFAULT_THREADS = 8  # a base-size model gains nothing from more
_SEGMENTS = 2  # that take as long as a window, on average
_MARK_THREADS = 2  # a sentence is too short for more


class Equipment:
    """The recognizer's owner and the stages around it; usable from any thread.

    Args:
        settings: of this installation.
        models: where model files are found.

    Attributes:
        worker: owns the recognizer, which is loaded at the first use.
        limits: ``max_duration_s`` and ``stall_s`` of every recording.
    """

    def __init__(self, settings: Settings, models: ModelStore) -> None:
        self._settings = settings
        self._models = models
        self._lock = threading.RLock()  # guards the fields below
        self._stages: Stages | None = None
        self._cores: frozenset[int] | None = None
        self._normalizer: RuleNormalizer | None = None
        self._punctuators: dict[str, Punctuator | None] = {OWN_MARKS: None}
        self.worker = RecognizerWorker(self._load_recognizer)
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
                self._cores = cores_for(self._settings.cpu_affinity)
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

    def stages(self) -> Stages:
        """The stages of a transcription, the same for all of them."""
        with self._lock:
            if self._stages is None:
                self._stages = Stages(
                    self.worker,
                    self._normalizer_or_none(),
                    self._settings.vad,
                    marks=self._settings.punctuation,
                    open_punctuator=self.punctuator,
                    fsmn_folder=self._settings.fsmn_folder,
                    limits=self.limits,
                    channel_label=message(
                        "speaker.channel", self._settings.locale, number="{number}"
                    ),
                )
            return self._stages

    def punctuator(self, name: str) -> Punctuator | None:
        """The punctuation model of that name, opened once; ``None`` for ``own``.

        Raises:
            ModelError: its files cannot be used.
        """
        with self._lock:
            if name not in self._punctuators:
                source = str(self._settings.ct_punc_folder) if name == "ct-punc" else name
                model = open_punctuation(source, threads=min(self.threads, _MARK_THREADS))
                self._punctuators[name] = Punctuator(model)
            return self._punctuators[name]

    def fingerprint(self, options: TranscribeOptions) -> str:
        """What decides over recognized tokens besides the recording and the options of its job.

        Raises:
            ModelError, DeviceError: the recognizer cannot be loaded.
        """
        model = self.worker.ready().info
        vad = options.vad or self._settings.vad
        return f"{__version__} {model.name} {model.backend} {vad} {self._settings.batch_windows}"

    def _normalizer_or_none(self) -> InverseNormalizer | None:
        """Transcripts carry a warning when there is none."""
        try:
            return self.normalizer
        except NormalizationError:
            logger.warning("number normalization is not available", exc_info=True)
            return None

    def _load_recognizer(self) -> Recognizer:
        # Before the runtimes are loaded: their threads inherit what this thread may use.
        self.pin()
        entry = find_entry(self._settings.model)
        loaders = dict(zip(RECOGNIZERS, (self._load_whisper, self._load_paraformer), strict=True))
        load = loaders.get(entry.family)
        if load is None:
            raise UnknownModelError(
                f"{entry.title} is no recognizer",
                name=entry.name,
                known=", ".join(sorted(n for n, e in CATALOGUE.items() if e.family in RECOGNIZERS)),
            )
        if self._settings.device.startswith("npu"):
            raise DeviceUnavailableError(
                f"{entry.title} runs on the CPU only; start with --device cpu",
                device=self._settings.device,
                reason="cpu_only",
                model=entry.title,
            )
        return load(entry.name, self._models.ensure(entry.name))

    def _load_whisper(self, name: str, folder: Path) -> Recognizer:
        return WhisperRecognizer(
            folder, name=name, threads=self.threads, batch_windows=self._settings.batch_windows
        )

    def _load_paraformer(self, name: str, folder: Path) -> Recognizer:
        return ParaformerRecognizer(
            folder,
            name=name,
            threads=self.threads,
            batch_segments=self._settings.batch_windows * _SEGMENTS,
        )
