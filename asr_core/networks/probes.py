"""The graphs of a Paraformer with the output of each block beside their own outputs.

A probe shares the parameters of the graph that it shows. It returns the graph's outputs, then
those of the blocks in the order of ``layer_names``, which names them as the checkpoint does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mindspore import Tensor, nn

from asr_core.networks.graphs import BIAS, DECODE, ENCODE, FILTER
from asr_core.networks.layers import attention_bias
from asr_core.networks.paraformer import DecoderGraph, EncoderGraph, SanmDecoder
from asr_core.networks.seaco import BiasGraph, HotwordFilter


class EncoderProbe(nn.Cell):  # type: ignore[misc]
    """:class:`EncoderGraph` with its blocks.

    Args:
        graph: with its weights.
    """

    def __init__(self, graph: EncoderGraph) -> None:
        # The graph's parameters keep the names that they have.
        super().__init__(auto_prefix=False)
        self.graph = graph
        self.layer_names = _names(graph.encoder, ("encoders0", "encoders"))

    def construct(self, features: Tensor, positions: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        encoded, blocks = self.graph.encoder(features, positions, mask)
        return (encoded, self.graph.predictor(encoded, mask), *blocks)


class DecoderProbe(nn.Cell):  # type: ignore[misc]
    """:class:`DecoderGraph` with its blocks.

    Args:
        graph: with its weights.
    """

    def __init__(self, graph: DecoderGraph) -> None:
        super().__init__(auto_prefix=False)
        self.graph = graph
        self.blocks = _DecoderBlocks(graph.decoder)
        self.layer_names = self.blocks.layer_names

    def construct(
        self, embeds: Tensor, token_mask: Tensor, memory: Tensor, memory_mask: Tensor
    ) -> tuple[Tensor, ...]:
        hidden, blocks = self.blocks(embeds, token_mask, memory, memory_mask)
        scores = self.graph.log_softmax(self.graph.output_layer(hidden))
        return (scores, hidden, *blocks)


class BiasProbe(nn.Cell):  # type: ignore[misc]
    """:class:`BiasGraph` with the blocks of its decoder, which runs twice.

    Args:
        graph: with its weights.
    """

    def __init__(self, graph: BiasGraph) -> None:
        super().__init__(auto_prefix=False)
        self.graph = graph
        self.blocks = _DecoderBlocks(graph.seaco_decoder)
        self.layer_names = tuple(
            f"{run}.{name}" for run in ("embeds", "hidden") for name in self.blocks.layer_names
        )

    def construct(
        self, embeds: Tensor, hidden: Tensor, token_mask: Tensor, words: Tensor, word_mask: Tensor
    ) -> tuple[Tensor, ...]:
        heard, first = self.blocks(embeds, token_mask, words, word_mask)
        read, second = self.blocks(hidden, token_mask, words, word_mask)
        scores = self.graph.log_softmax(self.graph.hotword_output_layer(heard + read))
        return (scores, *first, *second)


class FilterProbe(nn.Cell):  # type: ignore[misc]
    """:class:`HotwordFilter` with the blocks before the one whose attention it gives.

    Args:
        graph: with its weights.
    """

    def __init__(self, graph: HotwordFilter) -> None:
        super().__init__(auto_prefix=False)
        self.graph = graph
        self.layer_names = tuple(f"decoders.{index}" for index in range(graph.index))

    def construct(
        self, hidden: Tensor, token_mask: Tensor, words: Tensor, word_mask: Tensor
    ) -> tuple[Tensor, ...]:
        attention = self.graph(hidden, token_mask, words, word_mask)
        bias = attention_bias(word_mask)
        blocks: tuple[Tensor, ...] = ()
        for index in range(self.graph.index):
            hidden = self.graph.decoder.decoders[index](hidden, token_mask, words, bias)
            blocks = (*blocks, hidden)
        return (attention, *blocks)


class _DecoderBlocks(nn.Cell):  # type: ignore[misc]
    """:class:`SanmDecoder` with its blocks: its output and a tuple of theirs."""

    def __init__(self, decoder: SanmDecoder) -> None:
        super().__init__(auto_prefix=False)
        self.decoder = decoder
        self.layer_names = _names(decoder, ("decoders", "decoders2", "decoders3"))

    def construct(
        self, embeds: Tensor, token_mask: Tensor, memory: Tensor, memory_mask: Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        bias = attention_bias(memory_mask)
        hidden = embeds
        blocks: tuple[Tensor, ...] = ()
        for block in self.decoder.decoders:
            hidden = block(hidden, token_mask, memory, bias)
            blocks = (*blocks, hidden)
        for block in self.decoder.decoders2:
            hidden = block(hidden, token_mask)
            blocks = (*blocks, hidden)
        for block in self.decoder.decoders3:
            hidden = block(hidden)
            blocks = (*blocks, hidden)
        return self.decoder.after_norm(hidden), blocks


def _names(cell: nn.Cell, lists: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the blocks in lists of a cell."""
    found: list[tuple[str, Any]] = [(name, getattr(cell, name)) for name in lists]
    return tuple(f"{name}.{index}" for name, blocks in found for index in range(len(blocks)))


PROBES: Mapping[str, Callable[[Any], nn.Cell]] = {
    ENCODE: EncoderProbe,
    DECODE: DecoderProbe,
    BIAS: BiasProbe,
    FILTER: FilterProbe,
}
"""The probe of each graph that has blocks."""
