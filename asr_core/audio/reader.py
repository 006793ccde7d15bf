"""What the readers of recordings share: their interface, choices, damage report and downmix."""

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

_OPPOSITE = -0.7  # correlation of two channels of which one is wired the wrong way round
_SILENT_SHARE = 1e-3  # of the loudest channel's energy


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """How one recording is to be read.

    Attributes:
        track: which audio track, from 1; ``None`` takes the container's default.
        split: keep the channels apart instead of mixing them.
        raw: ``encoding:rate:channels`` of headerless PCM; empty for files that say what they are.
        max_duration_s: decoding stops here with a warning.
        stall_s: longest time that the decoder may work without handing out audio.
        start_ms: where the part that is wanted begins; it is decoded from there on as it sounds in
            the whole recording, and what is damaged or missing around it is not told.
        end_ms: one past its end; ``None`` for the end of the recording.
    """

    track: int | None = None
    split: bool = False
    raw: str = ""
    max_duration_s: float = 24 * 3600.0
    stall_s: float = 60.0
    start_ms: int = 0
    end_ms: int | None = None

    @property
    def is_part(self) -> bool:
        return self.start_ms > 0 or self.end_ms is not None


@dataclass(frozen=True, slots=True)
class AudioInfo:
    """What the container says about the recording.

    Attributes:
        container: ``wav``, ``flac``, ``mp3``, ``mp4``, ``mov``, ``webm``, ``matroska``, ``ogg``,
            ``silk``, ``raw`` or FFmpeg's name of the format.
        codec: FFmpeg's name of the codec (``pcm_s16le``, ``aac``, ``opus``, ...).
        sample_rate_hz: of the recording itself.
        channels: of the recording itself.
        duration_ms: ``None`` when the container does not tell.
        tracks: how many audio tracks there are.
        track: number of the one that is read, from 1.
    """

    container: str
    codec: str
    sample_rate_hz: int
    channels: int
    duration_ms: int | None
    tracks: int = 1
    track: int = 1


@dataclass(slots=True)
class Damage:
    """What could not be decoded so far.

    Attributes:
        in_the_middle: decoded audio lies before and after a damaged place.
        cut_off: the file ends before its stream does; how much is missing is not known.
        lost_s: seconds that the failed packets would have held.
        gaps: ``(start_ms, end_ms)`` of damaged ranges that were filled with silence.
    """

    in_the_middle: bool = False
    cut_off: bool = False
    lost_s: float = 0.0
    gaps: list[tuple[int, int]] = field(default_factory=list)


class Reader(Protocol):
    """One open recording; decodes from its start to its end once."""

    info: AudioInfo
    damage: Damage
    promised_s: float | None  # length that the header states; None when it states none

    def blocks(self) -> Iterator[tuple[int, Float32]]:
        """``(sample_rate_hz, channels)`` in order; float32, shape (channels, samples)."""
        ...

    def close(self) -> None: ...


def to_float(samples: Array) -> Float32:
    """PCM as float32, the full scale of an integer type becomes 1.

    Args:
        samples: integer or float PCM of any shape.
    """
    if samples.dtype == np.float32:
        return samples
    if samples.dtype.kind == "f":
        with np.errstate(over="ignore"):
            floats: Float32 = samples.astype(np.float32, copy=False)
            return floats
    full_scale = 2.0 ** (8 * samples.dtype.itemsize - 1)
    converted: Float32 = samples.astype(np.float32)
    if samples.dtype.kind == "u":
        converted -= np.float32(full_scale)
    converted *= np.float32(1.0 / full_scale)
    return converted


def mix_down(channels: Float32) -> Float32:
    """Mean over channels; one whose sign is reversed is turned round instead of cancelling.

    Args:
        channels: float32, finite, shape (channels, samples).

    Returns:
        float32, shape (samples,).
    """
    if len(channels) == 1:
        only: Float32 = channels[0]
        return only
    energies = np.einsum("cs,cs->c", channels, channels)
    reference = int(np.argmax(energies > _SILENT_SHARE * energies.max()))
    products = channels @ channels[reference]
    opposite = products < _OPPOSITE * np.sqrt(energies * energies[reference])
    weights = np.where(opposite, -1.0, 1.0).astype(np.float32) / len(channels)
    mixed: Float32 = weights @ channels
    return mixed


def decode_error(name: str, reason: str, message: str) -> AudioDecodeError:
    """The error of one recording; ``name`` is its file name without folders."""
    return AudioDecodeError(f"{name}: {message}", path=name, reason=reason)


def is_plausible_rate(sample_rate_hz: int) -> bool:
    """Whether a recording can have this sample rate; garbage in a header gives others."""
    return _LOWEST_HZ <= sample_rate_hz <= _HIGHEST_HZ
