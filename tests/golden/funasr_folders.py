"""Write a model folder of FunASR with random weights, which FunASR's own ``AutoModel`` loads.

Runs in the environment of the other generators of this folder, from the root of the project:

    REFERENCE/bin/python -m tests.golden.funasr_folders paraformer|ct-punc|fsmn-vad FOLDER [--large]

What such a model recognizes means nothing; it is there to be equal in two implementations. The
last matrices are set so that tokens, marks and speech come about as often as from trained ones.
``--large`` gives a model the published sizes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

SEED = 16
CHARACTERS = (
    "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会家可下而过天去能对小"
    "多然于心学么之都好看起发当没成只如事把还用第样道想作种开美总从无情己面最女但现前些所同日手又行意动方期"
)
LATIN = ("hello", "world", "OK", "iPhone", "A", "P", "I", "the", "is", "5G", "3.5", "2024")
MARKS = ["<unk>", "_", "，", "。", "？", "、"]
MARK_BIAS = (-6.0, 6.0, 2.0, -3.4, -3.9, -1.5)
"""Of the classes, so that marks are about as frequent as in texts."""

_TASKS = {"fsmn-vad": "voice-activity-detection", "ct-punc": "punctuation"}
_SANM = {
    "input_layer": "pe",
    "pos_enc_class": "SinusoidalPositionEncoder",
    "normalize_before": True,
    "kernel_size": 11,
    "sanm_shfit": 0,
    "selfattention_layer_type": "sanm",
    "dropout_rate": 0.1,
    "positional_dropout_rate": 0.1,
}
_FRONTEND = {"fs": 16000, "window": "hamming", "n_mels": 80, "frame_length": 25, "frame_shift": 10}
_TOKENIZER = {
    "tokenizer": "CharTokenizer",
    "tokenizer_conf": {"unk_symbol": "<unk>", "split_with_space": True},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("family", choices=sorted(WRITERS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--large", action="store_true", help="the published sizes")
    arguments = parser.parse_args()
    WRITERS[arguments.family](arguments.folder, large=arguments.large)


def write_paraformer(folder: Path, *, large: bool = False) -> None:
    """A Paraformer without hotwords."""
    import torch
    from funasr.models.paraformer.model import Paraformer

    width, inner, blocks, decoder_blocks = (512, 2048, 50, 16) if large else (64, 128, 3, 2)
    config = {
        "model": "Paraformer",
        "model_conf": {"ctc_weight": 0.0, "predictor_weight": 1.0, "predictor_bias": 1},
        "encoder": "SANMEncoder",
        "encoder_conf": {
            "output_size": width,
            "attention_heads": 4,
            "linear_units": inner,
            "num_blocks": blocks,
            **_SANM,
        },
        "decoder": "ParaformerSANMDecoder",
        "decoder_conf": {
            "attention_heads": 4,
            "linear_units": inner,
            "num_blocks": decoder_blocks,
            "att_layer_num": decoder_blocks,
            "kernel_size": 11,
            "sanm_shfit": 0,
        },
        "predictor": "CifPredictorV2",
        "predictor_conf": {
            "idim": width,
            "threshold": 1.0,
            "l_order": 1,
            "r_order": 1,
            "tail_threshold": 0.45,
        },
        "frontend": "WavFrontend",
        "frontend_conf": {**_FRONTEND, "lfr_m": 7, "lfr_n": 6},
        **_TOKENIZER,
        "input_size": 560,
    }
    characters = [chr(0x4E00 + i) for i in range(8400)] if large else dict.fromkeys(CHARACTERS)
    tokens = ["<blank>", "<s>", "</s>", *characters, "he@@", "llo", "<unk>"]

    def changed(model) -> None:
        for parameter in model.parameters():
            # Enough contrast that results depend on what is given.
            parameter.mul_(1.6 if parameter.dim() > 1 else 1.0)
        model.predictor.cif_output.bias.fill_(-1.2)

    torch.manual_seed(SEED)
    built = _parts(config, "encoder", "decoder", "predictor") | {"input_size": 560}
    model = Paraformer(**built, vocab_size=len(tokens), blank_id=0, sos=1, eos=2)
    _write(folder, "paraformer", config, _changed(model, changed))
    _write_tokens(folder, tokens)
    (folder / "seg_dict").write_text("hello he@@ llo\n", encoding="utf-8")
    _write_mvn(folder, 560)


def write_ct_punc(folder: Path, *, large: bool = False) -> None:
    """A CT-Transformer."""
    import torch
    from funasr.models.ct_transformer.model import CTTransformer

    width, heads, inner, blocks = (256, 8, 1024, 4) if large else (16, 2, 24, 2)
    config = {
        "model": "CTTransformer",
        "model_conf": {
            "ignore_id": 0,
            "embed_unit": width,
            "att_unit": width,
            "dropout_rate": 0.1,
            "punc_list": MARKS,
            "punc_weight": [1.0] * len(MARKS),
            "sentence_end_id": 3,
        },
        "encoder": "SANMEncoder",
        "encoder_conf": {
            "input_size": width,
            "output_size": width,
            "attention_heads": heads,
            "linear_units": inner,
            "num_blocks": blocks,
            "padding_idx": 0,
            **_SANM,
        },
        "tokenizer": "CharTokenizer",
        "tokenizer_conf": {"unk_symbol": "<unk>"},
    }
    more = [f"word{number}" for number in range(272_727)] if large else []
    tokens = ["<blank>", *dict.fromkeys(CHARACTERS), *LATIN, *more, "<unk>"]

    def changed(model) -> None:
        model.embed.weight.mul_(2.0)
        model.decoder.weight.mul_(6.0 if not large else 2.0)
        model.decoder.bias.copy_(torch.tensor(MARK_BIAS))

    torch.manual_seed(SEED)
    model = CTTransformer(**_parts(config, "encoder"), vocab_size=len(tokens))
    _write(folder, "ct-punc", config, _changed(model, changed))
    _write_tokens(folder, tokens)


def write_fsmn_vad(folder: Path, *, large: bool = False) -> None:
    """An FSMN-VAD."""
    import torch
    from funasr.models.fsmn_vad_streaming.model import FsmnVADStreaming

    entry, width, memory, units = (140, 250, 128, 248) if large else (20, 24, 12, 6)
    encoder = {
        "input_dim": 400,
        "input_affine_dim": entry,
        "fsmn_layers": 4,
        "linear_dim": width,
        "proj_dim": memory,
        "lorder": 20,
        "rorder": 0,
        "lstride": 1,
        "rstride": 0,
        "output_affine_dim": entry,
        "output_dim": units,
    }
    config = {
        "model": "FsmnVADStreaming",
        "model_conf": {
            "sample_rate": 16000,
            "detect_mode": 1,
            "max_end_silence_time": 800,
            "max_start_silence_time": 3000,
            "window_size_ms": 200,
            "sil_to_speech_time_thres": 150,
            "speech_to_sil_time_thres": 150,
            "speech_2_noise_ratio": 1.0,
            "do_extend": 1,
            "lookback_time_start_point": 200,
            "lookahead_time_end_point": 100,
            "max_single_segment_time": 60000,
            "speech_noise_thres": 0.6,
            "silence_pdf_num": 1,
            "sil_pdf_ids": [0],
            "frame_in_ms": 10,
            "frame_length_ms": 25,
        },
        "encoder": "FSMN",
        "encoder_conf": encoder,
        "frontend": "WavFrontendOnline",
        "frontend_conf": {**_FRONTEND, "dither": 0.0, "lfr_m": 5, "lfr_n": 1},
    }

    def changed(model) -> None:
        # The mean of the features goes through the first channel: silence where it is low.
        parts, blocks = model.encoder, model.encoder.fsmn
        passing = [parts.in_linear2, parts.out_linear1]
        passing += [part for block in blocks for part in (block.linear, block.affine)]
        for part in passing:
            part.linear.weight[0] = torch.eye(part.linear.weight.shape[1])[0]
        for part in (parts.in_linear1, parts.in_linear2, parts.out_linear1):
            part.linear.bias[0] = 0.0
        for block in blocks:
            block.affine.linear.bias[0] = 0.0
            block.fsmn_block.conv_left.weight[0] = 0.0
        parts.in_linear1.linear.weight[0] = 1 / encoder["input_dim"]
        parts.out_linear2.linear.weight[0, 0] = -10.0
        parts.out_linear2.linear.bias[0] = 10.0

    torch.manual_seed(SEED)
    model = FsmnVADStreaming(**_parts(config, "encoder"))
    _write(folder, "fsmn-vad", config, _changed(model, changed))
    _write_mvn(folder, 400)


def _parts(config: dict, *names: str) -> dict:
    import funasr  # noqa: F401 - its classes enter its tables

    parts = {key: config[key] for name in names for key in (name, f"{name}_conf")}
    return parts | config["model_conf"]


def _changed(model, change):
    import torch

    with torch.no_grad():
        change(model)
    return model.eval()


def _write(folder: Path, family: str, config: dict, model) -> None:
    import torch
    import yaml

    folder.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), folder / "model.pt")
    text = yaml.safe_dump(config, allow_unicode=True, sort_keys=False)
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    metas: dict[str, object] = {"init_param": "model.pt", "config": "config.yaml"}
    if "tokenizer" in config:
        metas["tokenizer_conf"] = {"token_list": "tokens.json"}
    if "frontend" in config:
        metas["frontend_conf"] = {"cmvn_file": "am.mvn"}
    if family == "paraformer":
        metas["tokenizer_conf"] |= {"seg_dict_file": "seg_dict"}
    content = {
        "framework": "pytorch",
        "task": _TASKS.get(family, "auto-speech-recognition"),
        "model": {"type": "funasr"},
        "pipeline": {"type": "funasr-pipeline"},
        "file_path_metas": metas,
    }
    (folder / "configuration.json").write_text(json.dumps(content, indent=1), encoding="utf-8")


def _write_tokens(folder: Path, tokens: list[str]) -> None:
    (folder / "tokens.json").write_text(json.dumps(tokens, ensure_ascii=False), encoding="utf-8")


def _write_mvn(folder: Path, size: int) -> None:
    """Kaldi's text form: what is added, then what multiplies."""
    choose = np.random.default_rng(SEED)
    shift = " ".join(f"{value:.4f}" for value in choose.normal(-10.0, 0.5, size))
    scale = " ".join(f"{value:.4f}" for value in choose.uniform(0.2, 0.3, size))
    (folder / "am.mvn").write_text(
        f"<Nnet> \n<Splice> {size} {size} \n[ 0 ]\n"
        f"<AddShift> {size} {size} \n<LearnRateCoef> 0 [ {shift} ]\n"
        f"<Rescale> {size} {size} \n<LearnRateCoef> 0 [ {scale} ]\n</Nnet> \n",
        encoding="utf-8",
    )


WRITERS = {
    "paraformer": write_paraformer,
    "ct-punc": write_ct_punc,
    "fsmn-vad": write_fsmn_vad,
}


if __name__ == "__main__":
    main()
