"""Files of the models, and a real transcription with the one in use."""

from __future__ import annotations

from pathlib import Path

from asr_core.doctor.context import Context
from asr_core.doctor.finding import Finding, fail, listed, none, ok, warn
from asr_core.engine import TranscribeOptions
from asr_core.errors import AsrError
from asr_core.messages import describe
from asr_core.models.catalog import CATALOGUE
from asr_core.models.graph_folder import is_graph_folder, read_graph_folder
from asr_core.models.inspection import ModelState
from asr_core.models.store import ModelStore

SAMPLES = Path(__file__).resolve().parents[2] / "assets" / "sample"

_SLOW_RTF = 1.0


def check_files(context: Context) -> Finding:
    """The recognizer that is in use, and the other models that the settings name."""
    model = context.model
    if model is None:
        return none("model_files", "untold")
    values = {"name": model.name, "path": model.path}
    install = f"./run.sh models install {model.name}"
    if model.state not in ("installed", "present"):
        return fail("model_files", "unusable", install, **values)
    wanted = {"fsmn": "fsmn-vad", "ct-punc": "ct-punc"}
    chosen = [wanted.get(context.settings.vad, ""), wanted.get(context.settings.punctuation, "")]
    lacking = [
        one.name
        for one in context.models
        if one.name in chosen and one.state not in ("installed", "present")
    ]
    if lacking:
        mend = [f"./run.sh models install {name}" for name in lacking]
        return fail("model_files", "lacking", *mend, names=listed(lacking))
    if model.state == "present":
        return ok("model_files", "present", **values)
    return ok("model_files", "installed", **values)


def check_hashes(context: Context) -> Finding:
    """Every file of every installed model and converted folder, read whole."""
    if context.is_quick:
        return none("model_hashes", "skipped")
    store = ModelStore.of(context.settings)
    damaged, checked = [], []
    try:
        for name in CATALOGUE:
            state = store.verify(name)
            if state is ModelState.DAMAGED:
                damaged.append(name)
            elif state is ModelState.INSTALLED:
                checked.append(name)
        for folder in sorted(context.settings.models.glob("*/")):
            if is_graph_folder(folder):
                found = read_graph_folder(folder, folder.name)
                damaged += [f"{folder.name}/{file}" for file in found.damaged()]
                checked.append(folder.name)
    except (AsrError, OSError) as exc:
        return fail("model_hashes", "unreadable", "./run.sh models verify", cause=exc)
    if damaged:
        mend = [f"./run.sh models install {name}" for name in damaged if name in CATALOGUE]
        return fail("model_hashes", "damaged", *mend, names=listed(damaged))
    if not checked:
        return none("model_hashes", "no_models")
    return ok("model_hashes", "right", names=listed(checked))


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
        "device": made.model.device,
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


CHECKS = (check_files, check_hashes)
TRIAL = (check_transcription,)
