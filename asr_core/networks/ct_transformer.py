"""CT-Transformer: which mark stands behind each word of a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindspore import Tensor, nn

from asr_core.models.checkpoint import NameTable
from asr_core.networks.config import EncoderShape, read_encoder
from asr_core.networks.layers import Dense, Table
from asr_core.networks.paraformer import part_sources
from asr_core.networks.sanm import SanmEncoder
from asr_core.runtime.funasr import ConfigError, Section, read_config, unusable


@dataclass(frozen=True, slots=True)
class CtTransformerShape:
    """Sizes of the network.

    Attributes:
        vocabulary: number of words.
        classes: number of marks; none is one of them.
        encoder: what reads the words.
    """

    vocabulary: int
    classes: int
    encoder: EncoderShape


def read_ct_transformer_shape(path: Path, vocabulary: int) -> CtTransformerShape:
    """Read the sizes of a CT-Transformer.

    Args:
        path: ``config.yaml``.
        vocabulary: number of words, which that file does not say.

    Raises:
        ModelFileMissingError: there is no such file.
        ModelIntegrityError: it is no configuration of a CT-Transformer, or of one that is not
            supported.
    """
    name = path.parent.name
    content = read_config(path, name)
    try:
        return _shape(content, vocabulary)
    except ConfigError as exc:
        raise unusable(path, name, f"describes no CT-Transformer that can be used: {exc}") from exc


def _shape(content: Any, vocabulary: int) -> CtTransformerShape:
    if not isinstance(content, Mapping) or content.get("model") != "CTTransformer":
        raise ConfigError("its model is not CTTransformer")
    model = Section(content, "model_conf")
    marks = (content.get("model_conf") or {}).get("punc_list")
    if not isinstance(marks, list) or not marks:
        raise ConfigError("model_conf.punc_list is no list of marks")
    width = Section(content, "encoder_conf").count("input_size", 256)
    encoder = read_encoder(content, width)
    if model.count("embed_unit", 128) != width:
        raise ConfigError("model_conf.embed_unit is not the input of the encoder")
    if model.count("att_unit", 256) != encoder.width:
        raise ConfigError("model_conf.att_unit is not the width of the encoder")
    return CtTransformerShape(vocabulary, len(marks), encoder)


class CtTransformerNetwork(nn.Cell):  # type: ignore[misc]
    """Scores of the mark behind each word.

    Inputs:
        - **words** (Tensor) - int32 (batch, 1, words), numbers of words; any behind a text.
        - **positions** (Tensor) - float32 (1, 1, words, inputs), of
          :func:`asr_core.networks.sanm.position_encoding`.
        - **mask** (Tensor) - float32 (batch, 1, words, 1), 1 for the words of a text and 0 behind
          them. Each text has a word.

    Outputs:
        float32 (batch, 1, words, classes): unnormalized log-probabilities; behind a text they mean
        nothing.

    Args:
        shape: sizes.
    """

    def __init__(self, shape: CtTransformerShape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = Table(shape.vocabulary, shape.encoder.inputs)
        self.encoder = SanmEncoder(shape.encoder)
        self.decoder = Dense(shape.encoder.width, shape.classes)
        self.set_train(False)

    def construct(self, words: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        encoded, _ = self.encoder(self.embed(words), positions, mask)
        return self.decoder(encoded)

    def name_table(self) -> NameTable:
        """How FunASR's checkpoint fills this network."""
        return NameTable(part_sources(self, {}))
