"""What the engine hands out: tokens, sentences, transcripts.

Owns the result types and the rule that joins token texts into a line. Times are integer
milliseconds from the start of the recording, half-open ``[start, end)``. Knows nothing of
audio, models or storage.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

SAMPLE_RATE_HZ = 16_000
"""Sample rate of every waveform inside the engine."""


@dataclass(frozen=True, slots=True)
class Token:
    """One spoken unit: a Chinese character, a Latin word or a run of digits.

    Attributes:
        text: the spoken text, never empty, without punctuation.
        start_ms: first millisecond.
        end_ms: one past the last millisecond, ``>= start_ms``.
        confidence: probability in [0, 1] that the recognizer gave it.
        mark: punctuation that follows the token, empty when there is none.
    """

    text: str
    start_ms: int
    end_ms: int
    confidence: float
    mark: str = ""


@dataclass(frozen=True, slots=True)
class WrittenSpan:
    """Spoken tokens that are written differently (number normalization, corrections).

    Attributes:
        first_token: index of the first token, relative to the list that the span belongs to.
        last_token: index of the last token, inclusive.
        written: what stands in the written form instead; the mark of the last token follows it.
            Empty: the written form leaves the tokens out.
        kind: who wrote it: ``number`` (number normalization and its user rules), ``hotword``
            (sounds like a hotword), ``replacement`` (the user's list of wrong and right words),
            ``polish`` (fillers and repeats left out, acronyms in capitals) or ``edit`` (words
            that a person wrote together).
    """

    first_token: int
    last_token: int
    written: str
    kind: str = "number"


@dataclass(frozen=True, slots=True)
class Utterance:
    """The recognized tokens of one speech segment, times absolute in the recording.

    Attributes:
        device: that recognized it (``npu:1``); empty where the recognizer has only one.
    """

    start_ms: int
    end_ms: int
    tokens: tuple[Token, ...]
    device: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A subtitle-sized run of tokens; text, times and confidence are read off the tokens.

    Attributes:
        tokens: at least one token, in time order.
        spans: disjoint, sorted; indices relative to ``tokens``.
        speaker: label, empty when unknown.
        spaced: the written form has a space between Chinese and Latin.
    """

    tokens: tuple[Token, ...]
    spans: tuple[WrittenSpan, ...] = ()
    speaker: str = ""
    spaced: bool = False

    @property
    def spoken_text(self) -> str:
        """The words as they were said, with punctuation."""
        return join_text((token.text, token.mark) for token in self.tokens)

    @property
    def text(self) -> str:
        """The written form: spans replace the tokens they cover."""
        return join_text(self.written_parts())

    def written_parts(self) -> list[tuple[str, str]]:
        """``(text, mark)`` pairs of the written form: one for each span and each other token.

        What is left out gives an empty pair and its mark, where that is the stronger one, to what
        stands before it. A space between Chinese and Latin stands at the start of a text.
        """
        by_first = {span.first_token: span for span in self.spans}
        parts: list[tuple[str, str]] = []
        shown = -1  # the last part that is not empty
        index = 0
        while index < len(self.tokens):
            span = by_first.get(index)
            index = span.last_token if span else index
            text, mark = span.written if span else self.tokens[index].text, self.tokens[index].mark
            index += 1
            if not text:
                if shown >= 0 and _strength(mark) > _strength(parts[shown][1]):
                    parts[shown] = (parts[shown][0], mark)
                parts.append(("", ""))
                continue
            if self.spaced and shown >= 0 and _is_joint("".join(parts[shown]), text):
                text = " " + text
            shown = len(parts)
            parts.append((text, mark))
        return parts

    @property
    def start_ms(self) -> int:
        return self.tokens[0].start_ms

    @property
    def end_ms(self) -> int:
        return self.tokens[-1].end_ms

    @property
    def confidence(self) -> float:
        """Mean token confidence in [0, 1]."""
        return sum(token.confidence for token in self.tokens) / len(self.tokens)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the detected speech became text.

    Attributes:
        speech_ms: milliseconds that voice activity detection called speech.
        transcribed_ms: the part of it whose segments produced text.
        gaps: ``(start_ms, end_ms)`` of detected speech without text and of damaged or missing
            parts of the recording, sorted, disjoint; a missing end lies behind ``duration_ms``.
    """

    speech_ms: int = 0
    transcribed_ms: int = 0
    gaps: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TranscriptWarning:
    """Something the reader of a transcript should know.

    Attributes:
        code: stable word.
        message: English sentence.
        ranges: ``(start_ms, end_ms)`` of the parts of the recording that it is about, if any.
        names: words that it is about, if any.
    """

    code: str
    message: str
    ranges: tuple[tuple[int, int], ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HotwordUse:
    """How often a hotword stands in a transcript.

    Attributes:
        word: as the user wrote it.
        recognized: times that the recognizer wrote it.
        corrected: times that it was put in the place of what sounds like it.
    """

    word: str
    recognized: int
    corrected: int


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """Why a model runs where it runs.

    Attributes:
        device: ``cpu`` or ``npu``.
        reason: ``asked`` (the settings say so) or, where the device is chosen, ``measured``
            (figures ``cpu_s`` and ``npu_s``: seconds for one sentence), ``cpu_only`` (the model
            runs on the CPU only), ``no_om`` (it has no OM files), ``no_acl`` (pyACL cannot be
            used), ``no_device``, ``only_npu`` (there are OM files only), ``npu_failed`` (figure
            ``text``) or ``cpu_failed`` (the same).
        figures: ``(name, value)`` of what the choice rests on.
    """

    device: str
    reason: str
    figures: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The recognizer that produced a transcript and where it ran.

    Attributes:
        name: of the model.
        backend: what executed it (``ctranslate2 int8``).
        device: ``cpu``, ``npu:0``, or several with commas between them.
        choice: why there; ``None`` where nothing tells.
    """

    name: str
    backend: str
    device: str
    choice: DeviceChoice | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """Everything known about one recording after recognition.

    Attributes:
        sentences: in time order, those of one speaker disjoint; empty when there was no speech (a
            warning says why).
        duration_ms: decoded length of the recording.
        language: BCP-47 language code, ``zh`` for Mandarin.
        processing_ms: wall time of the whole path, decoding included.
        partial: true when recognition was cancelled before the end of the recording.
        hotwords: what became of each hotword, in the user's order; empty when there were none.
        revision: of the edits that people made; 0 as it was recognized.
        devices: ``(device, segments)``: how many segments each device recognized; empty where
            nothing tells.
    """

    sentences: tuple[Sentence, ...]
    duration_ms: int
    language: str
    model: ModelInfo
    processing_ms: int
    coverage: Coverage = Coverage()
    warnings: tuple[TranscriptWarning, ...] = ()
    partial: bool = False
    hotwords: tuple[HotwordUse, ...] = ()
    revision: int = 0
    devices: tuple[tuple[str, int], ...] = ()

    @property
    def text(self) -> str:
        return join_sentences(sentence.text for sentence in self.sentences)

    @property
    def spoken_text(self) -> str:
        return join_sentences(sentence.spoken_text for sentence in self.sentences)

    @property
    def ran_on(self) -> str:
        """The device; of several each with its segments: ``npu:0 ×12, npu:1 ×11``."""
        if len(self.devices) < 2:
            return self.devices[0][0] if self.devices else self.model.device
        return ", ".join(f"{device} ×{count}" for device, count in self.devices)

    @property
    def rtf(self) -> float:
        """Processing seconds per audio second; 0 for an empty recording."""
        return self.processing_ms / self.duration_ms if self.duration_ms else 0.0


_SPACELESS = "。，、！？；："
"""Marks that most lines end with; looked for first."""


def join_text(parts: Iterable[tuple[str, str]]) -> str:
    """Join ``(text, mark)`` pairs: a space only between two spaced-script pieces.

    Chinese, kana and punctuation take no space; two adjacent Latin words or numbers do, also
    after a half-width mark (``Hello, world``).
    """
    line: list[str] = []
    last = ""
    for text, mark in parts:
        if (
            text
            and last not in _SPACELESS  # also where nothing stands before
            and _takes_space(last)
            and _is_spaced_script(text[0])
        ):
            line.append(" ")
        line += (text, mark)
        last = (mark or text or last)[-1:]
    return "".join(line)


def join_sentences(texts: Iterable[str]) -> str:
    """Join sentence texts under the same spacing rule as tokens."""
    return join_text((text, "") for text in texts)


def needs_space(before: str, after: str, *, spaced: bool = False) -> bool:
    """Whether joining puts a space between two pieces of text, neither of them empty.

    Args:
        before: the line so far, or its end.
        after: what follows.
        spaced: as :attr:`Sentence.spaced`.
    """
    if _takes_space(before[-1]) and _is_spaced_script(after[0]):
        return True
    return spaced and _is_joint(before, after)


def _takes_space(last: str) -> bool:
    return last in ",.?!;:%" or _is_spaced_script(last)


def _is_spaced_script(char: str) -> bool:
    """Letters and digits of scripts written with spaces (everything but CJK and kana)."""
    if not (char.isalnum() or char in "'-$€£"):
        return False
    return unicodedata.east_asian_width(char) not in ("W", "F")


def _is_joint(before: str, after: str) -> bool:
    """Whether Chinese and Latin meet there, in either order."""
    if _is_han(before[-1]):
        return _is_spaced_script(after[0]) and after[0] not in "'-"
    return _is_han(after[0]) and (_is_spaced_script(before[-1]) or before[-1] in "%‰℃")


def _is_han(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff" or char == "〇"


def _strength(mark: str) -> int:
    """Of two marks that meet, the one with the higher rank stays."""
    return "·、,，:：;；.。!！?？".find(mark[0]) + 1 if mark else 0
