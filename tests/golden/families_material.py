"""Recordings and texts for CT-Transformer and FSMN-VAD; the same for the reference and for us."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_HERE = Path(__file__).parent
CT_PUNC = _HERE / "ct_punc"
FSMN_VAD = _HERE / "fsmn_vad"
RESULTS = _HERE / "families.json"
STAGES = "stages.npz"
SAMPLE = _HERE.parents[1] / "assets" / "sample" / "例会片段.flac"

_SECOND_SAMPLES = 16_000

Float32 = npt.NDArray[np.float32]


@functools.cache
def results() -> dict[str, Any]:
    """What FunASR's ``AutoModel`` said."""
    content: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return content


def recordings(sample: Float32) -> list[Float32]:
    """20 pieces of the sample; every third has a pause, the last one lasts over a minute."""
    choose = np.random.default_rng(16)
    pieces = []
    for number in range(19):
        start = number * _SECOND_SAMPLES
        piece = sample[start : start + int((2.0 + 0.7 * number) * _SECOND_SAMPLES)]
        if number % 3 == 0:
            pause = choose.normal(0.0, 3e-4, 2 * _SECOND_SAMPLES).astype(np.float32)
            piece = np.concatenate([piece[: len(piece) // 2], pause, piece[len(piece) // 2 :]])
        pieces.append(piece)
    return [*pieces, np.tile(np.concatenate([sample, np.zeros_like(sample[:_SECOND_SAMPLES])]), 3)]
