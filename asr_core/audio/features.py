"""Acoustic features of a waveform that arrives in pieces: filter banks, stacked and normalized.

Every stream here gives the same values however the waveform is divided, bit for bit. Source of the
conventions: FunASR's front end, ``funasr/frontends/wav_frontend.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from asr_core.errors import ModelFileMissingError, ModelIntegrityError, UsageError
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.session import Float32

_INT16_SCALE = 32_768.0  # the networks are trained on waveforms in the range of 16-bit integers
_LEVEL_FLOOR = 1e-6  # added to a frame's energy: silence is -60 dB


@dataclass(frozen=True, slots=True)
class FeatureOptions:
    """How a waveform becomes features.

    Attributes:
        n_mels: filters of the bank.
        frame_length_ms: what one frame sees.
        frame_shift_ms: from frame to frame.
        window: Kaldi's name of the window function.
        stack: frames that are joined to one feature (``lfr_m``).
        stride: frames from one feature to the next (``lfr_n``).
    """

    n_mels: int = 80
    frame_length_ms: int = 25
    frame_shift_ms: int = 10
    window: str = "hamming"
    stack: int = 1
    stride: int = 1

    def __post_init__(self) -> None:
        if min(self.n_mels, self.frame_shift_ms, self.stack, self.stride) < 1:
            raise UsageError("Numbers of filters and frames must be positive")
        if self.frame_length_ms < self.frame_shift_ms:
            raise UsageError("A frame cannot be shorter than the shift to the next one")

    @property
    def frame_length_samples(self) -> int:
        return self.frame_length_ms * SAMPLE_RATE_HZ // 1000

    @property
    def frame_shift_samples(self) -> int:
        return self.frame_shift_ms * SAMPLE_RATE_HZ // 1000


@dataclass(frozen=True, slots=True, eq=False)
class Cmvn:
    """Normalization of mean and variance: ``(features + shift) * scale``.

    Attributes:
        shift: negated means, float64, shape (dim,).
        scale: reciprocal standard deviations, float64, shape (dim,).
    """

    shift: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]

    def apply(self, features: Float32) -> Float32:
        """Normalized copy, float32, shape (frames, dim); rounded once, at the end."""
        normalized = features + self.shift
        normalized *= self.scale
        return normalized.astype(np.float32)


class FbankStream:
    """Log mel filter banks by kaldi-native-fbank, without dither; frames lie inside the waveform.

    Args:
        options: ``stack`` and ``stride`` are not used.
    """

    def __init__(self, options: FeatureOptions) -> None:
        import kaldi_native_fbank

        kaldi = kaldi_native_fbank.FbankOptions()
        kaldi.frame_opts.samp_freq = SAMPLE_RATE_HZ
        kaldi.frame_opts.dither = 0.0
        kaldi.frame_opts.window_type = options.window
        kaldi.frame_opts.frame_shift_ms = float(options.frame_shift_ms)
        kaldi.frame_opts.frame_length_ms = float(options.frame_length_ms)
        kaldi.frame_opts.snip_edges = True
        kaldi.mel_opts.num_bins = options.n_mels
        kaldi.energy_floor = 0.0
        self._kaldi = kaldi_native_fbank.OnlineFbank(kaldi)
        self._n_mels = options.n_mels
        self._taken = 0

    def accept(self, waveform: Float32) -> Float32:
        """Feed the next piece, float32 mono 16 kHz in [-1, 1], shape (samples,).

        Returns:
            Frames that became complete, float32, shape (frames, n_mels).
        """
        scaled = np.asarray(waveform, np.float32) * np.float32(_INT16_SCALE)
        # The binding reads numbers one by one; a memoryview hands them out faster than an array.
        self._kaldi.accept_waveform(SAMPLE_RATE_HZ, scaled.data)
        ready = self._kaldi.num_frames_ready
        fbank = np.empty((ready - self._taken, self._n_mels), np.float32)
        for row in range(len(fbank)):
            fbank[row] = self._kaldi.get_frame(self._taken + row)
        self._kaldi.pop(len(fbank))
        self._taken = ready
        return fbank


class StackStream:
    """Joins neighbouring frames (low frame rate, LFR): ``stack`` of them, every ``stride`` frames.

    The first frame is repeated ``(stack - 1) // 2`` times on the left, the last one on the right
    as often as the last feature needs it: T frames give ``ceil(T / stride)`` features.
    """

    def __init__(self, stack: int, stride: int) -> None:
        if min(stack, stride) < 1:
            raise UsageError("Numbers of frames must be positive")
        self._stack = stack
        self._stride = stride
        self._rows: Float32 | None = None  # from the first row of the next feature on
        self._skip = 0  # rows still to come that no feature sees
        self._frames = 0
        self._features = 0

    def accept(self, fbank: Float32) -> Float32:
        """Feed the next frames, float32, shape (frames, dim).

        Returns:
            Features that became complete, float32, shape (features, stack * dim).
        """
        if self._rows is None:
            if not len(fbank):
                return np.zeros((0, self._stack * fbank.shape[1]), np.float32)
            self._rows = np.repeat(fbank[:1], (self._stack - 1) // 2, axis=0)
        self._frames += len(fbank)
        rows = np.concatenate([self._rows, fbank[self._skip :]])
        self._skip = max(self._skip - len(fbank), 0)
        return self._join(rows, max((len(rows) - self._stack) // self._stride + 1, 0))

    def finish(self) -> Float32:
        """End of the recording: the remaining features; (0, 0) if there was no frame at all."""
        if self._rows is None:
            return np.zeros((0, 0), np.float32)
        count = -(-self._frames // self._stride) - self._features
        missing = max((count - 1) * self._stride + self._stack - len(self._rows), 0)
        last = self._rows[-1:] if count else self._rows[:0]
        return self._join(np.concatenate([self._rows, np.repeat(last, missing, axis=0)]), count)

    def _join(self, rows: Float32, count: int) -> Float32:
        dim = rows.shape[1]
        used = count * self._stride
        self._features += count
        self._skip += max(used - len(rows), 0)
        self._rows = rows[used:].copy()
        if not count:
            return np.zeros((0, self._stack * dim), np.float32)
        # Rows that follow each other in memory are one feature: no value is copied.
        flat = np.ascontiguousarray(rows).reshape(-1)
        windows = np.lib.stride_tricks.sliding_window_view(flat, self._stack * dim)
        joined: Float32 = windows[:: self._stride * dim][:count]
        return joined


class FeatureStream:
    """Filter banks, stacked and normalized, of one recording.

    Args:
        options: frames and stacking.
        cmvn: over ``stack * n_mels`` values.
    """

    def __init__(self, options: FeatureOptions, cmvn: Cmvn) -> None:
        self._fbank = FbankStream(options)
        self._stack = StackStream(options.stack, options.stride)
        self._cmvn = cmvn
        self._dim = options.stack * options.n_mels

    def accept(self, waveform: Float32) -> Float32:
        """Feed the next piece, float32 mono 16 kHz in [-1, 1], shape (samples,).

        Returns:
            Features that became complete, float32, shape (features, stack * n_mels).
        """
        return self._cmvn.apply(self._stack.accept(self._fbank.accept(waveform)))

    def finish(self) -> Float32:
        """End of the recording: the remaining features, shape as in :meth:`accept`."""
        return self._cmvn.apply(self._stack.finish().reshape(-1, self._dim))


class LevelStream:
    """Loudness of the same frames that :class:`FbankStream` sees."""

    def __init__(self, options: FeatureOptions) -> None:
        self._length = options.frame_length_samples
        self._shift = options.frame_shift_samples
        self._rest: Float32 = np.zeros(0, np.float32)

    def accept(self, waveform: Float32) -> npt.NDArray[np.float64]:
        """Feed the next piece, float32 mono 16 kHz in [-1, 1], shape (samples,).

        Returns:
            Energy of the frames that became complete in dB, float64, shape (frames,); one sample
            at full scale is 0 dB, silence -60 dB.
        """
        samples = np.concatenate([self._rest, waveform])
        frames = max((len(samples) - self._length) // self._shift + 1, 0)
        self._rest = samples[frames * self._shift :].copy()
        if not frames:
            return np.zeros(0, np.float64)
        windows = np.lib.stride_tricks.sliding_window_view(np.square(samples), self._length)
        energy = windows[:: self._shift][:frames].sum(axis=1, dtype=np.float64)
        levels: npt.NDArray[np.float64] = 10 * np.log10(energy + _LEVEL_FLOOR)
        return levels


def level_range_db(options: FeatureOptions) -> tuple[float, float]:
    """Lowest and highest level that a frame of a waveform in [-1, 1] can have."""
    energies = np.array([0.0, options.frame_length_samples]) + _LEVEL_FLOOR
    lowest, highest = (10 * np.log10(energies)).tolist()
    return lowest, highest


def read_cmvn(path: Path) -> Cmvn:
    """Read the normalization that FunASR keeps beside a model, in Kaldi's text form of a network.

    Args:
        path: ``am.mvn``.

    Raises:
        ModelFileMissingError: there is no such file.
        ModelIntegrityError: the file has another content.
    """
    name = path.parent.name
    try:
        text = path.read_text(encoding="utf-8")
        shift, scale = _vector(text, "AddShift"), _vector(text, "Rescale")
    except FileNotFoundError as exc:
        raise ModelFileMissingError(
            f"{path.name} is missing in {path.parent}", name=name, path=str(path), reason="folder"
        ) from exc
    except ValueError as exc:
        raise ModelIntegrityError(
            f"{path} is no normalization file: {exc}", name=name, path=str(path), reason="folder"
        ) from exc
    if len(shift) != len(scale):
        raise ModelIntegrityError(
            f"{path} shifts {len(shift)} values and scales {len(scale)}",
            name=name,
            path=str(path),
            reason="folder",
        )
    return Cmvn(shift, scale)


def _vector(text: str, component: str) -> npt.NDArray[np.float64]:
    """The bracketed numbers of a component."""
    found = re.search(rf"<{component}>[^\[]*\[([^\]]*)\]", text)
    if found is None:
        raise ValueError(f"<{component}> has no vector")
    vector = np.array([float(number) for number in found[1].split()], np.float64)
    if not len(vector) or not np.isfinite(vector).all():
        raise ValueError(f"<{component}> has no finite vector")
    return vector
