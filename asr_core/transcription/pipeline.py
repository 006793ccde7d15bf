"""A file on its way to a transcript: decode, find speech, recognize, normalize, account.

Owns the order of the stages, progress, cancellation and the coverage account. Holds a few groups
of segments at a time, whatever the length of the recording.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from asr_core.audio.decode import AudioSource, open_audio
from asr_core.audio.detector import open_detector
from asr_core.audio.segmenter import Segment
from asr_core.errors import NormalizationError, TranscriptionCancelled
from asr_core.events import EventSink, Progress
from asr_core.recognizers.base import RecognizeOptions, Recognizer
from asr_core.results import (
    SAMPLE_RATE_HZ,
    Coverage,
    Sentence,
    Token,
    Transcript,
    TranscriptWarning,
    Utterance,
)
from asr_core.text.itn import InverseNormalizer
from asr_core.text.tokens import build_sentences, split_sentences
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.options import TranscribeOptions
from asr_core.transcription.scheduler import RecognizerWorker

logger = logging.getLogger(__name__)

_MS_SAMPLES = SAMPLE_RATE_HZ // 1000
_FIRST_GROUP_PASSES = 1  # small, so that the first words appear soon; doubled from group to group
_SILENT_PROGRESS_SAMPLES = 60 * SAMPLE_RATE_HZ  # progress is told at least this often
_TOLERATED_GAP_MS = 1000  # breaths and clicks that the detector took for speech
_SENTENCE_ENDS = "。！？；….!?;"


@dataclass(frozen=True, slots=True)
class Stages:
    """What a transcription works with; ``normalizer`` is ``None`` when it cannot be loaded."""

    worker: RecognizerWorker
    normalizer: InverseNormalizer | None
    vad: str


def transcribe(
    path: Path,
    options: TranscribeOptions,
    stages: Stages,
    *,
    name: str = "",
    on_event: EventSink | None = None,
    cancel: CancelToken | None = None,
) -> Transcript:
    """Transcribe one file.

    Args:
        path: any recording or video.
        options: choices for this recording.
        stages: shared by all transcriptions.
        name: what errors call the file.
        on_event: told after every group of segments, on this thread.
        cancel: checked between groups; what was recognized by then is returned, ``partial``.

    Raises:
        AudioDecodeError: nothing in the file can be decoded.
        ModelError, DeviceError, RecognitionError: the recognizer cannot be loaded or failed.
    """
    started = time.monotonic()
    recognizer = stages.worker.ready()
    with open_audio(path, name=name) as source:
        run = _Run(source, options, stages, recognizer, on_event, cancel or CancelToken())
        partial = run.run()
        transcript = Transcript(
            sentences=tuple(run.sentences),
            duration_ms=source.position_samples // _MS_SAMPLES,
            language=recognizer.language,
            model=recognizer.info,
            processing_ms=int((time.monotonic() - started) * 1000),
            coverage=run.coverage(),
            warnings=tuple(run.warnings()),
            partial=partial,
        )
    logger.info(
        "transcribed audio_ms=%d processing_ms=%d rtf=%.3f device=%s partial=%s",
        transcript.duration_ms,
        transcript.processing_ms,
        transcript.rtf,
        transcript.model.device,
        transcript.partial,
    )
    return transcript


@dataclass(slots=True)
class _Run:
    """The state of one transcription."""

    source: AudioSource
    options: TranscribeOptions
    stages: Stages
    recognizer: Recognizer
    on_event: EventSink | None
    cancel: CancelToken
    sentences: list[Sentence] = field(default_factory=list)
    _pending: list[Token] = field(default_factory=list)  # of a sentence that may go on
    _group: list[Segment] = field(default_factory=list)
    _group_passes: int = _FIRST_GROUP_PASSES
    _segments: int = 0
    _told: int = 0  # position of the last progress report, samples
    _speech_ms: int = 0
    _gaps: list[tuple[int, int]] = field(default_factory=list)
    _normalization_failed: bool = False
    _started: float = field(default_factory=time.monotonic)

    def run(self) -> bool:
        """Work through the recording. Returns whether it was cancelled."""
        self._report(0, [])
        try:
            for segment in self._detected():
                self._add(segment)
            self._recognize_group()
        except TranscriptionCancelled:
            self._close_sentence()
            return True
        self._report(self.source.position_samples, self._close_sentence())
        return False

    def _detected(self) -> Iterator[Segment]:
        """Segments of the recording as it is decoded."""
        detector = open_detector(self.options.vad or self.stages.vad)
        try:
            stream = detector.stream()
            for block in self.source.blocks():
                self.cancel.raise_if_cancelled()
                yield from stream.accept(block)
                if self.source.position_samples - self._told >= _SILENT_PROGRESS_SAMPLES:
                    self._report_silence()
            yield from stream.finish()
        finally:
            detector.close()

    def _add(self, segment: Segment) -> None:
        if self.recognizer.passes([*self._group, segment]) > self._group_passes:
            self._recognize_group()
            self._group_passes = min(2 * self._group_passes, self.recognizer.group_passes)
        self._group.append(segment)

    def _recognize_group(self) -> None:
        self.cancel.raise_if_cancelled()
        group, self._group = self._group, []
        if not group:
            return
        utterances = self.stages.worker.recognize(
            group, RecognizeOptions(hotwords=self.options.hotwords)
        )
        for segment, utterance in zip(group, utterances, strict=True):
            self._account(segment, utterance)
        self._segments += len(group)
        tokens = [token for utterance in utterances for token in utterance.tokens]
        self._report(group[-1].end, self._finish_sentences(tokens))

    def _account(self, segment: Segment, utterance: Utterance) -> None:
        """Enter a segment into the coverage account."""
        start_ms = segment.speech_start // _MS_SAMPLES
        end_ms = segment.speech_end // _MS_SAMPLES
        self._speech_ms += end_ms - start_ms
        if not utterance.tokens and end_ms > start_ms:
            self._gaps.append((start_ms, end_ms))

    def _finish_sentences(self, tokens: list[Token]) -> list[Sentence]:
        """Sentences that are complete; the last one waits while it may go on."""
        tokens = [*self._pending, *tokens]
        groups = split_sentences(tokens)
        self._pending = []
        if groups and groups[-1][-1].mark[-1:] not in set(_SENTENCE_ENDS):
            self._pending = list(groups[-1])
        return self._build(tokens[: len(tokens) - len(self._pending)])

    def _close_sentence(self) -> list[Sentence]:
        tokens, self._pending = self._pending, []
        return self._build(tokens)

    def _build(self, tokens: list[Token]) -> list[Sentence]:
        if not tokens:
            return []
        normalizer = self.stages.normalizer if self.options.itn else None
        normalize = normalizer.spans if normalizer else None
        marks = self.options.punctuation
        try:
            built = build_sentences(tokens, normalize, punctuation=marks)
        except NormalizationError:
            logger.warning("number normalization failed", exc_info=True)
            self._normalization_failed = True
            built = build_sentences(tokens, None, punctuation=marks)
        self.sentences.extend(built)
        return list(built)

    def _report(self, position: int, sentences: list[Sentence]) -> None:
        self._told = max(self._told, position)
        if self.on_event is None:
            return
        elapsed_ms = int((time.monotonic() - self._started) * 1000)
        total_ms = self.source.info.duration_ms
        done_ms = position // _MS_SAMPLES
        remaining_ms = None
        if total_ms and done_ms:
            remaining_ms = int(elapsed_ms / done_ms * max(total_ms - done_ms, 0))
        self.on_event(
            Progress(
                done_ms=done_ms,
                total_ms=total_ms,
                elapsed_ms=elapsed_ms,
                remaining_ms=remaining_ms,
                segments=self._segments,
                sentences=tuple(sentences),
            )
        )

    def _report_silence(self) -> None:
        """Progress over a stretch in which nothing waits to be recognized."""
        if not self._group:
            self._report(self.source.position_samples, [])

    def coverage(self) -> Coverage:
        gaps_ms = sum(end_ms - start_ms for start_ms, end_ms in self._gaps)
        return Coverage(self._speech_ms, self._speech_ms - gaps_ms, tuple(self._gaps))

    def warnings(self) -> Iterator[TranscriptWarning]:
        yield from self.source.warnings
        gaps_ms = sum(end_ms - start_ms for start_ms, end_ms in self._gaps)
        if not self.sentences:
            yield TranscriptWarning("no_speech", "No speech was found in the recording")
        elif gaps_ms > _TOLERATED_GAP_MS:
            message = f"{gaps_ms / 1000:.1f} s of detected speech produced no text"
            yield TranscriptWarning("coverage", message)
        if self._normalization_failed or (self.options.itn and self.stages.normalizer is None):
            yield TranscriptWarning("normalization", "Numbers are left as they were spoken")
