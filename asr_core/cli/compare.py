"""``convert compare``: where two forms of a model differ."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from asr_core.cli.common import OK, SOME_FAILED, read_hotwords, show_progress
from asr_core.cli.reports import write_report
from asr_core.messages import message
from asr_core.parity.compare import (
    LIMIT_NAMES,
    Comparison,
    compare,
    default_limits,
    is_exact,
)
from asr_core.parity.material import BATCH, MAX_SECONDS, SAMPLE, batches, encoded_words, made_words
from asr_core.parity.report import to_json, to_lines
from asr_core.parity.report_html import to_html
from asr_core.parity.sources import Source, check_alike, open_source
from asr_core.settings import Settings

_MOST_THREADS = 8
_FRAME_SECONDS = 0.06


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Run two forms of a Paraformer on the same recordings and show, layer by layer, how far "
        "they differ, and how many tokens are equal. A form is a converted folder or a model "
        "folder of FunASR; a file of it (model.pt, model.onnx, model_quant.onnx) chooses which "
        "one. The exit code is 0 if all is within the limits, 1 if not."
    )
    parser.add_argument("reference", type=Path, metavar="REFERENCE", help="what is right")
    parser.add_argument("other", type=Path, metavar="OTHER", help="what is compared with it")
    parser.add_argument(
        "--audio",
        type=Path,
        nargs="+",
        default=[SAMPLE],
        metavar="FILE",
        help="recordings (default: the sample recording)",
    )
    parser.add_argument(
        "--hotwords",
        metavar="FILE|WORDS",
        help="file with one word a line, or words; '' for none (default: 60 made of tokens)",
    )
    parser.add_argument(
        "--batch",
        type=_positive,
        metavar="N",
        help=f"parts of recordings in a run (default: {BATCH}, or 1 unless both are fp32)",
    )
    parser.add_argument(
        "--limit",
        type=_limit,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"of {', '.join(LIMIT_NAMES)} (default: max_abs=1e-4 tokens=1 in single precision, "
        "else cosine=0.95 tokens=0.98); may be repeated, 'none' lifts a limit",
    )
    parser.add_argument(
        "--frames",
        type=_positive,
        metavar="N",
        help="compare the graphs of OTHER for N frames of 60 ms, where it has them",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report to read here")
    parser.set_defaults(run=_compare)


def _compare(arguments: argparse.Namespace, settings: Settings) -> int:
    for path in filter(None, (arguments.json, arguments.html)):
        write_report(path, "")
    threads = settings.threads or min(len(os.sched_getaffinity(0)), _MOST_THREADS)
    reference = open_source(arguments.reference, threads=threads)
    try:
        other = open_source(arguments.other, threads=threads, frames=arguments.frames)
        try:
            check_alike(reference, other)
            comparison = _run(reference, other, arguments, settings.locale)
        finally:
            other.probe.close()
    finally:
        reference.probe.close()
    for line in to_lines(comparison, settings.locale):
        print(line)
    if arguments.json:
        write_report(arguments.json, to_json(comparison))
    if arguments.html:
        write_report(arguments.html, to_html(comparison, reference.folder.tokens, settings.locale))
    return OK if comparison.passed else SOME_FAILED


def _run(
    reference: Source, other: Source, arguments: argparse.Namespace, locale: str
) -> Comparison:
    limits = default_limits(reference.probe, other.probe)
    for name, value in arguments.limit:
        limits = replace(limits, **{name: value})
    words = _words(reference, other, arguments.hotwords)
    shown = os.isatty(2)

    def done(count: int) -> None:
        if shown:
            show_progress(message("compare.progress", locale, count=count))

    batch = arguments.batch or (BATCH if is_exact(reference.probe, other.probe) else 1)
    seconds = MAX_SECONDS if arguments.frames is None else arguments.frames * _FRAME_SECONDS
    if other.max_frames:
        seconds = min(seconds, other.max_frames * _FRAME_SECONDS)
    inputs = batches(arguments.audio, reference.folder, words, batch=batch, max_seconds=seconds)
    comparison = compare(reference.probe, other.probe, inputs, limits, done)
    if shown:
        show_progress("")
    return comparison


def _words(reference: Source, other: Source, given: str | None) -> tuple[tuple[int, ...], ...]:
    """Hotwords that both sides take."""
    max_tokens = min(reference.max_hotword_tokens, other.max_hotword_tokens)
    if not max_tokens:
        return ()
    if given is None:
        most = min(reference.most_words, other.most_words)
        return made_words(len(reference.folder.tokens))[:most]
    return encoded_words(read_hotwords(given), reference.folder, max_tokens)


def _positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _limit(value: str) -> tuple[str, float | None]:
    name, separator, number = value.partition("=")
    if name not in LIMIT_NAMES or not separator:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, NAME of {', '.join(LIMIT_NAMES)}")
    try:
        limit = None if number == "none" else float(number)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"{number!r} is no number") from exc
    if limit is not None and not limit >= 0:
        raise argparse.ArgumentTypeError(f"{number} is no limit")
    return name, limit
