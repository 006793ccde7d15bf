"""Whisper through CTranslate2: the recognizer that is installed with the application."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from asr_core.audio.segmenter import Segment
from asr_core.errors import ModelError, RecognitionError, SessionClosedError
from asr_core.recognizers.base import RecognizeOptions
from asr_core.recognizers.hallucination import find_loop, find_prompt, is_phantom
from asr_core.recognizers.omission import is_doubtful, is_too_dense
from asr_core.recognizers.packing import Window, divide, pack
from asr_core.results import SAMPLE_RATE_HZ, ModelInfo, Token, TranscriptWarning, Utterance
from asr_core.runtime.session import Float32
from asr_core.text.simplify import Simplifier
from asr_core.text.tokens import TimedPiece, tokens_from_pieces

WINDOW_SAMPLES = 30 * SAMPLE_RATE_HZ
"""What the encoder was trained on."""

_PROMPT = "以下是普通话的句子，有标点符号。"  # brings simplified characters and punctuation
_FRAME_SAMPLES = 160  # of the log-mel spectrogram: 10 ms
_WINDOW_FRAMES = WINDOW_SAMPLES // _FRAME_SAMPLES
_SHORT_FRAMES = _WINDOW_FRAMES // 2  # the encoder takes half windows as well; below, it goes astray
_TAIL_FRAMES = 100  # of silence after the speech in a window that is not full
SHORT_WINDOW_SAMPLES = (_SHORT_FRAMES - _TAIL_FRAMES) * _FRAME_SAMPLES
"""Speech that is packed into one half window: 14 s."""

_TOKEN_MS = 20  # one encoder position
_BEAM_SIZE = 5
_MOST_WORKERS = 2  # batches side by side use two cores better than one batch on two threads
_MAX_LENGTH = 448  # text positions of the decoder
_NO_SPEECH = 0.6  # with a low log-probability: the rule of OpenAI's transcribe.py
_LOW_LOGPROB = -1.0
_LEAST_CONFIDENCE = 0.35  # mean of a segment; read clips have 0.6 and more, inventions 0.1 to 0.3
_STRICT = {"repetition_penalty": 1.1, "no_repeat_ngram_size": 5}
_MS_SAMPLES = SAMPLE_RATE_HZ // 1000


@dataclass(frozen=True, slots=True)
class _Take:
    """One attempt at a segment."""

    tokens: tuple[Token, ...] = ()
    looped: bool = False

    @property
    def chars(self) -> int:
        return sum(len(token.text) for token in self.tokens)


@dataclass(frozen=True, slots=True)
class _Decoded:
    """Text of one window: a piece per group of BPE tokens that forms whole characters."""

    pieces: tuple[TimedPiece, ...]
    looped: bool


class WhisperRecognizer:
    """A CTranslate2 Whisper model, int8 on the CPU.

    Digits are suppressed, so numbers come as they are spoken and every character has a time;
    number normalization writes them. Short segments share half windows, longer ones take a whole
    one. A segment whose text cannot be all that was said is recognized once more on its own.

    Args:
        folder: verified model files.
        name: catalogue name.
        threads: CPU threads, shared by up to two batches side by side.
        batch_windows: windows in one batch.

    Raises:
        ModelError: the files cannot be loaded.
    """

    def __init__(self, folder: Path, *, name: str, threads: int, batch_windows: int) -> None:
        workers = min(threads, _MOST_WORKERS)
        try:
            from faster_whisper import WhisperModel
            from faster_whisper.tokenizer import Tokenizer
            from faster_whisper.transcribe import get_suppressed_tokens

            self._model = WhisperModel(
                str(folder),
                device="cpu",
                compute_type="int8",
                cpu_threads=max(threads // workers, 1),
                num_workers=workers,
                local_files_only=True,
            )
            self._tokenizer = Tokenizer(
                self._model.hf_tokenizer, True, task="transcribe", language="zh"
            )
            suppressed = list(get_suppressed_tokens(self._tokenizer, [-1]))
        except (ImportError, OSError, RuntimeError, ValueError) as exc:
            raise ModelError(f"{name} cannot be loaded: {exc}", name=name, reason=str(exc)) from exc
        self._suppressed = suppressed + _digit_tokens(self._tokenizer)
        # Time marks keep the decoder from ending before the window does; a segment on its own
        # does without them, and without the prompt, so that both attempts differ.
        self._prompt = [
            self._tokenizer.sot_prev,
            *self._tokenizer.encode(" " + _PROMPT),
            *self._tokenizer.sot_sequence,
        ]
        self._bare_prompt = [*self._tokenizer.sot_sequence, self._tokenizer.no_timestamps]
        self._simplifier = Simplifier()
        self._batch_windows = batch_windows
        self._workers = workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="whisper")
        self._info = ModelInfo(name=name, backend="ctranslate2 int8", device="cpu")
        self._closed = False

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def language(self) -> str:
        return "zh"

    @property
    def supports_hotwords(self) -> bool:
        return False

    @property
    def group_passes(self) -> int:
        return self._batch_windows * self._workers

    def passes(self, segments: Sequence[Segment]) -> int:
        return len(pack(segments, SHORT_WINDOW_SAMPLES))

    def hotword_warnings(
        self,
        words: Sequence[str],  # noqa: ARG002 - hotwords are not supported
    ) -> tuple[TranscriptWarning, ...]:
        return ()

    def recognize(
        self,
        segments: Sequence[Segment],
        options: RecognizeOptions,  # noqa: ARG002 - hotwords are not supported
    ) -> list[Utterance]:
        """See :class:`asr_core.recognizers.base.Recognizer`."""
        if self._closed:
            raise SessionClosedError("The Whisper model is closed")
        takes = self._take(pack(segments, SHORT_WINDOW_SAMPLES), self._prompt, {})
        doubtful = [
            index
            for index, segment in enumerate(segments)
            if takes[index].looped or is_doubtful(segment, takes[index].tokens)
        ]
        again = self._take_again([segments[index] for index in doubtful])
        for index, second in zip(doubtful, again, strict=True):
            takes[index] = _better(segments[index], takes[index], second)
        return [
            Utterance(segment.start // _MS_SAMPLES, segment.end // _MS_SAMPLES, take.tokens)
            for segment, take in zip(segments, takes, strict=True)
        ]

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._pool.shutdown()
            self._model.model.unload_model()

    def _take_again(self, segments: Sequence[Segment]) -> list[_Take]:
        """Each segment on its own, in short pieces, without the prompt and without repeats."""
        pieces = [divide(segment, SHORT_WINDOW_SAMPLES) for segment in segments]
        windows = [Window((piece,)) for parts in pieces for piece in parts]
        takes = iter(self._take(windows, self._bare_prompt, _STRICT))
        joined = []
        for parts in pieces:
            own = list(itertools.islice(takes, len(parts)))
            tokens = tuple(itertools.chain.from_iterable(take.tokens for take in own))
            joined.append(_Take(tokens, any(take.looped for take in own)))
        return joined

    def _take(
        self, windows: Sequence[Window], prompt: Sequence[int], limits: dict[str, Any]
    ) -> list[_Take]:
        """Recognize windows; one take per segment in the order of the windows."""
        decoded: dict[Window, _Decoded] = {}
        batches = list(self._batches(windows))
        results = self._pool.map(lambda batch: self._decode(batch, prompt, limits), batches)
        for batch, texts in zip(batches, results, strict=True):
            decoded.update(zip(batch, texts, strict=True))
        takes: list[_Take] = []
        for window in windows:
            result = decoded[window]
            takes.extend(
                _Take(_believable(tokens_from_pieces(pieces)), result.looped)
                for pieces in _by_segment(window, result.pieces)
            )
        return takes

    def _batches(self, windows: Sequence[Window]) -> Iterator[Sequence[Window]]:
        """Windows that are recognized together: an even share for each worker, long ones first.

        Short windows stay apart, they take half the time.
        """
        for short in (False, True):
            alike = [window for window in windows if _is_short(window) is short]
            share = min(-(-len(alike) // self._workers), self._batch_windows)
            for first in range(0, len(alike), max(share, 1)):
                yield alike[first : first + share]

    def _decode(
        self, windows: Sequence[Window], prompt: Sequence[int], limits: dict[str, Any]
    ) -> list[_Decoded]:
        try:
            features, frames = self._features(windows)
            encoded = self._model.encode(features)
            results = self._model.model.generate(
                encoded,
                [list(prompt)] * len(windows),
                beam_size=_BEAM_SIZE,
                max_length=_MAX_LENGTH,
                suppress_tokens=self._suppressed,
                return_scores=True,
                return_no_speech_prob=True,
                **limits,
            )
            texts = [_spoken_ids(result, self._tokenizer.eot) for result in results]
            alignments = self._model.model.align(
                encoded, self._tokenizer.sot_sequence, texts, frames
            )
        except (RuntimeError, ValueError) as exc:
            first, last = windows[0].segments[0], windows[-1].segments[-1]
            raise RecognitionError(
                f"Whisper failed: {exc}",
                start_ms=first.start // _MS_SAMPLES,
                end_ms=last.end // _MS_SAMPLES,
                reason=str(exc),
            ) from exc
        return [
            self._pieces(ids, alignment) for ids, alignment in zip(texts, alignments, strict=True)
        ]

    def _features(self, windows: Sequence[Window]) -> tuple[Float32, list[int]]:
        """Log-mel features, float32 (windows, 80, frames), and the frames that hold speech."""
        mels = [self._model.feature_extractor(window.waveform)[:, :-1] for window in windows]
        used = [min(mel.shape[1], _WINDOW_FRAMES) for mel in mels]
        width = _SHORT_FRAMES if all(map(_is_short, windows)) else _WINDOW_FRAMES
        features = np.zeros((len(mels), mels[0].shape[0], width), np.float32)
        for row, mel in enumerate(mels):
            features[row, :, : used[row]] = mel[:, : used[row]]
        return features, used

    def _pieces(self, ids: Sequence[int], alignment: Any) -> _Decoded:
        """Timed simplified text of one window, without prompt and phantoms, cut at a loop."""
        if not ids:
            return _Decoded((), looped=False)
        texts, groups = self._tokenizer.split_tokens_on_unicode(list(ids))
        times_ms = _token_starts_ms(alignment.alignments, len(ids))
        probabilities = list(alignment.text_token_probs)
        simple = self._simplifier.simplify("".join(texts))
        pieces: list[TimedPiece] = []
        first = offset = 0
        for text, group in zip(texts, groups, strict=True):
            last = first + len(group)
            pieces.append(
                TimedPiece(
                    simple[offset : offset + len(text)].replace("\ufffd", ""),
                    times_ms[first],
                    times_ms[last],
                    float(np.mean(probabilities[first:last])),
                )
            )
            first, offset = last, offset + len(text)
        if is_phantom(simple):
            return _Decoded((), looped=False)
        return _without_loop(_without_prompt(pieces))


def _better(segment: Segment, first: _Take, second: _Take) -> _Take:
    """The attempt without a loop, of a speakable rate, with more text; the first among equals."""

    def rank(take: _Take) -> tuple[bool, bool, bool, int]:
        dense = is_too_dense(segment, take.tokens)
        return bool(take.tokens), not take.looped, not dense, take.chars

    return second if rank(second) > rank(first) else first


def _believable(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The tokens, or none when the model itself hardly believes them (text over silence)."""
    total = sum(token.confidence for token in tokens)
    return tokens if total >= _LEAST_CONFIDENCE * len(tokens) else ()


