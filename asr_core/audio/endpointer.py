"""Where utterances begin and end: a state machine over frames that hold a voice or do not.

It knows frames only; what a frame holds is decided before, what becomes of the utterances after.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asr_core.errors import UsageError


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """When an utterance begins and ends; all in frames.

    Attributes:
        window: latest frames in which voiced ones are counted.
        onset: voiced frames in the window from which on somebody is speaking.
        offset: voiced frames in the window up to which a speaker falls silent.
        lookback: an utterance begins this long before its onset is noticed.
        end_silence: frames of silence that end an utterance.
        end_lookback: an utterance ends this long before its end is noticed.
        max_utterance: an utterance that reaches beyond this many frames is ended by force.
    """

    window: int = 20
    onset: int = 15
    offset: int = 15
    lookback: int = 40
    end_silence: int = 65
    end_lookback: int = 54
    max_utterance: int = 6_000

    def __post_init__(self) -> None:
        if not 0 < self.onset <= self.window or not 0 <= self.offset < self.window:
            raise UsageError("Thresholds of the endpointer must lie inside its window")
        if self.lookback < 0 or not 0 <= self.end_lookback <= self.end_silence:
            raise UsageError("Lookbacks of the endpointer must lie inside what has passed")
        if min(self.end_silence, self.max_utterance) < 1:
            raise UsageError("Durations of the endpointer must be positive")


class Endpointer:
    """The utterances of one recording while its frames arrive.

    The end of an utterance empties the window, so that nothing heard before begins the next one.

    Source of the behaviour: FunASR's FSMN-VAD, ``funasr/models/fsmn_vad_streaming/model.py``.
    """

    def __init__(self, options: EndpointOptions) -> None:
        self._options = options
        self._window = _Window(options)
        self._frames = 0
        self._free = 0  # first frame that no utterance has
        self._start: int | None = None  # of the open utterance

    @property
    def settled(self) -> int:
        """The open utterance and all later ones begin at this frame or after. Never falls."""
        if self._start is not None:
            return self._start
        return max(self._free, self._frames - self._options.lookback)

    @property
    def open_utterance(self) -> tuple[int, int] | None:
        """The utterance that has not ended, as far as it is certain."""
        if self._start is None:
            return None
        return self._start, self._frames - self._window.silence

    def accept(self, voiced: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
        """Account for the next frames.

        Args:
            voiced: whether a frame holds a voice, bool, shape (frames,).

        Returns:
            Utterances that ended, as half-open intervals of frames; sorted, disjoint.
        """
        ended = []
        for is_voiced in voiced.tolist():
            utterance = self._step(is_voiced)
            if utterance:
                ended.append(utterance)
        return ended

    def finish(self) -> list[tuple[int, int]]:
        """End of the recording: the open utterance, up to the last frame."""
        return [] if self._start is None else [self._end(self._start, self._frames)]

    def _step(self, is_voiced: bool) -> tuple[int, int] | None:
        self._window.add(is_voiced)
        self._frames += 1
        if self._start is None:
            if self._window.is_speaking:
                self._start = max(self._free, self._frames - 1 - self._options.lookback)
        elif self._window.silence >= self._options.end_silence:
            return self._end(self._start, self._frames - self._options.end_lookback)
        elif self._frames - self._start > self._options.max_utterance:
            return self._end(self._start, self._frames)
        return None

    def _end(self, start: int, end: int) -> tuple[int, int]:
        self._start = None
        self._free = end
        self._window = _Window(self._options)
        return start, end


class _Window:
    """The latest frames: whether somebody is speaking, and for how long nobody has been.

    Attributes:
        is_speaking: from the onset to the offset.
        silence: frames since the offset without an onset; that of the offset is not one of them.
    """

    __slots__ = ("_latest", "_offset", "_onset", "_voiced", "is_speaking", "silence")

    def __init__(self, options: EndpointOptions) -> None:
        self._onset = options.onset
        self._offset = options.offset
        self._latest = deque([False] * options.window, maxlen=options.window)
        self._voiced = 0
        self.is_speaking = False
        self.silence = 0

    def add(self, is_voiced: bool) -> None:
        self._voiced += is_voiced - self._latest[0]
        self._latest.append(is_voiced)
        was_speaking = self.is_speaking
        if was_speaking:
            self.is_speaking = self._voiced > self._offset
        else:
            self.is_speaking = self._voiced >= self._onset
        self.silence = 0 if was_speaking or self.is_speaking else self.silence + 1
