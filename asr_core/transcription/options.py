"""The choices a user makes for one transcription."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TranscribeOptions:
    """Choices for one recording, stored with its job.

    Attributes:
        vad: ``silero`` and ``fsmn`` cut at silence; ``off`` takes the whole recording in fixed
            windows; ``None`` takes the setting.
        itn: write numbers as digits where a reader expects digits.
        punctuation: keep or restore punctuation marks.
        hotwords: words to prefer, in the user's order.
        channels: ``mix`` transcribes the mean of all channels; ``split`` each channel on its own,
            with the channel as speaker.
        track: which audio track of a video, from 1; ``None`` takes the container's default.
        raw: layout of headerless PCM as ``encoding:rate:channels`` (``s16le:16000:1``); empty for
            files that say what they are.
    """

    vad: str | None = None
    itn: bool = True
    punctuation: bool = True
    hotwords: tuple[str, ...] = ()
    channels: str = "mix"
    track: int | None = None
    raw: str = ""
