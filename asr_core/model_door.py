"""What the engine offers about models: which there are, which one is the default."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import threading
from pathlib import Path

from asr_core.equipment import Equipment
from asr_core.errors import UnknownModelError
from asr_core.jobs.model import JobState
from asr_core.settings import PUNCTUATIONS, Settings
from asr_core.shelf import ModelShelf, ShelfModel
from asr_core.store.history import History
from asr_core.transcription.scheduler import WorkerState
from asr_core.views import EngineStatus, Measures, ModelStatus

_WORKER_STATES = {
    WorkerState.IDLE: "loading",
    WorkerState.LOADING: "loading",
    WorkerState.READY: "ready",
    WorkerState.BUSY: "busy",
    WorkerState.UNAVAILABLE: "unavailable",
}


class ModelDoor:
    """The engine's methods for models; usable from any thread."""

    _settings: Settings
    _shelf: ModelShelf
    _equipment: Equipment
    _history: History
    _serving: threading.Event

    def status(self) -> EngineStatus:
        """Model, device and state, read without waiting for the recognizer."""
        name = self._shelf.default()
        worker = self._equipment.pool.worker(name)
        info = worker.info if worker else None
        # A model that was unloaded for another one is loaded again when it is needed.
        state = WorkerState.READY if self._serving.is_set() else WorkerState.IDLE
        state = worker.state if worker else state
        is_unavailable = state is WorkerState.UNAVAILABLE
        error = worker.error if worker and is_unavailable else None
        if self._equipment.pool.is_busy and not is_unavailable:
            state = WorkerState.BUSY
        return EngineStatus(
            model=name,
            backend=info.backend if info else "",
            device=info.device if info else self._settings.device,
            threads=self._equipment.threads,
            state=_WORKER_STATES[state],
            queued=len(self._history.jobs(states=(JobState.QUEUED,))),
            error_code=error.code if error else "",
            error_details={key: str(value) for key, value in error.details.items()}
            if error
            else {},
            choice=self._equipment.choice(name) if info else None,
            members=self._equipment.devices(name),
        )

    def measures(self) -> Measures:
        """What was done and how the machine is; read without waiting for a recognizer."""
        equipment = self._equipment
        loaded = equipment.pool.loaded
        choices = {name: equipment.choice(name) for name in loaded}
        return Measures(
            work=equipment.pool.tally.read(),
            jobs=self._history.job_counts(),
            loaded=loaded,
            choices={name: choice for name, choice in choices.items() if choice is not None},
            members={name: equipment.devices(name) for name in loaded},
            npus=equipment.npus.report(),
            disk_free_bytes=shutil.disk_usage(self._settings.home).free,
        )

    def check_model(self) -> None:
        """Raises UnknownModelError when the default is no recognizer that is known."""
        self._shelf.recognizer(self._shelf.default())

    def models(self) -> list[ModelStatus]:
        """Every known model and whether it is installed."""
        default = self._shelf.default()
        return [self._model_status(one, default) for one in self._shelf.all()]

    def recognizers(self) -> list[ModelStatus]:
        """Recognizers that can be chosen for a job, the default first whatever its state."""
        default = self._shelf.default()
        return [self._model_status(one, default) for one in self._shelf.recognizers()]

    @property
    def default_setting(self) -> str:
        """The variable that names the default recognizer; empty where it can be chosen."""
        return self._shelf.default_setting

    def use_model(self, name: str) -> ModelStatus:
        """Make a recognizer the default and begin to load it; see :meth:`ModelShelf.use`."""
        model = self._shelf.use(name)
        if self._serving.is_set():
            self._equipment.pool.preload(name)
        return self._model_status(model, name)

    def add_model_folder(self, path: Path) -> ModelStatus:
        """Take a model folder of the user; see :meth:`ModelShelf.bring`."""
        return self._model_status(self._shelf.bring(path), self._shelf.default())

    def forget_model_folder(self, name: str) -> None:
        """Let go of a folder that was typed in; see :meth:`ModelShelf.forget`.

        Recordings that are being transcribed with it go on. It never answers for another folder
        that is later known under its name.
        """
        self._shelf.forget(name)
        self._equipment.pool.drop(name)

    def hotword_use(self, name: str = "") -> str:
        """What becomes of hotwords with a recognizer, the default by default.

        Returns:
            ``heard`` where the network listens for them, ``sound`` where they are only corrected
            by their sound, ``none`` where neither is possible here.
        """
        with contextlib.suppress(UnknownModelError):
            if self._shelf.look(name or self._shelf.default()).hears_hotwords:
                return "heard"
        return "sound" if importlib.util.find_spec("pypinyin") else "none"

    def vad_choices(self) -> tuple[str, ...]:
        """Speech detectors that can be chosen here; ``fsmn`` needs its model folder."""
        has_fsmn = (self._shelf.folder("fsmn-vad") / "config.yaml").is_file()
        return ("silero", "fsmn", "off") if has_fsmn else ("silero", "off")

    def punctuation_choices(self) -> tuple[str, ...]:
        """Whose punctuation can be chosen here; ``ct-punc`` needs its model folder."""
        has_ct_punc = (self._shelf.folder("ct-punc") / "config.yaml").is_file()
        return tuple(name for name in PUNCTUATIONS if name != "ct-punc" or has_ct_punc)

    def _model_status(self, model: ShelfModel, default: str) -> ModelStatus:
        entry = model.entry
        worker = self._equipment.pool.worker(entry.name)
        info = worker.info if worker else None
        return ModelStatus(
            name=entry.name,
            title=entry.title,
            licence=entry.licence,
            size_bytes=model.size_bytes,
            state=model.state.value,
            active=entry.name == default,
            path=model.folder,
            family=entry.family,
            is_recognizer=model.is_recognizer,
            hears_hotwords=model.hears_hotwords,
            backend=info.backend if info else "",
            runtime=model.runtime,
            brought=model.brought,
            setting=model.setting,
        )
