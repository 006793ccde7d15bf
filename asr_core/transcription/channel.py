"""One channel of a recording: its segments become tokens and its tokens sentences."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Sequence

from asr_core.audio.detector import SegmentStream
from asr_core.audio.segmenter import Segment
from asr_core.errors import NormalizationError, TranscriptionCancelled
from asr_core.recognizers.base import RecognizeOptions, Recognizer
from asr_core.results import SAMPLE_RATE_HZ, Sentence, Token, Utterance
from asr_core.runtime.session import Float32
from asr_core.text.itn.normalizer import InverseNormalizer
from asr_core.text.tokens import build_sentences, split_sentences
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.checkpoints import Checkpoints
from asr_core.transcription.options import TranscribeOptions
from asr_core.transcription.scheduler import RecognizerWorker

logger = logging.getLogger(__name__)

_MS_SAMPLES = SAMPLE_RATE_HZ // 1000
_SENTENCE_ENDS = "。！？；….!?;"


@dataclasses.dataclass(frozen=True, slots=True)
class Speaker:
    """A channel as the transcript knows it.

    Attributes:
        number: of the channel in the recording, from 0.
        label: of its sentences, empty for none.
    """

    number: int
    label: str


class Channel:
    """Segments wait here until a group of them is recognized together.

    Args:
        stream: finds the segments.
        recognizer: tells how many network passes segments take.
        worker: recognizes.
        normalizer: writes numbers; ``None`` leaves them as spoken.
        options: choices for this recording.
        speaker: which channel this is.
        cancel: whether only known groups become text.
        checkpoints: where recognized groups are kept; ``None`` keeps none.

    Attributes:
        segments: recognized so far.
        earlier_ms: wall time of the groups that were recognized before.
        speech_ms: detected speech so far.
        gaps: ``(start_ms, end_ms)`` of detected speech without text.
        normalization_failed: numbers of some sentence stayed as they were spoken.
    """

    def __init__(
        self,
        stream: SegmentStream,
        recognizer: Recognizer,
        worker: RecognizerWorker,
        normalizer: InverseNormalizer | None,
        options: TranscribeOptions,
        speaker: Speaker,
        cancel: CancelToken,
        checkpoints: Checkpoints | None,
    ) -> None:
        self._stream = stream
        self._recognizer = recognizer
        self._worker = worker
        self._normalizer = normalizer
        self._options = options
        self._speaker = speaker
        self._cancel = cancel
        self._checkpoints = checkpoints
        self._detected: list[Segment] = []  # not in the group yet
        self._group: list[Segment] = []
        self._pending: list[Token] = []  # of a sentence that may go on
        self._groups = 0
        self.segments = 0
        self.earlier_ms = 0
        self.speech_ms = 0
        self.gaps: list[tuple[int, int]] = []
        self.normalization_failed = False

    @property
    def settled_ms(self) -> int:
        """No later sentence starts before this."""
        if self._pending:
            return self._pending[0].start_ms
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
        return self._finish_sentences(tokens), group[-1].end

    def _utterances(self, group: Sequence[Segment]) -> Sequence[Utterance]:
        """From a checkpoint, or else from the recognizer."""
        spans = [(segment.start, segment.end) for segment in group]
        channel, number = self._speaker.number, self._groups
        self._groups += 1
        kept = self._checkpoints
        known = kept.load(channel, number, spans) if kept else None
        if known is not None:
            self.earlier_ms += known.elapsed_ms
            return known.utterances
        if self._cancel.known_only:
            raise TranscriptionCancelled
        started = time.monotonic()
        utterances = self._worker.recognize(
            group, RecognizeOptions(hotwords=self._options.hotwords)
        )
        elapsed_ms = int((time.monotonic() - started) * 1000)
        if kept:
            kept.save(channel, number, spans, utterances, elapsed_ms)
        return utterances

    def close_sentence(self) -> list[Sentence]:
        """The sentence that might have gone on; it does not."""
        tokens, self._pending = self._pending, []
        return self._build(tokens)

    def _account(self, segment: Segment, utterance: Utterance) -> None:
        start_ms = segment.speech_start // _MS_SAMPLES
        end_ms = segment.speech_end // _MS_SAMPLES
        self.speech_ms += end_ms - start_ms
        if not utterance.tokens and end_ms > start_ms:
            self.gaps.append((start_ms, end_ms))

    def _finish_sentences(self, tokens: list[Token]) -> list[Sentence]:
        """Sentences that are complete; the last one waits while it may go on."""
        tokens = [*self._pending, *tokens]
        groups = split_sentences(tokens)
        self._pending = []
        if groups and groups[-1][-1].mark[-1:] not in set(_SENTENCE_ENDS):
            self._pending = list(groups[-1])
        return self._build(tokens[: len(tokens) - len(self._pending)])

    def _build(self, tokens: Sequence[Token]) -> list[Sentence]:
        if not tokens:
            return []
        normalize = self._normalizer.spans if self._normalizer else None
        marks = self._options.punctuation
        try:
            built = build_sentences(tokens, normalize, punctuation=marks)
        except NormalizationError:
            logger.warning("number normalization failed", exc_info=True)
            self.normalization_failed = True
            built = build_sentences(tokens, None, punctuation=marks)
        return [dataclasses.replace(sentence, speaker=self._speaker.label) for sentence in built]
