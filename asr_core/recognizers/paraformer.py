"""Paraformer: a whole segment at once, with hotwords and times, whatever runtime drives it."""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asr_core.audio.features import FeatureStream
from asr_core.audio.segmenter import Segment
from asr_core.errors import DeviceError, ModelIntegrityError, RecognitionError, SessionClosedError
from asr_core.models.funasr_folder import open_folder
from asr_core.models.offers import AUTO
from asr_core.recognizers.base import RecognizeOptions
from asr_core.recognizers.packing import divide
from asr_core.recognizers.paraformer_backend import ParaformerBackend, ParaformerOutput
from asr_core.recognizers.paraformer_opening import open_paraformer
from asr_core.recognizers.timestamps import UPSAMPLING, even_times, token_times
from asr_core.recognizers.tokenizer import EncodedHotwords, ParaformerTokenizer
from asr_core.results import SAMPLE_RATE_HZ, ModelInfo, Token, TranscriptWarning, Utterance
from asr_core.runtime.session import Float32
from asr_core.text.tokens import tokens_from_pieces

logger = logging.getLogger(__name__)

MAX_SAMPLES = 30 * SAMPLE_RATE_HZ
"""A longer segment is read in parts: FunASR's exports may end at 512 frames of 60 ms."""

_MS_SAMPLES = SAMPLE_RATE_HZ // 1000
_KEPT_LISTS = 8  # of hotwords, with their embeddings
_MOST_NAMES = 20  # of words in a warning


