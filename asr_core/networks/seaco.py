"""SeACo-Paraformer: a Paraformer that also looks at a list of hotwords."""

from __future__ import annotations

from mindspore import Tensor, nn, ops

from asr_core.models.checkpoint import NameTable, Source
from asr_core.networks.config import DecoderShape, ParaformerConfig
from asr_core.networks.layers import Dense, Table, attention_bias
from asr_core.networks.paraformer import ParaformerNetworks, SanmDecoder, part_sources

_LSTM_LAYERS = 2
_FILTERING_BLOCK = 5
"""Index of the block whose attention says which hotwords of a long list matter."""


class SeacoNetworks(ParaformerNetworks):
    """All graphs of a SeACo-Paraformer; a graph is called by itself.

    Attributes:
        embed: :class:`HotwordEmbedder`.
        bias: :class:`BiasGraph`.

    Args:
        config: of the model.
        shape: its ``bias``.
    """

    def __init__(self, config: ParaformerConfig, shape: DecoderShape) -> None:
        super().__init__(config)
        self.embed = HotwordEmbedder(config.vocabulary, shape.width)
        self.bias = BiasGraph(shape, config.vocabulary)
        self.set_train(False)

    def hotword_filter(self) -> HotwordFilter:
        """A graph that says which hotwords of a long list matter, with the weights of ``bias``."""
        return HotwordFilter(self.bias.seaco_decoder)

    def name_table(self) -> NameTable:
        plain = super().name_table()
        sources = {
            name: source
            for name, source in plain.sources.items()
            if not name.startswith(("embed.", "bias."))
        }
        sources |= part_sources(self.bias, {"bias.": ""})
        sources["embed.words.weight"] = Source("decoder.embed.0.weight")
        for layer in range(_LSTM_LAYERS):
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                name = f"bias_encoder.{kind}_l{layer}"
                sources[f"embed.{name}"] = Source(name)
        return NameTable(sources)


class HotwordEmbedder(nn.Cell):  # type: ignore[misc]
    """What each hotword is like, from its tokens.

    Inputs:
        - **tokens** (Tensor) - int32 (words, tokens), any numbers behind a word.

    Outputs:
        float32 (words, tokens, width); that of a word stands at its last token.

    Args:
        vocabulary: number of tokens.
        width: features of a word.
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.layers = _LSTM_LAYERS
        self.words = Table(vocabulary, width)
        self.bias_encoder = nn.LSTM(width, width, _LSTM_LAYERS, batch_first=True)

    def construct(self, tokens: Tensor) -> Tensor:
        embedded, _ = self.bias_encoder(self.words(tokens))
        return embedded


class BiasGraph(nn.Cell):  # type: ignore[misc]
    """What each token is if it belongs to a hotword.

    Inputs:
        - **embeds** (Tensor) - float32 (batch, 1, tokens, width), what the decoder was given.
        - **hidden** (Tensor) - float32 (batch, 1, tokens, width), what it gave.
        - **token_mask** (Tensor) - float32 (batch, 1, tokens, 1), 1 for the tokens of a recording.
        - **words** (Tensor) - float32 (batch, 1, words, width): hotwords.
        - **word_mask** (Tensor) - float32 (batch, 1, words, 1), 1 where a word counts; at least one
          does.

    Outputs:
        float32 (batch, 1, tokens, vocabulary): log-probabilities.

    Args:
        shape: sizes.
        vocabulary: number of tokens.
    """

    def __init__(self, shape: DecoderShape, vocabulary: int) -> None:
        super().__init__()
        self.seaco_decoder = SanmDecoder(shape)
        self.hotword_output_layer = Dense(shape.width, vocabulary)
        self.log_softmax = ops.LogSoftmax(-1)

    def construct(
        self, embeds: Tensor, hidden: Tensor, token_mask: Tensor, words: Tensor, word_mask: Tensor
    ) -> Tensor:
        heard = self.seaco_decoder(embeds, token_mask, words, word_mask)
        read = self.seaco_decoder(hidden, token_mask, words, word_mask)
        return self.log_softmax(self.hotword_output_layer(heard + read))


class HotwordFilter(nn.Cell):  # type: ignore[misc]
    """How much a recording looks at each hotword.

    Inputs:
        - **hidden** (Tensor) - float32 (batch, 1, tokens, width), what the decoder gave.
        - **token_mask** (Tensor) - float32 (batch, 1, tokens, 1), 1 for the tokens of a recording.
        - **words** (Tensor) - float32 (batch, 1, words, width): hotwords.
        - **word_mask** (Tensor) - float32 (batch, 1, words, 1), 1 where a word counts.

    Outputs:
        float32 (batch, 1, 1, words): attention, summed over heads and the recording's tokens.

    Args:
        decoder: of the hotword part; without a sixth block its last one decides.
    """

    def __init__(self, decoder: SanmDecoder) -> None:
        # The decoder's parameters keep the names that they have.
        super().__init__(auto_prefix=False)
        self.decoder = decoder
        self.index = min(_FILTERING_BLOCK, len(decoder.decoders) - 1)
        self.sum = ops.ReduceSum(True)
        self.set_train(False)

    def construct(
        self, hidden: Tensor, token_mask: Tensor, words: Tensor, word_mask: Tensor
    ) -> Tensor:
        bias = attention_bias(word_mask)
        places = self.decoder.spread(token_mask)
        for index in range(self.index):
            hidden = self.decoder.decoders[index](hidden, places, words, bias)
        weights = self.decoder.decoders[self.index].weights(hidden, places, words, bias)
        return self.sum(weights * token_mask, (1, 2))
