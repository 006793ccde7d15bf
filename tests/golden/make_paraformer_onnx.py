"""Write ``paraformer_onnx/``, ``paraformer_plain/`` and ``paraformer_onnx.json``.

Runs in an environment of its own, from the root of the project; the reference pins other packages:

    python3 -m venv REFERENCE
    REFERENCE/bin/pip install torch==2.13.0 funasr==1.4.16 funasr-onnx==0.4.3 onnx onnxscript
    REFERENCE/bin/python -m tests.golden.make_paraformer_onnx

The networks are tiny ones of FunASR with random weights, exported by FunASR; the files beside
them are as in the published folders. Their last token is made to be the end of the sentence, as in
trained models: without that, funasr-onnx drops a token that FunASR writes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import shutil
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from tests.golden.paraformer_onnx_material import (
    LETTERS,
    NO_BIAS,
    PIECES,
    TOKENS,
    WORDS,
    hotwords,
    recordings,
)

logger = logging.getLogger(__name__)

HERE = Path(__file__).parent
REFERENCES = {"torch": "2.13.0", "funasr": "1.4.16", "funasr-onnx": "0.4.3"}

SEED = 3
WIDTH = 16
MOST_RECORDINGS = 24
LEAST_MARGIN = 2e-3  # between the best two scores: no platform rounds that away
COUNTS = (0, 3, 60)
RARE = ("<blank>", "<s>", "<unk>", NO_BIAS, *PIECES, *LETTERS)
SHARE_WITHOUT_BIAS = 0.6
STEPS = 60
FEATURE_STEP = 80  # one value in so many is kept
DROPS = {"dropout_rate": 0.1, "positional_dropout_rate": 0.1}
SANM = {"attention_heads": 4, "kernel_size": 11, "sanm_shfit": 0}
FRONTEND = {
    "fs": 16000,
    "window": "hamming",
    "n_mels": 80,
    "frame_length": 25,
    "frame_shift": 10,
    "dither": 0.0,
    "lfr_m": 7,
    "lfr_n": 6,
}


def config(model: str) -> dict:
    """``config.yaml`` as FunASR writes it."""
    written = {
        "model": model,
        "model_conf": {
            "ctc_weight": 0.0,
            "lsm_weight": 0.1,
            "length_normalized_loss": True,
            "predictor_weight": 1.0,
            "predictor_bias": 1,
            "sampling_ratio": 0.75,
        },
        "encoder": "SANMEncoder",
        "encoder_conf": {
            "output_size": WIDTH,
            "linear_units": 24,
            "num_blocks": 3,
            "attention_dropout_rate": 0.1,
            "input_layer": "pe",
            "pos_enc_class": "SinusoidalPositionEncoder",
            "normalize_before": True,
            "selfattention_layer_type": "sanm",
            **DROPS,
            **SANM,
        },
        "decoder": "ParaformerSANMDecoder",
        "decoder_conf": decoder_conf(24, 2) | {"att_layer_num": 2},
        "predictor": "CifPredictorV2",
        "predictor_conf": {
            "idim": WIDTH,
            "threshold": 1.0,
            "l_order": 1,
            "r_order": 1,
            "tail_threshold": 0.45,
        },
        "frontend": "WavFrontend",
        "frontend_conf": FRONTEND,
        "tokenizer": "CharTokenizer",
        "tokenizer_conf": {"unk_symbol": "<unk>", "split_with_space": True},
        "input_size": 560,
    }
    if model == "SeacoParaformer":
        written["model_conf"] |= {
            "inner_dim": WIDTH,
            "bias_encoder_type": "lstm",
            "bias_encoder_bid": False,
            "seaco_lsm_weight": 0.1,
            "seaco_length_normal": True,
            "train_decoder": True,
            "NO_BIAS": TOKENS.index(NO_BIAS),
        }
        written["seaco_decoder"] = "ParaformerSANMDecoder"
        written["seaco_decoder_conf"] = decoder_conf(20, 4) | {
            "kernel_size": 21,
            "use_output_layer": False,
            "wo_input_layer": True,
        }
        written["predictor"] = "CifPredictorV3"
        written["predictor_conf"] |= {
            "smooth_factor2": 0.25,
            "noise_threshold2": 0.01,
            "upsample_times": 3,
            "use_cif1_cnn": False,
            "upsample_type": "cnn_blstm",
        }
        return written
    # What the published models leave at its default counts as well.
    written["encoder_conf"] |= {"num_blocks": 2, "attention_heads": 2, "kernel_size": 8}
    written["decoder_conf"] |= {
        "num_blocks": 3,
        "att_layer_num": 1,
        "attention_heads": 1,
        "kernel_size": 6,
        "sanm_shfit": 1,
    }
    written["predictor_conf"] |= {"l_order": 2, "smooth_factor": 0.9, "noise_threshold": 0.02}
    return written


def decoder_conf(units: int, blocks: int) -> dict:
    rates = {"self_attention_dropout_rate": 0.1, "src_attention_dropout_rate": 0.1}
    return {"linear_units": units, "num_blocks": blocks, **DROPS, **rates, **SANM}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    require_references(parser)
    import torch

    torch.set_num_threads(1)
    golden: dict = {"reference": "funasr-onnx 0.4.3; FunASR 1.4.16 (AutoModel)"}
    seaco, plain = HERE / "paraformer_onnx", HERE / "paraformer_plain"
    write_model(seaco, "SeacoParaformer")
    write_model(plain, "Paraformer")
    golden["recordings"] = read_recordings(seaco)
    golden["plain"] = read_plain(plain)
    golden["features"] = [
        {"name": name, "rows": features(seaco, waveform)[:, ::FEATURE_STEP].round(5).tolist()}
        for name, waveform in list(recordings())[:3]
    ]
    golden["words"] = join_words()
    golden["times"] = made_up_times()
    golden["cif"] = made_up_cif()
    for folder in (seaco, plain):
        (folder / "configuration.json").unlink()
    (HERE / "paraformer_onnx.json").write_text(as_lines(golden), encoding="utf-8")


def require_references(parser: argparse.ArgumentParser) -> None:
    """End with a message where the environment is another one."""
    for name, wanted in REFERENCES.items():
        try:
            installed = version(name).partition("+")[0]
        except PackageNotFoundError:
            installed = "none"
        if installed != wanted:
            parser.error(f"this needs {name} {wanted}, not {installed}; see --help")


# -- models ------------------------------------------------------------------------------------


def write_model(folder: Path, kind: str) -> None:
    import torch
    import yaml

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    conf = config(kind)
    rng = np.random.default_rng(SEED)
    write_mvn(folder / "am.mvn", rng)
    (folder / "tokens.json").write_text(json.dumps(TOKENS, ensure_ascii=False), encoding="utf-8")
    (folder / "config.yaml").write_text(yaml.safe_dump(conf, sort_keys=False), encoding="utf-8")
    singles = [token for token in TOKENS if len(token) == 1] + list(WORDS)
    lines = [f"{token} {token}" for token in singles] + ["world wor@@ ld"]
    (folder / "seg_dict").write_text("\n".join(lines) + "\n", encoding="utf-8")
    model, build = make_network(kind, conf)
    tune(model, folder)
    torch.save(model.state_dict(), folder / "model.pt")
    meta = {
        "init_param": "model.pt",
        "config": "config.yaml",
        "tokenizer_conf": {"token_list": "tokens.json", "seg_dict_file": "seg_dict"},
        "frontend_conf": {"cmvn_file": "am.mvn"},
    }
    (folder / "configuration.json").write_text(json.dumps({"file_path_metas": meta}))
    export(model, folder, build)


def make_network(kind: str, conf: dict):
    import funasr  # noqa: F401 - enters FunASR's tables
    import torch
    from funasr.models.paraformer.model import Paraformer
    from funasr.models.seaco_paraformer.model import SeacoParaformer

    left_out = {"model", "model_conf", "frontend", "frontend_conf", "tokenizer", "tokenizer_conf"}
    build = {key: value for key, value in conf.items() if key not in left_out}
    build |= conf["model_conf"] | {"vocab_size": len(TOKENS), "blank_id": 0, "sos": 1, "eos": 2}
    torch.manual_seed(SEED)
    model = (SeacoParaformer if kind == "SeacoParaformer" else Paraformer)(**build).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(1.6)  # enough contrast that outputs depend on the input
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))  # no two vectors are the same
        model.predictor.cif_output.bias.fill_(-1.2)
    return model, build


def write_mvn(path: Path, rng: np.random.Generator) -> None:
    shift = " ".join(f"{value:.4f}" for value in rng.normal(-10, 0.5, 560))
    scale = " ".join(f"{value:.5f}" for value in rng.uniform(0.2, 0.3, 560))
    path.write_text(
        "<Nnet> \n<Splice> 560 560 \n[ 0 ]\n"
        f"<AddShift> 560 560 \n<LearnRateCoef> 0 [ {shift} ]\n"
        f"<Rescale> 560 560 \n<LearnRateCoef> 0 [ {scale} ]\n</Nnet> \n"
    )


def features(folder: Path, waveform: np.ndarray) -> np.ndarray:
    from funasr_onnx.utils.frontend import WavFrontend

    front = WavFrontend(cmvn_file=str(folder / "am.mvn"), **FRONTEND)
    return front.lfr_cmvn(front.fbank(waveform)[0])[0].astype(np.float32)


def tune(model, folder: Path) -> None:
    """The last token becomes the end of the sentence, some tokens rare, most without a hotword."""
    import torch

    seaco = hasattr(model, "seaco_decoder")
    inputs = []
    with torch.no_grad():
        for _, waveform in recordings():
            speech = torch.from_numpy(features(folder, waveform))[None]
            encoded, lengths = model.encode(speech, torch.tensor([speech.shape[1]]))[:2]
            embeds, counts = model.calc_predictor(encoded, lengths)[:2]
            if counts[0].round() >= 2:
                inputs.append((encoded, lengths, embeds, counts.round().long()))
    learn_the_end(model.decoder, inputs)
    with torch.no_grad():
        make_rare(model.decoder.output_layer)
        if not seaco:
            return
        merged = []
        for encoded, lengths, embeds, counts in inputs:
            out = model.decoder(encoded, lengths, embeds, counts, return_hidden=True)[0]
            merged += [attend(model, count, embeds, out, counts) for count in COUNTS]
        layer = model.hotword_output_layer
        make_rare(layer)
        layer.weight[TOKENS.index("</s>")] = 0.0
        layer.bias[TOKENS.index("</s>")] = -30.0
        marks = np.concatenate([[0.0] * (len(part) - 1) + [1.0] for part in merged])
        spread = torch.cat(merged).numpy()
        separate(layer, TOKENS.index(NO_BIAS), spread, marks, share=SHARE_WITHOUT_BIAS)


def learn_the_end(decoder, inputs: list[tuple]) -> None:
    """A short training of the decoder: the last token is the end, no other one is."""
    import torch

    end = TOKENS.index("</s>")
    optimizer = torch.optim.Adam(decoder.parameters(), lr=2e-3)
    rounds = 0
    for rounds in range(STEPS):  # noqa: B007 - its last value is told
        total = right = 0
        for encoded, lengths, embeds, counts in inputs:
            out = decoder(encoded, lengths, embeds, counts)[0][0]
            others = out.masked_fill(torch.eye(out.shape[1], dtype=torch.bool)[end], -1e4)
            margin = out[:, end] - others.max(dim=1).values
            sign = torch.full_like(margin, -1.0)
            sign[-1] = 1.0
            weights = torch.full_like(margin, 1.0 / len(margin))
            weights[-1] = 0.5
            loss = (weights * torch.relu(1.0 - sign * margin)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += 1
            right += bool((sign * margin > 0.1).all())
        if right == total:
            break
    logger.warning("the end is learnt: %d of %d after %d rounds", right, total, rounds + 1)


def attend(model, count: int, embeds, out, counts):
    """What the hotword output layer sees."""
    import torch

    ids = [[TOKENS.index(char) for char in word] for word in hotwords(count)] + [[1]]
    padded = torch.zeros(len(ids), max(map(len, ids)), dtype=torch.long)
    for row, word in enumerate(ids):
        padded[row, : len(word)] = torch.tensor(word)
    context = model._hotword_representation(padded, torch.tensor([len(word) for word in ids]))
    context = context[None]
    sizes = torch.tensor([len(ids)])
    first = model.seaco_decoder(context, sizes, embeds, counts)[0]
    return (first + model.seaco_decoder(context, sizes, out, counts)[0])[0]


def separate(
    layer,
    row: int,
    inputs: np.ndarray,
    marks: np.ndarray,
    *,
    share: float = 0.0,
):
    """Weights of one output by least squares, so that it is the best where ``marks`` are 1."""
    import torch

    others = inputs @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
    others[:, row] = -np.inf
    best = others.max(axis=1)
    table = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)
    weights = np.where(marks > 0, marks.size / marks.sum(), 1.0)[:, None] ** 0.5
    target = np.where(marks > 0, 1.0, -1.0)
    found = np.linalg.lstsq(
        np.concatenate([table * weights, 0.3 * np.eye(table.shape[1])]),
        np.concatenate([target * weights[:, 0], np.zeros(table.shape[1])]),
        rcond=None,
    )[0]
    scores = table @ found
    scale = 8.0 * best.std() / max(scores[marks > 0].mean() - scores[marks == 0].mean(), 1e-3)
    middle = np.quantile(scores[marks == 0], 0.995 if not share else 1 - share)
    layer.weight[row] = torch.from_numpy(found[:-1] * scale).float()
    layer.bias[row] = float((found[-1] - middle) * scale + best.mean())
    chosen = table @ np.append(found[:-1] * scale, float(layer.bias[row])) > best
    logger.warning("row %d: %s", row, (chosen[marks > 0].mean(), chosen[marks == 0].mean()))


def make_rare(layer) -> None:
    for token in RARE:
        layer.weight[TOKENS.index(token)] = 0.0
        layer.bias[TOKENS.index(token)] = -30.0


def export(model, folder: Path, build: dict) -> None:
    import torch
    from funasr.utils import export_utils

    # The published files come from the exporter that was the only one at their time.
    torch.onnx.export = partial(torch.onnx.export, dynamo=False)
    graphs = model.export(**build, max_seq_len=512, device="cpu", type="onnx")
    for graph in graphs if isinstance(graphs, list | tuple) else [graphs]:
        graph.eval()
        if hasattr(graph, "NOBIAS"):
            graph.NOBIAS = TOKENS.index(NO_BIAS)  # FunASR writes that of the published model
        dummy = graph.export_dummy_inputs()
        if not isinstance(dummy, tuple):
            dummy = dummy % len(TOKENS)
        elif len(dummy) == 3:
            dummy = (*dummy[:2], torch.randn(2, 1, WIDTH))
        graph.export_dummy_inputs = partial(lambda given: given, dummy)
        export_utils._onnx(graph, export_dir=str(folder))


# -- what the references say -------------------------------------------------------------------


def read_recordings(folder: Path) -> list[dict]:
    from funasr_onnx import SeacoParaformer

    reference = automodel(folder)

    graph_side = SeacoParaformer(str(folder), intra_op_num_threads=1)
    read, seen = [], 0
    for name, waveform in recordings():
        seen += 1
        if len(read) == MOST_RECORDINGS:
            break
        entry = {"name": name, "by_hotwords": {}}
        agree = True
        for count in COUNTS:
            words = hotwords(count)
            graph, margin = run_graph(graph_side, waveform, words)
            auto = run_automodel(reference, waveform, words)
            entry["by_hotwords"][str(count)] = {"onnx": graph, "torch": auto}
            ends = graph is not None and graph.pop("ends")
            if not ends or margin < LEAST_MARGIN:
                agree = False
        logger.warning("%s %s", name, "kept" if agree else "left out")
        if agree:
            read.append(entry)
    logger.warning("%d of %d recordings are kept", len(read), seen)
    return read


def run_graph(model, waveform: np.ndarray, words: tuple[str, ...]):
    """Tokens of funasr-onnx and FunASR's own times for its peaks; the margin of the scores."""
    import torch
    from funasr.utils.timestamp_tools import ts_prediction_lfr6_standard

    model.__dict__.pop("proc_hotword", None)
    model.__dict__.pop("bb_infer", None)
    if not words:
        # An empty string would be read as one hotword of no characters.
        alone = np.zeros((1, 10), np.int32)
        alone[0, 0] = 1
        model.proc_hotword = lambda _: (alone, np.zeros(1, np.int32))
    kept: dict = {}
    inner = model.bb_infer

    def spy(*args):
        kept["outputs"] = inner(*args)
        return kept["outputs"]

    model.bb_infer = spy
    try:
        result = model(waveform, hotwords=" ".join(words))[0]
    except (AssertionError, IndexError):
        return None, 0.0
    scores, _, alphas, peaks = kept["outputs"]
    best_two = np.sort(scores[0], axis=1)[:, -2:]
    _, times = ts_prediction_lfr6_standard(
        torch.from_numpy(alphas[0].copy()), torch.from_numpy(peaks[0]), list(result["raw_tokens"])
    )
    found = {
        "words": result["raw_tokens"],
        "times": times,
        "confidences": [round(float(p), 5) for p in np.exp(scores[0].max(axis=1))[: len(times)]],
        "ends": int(scores[0, -1].argmax()) == TOKENS.index("</s>"),
    }
    return found, float((best_two[:, 1] - best_two[:, 0]).min())


