"""Write ``ct_transformer/`` and ``ct_transformer.json``: a tiny model of FunASR and its marks.

Runs in an environment of its own, from the root of the project; the reference pins other packages:

    python3 -m venv REFERENCE
    REFERENCE/bin/pip install torch==2.13.0 funasr==1.4.16 funasr-onnx==0.4.3 onnx onnxscript
    REFERENCE/bin/python -m tests.golden.make_ct_transformer

The network is FunASR's own ``CTTransformer`` with random weights, exported by FunASR; the files
beside it are as in the published folders. ``CT_Transformer`` of funasr-onnx reads the texts.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).with_name("ct_transformer")
TARGET = Path(__file__).with_name("ct_transformer.json")
REFERENCES = {"torch": "2.13.0", "funasr": "1.4.16", "funasr-onnx": "0.4.3"}

SEED = 20
CHARACTERS = (
    "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会家可下而过天去能对小"
    "多然于心学么之都好看起发当没成只如事把还用第样道想作种开美总从无情己面最女但现前些所同日手又行意动方期"
    "它头经长儿回位分爱老因很给名法间斯知世什两次使身者被高已亲其进此话常与活正感三五百十二四六七八九零千万点"
)
LATIN = ("hello", "world", "OK", "iPhone", "A", "P", "I", "the", "is", "5G", "3.5", "2024")
CONFIG = {
    "model": "CTTransformer",
    "model_conf": {
        "ignore_id": 0,
        "embed_unit": 16,
        "att_unit": 16,
        "dropout_rate": 0.1,
        "punc_list": ["<unk>", "_", "，", "。", "？", "、"],
        "punc_weight": [1.0] * 6,
        "sentence_end_id": 3,
    },
    "encoder": "SANMEncoder",
    "encoder_conf": {
        "input_size": 16,
        "output_size": 16,
        "attention_heads": 2,
        "linear_units": 24,
        "num_blocks": 2,
        "dropout_rate": 0.1,
        "positional_dropout_rate": 0.1,
        "attention_dropout_rate": 0.0,
        "input_layer": "pe",
        "pos_enc_class": "SinusoidalPositionEncoder",
        "normalize_before": True,
        "kernel_size": 11,
        "sanm_shfit": 0,
        "selfattention_layer_type": "sanm",
    },
    "tokenizer": "CharTokenizer",
    "tokenizer_conf": {"unk_symbol": "<unk>"},
}
MARK_BIAS = (-6.0, 6.0, 2.0, -3.4, -3.9, -1.5)
"""Of the classes, so that marks are about as frequent as in texts."""


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
    write_model(FOLDER)
    golden = {
        "reference": "punc_id lists of CT_Transformer of funasr-onnx 0.4.3",
        "texts": read_texts(FOLDER),
    }
    TARGET.write_text(as_lines(golden), encoding="utf-8")


def write_model(folder: Path) -> None:
    import torch
    import yaml
    from funasr.models.ct_transformer.model import CTTransformer
    from funasr.models.sanm.encoder import SANMEncoder  # noqa: F401 - enters FunASR's tables
    from funasr.utils.export_utils import export

    folder.mkdir(exist_ok=True)
    tokens = ["<blank>", *dict.fromkeys(CHARACTERS), *LATIN, "<unk>"]
    (folder / "tokens.json").write_text(json.dumps(tokens, ensure_ascii=False), encoding="utf-8")
    text = yaml.safe_dump(CONFIG, allow_unicode=True, sort_keys=False)
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    torch.manual_seed(SEED)
    parts = {key: CONFIG[key] for key in ("encoder", "encoder_conf")}
    model = CTTransformer(vocab_size=len(tokens), **parts, **CONFIG["model_conf"]).eval()
    with torch.no_grad():
        model.embed.weight.mul_(2.0)
        model.decoder.weight.mul_(6.0)
        model.decoder.bias.copy_(torch.tensor(MARK_BIAS))
    # The published files come from the exporter that was the only one at their time.
    torch.onnx.export = partial(torch.onnx.export, dynamo=False)
    export(model, type="onnx", output_dir=str(folder), init_param="", **parts)


def read_texts(folder: Path) -> list[dict]:
    from funasr_onnx import CT_Transformer

    model = CT_Transformer(str(folder), intra_op_num_threads=1)
    read = []
    for words in texts():
        line = "".join(
            f" {word}" if word.isascii() and index and words[index - 1].isascii() else word
            for index, word in enumerate(words)
        )
        _written, marks = model(line)
        read.append({"words": words, "marks": marks})
    return read


def texts() -> list[list[str]]:
    """Words of texts: short ones, around the length of a step, long ones, unknown words."""
    choose = np.random.default_rng(SEED)
    lengths = [1, 1, 2, 3, 5, 8, 13, 19, 20, 21, 22, 39, 40, 41, 60, 61, 80, 100, 119, 140, 150]
    lengths += [210, 240, 300, 400, 430]
    made = [[word_from(choose) for _ in range(length)] for length in lengths]
    made.append([*"未登录词", "unknownword", *"在此"])
    made.append(["hello", "world", "OK", "is", "the"] * 9)
    made.append(list("我们要好好学习") * 70)
    made.append(list("他说今天大家都来了") * 50)
    return made


def word_from(choose: np.random.Generator) -> str:
    return str(choose.choice(LATIN if choose.random() < 0.08 else list(CHARACTERS)))


def as_lines(golden: dict) -> str:
    """JSON with one line for each text."""
    texts = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in golden["texts"])
    return f'{{"reference": {json.dumps(golden["reference"])}, "texts": [\n{texts}\n]}}\n'


if __name__ == "__main__":
    main()
