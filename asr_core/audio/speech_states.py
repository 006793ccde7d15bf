"""From probabilities of speech to intervals of speech: a state machine over windows."""

from __future__ import annotations

from enum import Enum, auto

from asr_core.audio.vad import WINDOW_SAMPLES
from asr_core.runtime.session import Float32


class SpeechState(Enum):
    """What the windows so far amount to."""

    SILENCE = auto()
    ONSET = auto()  # a voice, not long enough yet to be speech
    LAPSE = auto()  # a pause in an onset, not long enough yet to end it
    SPEECH = auto()
    HANGOVER = auto()  # a pause in speech, not long enough yet to end it


_HEARD = frozenset({SpeechState.SPEECH, SpeechState.HANGOVER})
_PAUSED = frozenset({SpeechState.LAPSE, SpeechState.HANGOVER})


class SpeechTracker:
    """The speech intervals of one recording while its probabilities arrive.

    ::

        SILENCE --likely--> ONSET --long enough--> SPEECH
        ONSET  --unlikely--> LAPSE    --likely--> ONSET or SPEECH
        SPEECH --unlikely--> HANGOVER --likely--> SPEECH
        LAPSE, HANGOVER --long enough--> SILENCE

    A probability is likely from ``threshold`` on and unlikely below ``neg_threshold``; one in
    between changes no state. Intervals are in samples, half-open, sorted, disjoint.

    Args:
        threshold: probability at which speech begins, or resumes after a pause.
        neg_threshold: probability below which a pause begins.
        min_speech_samples: shorter speech, pauses in it included, is dropped.
        min_silence_samples: a shorter pause belongs to the speech around it.
    """

    def __init__(
        self,
        *,
        threshold: float,
        neg_threshold: float,
        min_speech_samples: int,
        min_silence_samples: int,
    ) -> None:
        self._threshold = threshold
        self._neg_threshold = neg_threshold
        self._min_speech = min_speech_samples
        self._min_silence = min_silence_samples
        self._start = 0  # of the onset or speech
        self._end = 0  # of its last voiced window; a pause begins there
        self.state = SpeechState.SILENCE
        self.windows = 0

    @property
    def open_span(self) -> tuple[int, int] | None:
        """Speech that has not ended, as far as it is certain."""
        return (self._start, self._end) if self.state in _HEARD else None

    @property
    def settled(self) -> int:
        """Position in samples; the open interval and all later ones begin there or after."""
        is_silent = self.state is SpeechState.SILENCE
        return self.windows * WINDOW_SAMPLES if is_silent else self._start

    def accept(self, probabilities: Float32, total: int) -> list[tuple[int, int]]:
        """Account for the next windows.

        Args:
            probabilities: one per window, float32, shape (windows,).
            total: samples of the recording so far; a last window may reach beyond.

        Returns:
            Intervals that ended.
        """
        ended = []
        for probability in probabilities.tolist():
            end = min((self.windows + 1) * WINDOW_SAMPLES, total)
            if self._step(probability, end):
                ended.append((self._start, self._end))
            self.windows += 1
        return ended

    def finish(self, total: int) -> list[tuple[int, int]]:
        """End of the recording: the last interval. Speech goes on in windows without probability.

        Args:
            total: samples of the recording.
        """
        if self.state in (SpeechState.ONSET, SpeechState.SPEECH):
            self._go_on(total)
        last = self.open_span
        self.state = SpeechState.SILENCE
        return [last] if last else []

    def _step(self, probability: float, end: int) -> bool:
        """Account for one window. Returns whether speech ended at ``_end``."""
        if self.state is SpeechState.SILENCE:
            if probability >= self._threshold:
                self._start = self.windows * WINDOW_SAMPLES
                self._go_on(end)
        elif self.state in _PAUSED:
            if probability >= self._threshold:
                self._go_on(end)
            else:
                return self._pause(end)
        elif probability >= self._neg_threshold:
            self._go_on(end)
        else:
            is_speech = self.state is SpeechState.SPEECH
            self.state = SpeechState.HANGOVER if is_speech else SpeechState.LAPSE
            return self._pause(end)
        return False

    def _go_on(self, end: int) -> None:
        self._end = end
        if self.state not in _HEARD:
            is_long = end - self._start >= self._min_speech
            self.state = SpeechState.SPEECH if is_long else SpeechState.ONSET
        else:
            self.state = SpeechState.SPEECH

    def _pause(self, end: int) -> bool:
        if end - self._end < self._min_silence:
            return False
        was_speech = self.state is SpeechState.HANGOVER
        self.state = SpeechState.SILENCE
        return was_speech
