"""Write ``paraformer/`` and ``seaco_paraformer/``: tiny models of FunASR and what they compute.

Runs in an environment of its own, from the root of the project; the reference pins other packages:

    python3 -m venv REFERENCE
    REFERENCE/bin/pip install torch==2.13.0 torchaudio funasr==1.4.16
    REFERENCE/bin/python -m tests.golden.make_paraformer

Each folder holds a model with random weights as FunASR stores it, and ``stages.npz``: what its
parts give for three recordings of unequal lengths. FunASR computes each recording by itself; in
its batches what lies behind a recording reaches its end.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
REFERENCES = {"torch": "2.13.0", "funasr": "1.4.16"}
SEED = 6
FRAMES = (9, 23, 17)
HOTWORDS = (1, 5, 60)
VOCABULARY = 60
WIDTH = 32

_SANM = {"attention_heads": 4, "kernel_size": 11, "sanm_shfit": 0}
_FRONTEND = {"fs": 16000, "window": "hamming", "n_mels": 80, "lfr_m": 7, "lfr_n": 6}
_ENCODER = {
    "output_size": WIDTH,
    "linear_units": 48,
    "num_blocks": 3,
    "input_layer": "pe",
    "pos_enc_class": "SinusoidalPositionEncoder",
    "normalize_before": True,
    "selfattention_layer_type": "sanm",
    **_SANM,
}
SEACO = {
    "model": "SeacoParaformer",
    "model_conf": {
        "ctc_weight": 0.0,
        "predictor_bias": 1,
        "inner_dim": WIDTH,
        "bias_encoder_type": "lstm",
        "bias_encoder_bid": False,
        "NO_BIAS": 50,
    },
    "encoder": "SANMEncoder",
    "encoder_conf": _ENCODER,
    "decoder": "ParaformerSANMDecoder",
    "decoder_conf": {"linear_units": 48, "num_blocks": 2, "att_layer_num": 2, **_SANM},
    "seaco_decoder": "ParaformerSANMDecoder",
    "seaco_decoder_conf": {
        "attention_heads": 4,
        "linear_units": 40,
        "num_blocks": 4,
        "kernel_size": 21,
        "sanm_shfit": 0,
        "use_output_layer": False,
        "wo_input_layer": True,
    },
    "predictor": "CifPredictorV3",
    "predictor_conf": {
        "idim": WIDTH,
        "threshold": 1.0,
        "l_order": 1,
        "r_order": 1,
        "tail_threshold": 0.45,
        "smooth_factor2": 0.25,
        "noise_threshold2": 0.01,
        "upsample_times": 3,
        "use_cif1_cnn": False,
        "upsample_type": "cnn_blstm",
    },
    "frontend": "WavFrontend",
    "frontend_conf": _FRONTEND,
    "input_size": 560,
}
PLAIN = {
    "model": "Paraformer",
    "model_conf": {"ctc_weight": 0.0, "predictor_bias": 1},
    "encoder": "SANMEncoder",
    "encoder_conf": {**_ENCODER, "num_blocks": 2, "attention_heads": 2, "kernel_size": 8},
    "decoder": "ParaformerSANMDecoder",
    "decoder_conf": {
        "linear_units": 48,
        "num_blocks": 3,
        "att_layer_num": 1,
        "attention_heads": 1,
        "kernel_size": 6,
        "sanm_shfit": 1,
    },
    "predictor": "CifPredictorV2",
    "predictor_conf": {
        "idim": WIDTH,
        "threshold": 1.0,
        "l_order": 2,
        "r_order": 1,
        "tail_threshold": 0.45,
        "smooth_factor": 0.9,
        "noise_threshold": 0.02,
    },
    "frontend": "WavFrontend",
    "frontend_conf": _FRONTEND,
    "input_size": 560,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    for name, wanted in REFERENCES.items():
        try:
            installed = version(name).partition("+")[0]
        except PackageNotFoundError:
            installed = "none"
        if installed != wanted:
            parser.error(f"this needs {name} {wanted}, not {installed}; see --help")

    import torch

    for name, config in (("seaco_paraformer", SEACO), ("paraformer", PLAIN)):
        folder = FOLDER / name
        folder.mkdir(exist_ok=True)
        model = write_model(folder, config)
        with torch.no_grad():
            np.savez_compressed(folder / "stages.npz", **stages(model, config))


def write_model(folder: Path, config: dict):
    import funasr  # noqa: F401 - its classes enter its tables
    import torch
    import yaml
    from funasr.models.paraformer.model import Paraformer
    from funasr.models.seaco_paraformer.model import SeacoParaformer

    torch.manual_seed(SEED)
    built = {k: v for k, v in config.items() if "frontend" not in k and k not in ("model",)}
    settings = built.pop("model_conf")
    kind = SeacoParaformer if config["model"] == "SeacoParaformer" else Paraformer
    model = kind(**built, **settings, vocab_size=VOCABULARY, blank_id=0, sos=1, eos=2).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # Enough contrast that results depend on what is given.
            parameter.mul_(1.6 if parameter.dim() > 1 else 1.0)
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
        model.predictor.cif_output.bias.fill_(-0.6)
    torch.save(model.state_dict(), folder / "model.pt")
    text = yaml.safe_dump(config, allow_unicode=True, sort_keys=False)
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    tokens = ["<blank>", "<s>", "</s>", *(chr(0x4E00 + i) for i in range(VOCABULARY - 4)), "<unk>"]
    (folder / "tokens.json").write_text(json.dumps(tokens, ensure_ascii=False), encoding="utf-8")
    return model


def stages(model, config: dict) -> dict[str, np.ndarray]:
    """What each part gives, by names that begin with the number of the recording."""
    import torch

    choose = np.random.default_rng(SEED)
    found: dict[str, np.ndarray] = {}
    words = hotwords(choose) if config["model"] == "SeacoParaformer" else {}
    for count, tokens in words.items():
        found[f"words.{count}.tokens"] = padded(tokens)
        found[f"words.{count}.lengths"] = np.array([len(word) for word in tokens])
        found[f"words.{count}.embedded"] = embedded(model, tokens).numpy()
    for number, frames in enumerate(FRAMES):
        features = torch.tensor(choose.normal(0.0, 1.0, (1, frames, 560)), dtype=torch.float32)
        recording = recorded(model, features, words)
        recording["features"] = features
        for name, value in recording.items():
            found[f"{number}.{name}"] = value[0].numpy()
    return found


def recorded(model, features, words: dict) -> dict:
    """Stages of one recording, each (1, ...)."""
    import torch

    lengths = torch.tensor([features.shape[1]])
    found = {}
    blocks = [*model.encoder.encoders0, *model.encoder.encoders]
    hooks = [
        block.register_forward_hook(
            lambda _module, _given, out, name=f"block.{index}": found.update({name: out[0]})
        )
        for index, block in enumerate(blocks)
    ]
    encoded, _, _ = model.encoder(features, lengths)
    for hook in hooks:
        hook.remove()
    mask = torch.ones(1, 1, features.shape[1])
    embeds, counts, alphas, _ = model.predictor(encoded, None, mask)[:4]
    tokens = counts.round().long()
    scores, hidden, _ = model.decoder(
        encoded, lengths, embeds, tokens, return_hidden=True, return_both=True
    )
    found |= {"encoded": encoded, "alphas": alphas[:, : features.shape[1]], "embeds": embeds}
    found |= {"hidden": hidden, "scores": torch.log_softmax(scores, -1)}
    if not words:
        return found
    found["us_alphas"] = model.predictor.get_upsample_timestamp(encoded, mask, None)[2]
    for count, lists in words.items():
        given = embedded(model, lists)[None]
        number = torch.tensor([count])
        heard, _ = model.seaco_decoder(given, number, embeds, tokens)
        read, _ = model.seaco_decoder(given, number, hidden, tokens)
        found[f"bias.{count}"] = torch.log_softmax(model.hotword_output_layer(heard + read), -1)
        attention = model.seaco_decoder.forward_asf6(given, number, hidden, tokens)
        found[f"filter.{count}"] = attention.sum((1, 2))
    return found


def hotwords(choose: np.random.Generator) -> dict[int, list[list[int]]]:
    """Lists of hotwords by their length; the last entry of each is the start token, as always."""
    return {
        count: [
            *(choose.integers(3, 50, choose.integers(1, 8)).tolist() for _ in range(count - 1)),
            [1],
        ]
        for count in HOTWORDS
    }


def padded(words: list[list[int]]) -> np.ndarray:
    rows = np.zeros((len(words), max(map(len, words))), np.int64)
    for row, word in zip(rows, words, strict=True):
        row[: len(word)] = word
    return rows


def embedded(model, words: list[list[int]]):
    import torch

    lengths = torch.tensor([len(word) for word in words])
    return model._hotword_representation(torch.tensor(padded(words)), lengths)


if __name__ == "__main__":
    main()
