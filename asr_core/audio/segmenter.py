"""Speech segments of a recording, cut from voice-activity probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asr_core.audio.history import WaveformHistory
from asr_core.audio.vad import WINDOW_SAMPLES
from asr_core.errors import UsageError
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.session import Float32

_MS_SAMPLES = SAMPLE_RATE_HZ // 1000

_LEVEL_FRAME_SAMPLES = 10 * _MS_SAMPLES  # grid of possible cuts
_LEVEL_SMOOTHING_FRAMES = 5  # 50 ms: shorter than a pause, longer than a stop consonant's closure
_LEVEL_FLOOR = 1e-4  # -80 dB; below it every frame is equally silent
_SPEECH_PENALTY_DB = 20.0  # what a certain speech window weighs against loudness


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


@dataclass(frozen=True, slots=True)
class SegmenterOptions:
    """How speech is cut into segments.

    Attributes:
        threshold: probability at which speech begins or goes on.
        neg_threshold: probability below which a pause begins.
        min_speech_ms: a shorter blip is no speech. Two windows: a clipped one-syllable word
            gives no fewer.
        min_silence_ms: pause that ends a segment.
        padding_ms: kept before and after speech; a pause too short for two paddings is halved.
        max_segment_ms: longest padded segment; longer speech is cut.
        cut_zone_ms: last part of a too long segment in which the quietest place is cut.
    """

    threshold: float = 0.5
    neg_threshold: float = 0.35
    min_speech_ms: int = 64
    min_silence_ms: int = 500
    padding_ms: int = 300
    max_segment_ms: int = 30_000
    cut_zone_ms: int = 10_000

    def __post_init__(self) -> None:
        if not 0 < self.neg_threshold <= self.threshold <= 1:
            raise UsageError("Thresholds must satisfy 0 < neg_threshold <= threshold <= 1")
        if min(self.min_speech_ms, self.min_silence_ms, self.padding_ms) < 0:
            raise UsageError("Durations of the segmenter cannot be negative")
        if not 0 < self.cut_zone_ms <= self.max_segment_ms // 2:
            raise UsageError("cut_zone_ms must be positive and at most half of max_segment_ms")
        if self.max_segment_ms <= 2 * max(self.padding_ms, self.min_speech_ms):
            raise UsageError("max_segment_ms must exceed two paddings and two minimum lengths")


@dataclass(frozen=True, slots=True)
class _Span:
    """A segment whose right padding is still open."""

    start: int
    speech_start: int
    speech_end: int


class Segmenter:
    """Turns the probabilities of one recording into segments while it arrives.

    Segments are sorted and disjoint; every sample of detected speech lies between the
    ``speech_start`` and ``speech_end`` of exactly one. The result does not depend on how the
    recording is divided into pieces, and memory not on its length.
    """

    def __init__(self, options: SegmenterOptions) -> None:
        self._options = options
        self._min_speech = options.min_speech_ms * _MS_SAMPLES
        self._min_silence = options.min_silence_ms * _MS_SAMPLES
        self._padding = options.padding_ms * _MS_SAMPLES
        self._max = options.max_segment_ms * _MS_SAMPLES
        self._history = WaveformHistory()
        self._probabilities: list[float] = []  # of the windows from _first_window on
        self._first_window = 0
        self._next_window = 0
        self._speech_start: int | None = None  # of the current speech or blip
        self._silence_start: int | None = None  # of a pause inside it
        self._segment_start: int | None = None  # None until the blip is long enough
        self._pending: _Span | None = None
        self._previous_end = 0
        self._settled = 0
        self._ready: list[Segment] = []
        self._finished = False

    @property
    def settled(self) -> int:
        """Position in samples; no later segment starts before it. Never falls."""
        return max(self._settled, self._previous_end)

    def accept(self, waveform: Float32, probabilities: Float32) -> list[Segment]:
        """Feed the next piece.

        Args:
            waveform: float32 mono 16 kHz, shape (samples,), may be empty.
            probabilities: of the windows of 512 samples that became complete, float32, shape
                (windows,); they may lag behind the waveform.

        Returns:
            Segments that became final, in time order.
        """
        if self._finished:
            raise UsageError("The segmenter is finished")
        self._history.append(waveform)
        self._probabilities.extend(probabilities.tolist())
        known = self._first_window + len(self._probabilities)
        while self._next_window < min(known, self._history.end // WINDOW_SAMPLES):
            self._step()
        self._forget()
        return self._take_ready()

    def finish(self) -> list[Segment]:
        """End of the recording: the remaining segments."""
        total = self._history.end
        known = self._first_window + len(self._probabilities)
        while self._next_window < known and self._next_window * WINDOW_SAMPLES < total:
            self._step()
        if self._speech_start is not None:
            if self._silence_start is None:
                self._extend(total)
            self._end_speech(total if self._silence_start is None else self._silence_start)
        self._release(total)
        self._finished = True
        return self._take_ready()

    def _step(self) -> None:
        """Account for one window."""
        probability = self._probabilities[self._next_window - self._first_window]
        begin = self._next_window * WINDOW_SAMPLES
        end = min(begin + WINDOW_SAMPLES, self._history.end)
        self._next_window += 1
        if self._speech_start is None:
            if probability < self._options.threshold:
                if self._pending and end - self._pending.speech_end >= 2 * self._padding:
                    self._release(end)
                return
            self._speech_start = begin
        elif probability >= self._options.threshold:
            self._silence_start = None
        elif probability < self._options.neg_threshold and self._silence_start is None:
            self._silence_start = begin
        if self._silence_start is None:
            self._extend(end)
        elif end - self._silence_start >= self._min_silence:
            self._end_speech(self._silence_start)

    def _extend(self, end: int) -> None:
        """Speech goes on up to ``end``: take it for speech, cut it, or neither yet."""
        if self._speech_start is None:
            return
        if self._segment_start is None:
            if end - self._speech_start < self._min_speech:
                return
            self._segment_start = self._begin_segment(self._speech_start)
        while end - self._segment_start > self._max:
            cut = self._quietest(self._segment_start + self._max)
            self._emit(_Span(self._segment_start, self._speech_start, cut), cut)
            self._segment_start = self._speech_start = cut

    def _begin_segment(self, speech_start: int) -> int:
        """Start of the padded segment; settles the right padding of the one before."""
        start = speech_start - self._padding
        if self._pending:
            middle = (self._pending.speech_end + speech_start) // 2
            self._release(middle)
            start = max(start, middle)
        return max(start, self._previous_end)

    def _end_speech(self, speech_end: int) -> None:
        if self._speech_start is not None and self._segment_start is not None:
            self._pending = _Span(self._segment_start, self._speech_start, speech_end)
        self._speech_start = self._silence_start = self._segment_start = None

    def _release(self, limit: int) -> None:
        """Emit the pending segment, padded up to ``limit`` at most."""
        span, self._pending = self._pending, None
        if span:
            end = min(span.speech_end + self._padding, span.start + self._max, limit)
            self._emit(span, end)

    def _emit(self, span: _Span, end: int) -> None:
        waveform = self._history.slice(span.start, end)
        self._ready.append(Segment(span.start, end, span.speech_start, span.speech_end, waveform))
        self._previous_end = end

    def _take_ready(self) -> list[Segment]:
        ready, self._ready = self._ready, []
        return ready

    def _quietest(self, zone_end: int) -> int:
        zone_start = zone_end - self._options.cut_zone_ms * _MS_SAMPLES
        first = zone_start // WINDOW_SAMPLES
        known = self._probabilities[first - self._first_window :]
        return find_quietest(self._history, zone_start, zone_end, np.asarray(known, np.float32))

    def _forget(self) -> None:
        """Drop what no later segment can contain."""
        needed = self._next_window * WINDOW_SAMPLES
        if self._segment_start is not None:
            needed = self._segment_start
        elif self._speech_start is not None:
            needed = self._speech_start
        needed -= self._padding
        if self._pending:
            needed = min(needed, self._pending.start)
        self._settled = max(self._settled, needed)
        # Speech that begins right after a call reaches back behind what that call has dropped.
        needed = max(needed, self._first_window * WINDOW_SAMPLES)
        self._history.drop_before(needed)
        windows = needed // WINDOW_SAMPLES - self._first_window
        del self._probabilities[:windows]
        self._first_window += windows


class FixedWindows:
    """Cuts a whole recording at quiet places, without voice activity: every sample is speech.

    Same interface as :class:`Segmenter`.
    """

    def __init__(self, options: SegmenterOptions) -> None:
        self._max = options.max_segment_ms * _MS_SAMPLES
        self._zone = options.cut_zone_ms * _MS_SAMPLES
        self._history = WaveformHistory()
        self._start = 0
        self._finished = False

    @property
    def settled(self) -> int:
        """Position in samples; the next segment starts there."""
        return self._start

    def accept(self, waveform: Float32, probabilities: Float32) -> list[Segment]:  # noqa: ARG002
        """Feed the next piece; ``probabilities`` are not used."""
        if self._finished:
            raise UsageError("The segmenter is finished")
        self._history.append(waveform)
        segments = []
        while self._history.end - self._start > self._max:
            limit = self._start + self._max
            nothing = np.zeros(0, np.float32)
            segments.append(
                self._cut(find_quietest(self._history, limit - self._zone, limit, nothing))
            )
        return segments

    def finish(self) -> list[Segment]:
        """End of the recording: the last window."""
        self._finished = True
        return [self._cut(self._history.end)] if self._history.end > self._start else []

    def _cut(self, end: int) -> Segment:
        start, self._start = self._start, end
        waveform = self._history.slice(start, end)
        self._history.drop_before(end)
        return Segment(start, end, start, end, waveform)


def find_quietest(
    history: WaveformHistory, zone_start: int, zone_end: int, probabilities: Float32
) -> int:
    """Best place to cut inside a zone: quiet, and unlikely to be speech.

    Args:
        history: holds the zone.
        zone_start: first sample of the zone.
        zone_end: one past its last sample.
        probabilities: float32, shape (windows,), from the window that holds ``zone_start`` on;
            empty when there are none. Windows beyond them count as the last one.

    Returns:
        A position in ``(zone_start, zone_end]``; the latest among equals.
    """
    frames = (zone_end - zone_start) // _LEVEL_FRAME_SAMPLES
    if not frames:
        return zone_end
    used = history.slice(zone_start, zone_start + frames * _LEVEL_FRAME_SAMPLES)
    power = np.square(used.reshape(frames, -1), dtype=np.float64).mean(axis=1)
    weights = np.ones(min(_LEVEL_SMOOTHING_FRAMES, frames))
    smooth = np.convolve(power, weights, "same") / np.convolve(np.ones(frames), weights, "same")
    cost = 10 * np.log10(smooth + _LEVEL_FLOOR**2)
    middles = np.arange(frames) * _LEVEL_FRAME_SAMPLES + _LEVEL_FRAME_SAMPLES // 2
    if len(probabilities):
        windows = (zone_start % WINDOW_SAMPLES + middles) // WINDOW_SAMPLES
        cost += _SPEECH_PENALTY_DB * probabilities[np.minimum(windows, len(probabilities) - 1)]
    latest_best = frames - 1 - int(np.argmin(cost[::-1]))
    return zone_start + int(middles[latest_best])
