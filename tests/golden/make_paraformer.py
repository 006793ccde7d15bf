"""Write ``stages.npz`` beside the models of ``make_paraformer_onnx``: what their parts compute.

Runs after it in the same environment, from the root of the project:

    REFERENCE/bin/python -m tests.golden.make_paraformer

The file holds what the parts give for three recordings of unequal lengths. FunASR computes each
recording by itself; in its batches what lies behind a recording reaches its end.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import yaml

from tests.golden.make_paraformer_onnx import make_network, require_references
from tests.golden.paraformer_files import PLAIN, SEACO

SEED = 6
FRAMES = (9, 23, 17)
HOTWORDS = (1, 5, 60)
STEP = 64  # features are whole multiples of 1 / 64, which take a third of the space


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    require_references(parser)

    import torch

    for folder in (SEACO, PLAIN):
        with torch.no_grad():
            np.savez_compressed(folder / "stages.npz", **stages(read_model(folder)))


def read_model(folder: Path):
    import torch

    conf = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    model, _ = make_network(conf["model"], conf)
    model.load_state_dict(torch.load(folder / "model.pt", map_location="cpu"))
    return model


def stages(model) -> dict[str, np.ndarray]:
    """What each part gives, by names that begin with the number of the recording."""
    import torch

    choose = np.random.default_rng(SEED)
    found: dict[str, np.ndarray] = {}
    words = hotwords(choose) if hasattr(model, "seaco_decoder") else {}
    for count, tokens in words.items():
        found[f"words.{count}.tokens"] = padded(tokens)
        found[f"words.{count}.lengths"] = np.array([len(word) for word in tokens])
        found[f"words.{count}.embedded"] = embedded(model, tokens).numpy()
    for number, frames in enumerate(FRAMES):
        values = np.round(choose.normal(0.0, STEP, (1, frames, 560))) / STEP
        features = torch.tensor(values, dtype=torch.float32)
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