def run_automodel(model, waveform: np.ndarray, words: tuple[str, ...]) -> dict:
    result = model.generate(input=waveform, fs=16000, hotword=" ".join(words))[0]
    return {"text": result["text"], "times": result.get("timestamp", [])}


def automodel(folder: Path):
    from funasr import AutoModel

    with contextlib.redirect_stdout(io.StringIO()):
        return AutoModel(model=str(folder), device="cpu", disable_update=True, disable_pbar=True)


def read_plain(folder: Path) -> list[dict]:
    from funasr_onnx import Paraformer

    reference = automodel(folder)
    model = Paraformer(str(folder), intra_op_num_threads=1)
    read = []
    for name, waveform in recordings():
        kept: dict = {}
        inner = model.ort_infer

        def spy(*args, inner=inner, kept=kept):
            kept["outputs"] = inner(*args)
            return kept["outputs"]

        model.infer = spy_infer(spy)
        try:
            result = model(waveform)[0]
        except (AssertionError, IndexError, ValueError):
            continue
        scores = kept["outputs"][0][0]
        best_two = np.sort(scores, axis=1)[:, -2:]
        margin = float((best_two[:, 1] - best_two[:, 0]).min())
        ends = int(scores[-1].argmax()) == TOKENS.index("</s>")
        if ends and margin >= LEAST_MARGIN:
            auto = run_automodel(reference, waveform, ())
            read.append(
                {
                    "name": name,
                    "text": result["preds"][0],
                    "words": result["preds"][1],
                    "torch": auto["text"],
                }
            )
    logger.warning("plain: %d recordings", len(read))
    return read


