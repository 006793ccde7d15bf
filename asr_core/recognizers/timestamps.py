"""When each token was said, from the weights of Paraformer's timestamp head.

Source of the rule and its constants: FunASR 1.4.16, ``ts_prediction_lfr6_standard`` in
``funasr/utils/timestamp_tools.py``.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from asr_core.recognizers.cif import PEAK, find_peaks, fire_by_steps
from asr_core.runtime.session import Float32

UPSAMPLING = 3
"""Steps of the timestamp head for one feature frame."""

_STEP_S = 10.0 * 6 / 1000 / UPSAMPLING
_PEAK_SHIFT = -1.5  # steps from a peak to where the token begins
_LONGEST_TOKEN = 12  # steps; the rest up to the next token is silence
_END_SILENCE = 5  # more steps than this behind the last peak are shared with silence


def token_times(alphas: Float32, peaks: Float32, count: int) -> list[tuple[int, int]]:
    """Begin and end of each token.

    A token lasts from its peak to the next one. The network gives one peak more than tokens; where
    it does not, the weights are scaled until it should.

    Args:
        alphas: upsampled weights of one segment without padding, (steps,).
        peaks: their integrals with the threshold 1 - 1e-4, (steps,).
        count: tokens.

    Returns:
        ``(start_ms, end_ms)`` from the first step on, ``count`` of them; the first may start
        before 0 by up to 30 ms.
    """
    if not count:
        return []
    steps = len(peaks)
    found = find_peaks(peaks)
    if len(found) != count + 1:
        found = _scaled_peaks(alphas, count + 1)
    places = _exactly(found + _PEAK_SHIFT, count + 1, steps)
    ends = [min(end, start + _LONGEST_TOKEN) for start, end in itertools.pairwise(places)]
    if places[-1] - places[-2] <= _LONGEST_TOKEN:
        is_silent = steps - places[-1] > _END_SILENCE
        ends[-1] = (steps + places[-1]) * 0.5 if is_silent else float(steps)
    return [
        (_milliseconds(start), _milliseconds(end))
        for start, end in zip(places[:-1], ends, strict=True)
    ]


def even_times(start_ms: int, end_ms: int, count: int) -> list[tuple[int, int]]:
    """Equal shares of an interval, for networks without a timestamp head."""
    bounds = [start_ms + (end_ms - start_ms) * place // max(count, 1) for place in range(count + 1)]
    return list(itertools.pairwise(bounds))


def _scaled_peaks(alphas: Float32, wanted: int) -> npt.NDArray[np.intp]:
    share = alphas.sum(dtype=np.float32) / np.float32(wanted)
    if not share > 0:
        return np.zeros(0, np.intp)
    scaled = alphas / share
    return find_peaks(fire_by_steps(scaled[None], PEAK)[0])


def _exactly(places: npt.NDArray[np.float64], count: int, steps: int) -> list[float]:
    """The first ``count`` places; missing ones spread evenly up to the end."""
    if len(places) < count:
        last = float(places[-1]) if len(places) else _PEAK_SHIFT
        more = np.linspace(last, steps, count - len(places) + 1)[1:]
        places = np.concatenate([places, more])
    return [float(place) for place in places[:count]]


def _milliseconds(step: float) -> int:
    return int(step * _STEP_S * 1000)
