"""What the engine offers for measuring how good texts are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asr_core.equipment import Equipment
from asr_core.evaluation.comparison import Comparison, Piece, compare_texts
from asr_core.evaluation.confusion import Confusion, Suggestion, confusions, suggest_hotwords
from asr_core.evaluation.normalize import DEFAULT_NORMALIZATIONS, NORMALIZATIONS
from asr_core.events import EventSink
from asr_core.results import Transcript
from asr_core.store.history import History
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.options import TranscribeOptions
from asr_core.transcription.pipeline import transcribe

__all__ = [
    "DEFAULT_NORMALIZATIONS",
    "NORMALIZATIONS",
    "Comparison",
    "Confusion",
    "EvaluationDoor",
    "Piece",
    "Suggestion",
]


class EvaluationDoor:
    """The engine's methods for evaluation; usable from any thread."""

    _equipment: Equipment
    _history: History

    def compare(
        self,
        reference: str,
        *,
        recording_id: str = "",
        hypothesis: str = "",
        normalizations: Sequence[str] = DEFAULT_NORMALIZATIONS,
    ) -> Comparison:
        """Compare what was said with a stored transcript, or with a given text.

        Args:
            recording_id: whose transcript; what is not transcribed yet counts as empty.
            hypothesis: the text where no recording is named.
            normalizations: of :data:`NORMALIZATIONS`.

        Raises:
            RecordNotFoundError: no recording has that id.
            UsageError: a normalization is not known.
        """
        if recording_id:
            transcript = self._history.record(recording_id).transcript
            hypothesis = transcript.text if transcript else ""
        return compare_texts(reference, hypothesis, normalizations)

    def confusions(self, comparison: Comparison) -> tuple[Confusion, ...]:
        """What was recognized as something else, the most frequent first."""
        return confusions([comparison])

    def hotword_suggestions(self, comparison: Comparison) -> tuple[Suggestion, ...]:
        """Words that were misrecognized, the most promising hotwords first."""
        return suggest_hotwords([comparison])

    def recognize(
        self,
        path: Path,
        options: TranscribeOptions,
        *,
        on_event: EventSink | None = None,
        cancel: CancelToken | None = None,
    ) -> Transcript:
        """Transcribe a file now, on this thread, without entering it into the history.

        Raises:
            AudioDecodeError: the file cannot be read or decoded.
            ModelError, DeviceError, RecognitionError: the recognizer cannot work.
        """
        with self._equipment.stages(options, cancel) as stages:
            return transcribe(path, options, stages, on_event=on_event, cancel=cancel)
