"""Prepares, trains, exports and evaluates the punctuation network.

    python -m asr_core.training.punctuation prepare --data DIR --work DIR
    python -m asr_core.training.punctuation train --data DIR --work DIR
    python -m asr_core.training.punctuation export --data DIR --work DIR --output DIR
    python -m asr_core.training.punctuation evaluate --model DIR --test FILE

``train`` goes on where it stopped. The same data and options give the same network, but for the
rounding of sums that threads share.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from asr_core.errors import AsrError, UsageError
from asr_core.text.punctuation.base import MARKS
from asr_core.text.punctuation.tagger import (
    FACTS_FILE,
    NETWORK_FILE,
    VOCABULARY_FILE,
    PunctuationTagger,
)
from asr_core.training.corpus import Corpus, build_corpus, load_corpus, save_corpus
from asr_core.training.export import Weights, write_onnx
from asr_core.training.judging import read_test, validation_parts
from asr_core.training.scoring import Float32, Part, best_biases, count, report, total
from asr_core.training.sources import licence_table

logger = logging.getLogger(__name__)

_NAME = "tinglu-punctuation"


def prepare(data: Path, work: Path) -> None:
    """Read the texts of ``data`` and write them, numbered, into ``work``."""
    corpus = build_corpus(data)
    save_corpus(corpus, work)
    (work / "SOURCES.md").write_text(_sources_page(corpus), encoding="utf-8")


def train(data: Path, work: Path, arguments: argparse.Namespace) -> None:
    """Train the network, or go on with it."""
    from asr_core.training.sampling import SamplingOptions
    from asr_core.training.trainer import Trainer, TrainingOptions, shape_for

    corpus = load_corpus(data, work)
    shape = shape_for(
        corpus,
        unit_width=arguments.unit_width,
        pair_width=arguments.pair_width,
        steps=tuple(arguments.layer_steps),
        dropout=arguments.dropout,
    )
    options = TrainingOptions(
        steps=arguments.steps,
        rate=arguments.rate,
        judge_every=arguments.judge_every,
        seed=arguments.seed,
    )
    sampling = SamplingOptions(length=arguments.length, rows=arguments.rows)
    trainer = Trainer(corpus, shape, sampling, options, work / arguments.run)

    def judge(weights: Weights) -> dict[str, float]:
        return judge_weights(
            corpus, weights, shape.steps, work / arguments.run, threads=arguments.threads
        )

    trainer.run(judge, until=arguments.until)


def judge_weights(
    corpus: Corpus, weights: Weights, steps: Sequence[int], work: Path, *, threads: int
) -> dict[str, float]:
    """Figures of weights on every third validation paragraph, with thresholds made for them."""
    network = work / "judged.onnx"
    write_onnx(weights, steps, network, eight_bits=False)
    parts = validation_parts(corpus, network, threads=threads, every=3)
    biases = best_biases(parts)
    figures = _figures(parts, biases)
    timed = validation_parts(corpus, network, threads=threads, every=6, timed=True)
    figures["timed_micro"] = _figures(timed, biases)["micro"]
    figures["target"] = figures["micro"]
    return figures


def export(data: Path, work: Path, run: str, output: Path, *, threads: int) -> None:
    """Write the mean of the weights that a run has kept, with thresholds for it.

    Scarce texts are known by heart at the end of a training; the mean over its second half
    judges unseen texts of their kind better than the last weights do, and others as well.

    Raises:
        UsageError: the training has not come to its second half.
    """
    corpus = load_corpus(data, work)
    weights = mean_weights(sorted((work / run).glob("kept-*.npz")))
    output.mkdir(parents=True, exist_ok=True)
    shape = json.loads((work / run / "shape.json").read_text(encoding="utf-8"))
    write_onnx(weights, shape["steps"], output / NETWORK_FILE)
    corpus.vocabulary.write(output / VOCABULARY_FILE)
    parts = validation_parts(corpus, output / NETWORK_FILE, threads=threads)
    biases = best_biases(parts)
    facts = {
        "name": _NAME,
        "parameters": int(sum(array.size for array in weights.values())),
        "biases": {mark: round(float(bias), 3) for mark, bias in zip(MARKS, biases, strict=True)},
        "validation": report(parts, biases, last=False),
    }
    text = json.dumps(facts, ensure_ascii=False, indent=1)
    (output / FACTS_FILE).write_text(text + "\n", encoding="utf-8")
    (output / "SOURCES.md").write_text(_sources_page(corpus), encoding="utf-8")


def mean_weights(paths: Sequence[Path]) -> Weights:
    """The mean of the weights in some files.

    Raises:
        UsageError: there is no file.
    """
    if not paths:
        raise UsageError("The training has not come to its second half")
    sums: dict[str, npt.NDArray[np.float64]] = {}
    for path in paths:
        with np.load(path) as arrays:
            for name in arrays:
                sums[name] = sums.get(name, 0.0) + arrays[name].astype(np.float64)
    return {name: (values / len(paths)).astype(np.float32) for name, values in sums.items()}


def evaluate(model: Path, test: Path, *, threads: int, without: Sequence[str]) -> str:
    """A table of figures on a test file, with and without the last mark of each paragraph.

    Args:
        model: folder of an exported network.
        test: lines ``id, source, text``.
        threads: for ONNX Runtime.
        without: sources that are shown, but not part of ``all``.
    """
    parts = read_test(PunctuationTagger(model, threads), test)
    lines = []
    none = np.zeros(len(MARKS), dtype=np.float32)
    for last in (False, True):
        lines.append("with the last marks" if last else "without the last marks")
        table = report({n: p for n, p in parts.items() if n not in without}, none, last=last)
        table |= report({n: p for n, p in parts.items() if n in without}, none, last=last) | {
            "all": table["all"]
        }
        lines.append(f"{'':30}" + "".join(f"{name:>10}" for name in table["all"]))
        for source, figures in table.items():
            lines.append(f"{source:30}" + "".join(f"{value:10.3f}" for value in figures.values()))
    return "\n".join(lines)


def _figures(parts: dict[str, Part], biases: Float32) -> dict[str, float]:
    return total({n: count(p, biases, last=False) for n, p in parts.items()}).figures()


def _sources_page(corpus: Corpus) -> str:
    return (
        "# Texts that the punctuation network has learnt from\n\n"
        "The files beside this one hold weights, frequent words and frequent pairs of words, and\n"
        "no sentences. Share: the part of what is read at the start of the training; a scarce\n"
        "source is read less and less.\n\n" + licence_table(list(corpus.sources))
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0, or 2 for wrong arguments."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    given = _parser().parse_args(arguments)
    try:
        if given.command == "prepare":
            prepare(given.data, given.work)
        elif given.command == "train":
            train(given.data, given.work, given)
        elif given.command == "export":
            export(given.data, given.work, given.run, given.output, threads=given.threads)
        else:
            table = evaluate(given.model, given.test, threads=given.threads, without=given.without)
            sys.stdout.write(table + "\n")
    except (AsrError, UsageError, OSError) as exc:
        logger.error("%s", exc)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m asr_core.training.punctuation")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("prepare", "number the words of all texts"),
        ("train", "train, or go on with it"),
        ("export", "write the ONNX file with its thresholds"),
        ("evaluate", "judge an exported network on a test file"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--threads", type=int, default=2, help="of ONNX Runtime")
        if name == "evaluate":
            command.add_argument("--model", type=Path, required=True)
            command.add_argument("--test", type=Path, required=True)
            command.add_argument("--without", nargs="*", default=["meeting_asr-vcsum"])
            continue
        command.add_argument("--data", type=Path, required=True, help="SOURCES.tsv and corpus/")
        command.add_argument("--work", type=Path, required=True, help="for all that is made")
        command.add_argument("--run", default="run", help="folder of the training in --work")
        if name == "export":
            command.add_argument("--output", type=Path, required=True)
        if name == "train":
            _add_training(command)
    return parser


def _add_training(command: argparse.ArgumentParser) -> None:
    for name, kind, default in (
        ("steps", int, 6000),
        ("until", int, None),
        ("rate", float, 1.5e-3),
        ("judge-every", int, 500),
        ("seed", int, 1),
        ("length", int, 192),
        ("rows", int, 20),
        ("unit-width", int, 128),
        ("pair-width", int, 64),
        ("dropout", float, 0.1),
    ):
        command.add_argument(f"--{name}", type=kind, default=default)
    command.add_argument("--layer-steps", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])


if __name__ == "__main__":
    sys.exit(main())
