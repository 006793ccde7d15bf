"""Files of the models, and a real transcription with the one in use."""

from __future__ import annotations

from pathlib import Path

from asr_core.doctor.context import Context
from asr_core.doctor.finding import Finding, fail, listed, none, ok, warn
from asr_core.engine import TranscribeOptions
from asr_core.errors import AsrError
from asr_core.messages import describe, message
from asr_core.models.catalog import CATALOGUE
from asr_core.models.files import sha256_of
from asr_core.models.graph_folder import is_graph_folder, read_graph_folder
from asr_core.models.inspection import ModelState
from asr_core.models.packages import package_folder
from asr_core.models.store import ModelStore
from asr_core.results import Transcript
from asr_core.runtime.ascend_manifest import ENDING, read_om_graph

SAMPLES = Path(__file__).resolve().parents[2] / "assets" / "sample"

_SLOW_RTF = 1.0


def check_files(context: Context) -> Finding:
    """The recognizer that is in use, and the other models that the settings name."""
    model = context.model
    if model is None:
        return none("model_files", "untold")
    values = {"name": model.name, "path": model.path}
    install = f"./run.sh models install {model.name}"
    is_packed = _is_packed(context, model.name)
    if not model.is_usable and not is_packed:
        return fail("model_files", "unusable", install, **values)
    wanted = {"fsmn": "fsmn-vad", "ct-punc": "ct-punc"}
    chosen = [wanted.get(context.settings.vad, ""), wanted.get(context.settings.punctuation, "")]
    lacking = [one.name for one in context.models if one.name in chosen and not one.is_usable]
    if lacking:
        mend = [f"./run.sh models install {name}" for name in lacking]
        return fail("model_files", "lacking", *mend, names=listed(lacking))
    if model.state == "present":
        return ok("model_files", "present", **values)
    if model.state != "installed":
        return ok("model_files", "packed", **values)
    return ok("model_files", "installed", **values)


def check_hashes(context: Context) -> Finding:
    """Every file of every installed model and converted folder, read whole."""
    if context.is_quick:
        return none("model_hashes", "skipped")
    store = ModelStore.of(context.settings)
    damaged: list[str] = []
    checked: list[str] = []
    try:
        for name in CATALOGUE:
            state = store.verify(name)
            if state in (ModelState.DAMAGED, ModelState.INSTALLED):
                (damaged if state is ModelState.DAMAGED else checked).append(name)
        for folder in context.model_folders:
            if is_graph_folder(folder) or any(folder.glob(f"*{ENDING}")):
                damaged += [f"{folder.name}/{file}" for file in _damaged_graphs(folder)]
                checked.append(folder.name)
    except AsrError as exc:
        cause = describe(exc, context.settings.locale)
        return fail("model_hashes", "unreadable", "./run.sh models verify", cause=cause)
    except OSError as exc:
        return fail("model_hashes", "unreadable", "./run.sh models verify", cause=exc)
    if damaged:
        mend = [f"./run.sh models install {name}" for name in damaged if name in CATALOGUE]
        if len(mend) < len(damaged):
            mend.append("./run.sh convert --help")
        return fail("model_hashes", "damaged", *mend, names=listed(damaged))
    if not checked:
        return none("model_hashes", "no_models")
    return ok("model_hashes", "right", names=listed(list(dict.fromkeys(checked))))


def _damaged_graphs(folder: Path) -> list[str]:
    """Files of a converted folder that do not have the content they were written with.

    Raises:
        ModelError: what the folder says of them cannot be used, or one is missing.
        OSError: one cannot be read.
    """
    wrong: list[str] = []
    if is_graph_folder(folder):
        wrong += read_graph_folder(folder, folder.name).damaged()
    for manifest in sorted(folder.glob(f"*{ENDING}")):
        files = read_om_graph(manifest, folder.name).files
        wrong += [one.file for one in files if sha256_of(folder / one.file) != one.sha256]
    return list(dict.fromkeys(wrong))


def check_transcription(context: Context) -> Finding:
    """The sample recording through the whole engine; loading the model is not counted."""
    sample = next(iter(sorted(SAMPLES.glob("*.flac"))), None)
    if context.is_quick or sample is None:
        return none("transcription", "skipped")
    try:
        engine = context.engine()
        engine.recognize(sample, TranscribeOptions())
        made = engine.recognize(sample, TranscribeOptions())
    except AsrError as exc:
        cause = describe(exc, context.settings.locale)
        return fail("transcription", "fails", f"./run.sh transcribe {sample}", cause=cause)
    values = {
        "rtf": f"{made.rtf:.3f}",
        "device": _device(made, context.settings.locale),
        "model": f"{made.model.name} ({made.model.backend})",
        "chars": len(made.text),
    }
    if not made.text:
        return fail("transcription", "empty", "./run.sh models verify", **values)
    if made.rtf > _SLOW_RTF:
        return warn(
            "transcription", "slow", f"export ASR_THREADS={len(context.allowed) or 1}", **values
        )
    return ok("transcription", "works", **values)


def _device(transcript: Transcript, locale: str) -> str:
    """Where it ran, and why where that was chosen."""
    choice = transcript.model.choice
    if choice is None or choice.reason == "asked":
        return transcript.ran_on
    why = message(f"device_choice.{choice.reason}", locale, **dict(choice.figures))
    return f"{transcript.ran_on} ({why})"


def _is_packed(context: Context, name: str) -> bool:
    """Whether installed data packages hold the model, which is put together at the first use."""
    entry = CATALOGUE.get(name)
    if entry is None or context.settings.model_dir is not None:
        return False
    return any(
        layout.packages and all(package_folder(package) for package in layout.packages)
        for layout in entry.layouts
    )


CHECKS = (check_files, check_hashes)
TRIAL = (check_transcription,)
