"""``convert verify``: whether a device says what ONNX Runtime says."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from asr_core.cli.common import OK, SOME_FAILED, USAGE, show_progress, tell
from asr_core.cli.reports import write_report
from asr_core.errors import ConvertError, ManifestError, SettingsError
from asr_core.evaluation.forms import MOST_POINTS, RateChange, rate_change
from asr_core.evaluation.manifest import Sample, read_manifest
from asr_core.messages import describe, message
from asr_core.models.ascend_plan import layered
from asr_core.models.convert_target import UNFINISHED
from asr_core.models.graph_folder import GRAPHS_FILE, read_graph_manifest
from asr_core.networks.graphs import LAYERED
from asr_core.parity.compare import (
    DEVICE_LIMITS,
    EXACT_DEVICE_LIMITS,
    Comparison,
    compare,
)
from asr_core.parity.material import MAX_SECONDS, SAMPLE, batches, made_words
from asr_core.parity.probe import EXACT
from asr_core.parity.report import to_lines
from asr_core.parity.report_html import to_html
from asr_core.parity.sources import (
    Source,
    check_alike,
    open_device,
    open_originals,
    open_source,
)
from asr_core.runtime.ascend_manifest import ENDING
from asr_core.settings import Settings

_MOST_THREADS = 8
_FRAME_SECONDS = 0.06
_DEVICE = "npu:"


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Run the OM files of a folder on the device and compare them, graph by graph, with the "
        "ONNX files that they were made of, and block by block where convert om --layers made "
        "files for that; with a list of recordings, the error rates too. The "
        f"exit code is 0 if all is within the limits (error rate: {MOST_POINTS:g} points), 1 if "
        "not."
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="what convert om made")
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="FOLDER",
        help="another form that is right (default: the ONNX files in DIR)",
    )
    parser.add_argument(
        "--manifest",
        type=Path,
        metavar="TSV",
        help="recordings for the error rates: columns audio, reference and, if known, spoken",
    )
    parser.add_argument(
        "--audio",
        type=Path,
        nargs="+",
        default=[SAMPLE],
        metavar="FILE",
        help="recordings to compare on (default: the sample recording)",
    )
    parser.add_argument("--device", metavar="npu:N", help="which device (default: npu:0)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report to read here")
    parser.set_defaults(run=_verify)


def _verify(arguments: argparse.Namespace, settings: Settings) -> int:
    folder: Path = arguments.folder
    if (folder / f"{GRAPHS_FILE}{UNFINISHED}").is_file() and not (folder / GRAPHS_FILE).is_file():
        raise ConvertError(
            f"{folder} is prepared only; run its script", reason="unfinished", path=str(folder)
        )
    try:
        samples = read_manifest(arguments.manifest) if arguments.manifest else ()
    except ManifestError as exc:
        tell(describe(exc, settings.locale))
        return USAGE
    if arguments.html:
        write_report(arguments.html, "")
    if arguments.device == "cpu":
        raise SettingsError(
            "convert verify runs on a device; --device cpu is not usable",
            name="--device",
            value="cpu",
            allowed="npu:N",
        )
    threads = settings.threads or min(len(os.sched_getaffinity(0)), _MOST_THREADS)
    number = settings.device.removeprefix(_DEVICE)
    index = int(number) if number.isdigit() else 0
    device = open_device(folder, index=index, threads=threads)
    try:
        reference = (
            open_source(arguments.reference, threads=threads)
            if arguments.reference
            else open_originals(folder, threads=threads)
        )
        try:
            return _report(reference, device, samples, arguments, settings.locale)
        finally:
            reference.probe.close()
    finally:
        device.probe.close()


def _report(
    reference: Source,
    device: Source,
    samples: tuple[Sample, ...],
    arguments: argparse.Namespace,
    locale: str,
) -> int:
    check_alike(reference, device)
    comparison = _compared(reference, device, arguments, locale)
    change = rate_change(samples, reference, device, _shown(locale)) if samples else None
    notes = [*_fault(comparison, arguments.folder, locale), *_rates(change, locale)]
    for line in (*to_lines(comparison, locale), *notes):
        print(line)
    if arguments.html:
        tokens = reference.folder.tokens
        write_report(arguments.html, to_html(comparison, tokens, locale, notes))
    return OK if comparison.passed and (change is None or change.passed) else SOME_FAILED


def _compared(
    reference: Source, device: Source, arguments: argparse.Namespace, locale: str
) -> Comparison:
    exact = device.probe.precision == EXACT
    longest = device.max_frames * _FRAME_SECONDS or MAX_SECONDS
    most = min(reference.most_words, device.most_words)
    takes_words = min(reference.max_hotword_tokens, device.max_hotword_tokens) > 0
    words = made_words(len(reference.folder.tokens))[:most] if takes_words else ()
    inputs = batches(
        arguments.audio, reference.folder, words, max_seconds=min(MAX_SECONDS, longest)
    )
    limits = EXACT_DEVICE_LIMITS if exact else DEVICE_LIMITS
    return compare(reference.probe, device.probe, inputs, limits, _shown(locale))


def _fault(comparison: Comparison, folder: Path, locale: str) -> list[str]:
    """The graph in which the first fault lies; values between graphs belong to none."""
    first = comparison.first_failed
    graphs = read_graph_manifest(folder, folder.name).graphs
    graph = first.name.partition(".")[0] if first else ""
    if graph not in graphs:
        return []
    lines = [message("verify.graph", locale, graph=graph, file=graphs[graph].file)]
    if graph in LAYERED and graphs[graph].file.endswith(ENDING) and layered(graph) not in graphs:
        lines.append(message("verify.layers", locale, graph=graph))
    return lines


def _rates(change: RateChange | None, locale: str) -> list[str]:
    if change is None:
        return []
    verdict = "verify.within" if change.passed else "verify.beyond"
    points = f"{change.points:+.2f}"
    return [
        message(
            "verify.cer",
            locale,
            reference=f"{100 * change.reference.rate:.2f}",
            other=f"{100 * change.other.rate:.2f}",
            recordings=change.recordings,
        ),
        message(verdict, locale, points=points, limit=f"{MOST_POINTS:g}"),
    ]


def _shown(locale: str) -> Callable[[int], None]:
    """Progress, where there is a terminal."""

    def done(count: int) -> None:
        if os.isatty(2):
            show_progress(message("compare.progress", locale, count=count))

    return done
