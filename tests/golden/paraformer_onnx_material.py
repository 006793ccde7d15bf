"""What the golden texts of Paraformer are made from; the same for the reference and for us."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile

RATE_HZ = 16_000
SAMPLE = next((Path(__file__).parents[2] / "assets" / "sample").glob("*.flac"))
CHARACTERS = (
    "的一是了我不人在他有这个上们来到时大地为子中你说生国"
    "年着就那和要她出也得里后自以会家可下而过天去"
)
WORDS = ("hello", "ok", "model")
LETTERS = ("a", "b", "p")
PIECES = ("wor@@", "ld")
NO_BIAS = "<no_bias>"

TOKENS = ("<blank>", "<s>", "</s>", *CHARACTERS, *WORDS, *LETTERS, *PIECES, NO_BIAS, "<unk>")

_SLICES_S = (
    *((0.6, 2.1), (2.0, 5.0), (4.3, 5.4), (5.0, 9.5), (8.2, 9.0), (9.0, 12.0), (11.7, 15.9)),
    *((14.0, 16.2), (16.0, 22.0), (18.5, 20.0), (20.1, 23.7), (22.0, 24.4), (24.0, 29.5)),
    *((1.0, 3.5), (6.2, 8.8), (12.4, 14.9), (17.1, 19.0), (21.0, 22.9), (25.3, 27.0), (3.1, 4.6)),
    *((7.0, 10.1), (13.3, 16.8), (26.0, 29.0), (10.5, 11.9)),
)


def recordings() -> Iterator[tuple[str, np.ndarray]]:
    """Name and waveform, float32 mono 16 kHz: speech, speech in noise, tones, noise alone.

    Samples are whole numbers of 16 bits, so that no platform rounds them otherwise.
    """
    for number in range(4):
        samples = int((1.2 + 0.7 * number) * RATE_HZ)
        yield f"tones {number}", _whole(_tones(number, samples))
        yield f"noise {number}", _whole(_noise(number + 50, samples, 0.05 * (1 + number)))
    speech, rate = soundfile.read(SAMPLE, dtype="float32")
    assert rate == RATE_HZ
    for number, (start_s, end_s) in enumerate(_SLICES_S):
        part = speech[int(start_s * RATE_HZ) : int(end_s * RATE_HZ)]
        if number % 4 == 3:
            yield f"speech {number} in noise", _whole(part * 0.5 + _noise(number, len(part), 0.02))
        elif number % 4 == 2:
            yield f"speech {number} louder", _whole(part * 1.7)
        else:
            yield f"speech {number}", _whole(part)


def hotwords(count: int) -> tuple[str, ...]:
    """Different words of two to four characters of the token list."""
    rng = np.random.default_rng(7)
    words: dict[str, None] = {}
    while len(words) < count:
        length = int(rng.integers(2, 5))
        words["".join(CHARACTERS[i] for i in rng.integers(0, len(CHARACTERS), length))] = None
    return tuple(words)


def _noise(seed: int, samples: int, level: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    loudness = np.repeat(rng.random(samples // 1600 + 1), 1600)[:samples]
    return level * loudness * (2 * rng.random(samples) - 1)


def _tones(number: int, samples: int) -> np.ndarray:
    seconds = np.arange(samples) / RATE_HZ
    pitch_hz = 150 + 60 * number
    swell = np.sin(2 * np.pi * (1.5 + number) * seconds) ** 2
    return 0.3 * swell * np.sin(2 * np.pi * pitch_hz * seconds * (1 + 0.1 * seconds))


def _whole(waveform: np.ndarray) -> np.ndarray:
    steps = np.clip(np.round(waveform * 32_768), -32_768, 32_767)
    return (steps / 32_768).astype(np.float32)
