"""The models of an installation: the catalogue's, those the user brought, and the default."""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path

from asr_core.errors import ModelError, UnknownModelError
from asr_core.models.catalog import CATALOGUE, ModelEntry, find_entry
from asr_core.models.funasr_folder import HOTWORD_MODELS
from asr_core.models.identify import FolderFacts, funasr_kind, identify
from asr_core.models.inspection import ModelState
from asr_core.models.store import ModelStore, recognizer_in, recognizer_of_folder
from asr_core.settings import Settings, variable
from asr_core.store.model_choices import KnownFolder, ModelChoices

logger = logging.getLogger(__name__)

RECOGNIZERS = ("whisper", "paraformer")
"""Families of models that turn speech into text."""

_SINGLE = {"fsmn_vad": ("fsmn-vad", "fsmn_dir"), "ct_transformer": ("ct-punc", "ct_punc_dir")}
"""Families with one folder in use: name in the catalogue, and the setting that names a folder."""

_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class ShelfModel:
    """One model as it stands now.

    Attributes:
        entry: name, title, licence and family; of a folder that the user brought, made up.
        folder: where its files are or will be.
        state: what is there.
        size_bytes: ``None`` while only the model hub knows it.
        brought: whether the user typed the folder in.
        setting: variable that names the folder; empty where none does.
        hears_hotwords: whether the network itself takes hotwords.
        runtime: what executes it, as a brought folder tells.
    """

    entry: ModelEntry
    folder: Path
    state: ModelState
    size_bytes: int | None
    brought: bool
    setting: str
    hears_hotwords: bool
    runtime: str = ""

    @property
    def is_recognizer(self) -> bool:
        return self.entry.family in RECOGNIZERS


