"""What ``config.yaml`` of FunASR says about a Paraformer: sizes of its networks.

Values that it leaves out have FunASR's own defaults. What the networks do not support is an error
that names the value; what only training uses is not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr_core.runtime.funasr import ConfigError, Section, read_config, unusable


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """The SAN-M encoder.

    Attributes:
        inputs: features of a frame.
        width: features of its output.
        heads: of attention.
        inner: width inside the feed-forward parts.
        layers: number of blocks.
        taps: places that the memory of a block sees.
        shift: by how many places that window lies earlier than in the middle.
    """

    inputs: int
    width: int
    heads: int
    inner: int
    layers: int
    taps: int
    shift: int


@dataclass(frozen=True, slots=True)
class DecoderShape:
    """A SAN-M decoder.

    Attributes:
        width: features of its inputs and outputs.
        heads: of attention.
        inner: width inside the feed-forward parts.
        attending: blocks with a memory and attention.
        remembering: blocks with a memory only, after those.
        taps: places that the memory of a block sees.
        shift: by how many places the window of an attending block lies earlier than in the middle.
    """

    width: int
    heads: int
    inner: int
    attending: int
    remembering: int
    taps: int
    shift: int


@dataclass(frozen=True, slots=True)
class PredictorShape:
    """Where tokens are: weights of frames that are summed to one for each token.

    Attributes:
        width: features of a frame.
        before: frames before the one that is weighed.
        after: frames after it.
        factor: of a weight.
        noise: what is taken from a weight.
        threshold: sum of weights that makes a token.
        tail_threshold: weight of the frame that is put behind the last one.
        upsampling: parts of a frame that the head for times weighs; 0 where there is none.
        upsampled_factor: of the weight of a part.
        upsampled_noise: what is taken from the weight of a part.
    """

    width: int
    before: int
    after: int
    factor: float
    noise: float
    threshold: float
    tail_threshold: float
    upsampling: int
    upsampled_factor: float
    upsampled_noise: float


@dataclass(frozen=True, slots=True)
class ParaformerConfig:
    """A Paraformer, or a SeACo-Paraformer where ``bias`` is set.

    Attributes:
        vocabulary: number of tokens.
        bias: the decoder that looks at hotwords.
        no_bias: token that the hotword part gives where no hotword stands.
    """

    vocabulary: int
    encoder: EncoderShape
    predictor: PredictorShape
    decoder: DecoderShape
    bias: DecoderShape | None
    no_bias: int | None


def read_paraformer_config(path: Path, vocabulary: int) -> ParaformerConfig:
    """Read the sizes of a Paraformer.

    Args:
        path: ``config.yaml``.
        vocabulary: number of tokens, which that file does not say.

    Raises:
        ModelFileMissingError: there is no such file.
        ModelIntegrityError: it is no configuration of a Paraformer, or of one that is not
            supported.
    """
    name = path.parent.name
    content = read_config(path, name)
    try:
        return _config(content, vocabulary)
    except ConfigError as exc:
        raise unusable(path, name, f"describes no Paraformer that can be used: {exc}") from exc


def _config(content: Any, vocabulary: int) -> ParaformerConfig:
    if not isinstance(content, Mapping):
        raise ConfigError("it is not a mapping")
    _expect(content, "model", "Paraformer", "BiCifParaformer", "SeacoParaformer")
    _expect(content, "decoder", "ParaformerSANMDecoder")
    model = Section(content, "model_conf")
    encoder = _encoder(content)
    bias, no_bias = None, None
    if content["model"] == "SeacoParaformer":
        _expect(content, "seaco_decoder", "ParaformerSANMDecoder")
        model.expect("bias_encoder_type", "lstm")
        model.expect("bias_encoder_bid", False)
        bias = _decoder(content, "seaco_decoder_conf", model.count("inner_dim", 256))
        no_bias = model.count("NO_BIAS", 8377, least=0)
        if bias.width != encoder.width:
            raise ConfigError("model_conf.inner_dim is not the width of the encoder")
        if bias.remembering:
            raise ConfigError("seaco_decoder_conf asks for blocks without attention")
        if no_bias >= vocabulary:
            raise ConfigError("model_conf.NO_BIAS is no token")
    return ParaformerConfig(
        vocabulary=vocabulary,
        encoder=encoder,
        predictor=_predictor(content, encoder.width),
        decoder=_decoder(content, "decoder_conf", encoder.width),
        bias=bias,
        no_bias=no_bias,
    )


def _expect(content: Mapping[str, Any], key: str, *expected: str) -> None:
    if content.get(key) not in expected:
        raise ConfigError(f"{key} is {content.get(key)!r}; supported: {', '.join(expected)}")


def _encoder(content: Mapping[str, Any]) -> EncoderShape:
    try:
        inputs = int(content["input_size"])
    except (KeyError, TypeError, ValueError):
        frontend = Section(content, "frontend_conf")
        inputs = frontend.count("n_mels", 80) * frontend.count("lfr_m", 1)
    return read_encoder(content, inputs)


def read_encoder(content: Mapping[str, Any], inputs: int) -> EncoderShape:
    """The sizes of a SAN-M encoder, ``encoder_conf``.

    Args:
        content: the whole configuration.
        inputs: features of a frame.

    Raises:
        ConfigError: it is another encoder, or one that is not supported.
    """
    _expect(content, "encoder", "SANMEncoder")
    section = Section(content, "encoder_conf")
    section.expect("input_layer", "pe")
    section.expect("normalize_before", True)
    section.expect("concat_after", False)
    section.expect("selfattention_layer_type", "sanm")
    section.expect("positionwise_layer_type", "linear")
    shape = EncoderShape(
        inputs=inputs,
        width=section.count("output_size", 256),
        heads=section.count("attention_heads", 4),
        inner=section.count("linear_units", 2048),
        layers=section.count("num_blocks", 6),
        taps=section.count("kernel_size", 11),
        shift=section.count("sanm_shfit", 0, least=0),
    )
    if inputs < 4 or inputs % 2:
        raise ConfigError(f"features of {inputs} values have no positions")
    _check("encoder_conf", shape)
    return shape


def _decoder(content: Mapping[str, Any], name: str, width: int) -> DecoderShape:
    section = Section(content, name)
    section.expect("normalize_before", True)
    section.expect("concat_after", False)
    attending = section.count("att_layer_num", 6)
    shape = DecoderShape(
        width=width,
        heads=section.count("attention_heads", 4),
        inner=section.count("linear_units", 2048),
        attending=attending,
        remembering=max(section.count("num_blocks", 6) - attending, 0),
        taps=section.count("kernel_size", 21),
        shift=section.count("sanm_shfit", 0, least=0),
    )
    _check(name, shape)
    return shape


def _check(name: str, shape: EncoderShape | DecoderShape) -> None:
    if shape.width % shape.heads:
        raise ConfigError(f"{name}: {shape.width} features cannot be shared by {shape.heads} heads")
    if (shape.taps - 1) // 2 + shape.shift > shape.taps - 1:
        raise ConfigError(f"{name}.sanm_shfit is larger than the memory")


def _predictor(content: Mapping[str, Any], width: int) -> PredictorShape:
    _expect(content, "predictor", "CifPredictorV2", "CifPredictorV3")
    section = Section(content, "predictor_conf")
    upsampled = content["predictor"] == "CifPredictorV3"
    if section.count("idim", width) != width:
        raise ConfigError("predictor_conf.idim is not the width of the encoder")
    section.expect("threshold", 1.0)
    if section.number("tail_threshold", 0.0) <= 0:
        raise ConfigError("predictor_conf.tail_threshold is 0; only predictors with one work")
    if upsampled:
        # Times are read as thirds of a frame.
        if section.count("upsample_times", 5) != 3:
            raise ConfigError("predictor_conf.upsample_times is not 3")
        section.expect("upsample_type", "cnn_blstm")
        section.expect("use_cif1_cnn", False)
    return PredictorShape(
        width=width,
        before=section.count("l_order", 1, least=0),
        after=section.count("r_order", 1, least=0),
        factor=section.number("smooth_factor", 1.0),
        noise=section.number("noise_threshold", 0.0),
        threshold=section.number("threshold", 1.0),
        tail_threshold=section.number("tail_threshold", 0.0),
        upsampling=section.count("upsample_times", 5) if upsampled else 0,
        upsampled_factor=section.number("smooth_factor2", 1.0),
        upsampled_noise=section.number("noise_threshold2", 0.0),
    )
