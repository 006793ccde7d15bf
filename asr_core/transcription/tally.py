"""How much was recognized since the process started, by model and by device."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from asr_core.audio.segmenter import Segment
from asr_core.results import ModelInfo, Utterance

_SECOND_SAMPLES = 16_000


@dataclass(frozen=True, slots=True)
class Recognized:
    """What one device did with one model.

    Attributes:
        model: its name.
        device: where segments really ran (``cpu``, ``npu:0``).
        segments: so many.
        speech_s: their length.
    """

    model: str
    device: str
    segments: int
    speech_s: float


@dataclass(frozen=True, slots=True)
class Work:
    """What was recognized.

    Attributes:
        recognized: by model and device, ordered.
        seconds: that groups of segments took, by model; devices that share a group share them.
        failed: groups that failed, by model.
    """

    recognized: tuple[Recognized, ...]
    seconds: dict[str, float]
    failed: dict[str, int]


class Tally:
    """Counts; usable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[tuple[str, str], tuple[int, float]] = {}
        self._seconds: dict[str, float] = {}
        self._failed: dict[str, int] = {}

    def add(
        self,
        model: ModelInfo,
        segments: Sequence[Segment],
        utterances: Sequence[Utterance],
        seconds: float,
    ) -> None:
        """Enter a group that was recognized.

        Args:
            model: that recognized it.
            segments: of the group.
            utterances: of the segments, in their order.
            seconds: that it took.
        """
        with self._lock:
            self._seconds[model.name] = self._seconds.get(model.name, 0.0) + seconds
            for segment, utterance in zip(segments, utterances, strict=True):
                key = (model.name, utterance.device or model.device)
                count, speech_s = self._sums.get(key, (0, 0.0))
                length = segment.speech_end - segment.speech_start
                self._sums[key] = (count + 1, speech_s + length / _SECOND_SAMPLES)

    def add_failure(self, model: ModelInfo) -> None:
        """Enter a group that was not recognized."""
        with self._lock:
            self._failed[model.name] = self._failed.get(model.name, 0) + 1

    def read(self) -> Work:
        """What was entered until now."""
        with self._lock:
            every = tuple(Recognized(*key, *sums) for key, sums in sorted(self._sums.items()))
            return Work(every, dict(self._seconds), dict(self._failed))