class ModelShelf:
    """Which models there are, where they lie and which recognizer is the default.

    Settings win over what was chosen. Usable from any thread; what another process chooses is
    seen at the next call.

    Args:
        settings: of this installation.
        choices: what was chosen; ``None`` where there is no database yet.
    """

    def __init__(self, settings: Settings, choices: ModelChoices | None) -> None:
        self._settings = settings
        self._choices = choices
        self._store = ModelStore.of(settings)
        self._named = dict(_named(settings))

    @property
    def default_setting(self) -> str:
        """The variable that names the default recognizer; empty where it can be chosen."""
        return variable("model") if self._settings.model else ""

    def default(self) -> str:
        """Name of the recognizer that is used where none is asked for."""
        if self._settings.model:
            return self._settings.model
        chosen = self._choices.default() if self._choices else ""
        if chosen and (chosen in CATALOGUE or chosen in self._brought()):
            return chosen
        return recognizer_in(self._settings.model_dir)

    def entry(self, name: str) -> ModelEntry:
        """The entry of a recognizer, or of another model of the catalogue.

        Raises:
            UnknownModelError: no model has that name.
        """
        known = self._brought().get(name)
        if known is None:
            return self._catalogue_entry(name)
        return _entry_of(known)

    def recognizer(self, name: str) -> ModelEntry:
        """The entry of a recognizer.

        Raises:
            UnknownModelError: no recognizer has that name.
        """
        entry = self.entry(name)
        if entry.family not in RECOGNIZERS:
            raise self._unknown(name, f"{entry.title} is no recognizer")
        return entry

    def folder(self, name: str) -> Path:
        """Where a model's files are or will be; see :meth:`entry`."""
        known = self._brought().get(name)
        return known.path if known else self._store.folder(name)

    def ensure(self, name: str) -> Path:
        """The folder with all files of a model, put together from data packages if needed.

        Raises:
            UnknownModelError: no model has that name.
            ModelError: the files are missing, damaged or cannot be read.
        """
        known = self._brought().get(name)
        return identify(known.path, name).path if known else self._store.ensure(name)

    def all(self) -> tuple[ShelfModel, ...]:
        """Every model: the catalogue's, then those that the user brought."""
        brought = self._brought()
        own = [brought.get(name) or entry for name, entry in CATALOGUE.items()]
        more = [known for name, known in brought.items() if name not in CATALOGUE]
        return tuple(self._look(one) for one in (*own, *more))

    def look(self, name: str) -> ShelfModel:
        """One model; see :meth:`entry`."""
        return self._look(self._brought().get(name) or self._catalogue_entry(name))

    def recognizers(self) -> tuple[ShelfModel, ...]:
        """The recognizers that can be used, and the default whatever its state; it is first."""
        default = self.default()
        found = [
            one
            for one in self.all()
            if one.is_recognizer and (one.state.usable or one.entry.name == default)
        ]
        return tuple(sorted(found, key=lambda one: one.entry.name != default))

    def bring(self, path: Path) -> ShelfModel:
        """Take a folder that the user has already, from now on and in every process.

        Args:
            path: absolute, or below the home folder as ``~/...``.

        Returns:
            What it holds. A recognizer is named after the folder.

        Raises:
            ModelError: it holds no model that can be used; see
                :func:`asr_core.models.identify.identify`. ``in_settings`` where the settings name
                another folder for that model.
            StoreError: it cannot be remembered.
        """
        folder = _absolute(path)
        facts = identify(folder)
        brought = self._brought()
        same = next((one for one in brought.values() if one.path == folder), None)
        known = same or KnownFolder(self._name_for(facts), folder, facts.family)
        setting = self._named.get(known.name, "")
        if setting:
            raise ModelError(
                f"{setting} names the folder of {known.name}",
                name=known.name,
                path=str(folder),
                reason="in_settings",
                setting=setting,
            )
        if self._choices is not None and same is None:
            self._choices.remember(known)
            logger.info("model folder added name=%s family=%s", known.name, known.family)
        return self._look(known)

    def forget(self, name: str) -> None:
        """Let go of a folder that was brought; its files stay.

        Raises:
            UnknownModelError: no folder was brought under that name.
            StoreError: the database refuses.
        """
        if name not in self._brought() or self._choices is None:
            raise self._unknown(name, f"no folder is known as {name!r}")
        self._choices.forget(name)
        logger.info("model folder forgotten name=%s", name)

    def use(self, name: str) -> ShelfModel:
        """Make a recognizer the default.

        Raises:
            UnknownModelError: no recognizer has that name.
            ModelError: its files are missing or damaged; ``in_settings`` where ``ASR_MODEL``
                names the default.
            StoreError: the database refuses.
        """
        entry = self.recognizer(name)
        if self.default_setting:
            raise ModelError(
                f"{self.default_setting} names the default model",
                name=self.default(),
                reason="in_settings",
                setting=self.default_setting,
                path="",
            )
        self.ensure(name)
        if self._choices is not None:
            self._choices.choose(name)
            logger.info("default model chosen name=%s", name)
        return self._look(self._brought().get(name) or entry)

    def _brought(self) -> dict[str, KnownFolder]:
        """Folders that count: the settings win over one of the same name."""
        folders = self._choices.folders() if self._choices else ()
        return {known.name: known for known in folders if known.name not in self._named}

    def _look(self, one: ModelEntry | KnownFolder) -> ShelfModel:
        if isinstance(one, KnownFolder):
            return self._look_at_brought(one)
        folder = self._store.folder(one.name)
        try:
            state, size_bytes = self._store.state(one.name), self._store.size_bytes(one.name)
        except ModelError:
            # A folder that cannot be read hides no other model; who uses it is told why.
            state, size_bytes = ModelState.DAMAGED, None
        return ShelfModel(
            entry=one,
            folder=folder,
            state=state,
            size_bytes=size_bytes,
            brought=False,
            setting=self._named.get(one.name, ""),
            hears_hotwords=state.usable and _kind(folder) in HOTWORD_MODELS,
        )

    def _look_at_brought(self, known: KnownFolder) -> ShelfModel:
        try:
            facts = identify(known.path, known.name)
        except ModelError as exc:
            is_gone = exc.details.get("reason") in ("no_folder", "no_model")
            state = ModelState.MISSING if is_gone else ModelState.DAMAGED
            return ShelfModel(_entry_of(known), known.path, state, None, True, "", False)
        return ShelfModel(
            entry=_entry_of(known),
            folder=known.path,
            state=ModelState.PRESENT,
            size_bytes=facts.size_bytes,
            brought=True,
            setting="",
            hears_hotwords=facts.hears_hotwords,
            runtime=facts.runtime,
        )

    def _name_for(self, facts: FolderFacts) -> str:
        """A free name after the folder's own; models of which one is in use have that one's."""
        if facts.family in _SINGLE:
            return _SINGLE[facts.family][0]
        stem = re.sub(r"[^\w.-]+", "-", facts.path.name).strip("-.")[:_LONGEST_NAME] or "model"
        taken = {*CATALOGUE, *self._brought()}
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}-{number}"
        return name

    def _catalogue_entry(self, name: str) -> ModelEntry:
        try:
            return find_entry(name)
        except UnknownModelError as exc:
            raise self._unknown(name, str(exc)) from exc

    def _unknown(self, name: str, says: str) -> UnknownModelError:
        names = {name for name, entry in CATALOGUE.items() if entry.family in RECOGNIZERS}
        names |= {name for name, one in self._brought().items() if one.family in RECOGNIZERS}
        return UnknownModelError(says, name=name, known=", ".join(sorted(names)))


def _named(settings: Settings) -> list[tuple[str, str]]:
    """Models whose folder a setting names, with its variable."""
    named = []
    if settings.model_dir is not None:
        named.append((recognizer_of_folder(settings), variable("model_dir")))
    for name, field in _SINGLE.values():
        if getattr(settings, field) is not None:
            named.append((name, variable(field)))
    return named


def _entry_of(known: KnownFolder) -> ModelEntry:
    if known.name in CATALOGUE:
        return CATALOGUE[known.name]
    return ModelEntry(name=known.name, title=known.path.name, licence="", family=known.family)


def _kind(folder: Path) -> str:
    try:
        return funasr_kind(folder, folder.name)
    except ModelError:
        return ""


def _absolute(path: Path) -> Path:
    """The path without ``..`` and the like; a relative one would mean another folder each time."""
    try:
        full = path.expanduser()
    except RuntimeError as exc:
        raise _no_folder(path, "begins with a home folder that is not known") from exc
    if not full.is_absolute():
        raise _no_folder(path, "is no absolute path")
    return Path(os.path.normpath(full))


def _no_folder(path: Path, problem: str) -> ModelError:
    return ModelError(f"{path} {problem}", name=path.name, path=str(path), reason="no_folder")