def spy_infer(call):
    return lambda speech, lengths: call([speech, lengths])


def join_words() -> list[dict]:
    """FunASR's joining of tokens to words."""
    from funasr.utils.postprocess_utils import sentence_postprocess

    runs = [
        ["你", "好"],
        ["hello", "wor@@", "ld"],
        ["我", "说", "hello", "wor@@", "ld", "你", "好"],
        ["a", "p", "p", "来"],
        ["用", "a", "hello", "p", "p"],
        ["他", "在", "a", "p", "p", "上", "ok"],
        ["ok", "a", "b"],
        ["mo@@", "de@@", "l"],
        ["一", "i'm", "ok"],
    ]
    joined = []
    for tokens in runs:
        times = [[100 * index, 100 * index + 90] for index in range(len(tokens))]
        try:
            text, spans, words = sentence_postprocess(list(tokens), times)
        except (IndexError, ValueError) as exc:
            logger.warning("not joined by FunASR: %s: %s", tokens, exc)
            continue
        joined.append({"tokens": tokens, "text": text, "words": words, "times": spans})
    return joined


def made_up_times() -> list[dict]:
    """FunASR's times for weights that were made up, also where peaks and tokens do not agree."""
    import torch
    from funasr.utils.timestamp_tools import cif_wo_hidden, ts_prediction_lfr6_standard

    rng = np.random.default_rng(SEED)
    made = []
    for number in range(24):
        frames = int(rng.integers(6, 150))
        alphas = (rng.random(frames) ** 3 * rng.uniform(0.1, 0.5)).astype(np.float32)
        if number % 3 == 1:
            alphas[frames // 3 : frames // 2] = 0
        if number % 4 == 2:
            alphas[: frames // 4] = 0
        if number % 5 == 3:
            alphas[-frames // 3 :] = 0
        total = max(int(alphas.sum()), 2)
        alphas *= np.float32(total / alphas.sum())
        peaks = cif_wo_hidden(torch.from_numpy(alphas)[None], 1.0 - 1e-4)[0]
        count = max(total - 1 - (number % 6 == 5) + (number % 6 == 4), 1)
        try:
            _, times = ts_prediction_lfr6_standard(
                torch.from_numpy(alphas.copy()), peaks, ["一"] * count
            )
        except IndexError:
            continue
        if len(times) == count:
            made.append(
                {
                    "alphas": [float(value) for value in alphas],
                    "peaks": [float(value) for value in peaks],
                    "count": count,
                    "times": times,
                }
            )
    return made


def made_up_cif() -> list[dict]:
    """Integrate-and-fire of both predictors of FunASR, with the tail, over a batch."""
    import torch
    from funasr.models.bicif_paraformer.cif_predictor import CifPredictorV3
    from funasr.models.bicif_paraformer.cif_predictor import cif as by_steps
    from funasr.models.paraformer.cif_predictor import cif_v1 as by_sums

    predictor = CifPredictorV3(idim=3, l_order=1, r_order=1, tail_threshold=0.45)
    rng = np.random.default_rng(SEED)
    made = []
    for lengths in ([9], [12, 7], [20, 13, 4], [30, 30], [2, 25]):
        frames = max(lengths)
        mask = (np.arange(frames) < np.array(lengths)[:, None]).astype(np.float32)
        hidden = rng.integers(-64, 64, (len(lengths), frames, 3)).astype(np.float32) / 32
        hidden *= mask[..., None]
        alphas = rng.random((len(lengths), frames)).astype(np.float32) * mask * np.float32(0.7)
        tailed, weights, counts = predictor.tail_process_fn(
            torch.from_numpy(hidden), torch.from_numpy(alphas), mask=torch.from_numpy(mask)
        )
        entry = {"lengths": lengths, "hidden": hidden.tolist(), "alphas": alphas.tolist()}
        entry["weights"], entry["counts"] = weights.tolist(), counts.tolist()
        for name, fire in (("steps", by_steps), ("sums", by_sums)):
            embeds, fires = fire(tailed, weights, 1.0)
            most = int(counts.max())
            entry[name] = {"embeds": embeds[:, :most].tolist(), "fires": fires.tolist()}
        made.append(entry)
    return made


def as_lines(golden: dict) -> str:
    """JSON with one line for each case."""
    parts = []
    for key, value in golden.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in value)
            parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    main()
