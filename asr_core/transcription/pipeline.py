"""A file on its way to a transcript: decode, find speech, recognize, normalize, account.

Owns the order of the stages, progress, cancellation and the coverage account. Holds a few groups
of segments at a time, whatever the length of the recording.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from asr_core.audio.decode import AudioSource, DecodeOptions, open_audio
from asr_core.audio.detector import Detector, open_detector
from asr_core.audio.peaks import PeaksWriter
from asr_core.audio.reader import mix_down
from asr_core.errors import AudioError, DeviceError, ModelError, TranscriptionCancelled
from asr_core.events import EventSink, Progress
from asr_core.recognizers.base import RecognizeOptions, Recognizer
from asr_core.results import (
    SAMPLE_RATE_HZ,
    Coverage,
    HotwordUse,
    ModelInfo,
    Sentence,
    Transcript,
    TranscriptWarning,
)
from asr_core.runtime.session import Float32
from asr_core.text.hotwords import HotwordCorrector, HotwordList, parse_hotwords
from asr_core.text.itn.normalizer import InverseNormalizer
from asr_core.text.itn.style import ItnStyle
from asr_core.text.polish import PolishOptions
from asr_core.text.punctuation.marks import Punctuator
from asr_core.text.sentences import SentenceBuilder, TextStages, sum_uses
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.channel import Channel
from asr_core.transcription.checkpoints import Checkpoints
from asr_core.transcription.options import OWN_MARKS, POLISHES, TranscribeOptions
from asr_core.transcription.pace import Pace
from asr_core.transcription.scheduler import RecognizerWorker

logger = logging.getLogger(__name__)

_MS_SAMPLES = SAMPLE_RATE_HZ // 1000
_FIRST_GROUP_PASSES = 1  # small, so that the first words appear soon; doubled from group to group
_SILENT_PROGRESS_SAMPLES = 60 * SAMPLE_RATE_HZ  # progress is told at least this often
_TOLERATED_GAP_MS = 1000  # breaths and clicks that the detector took for speech
_MOST_PLACES = 5  # lines of the user's rules that a warning names
_FAILED = {
    "hotwords": "Hotwords were not looked for in part of the text",
    "punctuation": "Part of the punctuation is the recognizer's own",
    "normalization": "Numbers are left as they were spoken",
}


@dataclass(frozen=True, slots=True)
class Stages:
    """What a transcription works with.

    Attributes:
        worker: owns the recognizer.
        normalizer: ``None`` when it cannot be loaded.
        vad: detector where the options name none.
        marks: whose punctuation is taken where the options name none.
        open_punctuator: the punctuation model of that name; ``None`` for the recognizer's own.
        fsmn_folder: model folder of the ``fsmn`` detector.
        limits: ``max_duration_s`` and ``stall_s`` of every recording.
        channel_label: speaker of a channel that is transcribed on its own; ``{number}`` in it
            counts from 1.
        placed: adds to what the recognizer says of itself why it runs where it runs.
    """

    worker: RecognizerWorker
    normalizer: InverseNormalizer | None
    vad: str
    marks: str = OWN_MARKS
    open_punctuator: Callable[[str], Punctuator | None] = lambda _name: None
    fsmn_folder: Path | None = None
    limits: DecodeOptions = field(default_factory=DecodeOptions)
    channel_label: str = "{number}"
    placed: Callable[[ModelInfo], ModelInfo] = lambda info: info


def transcribe(
    path: Path,
    options: TranscribeOptions,
    stages: Stages,
    *,
    name: str = "",
    on_event: EventSink | None = None,
    cancel: CancelToken | None = None,
    peaks: Path | None = None,
    checkpoints: Checkpoints | None = None,
) -> Transcript:
    """Transcribe one file.

    Args:
        path: any recording or video.
        options: choices for this recording.
        stages: shared by all transcriptions.
        name: what errors call the file.
        on_event: told after every group of segments, on this thread.
        cancel: checked between groups; what was recognized by then is returned, ``partial``.
        peaks: file to write the outline of the recording to; appears when it is complete.
        checkpoints: where recognized groups are kept; those found there are not recognized again.

    Raises:
        AudioDecodeError: nothing in the file can be decoded.
        ModelError, DeviceError, RecognitionError: the recognizer cannot be loaded or failed.
        SettingsError: the options declare raw PCM of no known layout.
    """
    started = time.monotonic()
    cancel = cancel or CancelToken()
    recognizer = stages.worker.ready()
    decoding = decode_options(options, stages.limits)
    with open_audio(path, name=name, options=decoding) as source, _Outline(peaks) as outline:
        run = _Run(
            source,
            options,
            stages,
            recognizer,
            on_event,
            cancel,
            outline,
            checkpoints,
            parse_hotwords("\n".join(options.hotwords)),
        )
        partial = run.run()
        transcript = run.transcript(started, partial=partial)
    logger.info(
        "transcribed audio_ms=%d processing_ms=%d rtf=%.3f device=%s partial=%s",
        transcript.duration_ms,
        transcript.processing_ms,
        transcript.rtf,
        transcript.model.device,
        transcript.partial,
    )
    return transcript


def decode_options(options: TranscribeOptions, limits: DecodeOptions) -> DecodeOptions:
    """How a recording is read for these choices."""
    split = options.channels == "split"
    return replace(limits, track=options.track, split=split, raw=options.raw)


class _Outline:
    """The peaks file, if one is wanted; that it cannot be written costs nobody the text."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._writer: PeaksWriter | None = None

    def __enter__(self) -> _Outline:
        if self._path is not None:
            try:
                self._writer = PeaksWriter(self._path)
            except AudioError:
                logger.warning("no peaks are written", exc_info=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.discard()

    def accept(self, block: Float32) -> None:
        if self._writer is not None:
            try:
                self._writer.accept(mix_down(block))
            except AudioError:
                self._give_up()

    def commit(self) -> None:
        if self._writer is not None:
            try:
                self._writer.commit()
            except AudioError:
                self._give_up()

    def _give_up(self) -> None:
        logger.warning("peaks are not written to the end", exc_info=True)
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.discard()


@dataclass(slots=True)
class _Run:
    """The state of one transcription."""

    source: AudioSource
    options: TranscribeOptions
    stages: Stages
    recognizer: Recognizer
    on_event: EventSink | None
    cancel: CancelToken
    outline: _Outline
    checkpoints: Checkpoints | None
    words: HotwordList
    earlier_ms: int = 0  # wall time of the groups that were recognized before
    sentences: list[Sentence] = field(default_factory=list)
    _channels: list[Channel] = field(default_factory=list)
    _builders: list[SentenceBuilder] = field(default_factory=list)
    _held: list[Sentence] = field(default_factory=list)  # until no channel can have an earlier one
    _group_passes: int = _FIRST_GROUP_PASSES
    _told: int = 0  # position of the last progress report, samples
    _started: float = field(default_factory=time.monotonic)
    _pace: Pace = field(default_factory=Pace)
    _unopened: str = ""  # punctuation model that cannot be opened

    def run(self) -> bool:
        """Work through the recording. Returns whether it was cancelled."""
        self._report(0, [])
        cancelled = False
        try:
            self._recognize_all()
        except TranscriptionCancelled:
            cancelled = True
        for channel in self._channels:
            self._held.extend(channel.close_sentence())
        last = self._release(None)
        if not cancelled:
            self._report(self.source.position_samples, last)
        return cancelled

    def _recognize_all(self) -> None:
        detector = open_detector(
            self.options.vad or self.stages.vad, fsmn_folder=self.stages.fsmn_folder
        )
        try:
            for channel, builder in self._channels_of(detector):
                self._channels.append(channel)
                self._builders.append(builder)
            for block in self.source.channel_blocks():
                self.cancel.raise_if_cancelled()
                self.outline.accept(block)
                for channel, waveform in zip(self._channels, block, strict=True):
                    channel.accept(waveform)
                self._recognize_full()
                self._report_silence()
            self.outline.commit()
            for channel in self._channels:
                channel.finish()
            self._recognize_full()
            self._recognize_groups()
        finally:
            detector.close()

    def _channels_of(self, detector: Detector) -> Iterator[tuple[Channel, SentenceBuilder]]:
        marks = self.options.marks or self.stages.marks
        restores = self.options.punctuation and marks != OWN_MARKS
        stages = TextStages(
            normalizer=self.stages.normalizer if self.options.itn else None,
            style=ItnStyle(
                dates=self.options.dates, clock=self.options.clock, percent=self.options.percent
            ),
            punctuator=self._punctuator(marks) if restores else None,
            corrector=self._corrector(),
            polish=PolishOptions(**{name: name in self.options.polish for name in POLISHES}),
            marks=self.options.punctuation,
        )
        for number in range(self.source.channels):
            is_one_of_many = self.source.channels > 1
            label = self.stages.channel_label.format(number=number + 1) if is_one_of_many else ""
            builder = SentenceBuilder(stages, label)
            options = RecognizeOptions(hotwords=self.words.words)
            channel = Channel(
                detector.stream(),
                self.recognizer,
                self.stages.worker,
                options,
                builder,
                number,
                self.cancel,
                self.checkpoints,
            )
            yield channel, builder

    def _punctuator(self, name: str) -> Punctuator | None:
        """The punctuation model; without it the recognizer's own marks stay, with a warning."""
        try:
            return self.stages.open_punctuator(name)
        except (DeviceError, ModelError):
            logger.warning("the punctuation model %s cannot be opened", name, exc_info=True)
            self._unopened = name
            return None

    def _corrector(self) -> HotwordCorrector | None:
        words = self.words
        if not words.words and not words.replacements:
            return None
        return HotwordCorrector(words.words, words.replacements)

    def _recognize_full(self) -> None:
        """Recognize as long as some channel has more segments than a group holds."""
        while True:
            full = [channel.fill(self._group_passes) for channel in self._channels]
            if not any(full):
                return
            self._recognize_groups()
            self._group_passes = min(2 * self._group_passes, self.recognizer.group_passes)

    def _recognize_groups(self) -> None:
        """The groups of all channels, so that none holds back the sentences of another."""
        done = 0
        earlier_ms = sum(channel.earlier_ms for channel in self._channels)
        for channel in self._channels:
            self.cancel.raise_if_cancelled()
            sentences, end = channel.recognize()
            self._held.extend(sentences)
            done = max(done, end)
        self.earlier_ms = sum(channel.earlier_ms for channel in self._channels)
        if self.earlier_ms > earlier_ms:
            self._pace.restart(done / SAMPLE_RATE_HZ, time.monotonic())
        if done:
            self._report(done, self._release(min(c.settled_ms for c in self._channels)))

    def _release(self, before_ms: int | None) -> list[Sentence]:
        """Hand out held sentences in time order: those that start before a time, or all."""
        self._held.sort(key=lambda sentence: sentence.start_ms)
        count = sum(before_ms is None or s.start_ms < before_ms for s in self._held)
        released, self._held = self._held[:count], self._held[count:]
        self.sentences.extend(released)
        return released

    def _report(self, position: int, sentences: list[Sentence]) -> None:
        self._told = max(self._told, position)
        if self.on_event is None:
            return
        now = time.monotonic()
        elapsed_ms = int((now - self._started) * 1000)
        total_ms = self.source.info.duration_ms
        done_ms = position // _MS_SAMPLES
        self._pace.add(done_ms / 1000, now)
        left_s = self._pace.remaining_s(total_ms / 1000) if total_ms else None
        remaining_ms = None if left_s is None else int(left_s * 1000)
        self.on_event(
            Progress(
                done_ms=done_ms,
                total_ms=total_ms,
                elapsed_ms=elapsed_ms,
                remaining_ms=remaining_ms,
                segments=sum(channel.segments for channel in self._channels),
                sentences=tuple(sentences),
            )
        )

    def _report_silence(self) -> None:
        """Progress over a stretch in which nothing waits to be recognized."""
        is_due = self.source.position_samples - self._told >= _SILENT_PROGRESS_SAMPLES
        if is_due and not any(channel.is_waiting for channel in self._channels):
            self._report(self.source.position_samples, [])

    def transcript(self, started: float, *, partial: bool) -> Transcript:
        """What became of the recording; ``started`` is a monotonic time."""
        return Transcript(
            sentences=tuple(self.sentences),
            duration_ms=self.source.position_samples // _MS_SAMPLES,
            language=self.recognizer.language,
            model=self.stages.placed(self.recognizer.info),
            processing_ms=int((time.monotonic() - started) * 1000) + self.earlier_ms,
            coverage=self.coverage(),
            warnings=tuple(self.warnings()),
            partial=partial,
            hotwords=self.hotwords(),
            devices=self.devices(),
        )

    def devices(self) -> tuple[tuple[str, int], ...]:
        """Devices with the segments that each of them recognized."""
        counts = sum((channel.devices for channel in self._channels), Counter[str]())
        return tuple(sorted(counts.items()))

    def coverage(self) -> Coverage:
        speech_ms = sum(channel.speech_ms for channel in self._channels)
        gaps = [gap for channel in self._channels for gap in channel.gaps]
        return Coverage(speech_ms, speech_ms - _total_ms(gaps), _merged([*gaps, *self.source.gaps]))

    def warnings(self) -> Iterator[TranscriptWarning]:
        yield from self.source.warnings
        gaps_ms = sum(_total_ms(channel.gaps) for channel in self._channels)
        if not self.sentences:
            yield TranscriptWarning("no_speech", "No speech was found in the recording")
        elif gaps_ms > _TOLERATED_GAP_MS:
            message = f"{gaps_ms / 1000:.1f} s of detected speech produced no text"
            yield TranscriptWarning("coverage", message)
        failed = {stage for builder in self._builders for stage in builder.failed}
        if self.options.itn and self.stages.normalizer is None:
            failed.add("normalization")
        for stage, message in _FAILED.items():
            if stage in failed:
                yield TranscriptWarning(stage, message)
        if self._unopened:
            message = f"The punctuation model {self._unopened} cannot be used; see the log"
            yield TranscriptWarning("punctuation_model", message, names=(self._unopened,))
        problems = self.stages.normalizer.problems if self.stages.normalizer else ()
        if self.options.itn and problems:
            places = tuple(f"{problem.file}:{problem.line}" for problem in problems[:_MOST_PLACES])
            message = f"Own rules that cannot be used: {', '.join(places)}"
            yield TranscriptWarning("itn_rules", message, names=places)
        yield from self.recognizer.hotword_warnings(self.words.words)
        if self.words.rejected:
            names = tuple(entry.text for entry in self.words.rejected)
            message = f"Hotwords left out: {', '.join(names)}"
            yield TranscriptWarning("hotwords_left_out", message, names=names)

    def hotwords(self) -> tuple[HotwordUse, ...]:
        """What became of each hotword on all channels together."""
        return sum_uses(builder.hotwords for builder in self._builders)


def _total_ms(intervals: Sequence[tuple[int, int]]) -> int:
    return sum(end_ms - start_ms for start_ms, end_ms in intervals)


def _merged(intervals: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sorted and disjoint."""
    merged: list[tuple[int, int]] = []
    for start_ms, end_ms in sorted(intervals):
        if merged and start_ms <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end_ms, merged[-1][1]))
        else:
            merged.append((start_ms, end_ms))
    return tuple(merged)