def _is_short(window: Window) -> bool:
    return window.samples <= SHORT_WINDOW_SAMPLES


def _digit_tokens(tokenizer: Any) -> list[int]:
    """Vocabulary entries that write a number in digits, full-width ones included.

    The lone first byte of the full-width forms is among them; Chinese punctuation has entries of
    its own.
    """
    count = tokenizer.eot
    texts = tokenizer.tokenizer.decode_batch([[index] for index in range(count)])
    first_byte = tokenizer.tokenizer.token_to_id("ï")
    return [
        index
        for index, text in enumerate(texts)
        if index == first_byte
        or any(char == "%" or unicodedata.digit(char, None) is not None for char in text)
    ]


def _spoken_ids(result: Any, end_of_text: int) -> list[int]:
    """Token ids of a generation, none when the model itself doubts that anybody spoke."""
    if result.no_speech_prob > _NO_SPEECH and result.scores[0] < _LOW_LOGPROB:
        return []
    return [index for index in result.sequences_ids[0] if index < end_of_text]


def _token_starts_ms(pairs: Sequence[tuple[int, int]], tokens: int) -> list[int]:
    """Start of each token and the end of the last one, from (token, position) pairs.

    The dynamic-time-warping path visits every token in order, the end of text last.
    """
    starts = [-1] * (tokens + 1)
    for token, position in pairs:
        if token <= tokens and starts[token] < 0:
            starts[token] = position * _TOKEN_MS
    for index in range(1, tokens + 1):
        starts[index] = max(starts[index], starts[index - 1])
    return [max(start, 0) for start in starts]


