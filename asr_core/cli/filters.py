"""``itn`` and ``punctuate``: one line of standard input in, one line of standard output out."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from asr_core.cli.common import OK, SOME_FAILED, add_styles, opened_shelf, tell
from asr_core.errors import NormalizationError, SettingsError
from asr_core.messages import describe
from asr_core.settings import Settings
from asr_core.text.punctuation.opening import TAGGER

_CT_PUNC = "ct-punc"
_THREADS = 1  # a line is too short for more


def register_itn(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``itn``."""
    parser.description = (
        "Write spoken numbers as people write them: one line of standard input in, one line out."
    )
    add_styles(parser)
    parser.add_argument(
        "--rules",
        type=Path,
        metavar="FILE",
        help="own rules, one '词 => 词' a line (default: itn_rules.txt in the data folder)",
    )
    parser.set_defaults(run=_itn)


def register_punctuate(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``punctuate``."""
    parser.description = (
        "Punctuate text: one line of standard input in, one line out. Marks that a line has are "
        "replaced."
    )
    parser.add_argument(
        "--model",
        dest="marks",
        metavar="tagger|ct-punc|FOLDER",
        help="our model, the installed CT-Transformer, or a model folder "
        "(default: as the settings say, else tagger)",
    )
    parser.set_defaults(run=_punctuate)


def run_filter(
    change: Callable[[str], str], source: BinaryIO, target: BinaryIO, locale: str
) -> int:
    """Change line by line; what goes out is there before the next line is read.

    Bytes that are no UTF-8 become U+FFFD. A line that cannot be changed stays as it is and is told
    of on standard error.

    Returns:
        How many lines could not be changed.
    """
    failed = 0
    for number, raw in enumerate(iter(source.readline, b""), start=1):
        line = raw.decode("utf-8", errors="replace").removesuffix("\n").removesuffix("\r")
        if line.strip():
            try:
                line = change(line)
            except NormalizationError as exc:
                failed += 1
                tell(f"{number}: {describe(exc, locale)}")
        target.write(line.encode("utf-8", errors="replace") + b"\n")
        target.flush()
    return failed


def _itn(arguments: argparse.Namespace, settings: Settings) -> int:
    from asr_core.text.itn.normalizer import RuleNormalizer
    from asr_core.text.itn.style import ItnStyle

    if arguments.rules is not None and not arguments.rules.is_file():
        raise SettingsError(
            f"there is no rule file {arguments.rules}",
            name="--rules",
            value=str(arguments.rules),
            allowed="FILE",
        )
    normalizer = RuleNormalizer(
        arguments.rules or settings.itn_rules, allow_patterns=settings.itn_patterns == "on"
    )
    for problem in normalizer.problems:
        tell(f"{problem.file}:{problem.line}: {problem.reason}")
    style = ItnStyle(arguments.dates, arguments.clock, arguments.percent)
    return _run(lambda line: normalizer.write(line, style=style), settings)


def _punctuate(arguments: argparse.Namespace, settings: Settings) -> int:
    from asr_core.text.punctuation.marks import punctuate_text
    from asr_core.text.punctuation.opening import open_punctuation

    name = arguments.marks or (_CT_PUNC if settings.punctuation == _CT_PUNC else TAGGER)
    with opened_shelf(settings) as shelf:
        source = str(shelf.folder(_CT_PUNC)) if name == _CT_PUNC else name
    model = open_punctuation(source, threads=_THREADS)
    return _run(lambda line: punctuate_text(model, line), settings)


def _run(change: Callable[[str], str], settings: Settings) -> int:
    # A filter has nothing to save: Ctrl-C ends it at once and without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    failed = run_filter(change, sys.stdin.buffer, sys.stdout.buffer, settings.locale)
    return SOME_FAILED if failed else OK
