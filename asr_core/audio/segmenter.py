"""Speech segments of a recording: padded, and short enough for a recognizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asr_core.audio.history import StreamHistory
from asr_core.audio.speech_states import SpeechTracker
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
    """A segment whose end, or whose right padding, is still open."""

    start: int
    speech_start: int
    speech_end: int


class SpanSegmenter:
    """Turns the speech intervals of one recording into segments while it arrives.

    Segments are sorted and disjoint; every sample of the intervals lies between the
    ``speech_start`` and ``speech_end`` of exactly one. The result does not depend on how the
    recording is divided into pieces, and memory not on its length, as long as ``settled`` keeps
    up with it.

    Args:
        options: padding and limit; the others are the detector's.
        probabilities: of speech, by window of 512 samples, kept up to date by the owner; a cut
            avoids likely speech. Dropped here where they are no longer needed.
    """

    def __init__(
        self, options: SegmenterOptions, probabilities: StreamHistory | None = None
    ) -> None:
        self._padding = options.padding_ms * _MS_SAMPLES
        self._max = options.max_segment_ms * _MS_SAMPLES
        self._zone = options.cut_zone_ms * _MS_SAMPLES
        self._history = StreamHistory()
        self._probabilities = probabilities or StreamHistory()
        self._promised = 0  # no later interval begins before it
        self._open: _Span | None = None  # speech that goes on, without what was cut off
        self._open_from = 0  # where it began
        self._pending: _Span | None = None  # ended; its right padding depends on what follows
        self._previous_end = 0  # of the last segment handed out
        self._ready: list[Segment] = []
        self._finished = False

    @property
    def samples(self) -> int:
        """Length of the recording so far."""
        return self._history.end

    @property
    def settled(self) -> int:
        """Position in samples; no later segment starts before it. Never falls."""
        span = self._pending or self._open
        return max(span.start if span else self._promised - self._padding, self._previous_end)

    def accept(
        self,
        waveform: Float32,
        spans: Sequence[tuple[int, int]],
        settled: int,
        open_span: tuple[int, int] | None = None,
    ) -> list[Segment]:
        """Feed the next piece.

        Args:
            waveform: float32 mono 16 kHz, shape (samples,), may be empty.
            spans: speech that ended, ``(start, end)`` in samples, half-open, in time order and
                disjoint, within the waveform so far.
            settled: position before which no later interval begins, the open one included.
            open_span: speech that has not ended, as far as it is certain; it comes in ``spans``
                later, with the same start. Long speech is cut before its end that way.

        Returns:
            Segments that became final, in time order.

        Raises:
            UsageError: the intervals are not as above, or the recording is finished.
        """
        self._require_unfinished()
        self._history.append(waveform)
        self._take(spans)
        if open_span:
            self._extend(*open_span)
        self._promised = max(self._promised, min(settled, self.samples))
        if self._pending and self._promised - self._pending.speech_end >= 2 * self._padding:
            self._release(self._promised)
        self._history.drop_before(self.settled)
        self._probabilities.drop_before(self.settled // WINDOW_SAMPLES)
        return self._take_ready()

    def finish(self, spans: Sequence[tuple[int, int]] = ()) -> list[Segment]:
        """End of the recording: the remaining segments.

        Args:
            spans: the last intervals; one that reaches beyond the recording ends with it. An open
                interval that is not among them ends where it was last certain.
        """
        self._require_unfinished()
        self._finished = True
        total = self.samples
        self._take([(start, min(end, total)) for start, end in spans if start < total])
        self._close()
        self._release(total)
        return self._take_ready()

    def _require_unfinished(self) -> None:
        if self._finished:
            raise UsageError("The segmenter is finished")

    def _take(self, spans: Sequence[tuple[int, int]]) -> None:
        for start, end in spans:
            self._extend(start, end)
            self._close()
            self._promised = end

    def _extend(self, speech_start: int, speech_end: int) -> None:
        """Speech goes on up to ``speech_end``: cut what is too long for one segment."""
        self._require_next(speech_start, speech_end)
        if self._open:
            start, speech_start = self._open.start, self._open.speech_start
        else:
            self._open_from = speech_start
            start = self._begin(speech_start)
        while speech_end - start > self._max:
            cut = self._quietest(start + self._max)
            self._emit(_Span(start, speech_start, cut), cut)
            start = speech_start = cut
        self._open = _Span(start, speech_start, speech_end)

    def _require_next(self, speech_start: int, speech_end: int) -> None:
        is_next = self._promised <= speech_start < speech_end <= self.samples
        if self._open:
            is_same = speech_start == self._open_from and speech_end >= self._open.speech_end
            is_next = is_next and is_same
        if not is_next:
            raise UsageError(
                f"Speech [{speech_start}, {speech_end}) is empty, out of order or not heard yet"
            )

    def _begin(self, speech_start: int) -> int:
        """Start of the padded segment; settles the right padding of the one before."""
        start = speech_start - self._padding
        if self._pending:
            middle = (self._pending.speech_end + speech_start) // 2
            self._release(middle)
            start = max(start, middle)
        return max(start, self._previous_end)

    def _close(self) -> None:
        if self._open:
            self._pending, self._open = self._open, None

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
        zone_start = zone_end - self._zone
        last_window = min(-(-zone_end // WINDOW_SAMPLES), self._probabilities.end)
        known = self._probabilities.slice(zone_start // WINDOW_SAMPLES, last_window)
        return find_quietest(self._history, zone_start, zone_end, known)


class Segmenter:
    """Turns the probabilities of one recording into segments while it arrives.

    The result does not depend on how the recording is divided into pieces, and memory not on its
    length. See :class:`SpanSegmenter` for the segments.
    """

    def __init__(self, options: SegmenterOptions) -> None:
        self._tracker = SpeechTracker(
            threshold=options.threshold,
            neg_threshold=options.neg_threshold,
            min_speech_samples=options.min_speech_ms * _MS_SAMPLES,
            min_silence_samples=options.min_silence_ms * _MS_SAMPLES,
        )
        self._probabilities = StreamHistory()
        self._spans = SpanSegmenter(options, self._probabilities)

    @property
    def settled(self) -> int:
        """Position in samples; no later segment starts before it. Never falls."""
        return self._spans.settled

    def accept(self, waveform: Float32, probabilities: Float32) -> list[Segment]:
        """Feed the next piece.

        Args:
            waveform: float32 mono 16 kHz, shape (samples,), may be empty.
            probabilities: of the windows of 512 samples that became complete, float32, shape
                (windows,); they may lag behind the waveform, and the last one of the recording
                may be of a window that is not complete.

        Returns:
            Segments that became final, in time order.
        """
        self._probabilities.append(probabilities)
        total = self._spans.samples + len(waveform)
        ended = self._track(total // WINDOW_SAMPLES, total)
        tracker = self._tracker
        return self._spans.accept(waveform, ended, tracker.settled, tracker.open_span)

    def finish(self) -> list[Segment]:
        """End of the recording: the remaining segments."""
        total = self._spans.samples
        ended = self._track(-(-total // WINDOW_SAMPLES), total)
        return self._spans.finish([*ended, *self._tracker.finish(total)])

    def _track(self, windows: int, total: int) -> list[tuple[int, int]]:
        """Account for the first ``windows`` of the recording as far as they are known."""
        last = min(windows, self._probabilities.end)
        return self._tracker.accept(self._probabilities.slice(self._tracker.windows, last), total)


class FixedWindows:
    """Cuts a whole recording at quiet places, without voice activity: every sample is speech."""

    def __init__(self, options: SegmenterOptions) -> None:
        self._spans = SpanSegmenter(options)

    @property
    def settled(self) -> int:
        """Position in samples; the next segment starts there."""
        return self._spans.settled

    def accept(self, waveform: Float32) -> list[Segment]:
        """Feed the next piece, float32 mono 16 kHz, shape (samples,), may be empty.

        Returns:
            Segments that became final, in time order.
        """
        total = self._spans.samples + len(waveform)
        return self._spans.accept(waveform, (), 0, (0, total) if total else None)

    def finish(self) -> list[Segment]:
        """End of the recording: the last window."""
        return self._spans.finish()


def find_quietest(
    history: StreamHistory, zone_start: int, zone_end: int, probabilities: Float32
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
