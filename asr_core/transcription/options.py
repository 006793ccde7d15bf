"""The choices a user makes for one transcription."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OWN_MARKS = "own"
"""Names the recognizer's own punctuation where a punctuation model is named otherwise."""

POLISHES = ("fillers", "repeats", "acronyms", "spacing")
"""Leave out 嗯 and 呃, leave out 我我, write API in capitals, space Chinese and Latin apart."""


@dataclass(frozen=True, slots=True)
class TranscribeOptions:
    """Choices for one recording, stored with its job.

    Attributes:
        vad: ``silero`` and ``fsmn`` cut at silence; ``off`` takes the whole recording in fixed
            windows; ``None`` takes the setting.
        itn: write numbers as digits where a reader expects digits.
        punctuation: keep or restore punctuation marks.
        marks: whose they are: ``own`` keeps the recognizer's, ``tagger`` and ``ct-punc`` restore
            them; ``None`` takes the setting.
        hotwords: words to prefer, in the user's order; ``错词 => 正确词`` replaces a word.
        dates: ``words`` writes 2025年3月15日, ``dash`` 2025-03-15.
        clock: ``words`` writes 3点半, ``digits`` 3:30.
        percent: ``sign`` writes 5%, ``words`` 百分之五.
        polish: what is made nicer to read, of ``POLISHES``; nothing by default.
        channels: ``mix`` transcribes the mean of all channels; ``split`` each channel on its own,
            with the channel as speaker.
        track: which audio track of a video, from 1; ``None`` takes the container's default.
        raw: layout of headerless PCM as ``encoding:rate:channels`` (``s16le:16000:1``); empty for
            files that say what they are.
        model: name of the recognizer; empty takes the installation's default, whose name is stored
            with the job.
    """

    vad: str | None = None
    itn: bool = True
    punctuation: bool = True
    marks: str | None = None
    dates: Literal["words", "dash"] = "words"
    clock: Literal["words", "digits"] = "words"
    percent: Literal["sign", "words"] = "sign"
    hotwords: tuple[str, ...] = ()
    polish: tuple[str, ...] = ()
    channels: str = "mix"
    track: int | None = None
    raw: str = ""
    model: str = ""
