"""Paraformer: an encoder, weights that place tokens, and a decoder that reads all tokens at once.

Its parts are graphs of their own. Between encoder and decoder stand the sums over weights, which
give the decoder one embedding for each token.
"""

from __future__ import annotations

from mindspore import Tensor, nn, ops

from asr_core.models.checkpoint import NameTable, Source
from asr_core.networks.cif import AlphaHead, TimestampHead
from asr_core.networks.config import DecoderShape, ParaformerConfig
from asr_core.networks.layers import (
    Dense,
    Heads,
    LayerNorm,
    Memory,
    Spread,
    attention_bias,
    layouts_of,
)
from asr_core.networks.sanm import SanmEncoder

_TRAINING_ONLY = ("decoder.embed.0.weight",)
"""Embeddings of tokens; without hotwords only training reads them."""

_LSTM_KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class ParaformerNetworks(nn.Cell):  # type: ignore[misc]
    """All graphs of a Paraformer; a graph is called by itself.

    Attributes:
        encode: :class:`EncoderGraph`.
        decode: :class:`DecoderGraph`.
        times: :class:`asr_core.networks.cif.TimestampHead`; None where the model has none.

    Args:
        config: of the model.
    """

    def __init__(self, config: ParaformerConfig) -> None:
        super().__init__()
        self.encode = EncoderGraph(config)
        self.decode = DecoderGraph(config.decoder, config.vocabulary)
        self.times = TimestampHead(config.predictor) if config.predictor.upsampling else None
        self.set_train(False)

    def name_table(self) -> NameTable:
        """How FunASR's checkpoint fills these networks."""
        sources = part_sources(self, {"encode.": "", "decode.": "", "times.": "predictor."})
        if self.times is not None:
            for parameter, ending in (("forwards", ""), ("backwards", "_reverse")):
                sources |= {
                    f"times.{parameter}.{kind}_l0": Source(f"predictor.blstm.{kind}_l0{ending}")
                    for kind in _LSTM_KINDS
                }
        return NameTable(sources, _TRAINING_ONLY)


