"""The SAN-M encoder: attention over all frames, with a memory of the frames around each one."""

from __future__ import annotations

from mindspore import Tensor, nn, ops

from asr_core.networks.config import EncoderShape
from asr_core.networks.layers import Dense, Heads, LayerNorm, Memory, Spread, attention_bias


class SanmEncoder(nn.Cell):  # type: ignore[misc]
    """Blocks of attention and memory.

    Inputs:
        - **features** (Tensor) - float32 (batch, 1, frames, inputs).
        - **positions** (Tensor) - float32 (1, 1, frames, inputs), of
          :func:`asr_core.networks.graphs.position_encoding`.
        - **mask** (Tensor) - float32 (batch, 1, frames, 1), 1 for the frames of a recording and 0
          behind them. Each recording has a frame.

    Outputs:
        - float32 (batch, 1, frames, width); behind a recording it means nothing.
        - the output of each block, a tuple of the same shapes.

    Args:
        shape: sizes.
    """

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        self.scale = shape.width**0.5
        self.encoders0 = nn.CellList([_EncoderBlock(shape, shape.inputs)])
        self.encoders = nn.CellList(
            [_EncoderBlock(shape, shape.width) for _ in range(shape.layers - 1)]
        )
        self.after_norm = LayerNorm(shape.width)
        self.spread = Spread(shape.width)

    def construct(
        self, features: Tensor, positions: Tensor, mask: Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        hidden = features * self.scale + positions
        bias = attention_bias(mask)
        places = self.spread(mask)
        blocks: tuple[Tensor, ...] = ()
        for block in self.encoders0:
            hidden = block(hidden, places, bias)
            blocks = (*blocks, hidden)
        for block in self.encoders:
            hidden = block(hidden, places, bias)
            blocks = (*blocks, hidden)
        return self.after_norm(hidden), blocks


class _EncoderBlock(nn.Cell):  # type: ignore[misc]
    """Attention and memory, then a feed-forward part; each added to what it was given.

    The first addition is left out where the block changes the width.
    """

    def __init__(self, shape: EncoderShape, inputs: int) -> None:
        super().__init__()
        self.keeps_width = inputs == shape.width
        self.norm1 = LayerNorm(inputs)
        self.self_attn = _SanmAttention(shape, inputs)
        self.norm2 = LayerNorm(shape.width)
        self.feed_forward = _FeedForward(shape.width, shape.inner)

    def construct(self, x: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        attended = self.self_attn(self.norm1(x), mask, bias)
        if self.keeps_width:
            attended = attended + x
        return attended + self.feed_forward(self.norm2(attended))


class _SanmAttention(nn.Cell):  # type: ignore[misc]
    def __init__(self, shape: EncoderShape, inputs: int) -> None:
        super().__init__()
        self.scale = (shape.width // shape.heads) ** -0.5
        self.linear_q_k_v = Dense(inputs, 3 * shape.width)
        self.linear_out = Dense(shape.width, shape.width)
        self.memory = Memory(shape.width, shape.taps, shape.shift)
        self.heads = Heads(shape.heads)
        self.thirds = ops.Split(3, 3)
        self.compare = ops.BatchMatMul(transpose_b=True)
        self.softmax = ops.Softmax(-1)
        self.collect = ops.BatchMatMul()

    def construct(self, x: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        query, key, value = self.thirds(self.linear_q_k_v(x))
        remembered = self.memory(value, mask)
        queries = self.heads(query * self.scale)
        weights = self.softmax(self.compare(queries, self.heads(key)) + bias)
        attended = self.heads.joined(self.collect(weights, self.heads(value)))
        return self.linear_out(attended) + remembered


class _FeedForward(nn.Cell):  # type: ignore[misc]
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.w_1 = Dense(width, inner)
        self.w_2 = Dense(inner, width)
        self.relu = ops.ReLU()

    def construct(self, x: Tensor) -> Tensor:
        return self.w_2(self.relu(self.w_1(x)))
