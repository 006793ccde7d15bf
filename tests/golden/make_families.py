"""Write ``ct_punc/``, ``fsmn_vad/`` and ``families.json``: tiny models of FunASR and their results.

Runs in an environment of its own, from the root of the project; the reference pins other packages:

    python3 -m venv REFERENCE
    REFERENCE/bin/pip install torch==2.13.0 torchaudio funasr==1.4.16 soundfile
    REFERENCE/bin/python -m tests.golden.make_families

``stages.npz`` of a folder holds inputs and outputs of the network; ``families.json`` what FunASR's
``AutoModel`` says about 20 texts and 20 recordings.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from tests.golden.families_material import (
    CT_PUNC,
    FSMN_VAD,
    RESULTS,
    SAMPLE,
    STAGES,
    recordings,
)
from tests.golden.funasr_folders import CHARACTERS, LATIN, write_ct_punc, write_fsmn_vad

REFERENCES = {"torch": "2.13.0", "funasr": "1.4.16"}
SEED = 17
WORDS = (9, 1, 61, 23)
FRAMES = (37, 5, 90)


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
    write_ct_punc(CT_PUNC)
    write_fsmn_vad(FSMN_VAD)
    golden = {
        "reference": "AutoModel of FunASR 1.4.16",
        "texts": read_texts(CT_PUNC),
        "speech_ms": find_speech(FSMN_VAD),
    }
    RESULTS.write_text(as_lines(golden), encoding="utf-8")


def load(folder: Path):
    from funasr import AutoModel

    return AutoModel(model=str(folder), device="cpu", disable_update=True, disable_pbar=True)


def read_texts(folder: Path) -> list[dict]:
    """Marks of 20 texts, by the words of FunASR; scores of some others go to the stages."""
    import torch

    model = load(folder)
    choose = np.random.default_rng(SEED)
    found = {}
    for number, length in enumerate(WORDS):
        words = torch.tensor(choose.integers(1, len(CHARACTERS), (1, length)), dtype=torch.int32)
        with torch.no_grad():
            scores, _ = model.model.punc_forward(words, torch.tensor([length]))
        found |= {f"{number}.words": words[0].numpy(), f"{number}.logits": scores[0].numpy()}
    np.savez_compressed(folder / STAGES, **found)
    read = []
    for words in texts(choose):
        line = "".join(
            f" {word}" if word.isascii() and index and words[index - 1].isascii() else word
            for index, word in enumerate(words)
        )
        result = model.generate(input=line)[0]
        read.append({"words": words, "marks": result["punc_array"].tolist()})
    return read


def texts(choose: np.random.Generator) -> list[list[str]]:
    """Words of texts: short ones, around the length of a step, long ones, unknown words."""
    lengths = (1, 2, 3, 8, 13, 19, 20, 21, 40, 41, 60, 61, 80, 119, 150, 210, 300, 400)
    made = [[word_from(choose) for _ in range(length)] for length in lengths]
    made.append([*"未登录词", "unknownword", *"在此"])
    made.append(list("他说今天大家都来了") * 30)
    return made


def word_from(choose: np.random.Generator) -> str:
    return str(choose.choice(LATIN if choose.random() < 0.08 else list(CHARACTERS)))


def find_speech(folder: Path) -> list[list[list[int]]]:
    """Intervals of speech in ms; scores of made-up features go to the stages."""
    import soundfile
    import torch

    model = load(folder)
    choose = np.random.default_rng(SEED)
    found = {}
    for number, frames in enumerate(FRAMES):
        features = choose.normal(0.0, 1.0, (1, frames, 400)).round(1)  # which takes less space
        features = torch.tensor(features, dtype=torch.float32)
        cache: dict = {}
        with torch.no_grad():
            scores = model.model.encoder(features, cache=cache)
        found |= {f"{number}.features": features[0].numpy(), f"{number}.scores": scores[0].numpy()}
        for layer in range(len(cache)):
            found[f"{number}.cache.{layer}"] = cache[f"cache_layer_{layer}"][0].numpy()
    np.savez_compressed(folder / STAGES, **found)
    sample, _ = soundfile.read(SAMPLE, dtype="float32")
    # FunASR shortens pauses with the length of the speech unless it is told not to.
    return [
        model.generate(input=recording, fs=16_000, dynamic_silence=False)[0]["value"]
        for recording in recordings(sample)
    ]


def as_lines(golden: dict) -> str:
    """JSON with one line for each text and each recording."""
    parts = [f'"reference": {json.dumps(golden["reference"])}']
    for name in ("texts", "speech_ms"):
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in golden[name])
        parts.append(f'"{name}": [\n{lines}\n]')
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    main()