class EncoderGraph(nn.Cell):  # type: ignore[misc]
    """Encoder and weights of frames.

    Inputs:
        as :class:`asr_core.networks.sanm.SanmEncoder`.

    Outputs:
        - float32 (batch, 1, frames, width): encoded frames.
        - float32 (batch, 1, frames, 1): the weight of each, 0 behind a recording.

    Args:
        config: of the model.
    """

    def __init__(self, config: ParaformerConfig) -> None:
        super().__init__()
        self.encoder = SanmEncoder(config.encoder)
        self.predictor = AlphaHead(config.predictor)

    def construct(self, features: Tensor, positions: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        encoded, _ = self.encoder(features, positions, mask)
        return encoded, self.predictor(encoded, mask)


class DecoderGraph(nn.Cell):  # type: ignore[misc]
    """What each token is.

    Inputs:
        as :class:`SanmDecoder`.

    Outputs:
        - float32 (batch, 1, tokens, vocabulary): log-probabilities.
        - float32 (batch, 1, tokens, width): what the hotword part looks at.

    Args:
        shape: sizes.
        vocabulary: number of tokens.
    """

    def __init__(self, shape: DecoderShape, vocabulary: int) -> None:
        super().__init__()
        self.decoder = SanmDecoder(shape)
        self.output_layer = Dense(shape.width, vocabulary)
        self.log_softmax = ops.LogSoftmax(-1)

    def construct(
        self, embeds: Tensor, token_mask: Tensor, memory: Tensor, memory_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        hidden = self.decoder(embeds, token_mask, memory, memory_mask)
        return self.log_softmax(self.output_layer(hidden)), hidden


class SanmDecoder(nn.Cell):  # type: ignore[misc]
    """Blocks of memory over tokens and attention to a memory.

    Inputs:
        - **embeds** (Tensor) - float32 (batch, 1, tokens, width).
        - **token_mask** (Tensor) - float32 (batch, 1, tokens, 1), 1 for the tokens of a recording.
        - **memory** (Tensor) - float32 (batch, 1, places, width): frames, or hotwords.
        - **memory_mask** (Tensor) - float32 (batch, 1, places, 1), 1 where a place counts; at least
          one does.

    Outputs:
        float32 (batch, 1, tokens, width).

    Args:
        shape: sizes.
    """

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.decoders = nn.CellList([AttendingBlock(shape) for _ in range(shape.attending)])
        self.decoders2 = nn.CellList([_MemoryBlock(shape) for _ in range(shape.remembering)])
        self.decoders3 = nn.CellList([_LastBlock(shape)])
        self.after_norm = LayerNorm(shape.width)
        self.spread = Spread(shape.width)

    def construct(
        self, embeds: Tensor, token_mask: Tensor, memory: Tensor, memory_mask: Tensor
    ) -> Tensor:
        bias = attention_bias(memory_mask)
        places = self.spread(token_mask)
        hidden = embeds
        for block in self.decoders:
            hidden = block(hidden, places, memory, bias)
        for block in self.decoders2:
            hidden = block(hidden, places)
        for block in self.decoders3:
            hidden = block(hidden)
        return self.after_norm(hidden)


class AttendingBlock(nn.Cell):  # type: ignore[misc]
    """A feed-forward part, a memory over tokens and attention."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.norm1 = LayerNorm(shape.width)
        self.feed_forward = _NormedFeedForward(shape.width, shape.inner)
        self.norm2 = LayerNorm(shape.width)
        self.self_attn = Memory(shape.width, shape.taps, shape.shift)
        self.norm3 = LayerNorm(shape.width)
        self.src_attn = _CrossAttention(shape)

    def construct(self, x: Tensor, mask: Tensor, memory: Tensor, bias: Tensor) -> Tensor:
        remembered = self.remembered(x, mask)
        return remembered + self.src_attn(self.norm3(remembered), memory, bias)

    def weights(self, x: Tensor, mask: Tensor, memory: Tensor, bias: Tensor) -> Tensor:
        """How much each token looks at each place: (batch, heads, tokens, places)."""
        return self.src_attn.weights(self.norm3(self.remembered(x, mask)), memory, bias)

    def remembered(self, x: Tensor, mask: Tensor) -> Tensor:
        return x + self.self_attn(self.norm2(self.feed_forward(self.norm1(x))), mask)


class _MemoryBlock(nn.Cell):  # type: ignore[misc]
    """A feed-forward part and a memory over tokens."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.norm1 = LayerNorm(shape.width)
        self.feed_forward = _NormedFeedForward(shape.width, shape.inner)
        self.norm2 = LayerNorm(shape.width)
        # Its window lies in the middle, whatever that of the other blocks does.
        self.self_attn = Memory(shape.width, shape.taps, shift=0)

    def construct(self, x: Tensor, mask: Tensor) -> Tensor:
        return x + self.self_attn(self.norm2(self.feed_forward(self.norm1(x))), mask)


class _LastBlock(nn.Cell):  # type: ignore[misc]
    """A feed-forward part that replaces what it is given."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.norm1 = LayerNorm(shape.width)
        self.feed_forward = _NormedFeedForward(shape.width, shape.inner)

    def construct(self, x: Tensor) -> Tensor:
        return self.feed_forward(self.norm1(x))


class _NormedFeedForward(nn.Cell):  # type: ignore[misc]
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.w_1 = Dense(width, inner)
        self.norm = LayerNorm(inner)
        self.w_2 = Dense(inner, width, biased=False)
        self.relu = ops.ReLU()

    def construct(self, x: Tensor) -> Tensor:
        return self.w_2(self.norm(self.relu(self.w_1(x))))


class _CrossAttention(nn.Cell):  # type: ignore[misc]
    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.scale = (shape.width // shape.heads) ** -0.5
        self.linear_q = Dense(shape.width, shape.width)
        self.linear_k_v = Dense(shape.width, 2 * shape.width)
        self.linear_out = Dense(shape.width, shape.width)
        self.heads = Heads(shape.heads)
        self.halves = ops.Split(3, 2)
        self.compare = ops.BatchMatMul(transpose_b=True)
        self.softmax = ops.Softmax(-1)
        self.collect = ops.BatchMatMul()

    def construct(self, x: Tensor, memory: Tensor, bias: Tensor) -> Tensor:
        key, value = self.halves(self.linear_k_v(memory))
        attended = self.collect(self.compared(x, key, bias), self.heads(value))
        return self.linear_out(self.heads.joined(attended))

    def weights(self, x: Tensor, memory: Tensor, bias: Tensor) -> Tensor:
        key, _ = self.halves(self.linear_k_v(memory))
        return self.compared(x, key, bias)

    def compared(self, x: Tensor, key: Tensor, bias: Tensor) -> Tensor:
        queries = self.heads(self.linear_q(x) * self.scale)
        return self.softmax(self.compare(queries, self.heads(key)) + bias)


def part_sources(cell: nn.Cell, prefixes: dict[str, str]) -> dict[str, Source]:
    """Sources of all parameters inside parts: cells bear the names that FunASR's modules have.

    Args:
        cell: holds the parts.
        prefixes: what the beginning of a parameter's name is in the checkpoint.
    """
    sources = {}
    for name, layout in layouts_of(cell):
        tensor = name.replace(".memory.fsmn_block.", ".fsmn_block.")
        for prefix, replacement in prefixes.items():
            if tensor.startswith(prefix):
                tensor = replacement + tensor.removeprefix(prefix)
                break
        sources[name] = Source(_decoder_output(tensor), layout)
    return sources


def _decoder_output(tensor: str) -> str:
    return f"decoder.{tensor}" if tensor.startswith("output_layer.") else tensor
