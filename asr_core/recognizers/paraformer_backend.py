"""The seam between the Paraformer recognizer and the runtimes that execute its networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from asr_core.recognizers.timestamps import UPSAMPLING
from asr_core.results import ModelInfo
from asr_core.runtime.session import Float32

Int32 = npt.NDArray[np.int32]

UNLIMITED_TOKENS = 10_000
"""Of a hotword, where a network takes any number."""


@dataclass(frozen=True, slots=True, eq=False)
class ParaformerOutput:
    """What the networks say about a batch of segments.

    Attributes:
        scores: log-probabilities, float32, (batch, tokens, vocabulary); rows behind a segment's
            count mean nothing.
        token_counts: tokens of each segment, int32, (batch,); 0 when nothing was understood.
        us_alphas: upsampled weights, float32, (batch, 3 * frames); ``None`` without timestamp head.
        us_peaks: their integrals, shape as ``us_alphas``.
    """

    scores: Float32
    token_counts: Int32
    us_alphas: Float32 | None = None
    us_peaks: Float32 | None = None


class ParaformerBackend(Protocol):
    """Runs one Paraformer on one device; used by one thread at a time."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def feature_dim(self) -> int:
        """Values of one feature frame."""
        ...

    @property
    def vocabulary(self) -> int:
        """Tokens that have a score."""
        ...

    @property
    def max_hotword_tokens(self) -> int:
        """Tokens of the longest hotword that it takes; 0: the network knows no hotwords."""
        ...

    @property
    def max_frames(self) -> int:
        """Frames of the longest segment that it takes; 0: any."""
        ...

    def embed_hotwords(self, words: Sequence[Sequence[int]]) -> Float32:
        """One vector for each word.

        Args:
            words: token ids, 1 to ``max_hotword_tokens`` of them each.

        Returns:
            float32, (words, hidden).

        Raises:
            DeviceError: the network failed.
        """
        ...

    def run(self, features: Float32, lengths: Int32, hotwords: Float32 | None) -> ParaformerOutput:
        """Recognize a batch. What it says of a segment does not depend on the others.

        Args:
            features: float32, (batch, frames, feature_dim), zero behind each length.
            lengths: frames of each segment, int32, at least 1, (batch,).
            hotwords: embeddings of the hotwords and, last, of ``<s>``, which means none of them;
                ``None`` without hotwords.

        Raises:
            DeviceError: the network failed.
        """
        ...

    def close(self) -> None:
        """Release the networks; a second call does nothing."""
        ...


def joined(
    parts: Sequence[tuple[npt.NDArray[np.intp], ParaformerOutput]],
    shape: tuple[int, int, int],
) -> ParaformerOutput:
    """One output for all segments of a batch.

    Args:
        parts: the rows that each output is for; other rows have no token.
        shape: segments, frames and vocabulary.
    """
    batch, frames, vocabulary = shape
    most = max((output.scores.shape[1] for _, output in parts), default=0)
    scores = np.zeros((batch, most, vocabulary), np.float32)
    counts = np.zeros(batch, np.int32)
    has_times = any(output.us_alphas is not None for _, output in parts)
    alphas = np.zeros((batch, UPSAMPLING * frames), np.float32) if has_times else None
    peaks = np.zeros((batch, UPSAMPLING * frames), np.float32) if has_times else None
    for rows, output in parts:
        scores[rows, : output.scores.shape[1]] = output.scores
        counts[rows] = np.clip(output.token_counts, 0, output.scores.shape[1])
        if alphas is not None and output.us_alphas is not None:
            alphas[rows, : output.us_alphas.shape[1]] = output.us_alphas
        if peaks is not None and output.us_peaks is not None:
            peaks[rows, : output.us_peaks.shape[1]] = output.us_peaks
    return ParaformerOutput(scores, counts, alphas, peaks)