def _by_segment(window: Window, pieces: Sequence[TimedPiece]) -> list[list[TimedPiece]]:
    """Pieces with times in the recording, for each segment of the window.

    A mark without letters stays with the piece before it.
    """
    placed: list[list[TimedPiece]] = [[] for _ in window.segments]
    reached = 0
    for piece in pieces:
        place, start_ms, end_ms = window.place(piece.start_ms, piece.end_ms)
        if place < reached or not any(char.isalnum() for char in piece.text):
            place = reached
        reached = place
        placed[place].append(replace(piece, start_ms=start_ms, end_ms=end_ms))
    return placed


def _without_prompt(pieces: Sequence[TimedPiece]) -> list[TimedPiece]:
    kept = list(pieces)
    while found := find_prompt("".join(piece.text for piece in kept), _PROMPT):
        kept = _cut(kept, *found)
    return kept


def _without_loop(pieces: Sequence[TimedPiece]) -> _Decoded:
    """Keep one turn of a loop."""
    kept = list(pieces)
    looped = False
    while loop := find_loop("".join(piece.text for piece in kept)):
        kept = _cut(kept, loop.start + loop.unit, loop.end)
        looped = True
    return _Decoded(tuple(kept), looped)


def _cut(pieces: Sequence[TimedPiece], start: int, end: int) -> list[TimedPiece]:
    """Remove the characters ``[start, end)`` of the joined text."""
    kept: list[TimedPiece] = []
    offset = 0
    for piece in pieces:
        text = "".join(
            char for place, char in enumerate(piece.text, offset) if not start <= place < end
        )
        offset += len(piece.text)
        if text:
            kept.append(replace(piece, text=text))
    return kept
