"""Where tokens are: weights of frames, and of parts of frames for exact times.

Sums of weights, token counts and peaks are computed outside the networks.
"""

from __future__ import annotations

from typing import ClassVar

from mindspore import Tensor, nn, ops

from asr_core.models.checkpoint import Layout
from asr_core.networks.config import PredictorShape
from asr_core.networks.layers import Dense, Part, TimeConvolution, zeros


class AlphaHead(nn.Cell):  # type: ignore[misc]
    """The weight of each frame.

    Inputs:
        - **encoded** (Tensor) - float32 (batch, 1, frames, width).
        - **mask** (Tensor) - float32 (batch, 1, frames, 1), 1 for the frames of a recording.

    Outputs:
        float32 (batch, 1, frames, 1), 0 behind a recording.

    Args:
        shape: sizes.
    """

    def __init__(self, shape: PredictorShape) -> None:
        super().__init__()
        self.cif_conv1d = TimeConvolution(shape.width, shape.before, shape.after, separate=False)
        self.cif_output = Dense(shape.width, 1)
        self.factor = shape.factor
        self.noise = shape.noise
        self.relu = ops.ReLU()
        self.sigmoid = ops.Sigmoid()

    def construct(self, encoded: Tensor, mask: Tensor) -> Tensor:
        # What lies behind a recording must not reach its last frame.
        seen = self.relu(self.cif_conv1d(encoded * mask))
        raw = self.sigmoid(self.cif_output(seen))
        return self.relu(raw * self.factor - self.noise) * mask


class TimestampHead(nn.Cell):  # type: ignore[misc]
    """The weight of each part of a frame, from all parts before and after it.

    Inputs:
        - **encoded** (Tensor) - float32 (batch, 1, frames, width).
        - **mask** (Tensor) - float32 (batch, 1, frames, 1), 1 for the frames of a recording.
        - **part_counts** (Tensor) - int64 (batch,), parts of each recording: frames * upsampling.

    Outputs:
        float32 (batch, frames * upsampling), 0 behind a recording. They are not yet scaled to the
        number of tokens.

    Args:
        shape: sizes; ``upsampling`` is not 0.
    """

    def __init__(self, shape: PredictorShape) -> None:
        super().__init__()
        self.width = shape.width
        self.upsample_cnn = _Upsampling(shape.width, shape.upsampling)
        self.forwards = nn.LSTM(shape.width, shape.width, batch_first=True)
        self.backwards = nn.LSTM(shape.width, shape.width, batch_first=True)
        self.cif_output2 = Dense(2 * shape.width, 1)
        self.factor = shape.upsampled_factor
        self.noise = shape.upsampled_noise
        # Each recording is reversed by itself, so that nothing behind it counts.
        self.reverse = ops.ReverseSequence(1, 0)
        self.join = ops.Concat(-1)
        self.relu = ops.ReLU()
        self.sigmoid = ops.Sigmoid()
        self.repeat = ops.Concat(-1)
        self.copies = shape.upsampling

    def construct(self, encoded: Tensor, mask: Tensor, part_counts: Tensor) -> Tensor:
        parts = self.upsample_cnn(encoded)
        onward, _ = self.forwards(parts)
        back, _ = self.backwards(self.reverse(parts, part_counts))
        both = self.join((onward, self.reverse(back, part_counts)))
        planes = both.reshape((both.shape[0], 1, -1, 2 * self.width))
        raw = self.sigmoid(self.cif_output2(planes))
        weights = self.relu(raw * self.factor - self.noise)
        counts = self.repeat((mask,) * self.copies)
        return weights.reshape((both.shape[0], -1)) * counts.reshape((both.shape[0], -1))


class _Upsampling(Part):
    """Cuts each frame into parts: (batch, 1, frames, width) to (batch, frames * times, width)."""

    layouts: ClassVar[dict[str, Layout]] = {"weight": Layout.UPSAMPLING, "bias": Layout.SAME}

    def __init__(self, width: int, times: int) -> None:
        super().__init__()
        self.weight = zeros("weight", width, times * width)
        self.bias = zeros("bias", width)
        self.width = width
        self.multiply = ops.MatMul()
        self.add_bias = ops.BiasAdd()

    def construct(self, x: Tensor) -> Tensor:
        rows = self.multiply(x.reshape((-1, self.width)), self.weight)
        if self.exported:
            return rows.reshape((x.shape[0], -1, self.width)) + self.bias
        parts = self.add_bias(rows.reshape((-1, self.width)), self.bias)
        return parts.reshape((x.shape[0], -1, self.width))
