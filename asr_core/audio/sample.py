"""The sample recording that comes with the program."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asr_core.audio.decode import open_audio
from asr_core.runtime.session import Float32

SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample" / "例会片段.flac"

_SENTENCE_SAMPLES = 65_600


def sample_sentence() -> Float32:
    """The first sentence of the sample, 4.1 s.

    Returns:
        float32 mono at 16 kHz, (samples,).

    Raises:
        AudioDecodeError: the file is gone or damaged.
    """
    pieces: list[Float32] = []
    with open_audio(SAMPLE) as source:
        for block in source.blocks():
            pieces.append(block)
            if sum(map(len, pieces)) >= _SENTENCE_SAMPLES:
                break
    return np.concatenate(pieces)[:_SENTENCE_SAMPLES]
