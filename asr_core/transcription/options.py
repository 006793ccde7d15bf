"""The choices a user makes for one transcription."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TranscribeOptions:
    """Choices for one recording, stored with its job.

    Attributes:
        vad: ``silero`` cuts at silence; ``off`` takes the whole recording in fixed windows;
            ``None`` takes the setting.
        itn: write numbers as digits where a reader expects digits.
        punctuation: keep or restore punctuation marks.
        hotwords: words to prefer, in the user's order.
    """

    vad: str | None = None
    itn: bool = True
    punctuation: bool = True
    hotwords: tuple[str, ...] = ()
