"""``evaluate``: how good the texts of recordings are, against references."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from asr_core.cli.common import (
    OK,
    SOME_FAILED,
    USAGE,
    add_options,
    on_first_interrupt,
    opened_shelf,
    options_of,
    show_progress,
    tell,
)
from asr_core.cli.reports import write_report
from asr_core.engine import CancelToken, Engine, TranscribeOptions
from asr_core.errors import AudioError, ManifestError, RecognitionError
from asr_core.evaluation.comparison import compare_texts
from asr_core.evaluation.manifest import Sample, read_manifest, read_texts
from asr_core.evaluation.measure import Evaluation, Outcome, evaluate
from asr_core.evaluation.normalize import DEFAULT_NORMALIZATIONS, NORMALIZATIONS
from asr_core.evaluation.report import percent, to_json, to_lines
from asr_core.evaluation.report_html import to_html
from asr_core.messages import describe, message
from asr_core.results import ModelInfo
from asr_core.settings import Settings
from asr_core.text.hotword_list import parse_hotwords


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Transcribe the recordings of a list and measure the texts against their references. The "
        "figures go to standard output, progress to standard error."
    )
    parser.add_argument(
        "--manifest",
        type=Path,
        required=True,
        metavar="TSV",
        help="columns audio, reference and, if known, spoken, speaker, tag; with a header",
    )
    parser.add_argument(
        "--hypotheses",
        type=Path,
        metavar="TSV",
        help="measure these texts instead of transcribing: columns audio, text[, spoken]",
    )
    parser.add_argument(
        "--normalize",
        type=_names,
        default=DEFAULT_NORMALIZATIONS,
        metavar="NAME,NAME",
        help=f"of {', '.join(NORMALIZATIONS)}; all, none "
        f"(default: {','.join(DEFAULT_NORMALIZATIONS)})",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report to read here")
    add_options(parser)
    parser.set_defaults(run=_evaluate)


def _names(value: str) -> tuple[str, ...]:
    if value in ("all", "none"):
        return NORMALIZATIONS if value == "all" else ()
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names or not set(names) <= set(NORMALIZATIONS):
        raise argparse.ArgumentTypeError(f"choose from all, none, {', '.join(NORMALIZATIONS)}")
    return tuple(name for name in NORMALIZATIONS if name in names)


def _evaluate(arguments: argparse.Namespace, settings: Settings) -> int:
    with opened_shelf(settings) as shelf:
        shelf.recognizer(shelf.default())
    try:
        samples = read_manifest(arguments.manifest)
        given = read_texts(arguments.hypotheses, samples) if arguments.hypotheses else None
    except ManifestError as exc:
        tell(describe(exc, settings.locale))
        return USAGE
    options = options_of(arguments)
    for path in filter(None, (arguments.json, arguments.html)):
        write_report(path, "")
    model: ModelInfo | None = None
    if given is None:
        results, model = _recognize(samples, options, arguments.normalize, settings)
    else:
        results = [
            (sample, Outcome(given[sample.audio].text, given[sample.audio].spoken))
            if sample.audio in given
            else (sample, Outcome(""))
            for sample in samples
        ]
    words = parse_hotwords("\n".join(options.hotwords)).words
    measured = evaluate(results, normalizations=arguments.normalize, hotwords=words)
    _report(measured, model, arguments, settings.locale)
    return SOME_FAILED if measured.failed or len(results) < len(samples) else OK


def _recognize(
    samples: Sequence[Sample],
    options: TranscribeOptions,
    normalizations: Sequence[str],
    settings: Settings,
) -> tuple[list[tuple[Sample, Outcome]], ModelInfo | None]:
    """Texts of the recordings until Ctrl-C, and the model that made them."""
    cancel = CancelToken()
    on_first_interrupt(cancel.cancel)
    results = []
    model: ModelInfo | None = None
    with Engine(settings) as engine:
        for sample, outcome, info in _outcomes(engine, samples, options, cancel, settings.locale):
            results.append((sample, outcome))
            model = model or info
            rate = compare_texts(sample.reference, outcome.text, normalizations).counts.rate
            line = message(
                "cli.evaluated",
                settings.locale,
                done=len(results),
                total=len(samples),
                name=sample.audio,
                rate=percent(rate),
            )
            tell(outcome.error or line)
    return results, model


def _outcomes(
    engine: Engine,
    samples: Sequence[Sample],
    options: TranscribeOptions,
    cancel: CancelToken,
    locale: str,
) -> Iterator[tuple[Sample, Outcome, ModelInfo | None]]:
    for number, sample in enumerate(samples, start=1):
        if os.isatty(2):
            show_progress(f"{number} / {len(samples)}  {sample.audio}")
        try:
            transcript = engine.recognize(sample.path, options, cancel=cancel)
        except (AudioError, RecognitionError) as exc:
            yield sample, Outcome("", error=describe(exc, locale)), None
            continue
        if cancel.is_cancelled:
            return
        outcome = Outcome(
            transcript.text,
            transcript.spoken_text,
            transcript.duration_ms,
            transcript.processing_ms,
        )
        yield sample, outcome, transcript.model


def _report(
    measured: Evaluation, model: ModelInfo | None, arguments: argparse.Namespace, locale: str
) -> None:
    for line in to_lines(measured, locale):
        print(line)
    if arguments.json:
        write_report(arguments.json, to_json(measured, model))
    if arguments.html:
        write_report(arguments.html, to_html(measured, model, locale))
