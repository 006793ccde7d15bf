"""``convert om``: a Paraformer for Ascend devices."""

from __future__ import annotations

import argparse
import functools
import os
import platform
import shlex
from collections.abc import Callable
from pathlib import Path

from asr_core.cli.common import OK, tell
from asr_core.messages import message
from asr_core.models.ascend_plan import (
    DEFAULT_FRAMES,
    FP16,
    HOST_CPUS,
    ON_CPU,
    PRECISIONS,
    OmOptions,
)
from asr_core.models.ascend_script import DEFAULT_TIMEOUT_S
from asr_core.models.convert import StepSink
from asr_core.models.convert_om import (
    find_atc,
    planned,
    prepare_om,
    run_script,
    soc_of_machine,
)
from asr_core.models.offers import ASCEND_ENDING
from asr_core.runtime.ascend_manifest import GEARS, MODES
from asr_core.settings import Settings

_MOST_BATCH = 64
_MOST_THREADS = 8
_KUNPENG = HOST_CPUS[0]
_DESCRIPTION = (
    "Make the OM files of a Paraformer with atc, Ascend's converter. Where there is no atc, a "
    "folder with a script is made, for a machine that has it."
)


def register(
    parser: argparse.ArgumentParser,
    buckets: Callable[[str], tuple[int, ...]],
    steps: Callable[[str], StepSink],
) -> None:
    """Arguments of the command.

    Args:
        parser: of the command.
        buckets: reads numbers of frames.
        steps: tells of the steps of a conversion, given the locale.
    """
    parser.description = _DESCRIPTION
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="with a checkpoint, or with fp32 graphs"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help=f"the folder that is made (default: FOLDER{ASCEND_ENDING}, where it is found)",
    )
    parser.add_argument("--force", action="store_true", help="replace a converted folder")
    parser.add_argument(
        "--soc", metavar="NAME", help="chip, for example Ascend310P3 (default: what npu-smi tells)"
    )
    parser.add_argument(
        "--shapes",
        choices=MODES,
        default=GEARS,
        help="a file for each size, one file with several sizes, or any size, which 310 and 310B "
        "do not support (default: gears)",
    )
    parser.add_argument(
        "--buckets",
        type=buckets,
        default=DEFAULT_FRAMES,
        metavar="FRAMES,FRAMES",
        help=f"sizes, of 60 ms each (default: {','.join(map(str, DEFAULT_FRAMES))})",
    )
    parser.add_argument(
        "--batch",
        type=_batch,
        default=(),
        metavar="N,N",
        help="segments that run together (default: 1,4; 1 with static shapes)",
    )
    parser.add_argument(
        "--precision", choices=PRECISIONS, default=FP16, help="of the arithmetic (default: fp16)"
    )
    parser.add_argument(
        "--cpu",
        type=_names,
        default=ON_CPU,
        metavar="GRAPH,GRAPH",
        help=f"graphs that ONNX Runtime executes; '' for none (default: {','.join(ON_CPU)})",
    )
    _add_machine(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the commands, do nothing")
    parser.set_defaults(run=functools.partial(_convert, steps=steps))


def _add_machine(parser: argparse.ArgumentParser) -> None:
    """Where the files are made, for which machine, and what else is made."""
    parser.add_argument(
        "--layers",
        action="store_true",
        help="make files besides that give what each block computes, for convert verify",
    )
    parser.add_argument(
        "--host-cpu",
        choices=HOST_CPUS,
        help="of the machine with the NPU; none leaves it to atc (default: this machine's where "
        f"npu-smi is asked, else {_KUNPENG})",
    )
    parser.add_argument("--atc", metavar="PATH", help="the program (default: atc)")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=DEFAULT_TIMEOUT_S,
        metavar="SECONDS",
        help=f"for each file (default: {DEFAULT_TIMEOUT_S})",
    )


def _convert(
    arguments: argparse.Namespace, settings: Settings, steps: Callable[[str], StepSink]
) -> int:
    options = _options(arguments)
    if arguments.dry_run:
        for job in planned(arguments.folder, options):
            print(shlex.join([arguments.atc or "atc", *job.arguments]))
        return OK
    atc = find_atc(arguments.atc)
    source = arguments.folder.resolve()
    folder = prepare_om(
        arguments.folder,
        arguments.output or source.with_name(f"{source.name}{ASCEND_ENDING}"),
        options,
        locale=settings.locale,
        replace=arguments.force,
        threads=settings.threads or min(len(os.sched_getaffinity(0)), _MOST_THREADS),
        on_step=steps(settings.locale),
    )
    count = len(folder.jobs)
    if atc:
        run_script(folder, atc, timeout_s=arguments.timeout, on_line=tell)
        size = f"{sum((folder.path / job.file).stat().st_size for job in folder.jobs) / 1e6:.0f}"
        shown = shlex.quote(str(folder.path))
        values = {"soc": options.soc, "folder": shown, "count": count, "size": size}
        tell(message("convert.om_done", settings.locale, **values))
    else:
        tell(message("convert.om_prepared", settings.locale, folder=folder.path, count=count))
    print(folder.path)
    return OK


def _options(arguments: argparse.Namespace) -> OmOptions:
    soc = arguments.soc or soc_of_machine()
    here = platform.machine() if platform.machine() in HOST_CPUS else _KUNPENG
    return OmOptions(
        soc=soc,
        shapes=arguments.shapes,
        frames=arguments.buckets,
        batch=arguments.batch,
        precision=arguments.precision,
        on_cpu=arguments.cpu,
        host_cpu=arguments.host_cpu or (_KUNPENG if arguments.soc else here),
        layers=arguments.layers,
    )


def _batch(value: str) -> tuple[int, ...]:
    batch = tuple(sorted({int(part) for part in value.split(",")}))
    if not 1 <= batch[0] <= batch[-1] <= _MOST_BATCH:
        raise argparse.ArgumentTypeError(f"numbers from 1 to {_MOST_BATCH}, for example 1,8")
    return batch


def _names(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


def _seconds(value: str) -> int:
    seconds = int(value)
    if seconds < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return seconds
