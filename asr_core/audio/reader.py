"""What the readers of recordings share: their interface, damage report and downmix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from asr_core.errors import AudioDecodeError
from asr_core.runtime.session import Array, Float32

BLOCK_S = 5
"""Seconds of audio that readers gather into one block."""

_LOWEST_HZ = 1_000
_HIGHEST_HZ = 768_000


@dataclass(frozen=True, slots=True)
class AudioInfo:
    """What the container says about the recording.

    Attributes:
        container: ``wav``, ``flac``, ``mp3``, ``mp4``, ``mov``, ``webm``, ``matroska``, ``ogg``
            or FFmpeg's name of the format.
        codec: FFmpeg's name of the codec (``pcm_s16le``, ``aac``, ``opus``, ...).
        sample_rate_hz: of the recording itself.
        channels: of the recording itself.
        duration_ms: ``None`` when the container does not tell.
    """

    container: str
    codec: str
    sample_rate_hz: int
    channels: int
    duration_ms: int | None


@dataclass(slots=True)
class Damage:
    """What could not be decoded so far.

    Attributes:
        in_the_middle: decoded audio lies before and after a damaged place.
        lost_s: seconds that the failed packets would have held.
        gaps: ``(start_ms, end_ms)`` of damaged ranges that were filled with silence.
    """

    in_the_middle: bool = False
    lost_s: float = 0.0
    gaps: list[tuple[int, int]] = field(default_factory=list)


class Reader(Protocol):
    """One open recording; decodes from its start to its end once."""

    info: AudioInfo
    damage: Damage
    promised_s: float | None  # length that the header states; None when it states none

    def blocks(self) -> Iterator[tuple[int, Float32]]:
        """``(sample_rate_hz, waveform)`` in order; waveform is float32 mono, shape (samples,)."""
        ...

    def close(self) -> None: ...


def mix_down(channels: Array) -> Float32:
    """Mean over channels.

    Args:
        channels: integer or float PCM, shape (channels, samples).

    Returns:
        float32, shape (samples,); full scale of an integer type becomes 1.
    """
    scale, offset = 1.0, 0.0
    if channels.dtype.kind in "iu":
        scale = 2.0 ** (8 * channels.dtype.itemsize - 1)
        offset = scale if channels.dtype.kind == "u" else 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        mean: Float32 = channels.mean(axis=0, dtype=np.float32 if scale <= 32768 else np.float64)
        return ((mean - offset) / scale).astype(np.float32, copy=False)


def decode_error(name: str, reason: str, message: str) -> AudioDecodeError:
    """The error of one recording; ``name`` is its file name without folders."""
    return AudioDecodeError(f"{name}: {message}", path=name, reason=reason)


def is_plausible_rate(sample_rate_hz: int) -> bool:
    """Whether a recording can have this sample rate; garbage in a header gives others."""
    return _LOWEST_HZ <= sample_rate_hz <= _HIGHEST_HZ