class ParaformerRecognizer:
    """SeACo-Paraformer or plain Paraformer from a model folder of FunASR.

    Args:
        folder: model files as FunASR publishes and exports them, or converted by this program.
        name: catalogue name.
        threads: CPU threads.
        batch_segments: segments that are recognized together.
        backend: runs the networks; by default those that the folder offers, on the CPU.
        runtime: what may execute them: one of :data:`asr_core.models.offers.RUNTIMES`.

    Raises:
        ModelFileMissingError: files are missing; all are named.
        ModelIntegrityError: a file is damaged or belongs to another model.
        DeviceUnavailableError: the runtime is not there.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        threads: int,
        batch_segments: int,
        backend: ParaformerBackend | None = None,
        runtime: str = AUTO,
    ) -> None:
        if backend is None:
            files, backend = open_paraformer(folder, name=name, threads=threads, runtime=runtime)
        else:
            files = open_folder(folder, name=name, graphs=False)
        self._backend = backend
        sizes = (self._backend.feature_dim, self._backend.vocabulary)
        if sizes != (files.feature_dim, len(files.tokens)):
            raise ModelIntegrityError(
                f"The networks of {name} have {sizes} features and tokens, the folder "
                f"{(files.feature_dim, len(files.tokens))}",
                name=name,
                path=str(folder),
                reason="folder",
            )
        self._features = files.features
        self._cmvn = files.cmvn
        self._tokenizer = ParaformerTokenizer(files.tokens, files.segmentation)
        self._batch_segments = batch_segments
        frame_samples = files.features.frame_shift_samples * files.features.stride
        taken = self._backend.max_frames * frame_samples
        self._max_samples = min(MAX_SAMPLES, taken or MAX_SAMPLES)
        self._embedded: OrderedDict[str, Float32 | None] = OrderedDict()
        self._closed = False

    @property
    def info(self) -> ModelInfo:
        return self._backend.info

    @property
    def language(self) -> str:
        return "zh"

    @property
    def supports_hotwords(self) -> bool:
        return self._backend.max_hotword_tokens > 0

    @property
    def group_passes(self) -> int:
        return self._batch_segments

    def passes(self, segments: Sequence[Segment]) -> int:
        return len(segments)

    def hotword_warnings(self, words: Sequence[str]) -> tuple[TranscriptWarning, ...]:
        """What the network cannot take of a hotword list, by word.

        Args:
            words: as in :class:`asr_core.recognizers.base.RecognizeOptions`.

        Returns:
            ``hotwords_unheard``: more than 500, too long, or no character is in the token list.
            ``hotwords_shortened``: characters that are not in the token list are left out.
        """
        if not self.supports_hotwords:
            return ()
        encoded = self._encoded(words)
        warnings = []
        for code, says, names in (
            ("hotwords_unheard", "Hotwords that the model cannot listen for", encoded.left_out),
            ("hotwords_shortened", "Hotwords with unknown characters", encoded.shortened),
        ):
            if names:
                shown = names[:_MOST_NAMES]
                more = f" … +{len(names) - len(shown)}" if len(names) > len(shown) else ""
                message = f"{says}: {', '.join(shown)}{more}"
                warnings.append(TranscriptWarning(code, message, names=names))
        return tuple(warnings)

    def recognize(self, segments: Sequence[Segment], options: RecognizeOptions) -> list[Utterance]:
        """See :class:`asr_core.recognizers.base.Recognizer`."""
        if self._closed:
            raise SessionClosedError("The Paraformer model is closed")
        if not segments:
            return []
        try:
            bias = self._bias(options.hotwords)
            parts = [
                (place, part)
                for place, segment in enumerate(segments)
                for part in divide(segment, self._max_samples)
            ]
            taken = self._take([part for _, part in parts], bias)
        except DeviceError as exc:
            if isinstance(exc, SessionClosedError):
                raise
            raise RecognitionError(
                f"{self.info.name} failed: {exc}",
                start_ms=segments[0].start // _MS_SAMPLES,
                end_ms=segments[-1].end // _MS_SAMPLES,
            ) from exc
        tokens: list[list[Token]] = [[] for _ in segments]
        for (place, _), own in zip(parts, taken, strict=True):
            tokens[place] += own
        return [
            Utterance(segment.start // _MS_SAMPLES, segment.end // _MS_SAMPLES, tuple(own))
            for segment, own in zip(segments, tokens, strict=True)
        ]

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._embedded.clear()
            self._backend.close()

    def _encoded(self, words: Sequence[str]) -> EncodedHotwords:
        return self._tokenizer.encode_hotwords(words, self._backend.max_hotword_tokens)

    def _bias(self, words: tuple[str, ...]) -> Float32 | None:
        """Embeddings of a hotword list, made once; ``None`` where there is nothing to embed."""
        if not words or not self.supports_hotwords:
            return None
        key = hashlib.sha256("\n".join(words).encode()).hexdigest()
        if key not in self._embedded:
            encoded = self._encoded(words)
            if encoded.left_out or encoded.shortened:
                logger.warning(
                    "hotwords not used whole left_out=%d shortened=%d",
                    len(encoded.left_out),
                    len(encoded.shortened),
                )
            ids = [*encoded.ids, (self._tokenizer.no_bias,)]
            self._embedded[key] = self._backend.embed_hotwords(ids) if encoded.ids else None
        self._embedded.move_to_end(key)
        if len(self._embedded) > _KEPT_LISTS:
            self._embedded.popitem(last=False)
        return self._embedded[key]

    def _take(self, segments: Sequence[Segment], bias: Float32 | None) -> list[tuple[Token, ...]]:
        """Tokens of each segment; those of like length are read together."""
        features = [self._features_of(segment.waveform) for segment in segments]
        order = sorted(range(len(segments)), key=lambda place: len(features[place]))
        order = [place for place in order if len(features[place])]
        taken: list[tuple[Token, ...]] = [()] * len(segments)
        for first in range(0, len(order), self._batch_segments):
            batch = order[first : first + self._batch_segments]
            lengths = np.array([len(features[place]) for place in batch], np.int32)
            padded = np.zeros((len(batch), lengths.max(), self._backend.feature_dim), np.float32)
            for row, place in enumerate(batch):
                padded[row, : lengths[row]] = features[place]
            output = self._backend.run(padded, lengths, bias)
            for row, place in enumerate(batch):
                taken[place] = self._tokens(output, row, int(lengths[row]), segments[place])
        return taken

    def _features_of(self, waveform: Float32) -> Float32:
        stream = FeatureStream(self._features, self._cmvn)
        return np.concatenate([stream.accept(waveform), stream.finish()])

    def _tokens(
        self, output: ParaformerOutput, row: int, frames: int, segment: Segment
    ) -> tuple[Token, ...]:
        """The tokens of one segment, absolute in the recording."""
        scores = output.scores[row, : max(int(output.token_counts[row]), 0)]
        if not len(scores):
            return ()
        numbers = scores.argmax(axis=1).tolist()
        sure = np.exp(scores.max(axis=1)).tolist()
        spoken = [
            place for place, number in enumerate(numbers) if self._tokenizer.is_spoken(number)
        ]
        times = self._times(output, row, frames, len(spoken), segment)
        return tokens_from_pieces(
            self._tokenizer.pieces(
                [
                    (numbers[place], start_ms, end_ms, min(sure[place], 1.0))
                    for place, (start_ms, end_ms) in zip(spoken, times, strict=True)
                ]
            )
        )

    def _times(
        self, output: ParaformerOutput, row: int, frames: int, count: int, segment: Segment
    ) -> list[tuple[int, int]]:
        """Begin and end of each token, absolute, inside the segment."""
        first_ms = -(-segment.start // _MS_SAMPLES)
        last_ms = max(segment.end // _MS_SAMPLES, first_ms)
        if output.us_alphas is None or output.us_peaks is None:
            speech_ms = (segment.speech_start // _MS_SAMPLES, segment.speech_end // _MS_SAMPLES)
            times = even_times(*speech_ms, count)
        else:
            steps = UPSAMPLING * frames
            start_ms = segment.start // _MS_SAMPLES
            times = [
                (start_ms + begin, start_ms + end)
                for begin, end in token_times(
                    output.us_alphas[row, :steps], output.us_peaks[row, :steps], count
                )
            ]
        return [
            (min(max(begin, first_ms), last_ms), min(max(end, first_ms), last_ms))
            for begin, end in times
        ]
