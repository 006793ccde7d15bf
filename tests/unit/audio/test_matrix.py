"""Every container, codec, sample rate and number of channels sounds as before it was encoded."""

from __future__ import annotations

import itertools

import av
import numpy as np
import pytest

from tests.unit.audio.encoders import SPEECH_S, downmix, speech
from tests.unit.audio.judging import decode, voice_match
from tests.unit.audio.matrix import CHANNELS, FORMS, NO_ENCODER, RATES, Form

COMBINATIONS = 1_251
EXACT_S = 0.02
DELAY_S = 0.002  # resamplers and rounded clocks

forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def test_the_matrix_is_whole():
    assert sum(len(form.combinations()) for form in FORMS.values()) == COMBINATIONS
    assert {rate for form in FORMS.values() for rate in form.rates} >= set(RATES)
    assert {count for form in FORMS.values() for count in form.channels} == set(CHANNELS)
    assert all(NO_ENCODER.values())


@forms
def test_only_what_an_encoder_refuses_is_left_out(form: Form):
    if form.left_out:
        return
    for rate_hz, channels in itertools.product(RATES, CHANNELS):
        if (rate_hz, channels) in form.combinations():
            continue
        with pytest.raises((av.FFmpegError, ValueError, RuntimeError)):
            form.encode(speech(rate_hz, channels), rate_hz)


@forms
def test_it_sounds_as_before(tmp_path, form: Form):
    path = tmp_path / f"录音.{form.extension}"
    faults = []
    for rate_hz, channels in form.combinations():
        encoded = form.encode(speech(rate_hz, channels), rate_hz)
        path.write_bytes(encoded.content)
        decoded = decode(path)

        delay_s, correlation = voice_match(decoded.waveform, downmix(channels))
        frame_s = encoded.frame_samples / rate_hz if form.is_framed else 0.0
        unknown_s = form.delay_samples / rate_hz + form.delay_frames * frame_s
        excess_s = decoded.seconds - SPEECH_S
        expected_warnings = ["narrowband"] if decoded.info.sample_rate_hz <= 8_000 else []
        if (
            correlation < 0.9
            or not min(unknown_s, 0) - DELAY_S <= delay_s <= max(unknown_s, 0) + DELAY_S
            or not min(unknown_s, 0) - EXACT_S <= excess_s <= unknown_s + max(EXACT_S, frame_s)
            or decoded.warnings != expected_warnings
            or decoded.gaps
        ):
            faults.append(
                f"{rate_hz} Hz, {channels} channels: correlation {correlation:.3f}, delay "
                f"{delay_s * 1000:.1f} ms of {unknown_s * 1000:.1f}, length {excess_s * 1000:+.1f} "
                f"ms with frames of {frame_s * 1000:.1f}, {decoded.warnings}, {decoded.gaps}"
            )
    assert faults == []


@forms
def test_a_wrong_or_missing_extension_is_a_warning_and_nothing_else(tmp_path, form: Form):
    rate_hz, channels = form.combinations()[-1]
    content = form.encode(speech(rate_hz, channels, 0.5), rate_hz).content
    right = tmp_path / f"a.{form.extension}"
    wrong = tmp_path / f"a.{'mp3' if form.extension == 'wav' else 'wav'}"
    none = tmp_path / "a"
    for path in (right, wrong, none):
        path.write_bytes(content)

    plain = decode(right)

    assert "extension" not in plain.warnings
    for path in (wrong, none):
        misnamed = decode(path)
        np.testing.assert_array_equal(misnamed.waveform, plain.waveform)
        assert sorted(misnamed.warnings) == sorted([*plain.warnings, "extension"])
        assert misnamed.info == plain.info
    # The name that the user knows counts, not that of a copy.
    assert decode(none, right.name).warnings == plain.warnings
