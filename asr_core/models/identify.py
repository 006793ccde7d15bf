"""What a folder that somebody names holds: which model, what runs it, or which files it lacks.

Reads the small files only. A folder is never listed and never written to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asr_core.audio.features import read_cmvn
from asr_core.audio.fsmn_config import read_fsmn_config
from asr_core.errors import ModelError, ModelFileMissingError
from asr_core.models.catalog import CT_PUNC, FSMN_VAD
from asr_core.models.files import size_of
from asr_core.models.funasr_folder import HOTWORD_FILES, HOTWORD_MODELS, NETWORK_FILES, open_folder
from asr_core.models.graph_folder import GRAPHS_FILE
from asr_core.models.offers import (
    ASCEND,
    AUTO,
    MINDSPORE,
    ONNX,
    Form,
    find_offer,
    runs_on_cpu,
)
from asr_core.runtime.funasr import (
    CHECKPOINT_FILES,
    CONFIG_FILE,
    SPEECH_FILES,
    find_files,
    first_of,
    read_config,
)

WHISPER_FILES = (
    ("model.bin",),
    ("config.json",),
    ("tokenizer.json",),
    ("vocabulary.txt", "vocabulary.json"),
)
"""Files of a Whisper model as CTranslate2 reads it; of several names one is enough."""

_VAD_FILES = FSMN_VAD.listed.required if FSMN_VAD.listed else ()
_PUNCTUATION_FILES = CT_PUNC.listed.required if CT_PUNC.listed else ()
_FUNASR_FILES = (
    *SPEECH_FILES,
    "seg_dict",
    GRAPHS_FILE,
    *NETWORK_FILES,
    *HOTWORD_FILES,
    *CHECKPOINT_FILES,
)


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """A folder with all files of a model.

    Attributes:
        path: the folder.
        family: as in the catalogue.
        kind: what its maker calls the network (``SeacoParaformer``, ``Whisper``).
        runtime: what executes it: ``onnxruntime``, ``mindspore``, ``ascend`` or ``ctranslate2``.
        hears_hotwords: whether the network itself takes hotwords.
        size_bytes: of its files.
    """

    path: Path
    family: str
    kind: str
    runtime: str
    hears_hotwords: bool
    size_bytes: int


def identify(path: Path, name: str = "") -> FolderFacts:
    """Find out what a folder holds.

    Args:
        path: the folder.
        name: of the model, for messages; the folder's own by default.

    Raises:
        ModelError: ``no_folder`` (there is none, or it cannot be read), ``no_model`` (nothing in
            it is known), ``kind`` (a network that is not supported; details ``kind``).
        ModelFileMissingError: ``brought``; all missing files are named.
        ModelIntegrityError: a file has another content.
    """
    name = name or path.name
    try:
        if not path.is_dir():
            raise _fault(path, name, "no_folder", "is no folder")
        return _look(path, name)
    except ModelFileMissingError as exc:
        details = {**exc.details, "reason": "brought"}
        raise ModelFileMissingError(str(exc), **details) from exc
    except OSError as exc:
        raise _fault(path, name, "no_folder", f"cannot be read: {exc.strerror}") from exc


def funasr_kind(path: Path, name: str) -> str:
    """FunASR's name of the network, from ``config.yaml``; empty where that says nothing.

    Raises:
        ModelIntegrityError: the file cannot be read.
    """
    if size_of(path / CONFIG_FILE) is None:
        return ""
    config = read_config(path / CONFIG_FILE, name)
    kind = config.get("model") if isinstance(config, Mapping) else None
    return kind if isinstance(kind, str) else ""


def _look(path: Path, name: str) -> FolderFacts:
    if first_of(path, _FUNASR_FILES) is None:
        if first_of(path, [file for files in WHISPER_FILES for file in files]) is None:
            raise _fault(path, name, "no_model", "holds no model that is known")
        files = find_files(path, WHISPER_FILES, name)
        return _facts(path, "whisper", "Whisper", "ctranslate2", files)
    kind = funasr_kind(path, name)
    if kind.startswith("Fsmn"):
        files = find_files(path, _VAD_FILES, name)
        read_fsmn_config(files[0])
        read_cmvn(files[1])
        return _facts(path, FSMN_VAD.family, kind, _runtime(files[-1]), files)
    if kind.startswith("CTTransformer"):
        files = find_files(path, _PUNCTUATION_FILES, name)
        return _facts(path, CT_PUNC.family, kind, _runtime(files[-1]), files)
    if kind and "Paraformer" not in kind:
        raise _fault(path, name, "kind", f"holds a {kind}", kind=kind)
    return _look_at_paraformer(path, name)


def _look_at_paraformer(path: Path, name: str) -> FolderFacts:
    runtime = AUTO if runs_on_cpu(path, name) else ASCEND
    offer = find_offer(path, name, runtime)
    folder = open_folder(path, name=name, graphs=offer.form is Form.EXPORT)
    files = [*(path / file for file in SPEECH_FILES), *offer.files]
    hears = folder.model in HOTWORD_MODELS or folder.hotword_network is not None
    return _facts(path, "paraformer", folder.model, offer.runtime, files, hears_hotwords=hears)


def _runtime(network: Path) -> str:
    return MINDSPORE if network.name in CHECKPOINT_FILES else ONNX


def _facts(
    path: Path,
    family: str,
    kind: str,
    runtime: str,
    files: Sequence[Path],
    *,
    hears_hotwords: bool = False,
) -> FolderFacts:
    size_bytes = sum(size_of(file) or 0 for file in files)
    return FolderFacts(path, family, kind, runtime, hears_hotwords, size_bytes)


def _fault(path: Path, name: str, reason: str, problem: str, **details: str) -> ModelError:
    return ModelError(f"{path} {problem}", name=name, path=str(path), reason=reason, **details)
