"""Short ways to the things that store and job tests need."""

from collections.abc import Sequence
from pathlib import Path

from asr_core.jobs.model import Job
from asr_core.results import ModelInfo, Sentence, Token, Transcript
from asr_core.store.edit_model import EditResult
from asr_core.store.edits import Edits
from asr_core.store.history import History
from asr_core.text.editing import Splice
from asr_core.transcription.options import TranscribeOptions

MODEL = ModelInfo("whisper-base", "ctranslate2 int8", "cpu")


def sentence(text: str, start_ms: int = 0) -> Sentence:
    """One token per character, 100 ms each."""
    return Sentence(
        tuple(
            Token(char, start_ms + 100 * index, start_ms + 100 * index + 100, 0.5)
            for index, char in enumerate(text)
        )
    )


def transcript(*texts: str, partial: bool = False) -> Transcript:
    sentences = tuple(sentence(text, 1000 * index) for index, text in enumerate(texts))
    return Transcript(sentences, 60_000, "zh", MODEL, 1_500, partial=partial)


def recording(history: History, source: Path, name: str = "", *, keep: str = "copy") -> str:
    source.parent.mkdir(parents=True, exist_ok=True)
    if not source.exists():
        source.write_bytes(b"RIFF of " + source.name.encode())
    return history.add_recording(source, name=name or source.name, origin="file", keep=keep)


def queued(history: History, source: Path, name: str = "") -> Job:
    return history.add_job(recording(history, source, name), TranscribeOptions())


def apply(
    edits: Edits, recording_id: str, stamp: str, splices: Sequence[Splice], kind: str, who: str = ""
) -> EditResult:
    """Make one edit of some splices."""
    return edits.change_all(recording_id, stamp, lambda _: splices, kind=kind, who=who)
