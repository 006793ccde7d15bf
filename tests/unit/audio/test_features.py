"""Features: the reference's values, and the same ones for any division of the recording."""

from __future__ import annotations

import kaldi_native_fbank
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.features import (
    Cmvn,
    FbankStream,
    FeatureOptions,
    FeatureStream,
    LevelStream,
    StackStream,
    level_range_db,
    read_cmvn,
)
from asr_core.errors import ModelFileMissingError, ModelIntegrityError, UsageError

MEAN_AND_VARIANCE = """<Nnet>
<Splice> 3 3
[ 0 ]
<AddShift> 3 3
<LearnRateCoef> 0 [ -8.5 -9 1e-1 ]
<Rescale> 3 3
<LearnRateCoef> 0 [ 0.25 0.5 2 ]
</Nnet>
"""

cuts = st.lists(st.integers(0, 9_000), max_size=8)


def noise(samples: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    hum = 0.2 * np.sin(np.cumsum(rng.uniform(0.02, 1.2, samples)))
    return (hum + rng.normal(0, 0.02, samples)).clip(-1, 1).astype(np.float32)


def divided(array: np.ndarray, cuts) -> list[np.ndarray]:
    return np.split(array, sorted(min(cut, len(array)) for cut in cuts))


def kaldi_fbank(waveform: np.ndarray) -> np.ndarray:
    """Kaldi's filter banks in plain NumPy."""
    count = max((len(waveform) - 400) // 160 + 1, 0)
    frames = np.stack(
        [waveform[start : start + 400] for start in range(0, 160 * count, 160)]
    ).astype(np.float64)
    frames = frames * 32768
    frames -= frames.mean(axis=1, keepdims=True)
    before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    frames = (frames - 0.97 * before) * np.hamming(400)
    power = np.abs(np.fft.rfft(frames, 512)) ** 2

    def mel(hz):
        return 1127 * np.log1p(np.asarray(hz) / 700)

    edges = np.linspace(mel(20), mel(8000), 82)
    bins = mel(np.arange(257) * 16000 / 512)
    rising = (bins[None] - edges[:-2, None]) / (edges[1] - edges[0])
    falling = (edges[2:, None] - bins[None]) / (edges[1] - edges[0])
    filters = np.clip(np.minimum(rising, falling), 0, None)
    filters[:, 256] = 0  # Kaldi leaves the last bin out
    return np.log(np.maximum(power @ filters.T, np.finfo(np.float32).eps))


def funasr_stack(fbank: np.ndarray, stack: int, stride: int) -> np.ndarray:
    """The stacking by its definition, one feature at a time."""
    left = (stack - 1) // 2
    rows = []
    for feature in range(-(-len(fbank) // stride)):
        first = feature * stride - left
        places = np.clip(np.arange(first, first + stack), 0, len(fbank) - 1)
        rows.append(fbank[places].reshape(-1))
    return np.stack(rows) if rows else np.zeros((0, stack * fbank.shape[1]), np.float32)


def test_fbank_follows_kaldis_recipe():
    waveform = noise(16_000)
    fbank = FbankStream(FeatureOptions()).accept(waveform)
    assert fbank.dtype == np.float32
    np.testing.assert_allclose(fbank, kaldi_fbank(waveform), atol=2e-3)


def test_fbank_is_the_librarys_in_one_go():
    waveform = noise(160_123)
    options = kaldi_native_fbank.FbankOptions()
    options.frame_opts.dither = 0
    options.frame_opts.window_type = "hamming"
    options.frame_opts.snip_edges = True
    options.mel_opts.num_bins = 80
    options.energy_floor = 0
    kaldi = kaldi_native_fbank.OnlineFbank(options)
    kaldi.accept_waveform(16_000, (waveform * 32768).tolist())
    expected = [kaldi.get_frame(frame) for frame in range(kaldi.num_frames_ready)]
    assert np.array_equal(FbankStream(FeatureOptions()).accept(waveform), np.stack(expected))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 9_000), cuts)
def test_fbank_of_pieces_is_fbank_of_the_whole(total, cuts):
    waveform = noise(total)
    stream = FbankStream(FeatureOptions())
    pieces = [stream.accept(piece) for piece in divided(waveform, cuts)]
    whole = FbankStream(FeatureOptions()).accept(waveform)
    assert whole.shape == (max((total - 400) // 160 + 1, 0), 80)
    assert np.array_equal(np.concatenate(pieces), whole)


def test_fbank_of_silence_is_finite():
    fbank = FbankStream(FeatureOptions()).accept(np.zeros(4_000, np.float32))
    assert np.isfinite(fbank).all()


def test_other_frames_and_filters():
    options = FeatureOptions(n_mels=40, frame_length_ms=32, frame_shift_ms=16, window="povey")
    assert FbankStream(options).accept(noise(16_000)).shape == ((16_000 - 512) // 256 + 1, 40)


def test_stacking_of_the_detector_repeats_both_ends_twice():
    fbank = np.arange(3, dtype=np.float32)[:, None]
    stream = StackStream(5, 1)
    stacked = np.concatenate([stream.accept(fbank), stream.finish()])
    assert stacked.tolist() == [[0, 0, 0, 1, 2], [0, 0, 1, 2, 2], [0, 1, 2, 2, 2]]


def test_stacking_of_the_recognizer_takes_every_sixth_frame():
    fbank = np.arange(13, dtype=np.float32)[:, None]
    stream = StackStream(7, 6)
    stacked = np.concatenate([stream.accept(fbank), stream.finish()])
    assert stacked.tolist() == [
        [0, 0, 0, 0, 1, 2, 3],
        [3, 4, 5, 6, 7, 8, 9],
        [9, 10, 11, 12, 12, 12, 12],
    ]


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 60),
    st.lists(st.integers(0, 60), max_size=8),
    st.integers(1, 9),
    st.integers(1, 12),
)
def test_stacking_of_pieces_is_stacking_of_the_whole(frames, cuts, stack, stride):
    fbank = np.random.default_rng(frames).normal(size=(frames, 3)).astype(np.float32)
    stream = StackStream(stack, stride)
    pieces = [stream.accept(piece) for piece in divided(fbank, cuts)]
    stacked = np.concatenate([*pieces, stream.finish().reshape(-1, 3 * stack)])
    assert stacked.shape == (-(-frames // stride), 3 * stack)
    assert np.array_equal(stacked, funasr_stack(fbank, stack, stride))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 9_000), cuts, st.sampled_from([(1, 1), (5, 1), (7, 6), (2, 3)]))
def test_features_of_pieces_are_features_of_the_whole(total, cuts, stacking):
    options = FeatureOptions(stack=stacking[0], stride=stacking[1])
    dim = 80 * options.stack
    cmvn = Cmvn(np.linspace(-9, -8, dim), np.linspace(0.1, 0.2, dim))
    waveform = noise(total)
    stream = FeatureStream(options, cmvn)
    pieces = [stream.accept(piece) for piece in divided(waveform, cuts)]
    features = np.concatenate([*pieces, stream.finish()])

    fbank = FbankStream(options).accept(waveform)
    stacked = funasr_stack(fbank, options.stack, options.stride)
    expected = ((stacked + cmvn.shift) * cmvn.scale).astype(np.float32)
    assert features.dtype == np.float32
    assert np.array_equal(features, expected)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 9_000), cuts)
def test_levels_belong_to_the_frames_of_the_filter_banks(total, cuts):
    options = FeatureOptions()
    waveform = noise(total)
    stream = LevelStream(options)
    levels = np.concatenate([stream.accept(piece) for piece in divided(waveform, cuts)])
    frames = len(FbankStream(options).accept(waveform))
    energies = [np.sum(np.square(waveform[160 * f :][:400], dtype=float)) for f in range(frames)]
    np.testing.assert_allclose(levels, 10 * np.log10(np.array(energies) + 1e-6), atol=1e-5)


def test_levels_lie_in_their_range():
    options = FeatureOptions()
    lowest, highest = level_range_db(options)
    silence = LevelStream(options).accept(np.zeros(400, np.float32))
    square = LevelStream(options).accept(np.ones(400, np.float32))
    assert (silence.tolist(), square.tolist()) == ([lowest], [highest])
    assert (lowest, round(highest, 2)) == (-60, 26.02)


@pytest.mark.parametrize(
    "options",
    [{"stack": 0}, {"stride": 0}, {"n_mels": 0}, {"frame_length_ms": 9}, {"frame_shift_ms": 0}],
)
def test_impossible_options_are_refused(options):
    with pytest.raises(UsageError):
        FeatureOptions(**options)


def test_normalization_is_read_from_kaldis_text(tmp_path):
    path = tmp_path / "am.mvn"
    path.write_text(MEAN_AND_VARIANCE, encoding="utf-8")
    cmvn = read_cmvn(path)
    assert cmvn.shift.tolist() == [-8.5, -9, 0.1]
    assert cmvn.scale.tolist() == [0.25, 0.5, 2]
    normalized = cmvn.apply(np.array([[10.5, 9, 0.9]], np.float32))
    assert normalized.tolist() == [[0.5, 0, 2]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<AddShift>", "<Shift>"),
        ("<Rescale>", "<Scale>"),
        ("-8.5", "eight"),
        ("-8.5", "nan"),
        ("0.25", ""),
        ("[ 0.25 0.5 2 ]", "[ ]"),
    ],
)
def test_a_damaged_normalization_is_named(tmp_path, old, new):
    path = tmp_path / "am.mvn"
    path.write_text(MEAN_AND_VARIANCE.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelIntegrityError) as caught:
        read_cmvn(path)
    assert caught.value.details["path"] == str(path)


def test_a_missing_normalization_is_named(tmp_path):
    with pytest.raises(ModelFileMissingError, match=r"am\.mvn"):
        read_cmvn(tmp_path / "am.mvn")
    (tmp_path / "am.mvn").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelIntegrityError):
        read_cmvn(tmp_path / "am.mvn")
