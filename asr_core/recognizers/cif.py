"""Continuous integrate-and-fire (CIF) on the host: from weights over frames to tokens.

Source of the rules and of their rounding: FunASR 1.4.16, ``paraformer/cif_predictor.py`` and
``bicif_paraformer/cif_predictor.py``. Weights are float32 as there: whether a sum reaches a
threshold depends on how it is rounded.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from asr_core.runtime.session import Float32

Int32 = npt.NDArray[np.int32]

THRESHOLD = 1.0
"""Weight that one token takes."""

TAIL_THRESHOLD = 0.45
"""Weight behind the last frame: more than 0.55 left over becomes a token."""

PEAK = 1.0 - 1e-4
"""Threshold of the upsampled weights, whose sum is a whole number but for rounding."""


_BLOCK = 64  # frames that are summed before looking for the end of a token


def add_tail(
    hidden: Float32, alphas: Float32, lengths: Int32, tail_threshold: float = TAIL_THRESHOLD
) -> tuple[Float32, Float32]:
    """One more frame for each row, with the weight of the tail just behind its last frame.

    Args:
        hidden: (batch, frames, width).
        alphas: weights in [0, 1], (batch, frames); what lies behind a row's length is not read.
        lengths: frames of each row.

    Returns:
        ``(hidden, alphas)`` of frames + 1, zero behind each row's length but for the tail.
    """
    batch, frames = alphas.shape
    inside = np.arange(frames) < lengths[:, None]
    weights = np.zeros((batch, frames + 1), np.float32)
    weights[:, :frames] = np.where(inside, alphas, np.float32(0))
    weights[np.arange(batch), lengths] = np.float32(tail_threshold)
    padded = np.zeros((batch, frames + 1, hidden.shape[2]), np.float32)
    padded[:, :frames] = np.where(inside[..., None], hidden, np.float32(0))
    return padded, weights


def count_tokens(alphas: Float32) -> Int32:
    """Whole tokens that the weights of each row give, (batch,)."""
    sums = alphas.sum(axis=1, dtype=np.float64).astype(np.float32)
    counts: Int32 = np.floor(sums).astype(np.int32)
    return counts


def fire_by_sums(alphas: Float32) -> Float32:
    """Integrate all rows at once, by prefix sums of double precision (predictor V2).

    Args:
        alphas: weights in [0, 1], (batch, frames).

    Returns:
        The integral at each frame, (batch, frames): 1 or more where a token ends, of which the
        part above 1 belongs to the next token.
    """
    sums = np.cumsum(alphas, axis=1, dtype=np.float64).astype(np.float32)
    whole = np.floor(sums)
    fired = np.diff(whole, axis=1, prepend=np.float32(0)) > 0
    fires: Float32 = fired.astype(np.float32) + sums - whole
    return fires


def fire_by_steps(alphas: Float32, threshold: float = THRESHOLD) -> Float32:
    """Integrate frame by frame in single precision (predictor V3 and upsampled weights).

    Args:
        alphas: weights in [0, 1], (batch, frames).
        threshold: integral at which a token ends; it is subtracted there.

    Returns:
        The integral at each frame before the subtraction, (batch, frames).
    """
    fires = np.empty(alphas.shape, np.float32)
    for row, weights in zip(fires, np.asarray(alphas, np.float32), strict=True):
        _fire(row, weights, np.float32(threshold))
    return fires


def _fire(fires: Float32, weights: Float32, limit: np.float32) -> None:
    """Integrate one row, from the end of a token to that of the next one at once."""
    first, left = 0, np.float32(0)
    while first < len(weights):
        part = weights[first : first + _BLOCK].copy()
        part[0] += left
        sums = np.add.accumulate(part)
        reached = int((sums >= limit).argmax())
        ends = bool(sums[reached] >= limit)
        used = reached + 1 if ends else len(sums)
        fires[first : first + used] = sums[:used]
        left = sums[used - 1] - limit if ends else sums[used - 1]
        first += used


def acoustic_embeds(hidden: Float32, alphas: Float32, fires: Float32, counts: Int32) -> Float32:
    """Weighted sums of the frames of each token.

    Args:
        hidden: (batch, frames, width), zero where nothing was said.
        alphas: weights, (batch, frames).
        fires: integral at each frame with threshold 1, as the functions above give it.
        counts: tokens of each row.

    Returns:
        (batch, largest count, width); zero behind a row's count.
    """
    batch, frames = alphas.shape
    most = int(counts.max(initial=0))
    fired = fires >= np.float32(THRESHOLD)
    left = np.where(fired, fires - np.float32(THRESHOLD), np.float32(0))
    # The token that each frame gives to; the next one gets what is left.
    token: npt.NDArray[np.intp] = np.cumsum(fired, axis=1, dtype=np.intp) - fired
    shares = np.zeros((batch, most + 2, frames), np.float32)
    rows, columns = np.indices((batch, frames))
    np.add.at(shares, (rows, np.minimum(token, most), columns), alphas - left)
    np.add.at(shares, (rows, np.minimum(token + 1, most + 1), columns), left)
    embeds: Float32 = np.matmul(shares[:, :most], hidden)
    embeds[np.arange(most) >= counts[:, None]] = 0
    return embeds


def scale_to_counts(alphas: Float32, counts: Int32) -> Float32:
    """Upsampled weights whose sum is the number of tokens.

    Args:
        alphas: (batch, steps); a row without any weight stays as it is.
        counts: tokens of each row.
    """
    sums = alphas.sum(axis=1, dtype=np.float64).astype(np.float32)
    factors = counts.astype(np.float32) / np.where(sums > 0, sums, np.float32(1))
    scaled: Float32 = alphas * factors[:, np.newaxis]
    return scaled


def find_peaks(fires: Float32) -> npt.NDArray[np.intp]:
    """Frames of one row of upsampled weights at which a token begins.

    Args:
        fires: integral at each frame with threshold :data:`PEAK`, (frames,).
    """
    return np.flatnonzero(fires >= np.float32(PEAK))
