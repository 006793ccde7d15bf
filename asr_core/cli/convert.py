"""``convert``: FunASR's model folders become graphs for the runtimes of this program."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from asr_core.cli import compare, convert_om, verify
from asr_core.cli.common import OK, show_progress, tell
from asr_core.cli.reports import write_report
from asr_core.errors import SettingsError
from asr_core.messages import message
from asr_core.models.convert import (
    PRECISIONS,
    OnnxOptions,
    Step,
    convert_to_mindspore,
    convert_to_onnx,
)
from asr_core.models.convert_cells import ParaformerSource
from asr_core.models.funasr_folder import open_folder
from asr_core.models.quantize import DEFAULT_KEPT, Method
from asr_core.parity.material import SAMPLE, batches, made_words
from asr_core.parity.sensitivity import Sensitivity, SensitivityMeter
from asr_core.parity.sensitivity_report import to_html, to_table
from asr_core.settings import Settings

_AUTO = "auto"
_AGREEMENT = 0.99
_SUFFIXES = (".html", ".tsv")
_MOST_BUCKETS, _LARGEST_BUCKET = 16, 4096
_DESCRIPTION = (
    "Make the folder of a model for one of the runtimes from FunASR's own (model.pt or "
    "model.safetensors, config.yaml, tokens.json, am.mvn)."
)


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = _DESCRIPTION
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    onnx = actions.add_parser("onnx", help="graphs for ONNX Runtime, in eight bits by default")
    _add_folders(onnx)
    onnx.add_argument(
        "--precision", choices=PRECISIONS, default="int8", help="of weights (default: int8)"
    )
    onnx.add_argument(
        "--keep-fp32",
        type=_names,
        metavar="NAME,NAME|auto",
        help="operators or parts that stay in single precision; auto: as many as the share of "
        f"equal tokens needs (default: {','.join(DEFAULT_KEPT)})",
    )
    onnx.add_argument(
        "--agreement",
        type=_share,
        default=_AGREEMENT,
        metavar="SHARE",
        help=f"of equal tokens, for auto (default: {_AGREEMENT})",
    )
    onnx.add_argument(
        "--report",
        type=_report_file,
        metavar="FILE",
        help="what eight bits change in each part of the model, as .html or .tsv; takes minutes",
    )
    onnx.add_argument(
        "--audio",
        type=Path,
        nargs="+",
        default=[SAMPLE],
        metavar="FILE",
        help="recordings for report and auto (default: the sample recording)",
    )
    onnx.add_argument(
        "--method",
        choices=[method.value for method in Method],
        default=Method.PAIRS.value,
        help="how weights get eight bits (default: pairs)",
    )
    onnx.add_argument(
        "--buckets",
        type=_buckets,
        default=(),
        metavar="FRAMES,FRAMES",
        help="besides, graphs for these numbers of frames of 60 ms and no others",
    )
    onnx.set_defaults(run=_convert_onnx)
    mindspore = actions.add_parser("mindspore", help="a checkpoint of MindSpore")
    _add_folders(mindspore)
    mindspore.set_defaults(run=_convert_mindspore)
    om = actions.add_parser("om", help="files for Ascend devices, or a script that makes them")
    convert_om.register(om, _buckets, StepLines)
    verify.register(actions.add_parser("verify", help="whether a device says what the CPU says"))
    compare.register(actions.add_parser("compare", help="where two forms of a model differ"))


def _add_folders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="FunASR's model folder")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="the folder that is made"
    )
    parser.add_argument("--force", action="store_true", help="replace a converted folder")


def _convert_onnx(arguments: argparse.Namespace, settings: Settings) -> int:
    is_auto = arguments.keep_fp32 == (_AUTO,)
    chooser = _Chooser(arguments, settings) if is_auto or arguments.report else None
    if chooser and arguments.precision != "int8":
        raise _wrong("--precision", arguments.precision, "int8 with --report or --keep-fp32 auto")
    options = OnnxOptions(
        precision=arguments.precision,
        kept=DEFAULT_KEPT if arguments.keep_fp32 is None or is_auto else arguments.keep_fp32,
        buckets=arguments.buckets,
        method=Method(arguments.method),
        replace=arguments.force,
        choose=chooser,
    )
    target = convert_to_onnx(
        arguments.folder, arguments.output, options, StepLines(settings.locale)
    )
    return _done(target, settings)


def _convert_mindspore(arguments: argparse.Namespace, settings: Settings) -> int:
    target = convert_to_mindspore(
        arguments.folder,
        arguments.output,
        replace=arguments.force,
        on_step=StepLines(settings.locale),
    )
    return _done(target, settings)


def _done(target: Path, settings: Settings) -> int:
    size = f"{sum(path.stat().st_size for path in target.iterdir()) / 1e6:.0f}"
    tell(message("convert.done", settings.locale, folder=target, size=size))
    print(target)
    return OK


class StepLines:
    """One line for each step."""

    def __init__(self, locale: str) -> None:
        self._locale = locale

    def __call__(self, step: Step) -> None:
        said = message(f"convert.step_{step.kind}", self._locale, graph=step.graph)
        tell(f"{step.number}/{step.total} {said}")


class _Chooser:
    """Decides what stays in single precision, and writes the report about it."""

    def __init__(self, arguments: argparse.Namespace, settings: Settings) -> None:
        self._given: tuple[str, ...] | None = arguments.keep_fp32
        self._agreement: float = arguments.agreement
        self._report: Path | None = arguments.report
        self._audio: list[Path] = arguments.audio
        self._method = Method(arguments.method)
        self._locale = settings.locale
        self._threads = settings.threads or len(os.sched_getaffinity(0))
        if self._report:
            # A place that cannot be written is told before the work, not after it.
            write_report(self._report, "")

    def __call__(self, source: ParaformerSource, graphs: Path, work: Path) -> tuple[str, ...]:
        folder = open_folder(source.folder, name=source.folder.name, graphs=False)
        words = made_words(len(folder.tokens)) if source.config.bias else ()
        meter = SensitivityMeter(
            graphs,
            work,
            folder=folder,
            config=source.config,
            recordings=list(batches(self._audio, folder, words)),
            method=self._method,
            threads=self._threads,
        )
        try:
            report = self._measure(meter)
        finally:
            meter.close()
        if self._report:
            is_page = self._report.suffix == ".html"
            write_report(
                self._report, to_html(report, self._locale) if is_page else to_table(report)
            )
        share = f"{100 * report.chosen.agreement:.2f}"
        names = ", ".join(report.kept)
        tell(message("convert.kept", self._locale, share=share, names=names))
        return report.kept

    def _measure(self, meter: SensitivityMeter) -> Sensitivity:
        is_auto = self._given == (_AUTO,)
        kept = DEFAULT_KEPT if self._given is None or is_auto else self._given
        chosen = meter.effect_without(kept)
        # Where nothing has to be chosen and nobody asked, the parts need not be measured.
        if is_auto and chosen.agreement >= self._agreement and not self._report:
            return meter.report((), kept, chosen)
        parts = meter.measure(self._show)
        if is_auto:
            kept, chosen = meter.choose(parts, self._agreement)
        return meter.report(parts, kept, chosen)

    def _show(self, part: str, number: int, total: int) -> None:
        said = message("convert.measuring", self._locale, part=part, number=number, total=total)
        if sys.stderr.isatty():
            show_progress(said)
        elif number == 1:
            tell(said)


def _wrong(name: str, value: str, allowed: str) -> SettingsError:
    return SettingsError(
        f"{name}={value} is not usable; allowed: {allowed}",
        name=name,
        value=value,
        allowed=allowed,
    )


def _names(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"[^,\s]+", value)))


def _share(value: str) -> float:
    share = float(value)
    if not 0.0 <= share <= 1.0:
        raise argparse.ArgumentTypeError("a share is between 0 and 1")
    return share


def _report_file(value: str) -> Path:
    path = Path(value)
    if path.suffix not in _SUFFIXES:
        raise argparse.ArgumentTypeError(f"the name has to end with {' or '.join(_SUFFIXES)}")
    return path


def _buckets(value: str) -> tuple[int, ...]:
    buckets = sorted({int(part) for part in value.split(",")})
    if not 1 <= buckets[0] <= buckets[-1] <= _LARGEST_BUCKET or len(buckets) > _MOST_BUCKETS:
        raise argparse.ArgumentTypeError(
            f"up to {_MOST_BUCKETS} numbers from 1 to {_LARGEST_BUCKET}, for example 64,128,256"
        )
    return tuple(buckets)
