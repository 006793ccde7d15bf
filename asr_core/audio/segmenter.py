"""Speech segments of a recording, cut from voice-activity probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from asr_core.runtime.session import Float32


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """One speech interval, padded.

    Positions are samples at 16 kHz from the start of the recording, half-open.

    Attributes:
        start: first sample of ``waveform``.
        end: one past its last sample, ``end - start == len(waveform)``.
        speech_start: where speech was detected to begin, ``>= start``.
        speech_end: where it was detected to end, ``<= end``.
        waveform: float32 mono 16 kHz, shape (samples,).
    """

    start: int
    end: int
    speech_start: int
    speech_end: int
    waveform: Float32
