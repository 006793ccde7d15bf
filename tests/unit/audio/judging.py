"""Whole recordings decoded, and how much they sound like what went in."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from asr_core.audio.decode import AudioInfo, open_audio

RATE_HZ = 16_000
VOICE_HZ = (300.0, 3_400.0)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A whole recording.

    Attributes:
        waveform: float32 mono 16 kHz.
        warnings: codes, in order.
        gaps: ``(start_ms, end_ms)`` of what is damaged or missing.
    """

    waveform: np.ndarray
    warnings: list[str]
    gaps: list[tuple[int, int]]
    info: AudioInfo

    @property
    def seconds(self) -> float:
        return len(self.waveform) / RATE_HZ


def decode(path: Path, name: str = "", **options: object) -> Decoded:
    """Decode all of a file; the promises that hold for every recording are checked on the way.

    Args:
        name: what the user calls the file.
        options: of ``DecodeOptions``.
    """
    with opened(path, name, **options) as source:
        blocks = list(source.blocks())
        waveform = np.concatenate([np.zeros(0, np.float32), *blocks])
        assert source.position_samples == len(waveform)
        assert all(0 < len(block) <= 10 * RATE_HZ for block in blocks)
        gaps = list(source.gaps)
        warnings = [warning.code for warning in source.warnings]
        info = source.info
    assert waveform.dtype == np.float32
    assert np.isfinite(waveform).all()
    assert np.abs(waveform).max(initial=0) <= 1
    assert len(warnings) == len(set(warnings))
    assert all(start_ms < end_ms for start_ms, end_ms in gaps)
    assert all(end_ms <= start_ms for (_, end_ms), (start_ms, _) in itertools.pairwise(gaps))
    return Decoded(waveform, warnings, gaps, info)


def opened(path: Path, name: str = "", **options: object):
    """``open_audio`` with options given one by one."""
    if not options:
        return open_audio(path, name=name)
    from asr_core.audio.decode import DecodeOptions

    return open_audio(path, name=name, options=DecodeOptions(**options))


def voice_match(
    waveform: np.ndarray, expected: np.ndarray, latest_s: float = 0.2
) -> tuple[float, float]:
    """How a 16 kHz waveform follows another in the voice band.

    Args:
        latest_s: the delay is searched from minus this to plus this.

    Returns:
        The delay in seconds (positive when the waveform is late) at which they fit best, and the
        normalised correlation there.
    """
    latest = round(latest_s * RATE_HZ)
    length = 1 << (len(waveform) + len(expected) + latest).bit_length()
    frequencies_hz = np.fft.rfftfreq(length, 1 / RATE_HZ)
    band = (frequencies_hz >= VOICE_HZ[0]) & (frequencies_hz <= VOICE_HZ[1])
    ours = np.fft.rfft(waveform, length) * band
    theirs = np.fft.rfft(expected, length) * band
    products = np.fft.irfft(ours * theirs.conj(), length)
    energies = [np.square(np.fft.irfft(one, length)).sum() for one in (ours, theirs)]
    near = np.concatenate([products[-latest:], products[: latest + 1]])
    best = int(near.argmax())
    scale = max(float(np.sqrt(energies[0] * energies[1])), 1e-12)
    return (best - latest) / RATE_HZ, float(near[best]) / scale
