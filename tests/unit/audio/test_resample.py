"""Resampling in pieces equals resampling at once and keeps the length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.audio.resample import Resampler
from asr_core.errors import UsageError
from tests.unit.audio.recordings import sweep

RATES_HZ = [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000]


def resample(waveform, rate_hz, cuts=()):
    resampler = Resampler(rate_hz)
    pieces, start = [], 0
    for end in [*sorted(min(cut, len(waveform)) for cut in cuts), len(waveform)]:
        pieces.append(resampler.push(waveform[start:end]))
        start = end
    return np.concatenate([*pieces, resampler.flush()])


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_a_tone_keeps_its_shape_and_length(rate_hz):
    converted = resample(sweep(2.5, rate_hz), rate_hz)

    expected = sweep(2.5, 16_000)
    assert abs(len(converted) - len(expected)) <= 1
    middle = slice(400, len(expected) - 400)
    np.testing.assert_allclose(converted[middle], expected[middle], atol=2e-3)


def test_what_sixteen_kilohertz_cannot_carry_is_removed_and_not_folded_back():
    t = np.arange(48_000) / 48_000
    converted = resample(np.sin(2 * np.pi * 11_000 * t).astype(np.float32), 48_000)
    assert np.abs(converted[400:-400]).max() < 1e-3


@given(st.sampled_from(RATES_HZ), st.lists(st.integers(0, 9_000), max_size=6))
def test_the_division_into_pieces_does_not_matter(rate_hz, cuts):
    waveform = sweep(9_000 / rate_hz, rate_hz)
    np.testing.assert_allclose(
        resample(waveform, rate_hz, cuts), resample(waveform, rate_hz), atol=1e-5
    )


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_a_stream_of_nothing_gives_nothing(rate_hz):
    assert len(resample(np.zeros(0, np.float32), rate_hz)) == 0


@pytest.mark.parametrize("rate_hz", [16_000, 48_000])
def test_nothing_can_be_pushed_after_the_end(rate_hz):
    resampler = Resampler(rate_hz)
    resampler.flush()
    with pytest.raises(UsageError):
        resampler.push(np.zeros(1, np.float32))


def test_a_rate_must_be_positive():
    with pytest.raises(UsageError):
        Resampler(0)
