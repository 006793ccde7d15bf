"""What every recognizer offers, whatever network and runtime it drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from asr_core.audio.segmenter import Segment
from asr_core.results import ModelInfo, TranscriptWarning, Utterance


@dataclass(frozen=True, slots=True)
class RecognizeOptions:
    """Choices that a recognizer may honour; one that cannot ignores the field and says so
    through :attr:`Recognizer.supports_hotwords`."""

    hotwords: tuple[str, ...] = ()


class Recognizer(Protocol):
    """Turns speech segments into tokens with times.

    A recognizer is used by one thread at a time.
    """

    @property
    def info(self) -> ModelInfo: ...

    @property
    def language(self) -> str:
        """BCP-47 code of what it writes."""
        ...

    @property
    def supports_hotwords(self) -> bool: ...

    @property
    def group_passes(self) -> int:
        """Network passes that one call should fill for full speed."""
        ...

    def passes(self, segments: Sequence[Segment]) -> int:
        """Network passes that these segments take; grows by at most one with each segment."""
        ...

    def hotword_warnings(self, words: Sequence[str]) -> tuple[TranscriptWarning, ...]:
        """Which hotwords the network cannot take, named; none where it takes no hotwords."""
        ...

    def recognize(self, segments: Sequence[Segment], options: RecognizeOptions) -> list[Utterance]:
        """Recognize segments together.

        Returns:
            One utterance per segment in the same order; its token times are absolute in the
            recording, monotone, and inside the segment. No tokens: nothing was understood.

        Raises:
            RecognitionError: the network failed.
        """
        ...

    def close(self) -> None: ...
