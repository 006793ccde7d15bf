"""One channel of a recording: its segments become tokens and its tokens sentences."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from asr_core.audio.detector import SegmentStream
from asr_core.audio.segmenter import Segment
from asr_core.errors import TranscriptionCancelled
from asr_core.recognizers.base import RecognizeOptions, Recognizer
from asr_core.results import SAMPLE_RATE_HZ, Sentence, Utterance
from asr_core.runtime.session import Float32
from asr_core.text.sentences import SentenceBuilder
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.checkpoints import Checkpoints
from asr_core.transcription.scheduler import RecognizerWorker

_MS_SAMPLES = SAMPLE_RATE_HZ // 1000


class Channel:
    """Segments wait here until a group of them is recognized together.

    Args:
        stream: finds the segments.
        recognizer: tells how many network passes segments take.
        worker: recognizes.
        options: for the recognizer.
        builder: makes sentences of the tokens.
        number: of the channel in the recording, from 0.
        cancel: whether only known groups become text.
        checkpoints: where recognized groups are kept; ``None`` keeps none.

    Attributes:
        segments: recognized so far.
        earlier_ms: wall time of the groups that were recognized before.
        speech_ms: detected speech so far.
        gaps: ``(start_ms, end_ms)`` of detected speech without text.
        devices: segments that each device recognized.
    """

    def __init__(
        self,
        stream: SegmentStream,
        recognizer: Recognizer,
        worker: RecognizerWorker,
        options: RecognizeOptions,
        builder: SentenceBuilder,
        number: int,
        cancel: CancelToken,
        checkpoints: Checkpoints | None,
    ) -> None:
        self._stream = stream
        self._recognizer = recognizer
        self._worker = worker
        self._options = options
        self._builder = builder
        self._number = number
        self._cancel = cancel
        self._checkpoints = checkpoints
        self._detected: list[Segment] = []  # not in the group yet
        self._group: list[Segment] = []
        self._groups = 0
        self.segments = 0
        self.earlier_ms = 0
        self.speech_ms = 0
        self.gaps: list[tuple[int, int]] = []
        self.devices: Counter[str] = Counter()

    @property
    def settled_ms(self) -> int:
        """No later sentence starts before this."""
        pending_ms = self._builder.pending_start_ms
        if pending_ms is not None:
            return pending_ms
        waiting = [*self._group[:1], *self._detected[:1]]
        first = waiting[0].start if waiting else self._stream.settled
        return first // _MS_SAMPLES

    @property
    def is_waiting(self) -> bool:
        """Whether detected segments wait to be recognized."""
        return bool(self._group or self._detected)

    def accept(self, waveform: Float32) -> None:
        """Feed the next piece, float32 mono 16 kHz, shape (samples,)."""
        self._detected.extend(self._stream.accept(waveform))

    def finish(self) -> None:
        """End of the recording."""
        self._detected.extend(self._stream.finish())

    def fill(self, most_passes: int) -> bool:
        """Move detected segments into the group; true when the next one does not fit."""
        while self._detected:
            passes = self._recognizer.passes([*self._group, self._detected[0]])
            if self._group and passes > most_passes:
                return True
            self._group.append(self._detected.pop(0))
        return False

    def recognize(self) -> tuple[list[Sentence], int]:
        """Recognize the group.

        Returns:
            Sentences that are complete, and the position in samples up to which this went.
        """
        group, self._group = self._group, []
        if not group:
            return [], 0
        utterances = self._utterances(group)
        for segment, utterance in zip(group, utterances, strict=True):
            self._account(segment, utterance)
        self.segments += len(group)
        tokens = [token for utterance in utterances for token in utterance.tokens]
        return self._builder.accept(tokens), group[-1].end

    def _utterances(self, group: Sequence[Segment]) -> Sequence[Utterance]:
        """From a checkpoint, or else from the recognizer."""
        spans = [(segment.start, segment.end) for segment in group]
        channel, number = self._number, self._groups
        self._groups += 1
        kept = self._checkpoints
        known = kept.load(channel, number, spans) if kept else None
        if known is not None:
            self.earlier_ms += known.elapsed_ms
            return known.utterances
        if self._cancel.known_only:
            raise TranscriptionCancelled
        started = time.monotonic()
        utterances = self._worker.recognize(group, self._options)
        elapsed_ms = int((time.monotonic() - started) * 1000)
        if kept:
            kept.save(channel, number, spans, utterances, elapsed_ms)
        return utterances

    def close_sentence(self) -> list[Sentence]:
        """The sentences that might have gone on; they do not."""
        return self._builder.finish()

    def _account(self, segment: Segment, utterance: Utterance) -> None:
        start_ms = segment.speech_start // _MS_SAMPLES
        end_ms = segment.speech_end // _MS_SAMPLES
        self.speech_ms += end_ms - start_ms
        self.devices[utterance.device or self._recognizer.info.device] += 1
        if not utterance.tokens and end_ms > start_ms:
            self.gaps.append((start_ms, end_ms))
