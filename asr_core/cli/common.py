"""What every command shares: options of a transcription, exit codes, lines for people."""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from asr_core.audio.raw import parse_raw
from asr_core.engine import TranscribeOptions
from asr_core.errors import SettingsError
from asr_core.settings import PUNCTUATIONS, Settings
from asr_core.shelf import ModelShelf
from asr_core.store.database import Database
from asr_core.store.model_choices import ModelChoices
from asr_core.transcription.options import POLISHES

OK, SOME_FAILED, USAGE = 0, 1, 2
INTERRUPTED = 130  # as shells count a process that SIGINT ended

_VAD_CHOICES = ("silero", "fsmn", "off")
_MAX_HOTWORDS_CHARS = 1_000_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that decide over a text."""
    parser.add_argument(
        "--hotwords", metavar="FILE|WORDS", help="file with one word a line, or words"
    )
    parser.add_argument("--model", metavar="NAME", help="see 'models list'")
    parser.add_argument("--device", metavar="auto|cpu|npu|npu:N", help="where the model runs")
    parser.add_argument(
        "--vad", choices=_VAD_CHOICES, help="off: no speech detection, fixed windows"
    )
    parser.add_argument(
        "--channels",
        choices=("mix", "split"),
        default="mix",
        help="split: transcribe each channel on its own, as a speaker (default: mix)",
    )
    parser.add_argument(
        "--track", type=_track, metavar="N", help="audio track of a video, counted from 1"
    )
    parser.add_argument(
        "--raw",
        type=_raw,
        metavar="ENCODING:RATE:CHANNELS",
        help="the files are PCM without a header, for example s16le:16000:1",
    )
    parser.add_argument("--no-itn", action="store_true", help="leave numbers as they are spoken")
    parser.add_argument("--no-punctuation", action="store_true", help="no punctuation marks")
    parser.add_argument(
        "--punctuation",
        choices=PUNCTUATIONS,
        help="whose marks: our model's, the recognizer's own, CT-Transformer's",
    )
    add_styles(parser)
    parser.add_argument(
        "--polish",
        type=_polish,
        default=(),
        metavar="NAME,NAME",
        help=f"of {', '.join(POLISHES)} (default: none)",
    )


def add_styles(parser: argparse.ArgumentParser) -> None:
    """How numbers are written."""
    parser.add_argument(
        "--dates", choices=("words", "dash"), default="words", help="dash: 2025-03-15"
    )
    parser.add_argument(
        "--clock", choices=("words", "digits"), default="words", help="digits: 3:30 for 3点半"
    )
    parser.add_argument(
        "--percent", choices=("sign", "words"), default="sign", help="words: 百分之五, not 5%%"
    )


def options_of(arguments: argparse.Namespace) -> TranscribeOptions:
    """What :func:`add_options` has read.

    Raises:
        SettingsError: the file of hotwords cannot be read.
    """
    return TranscribeOptions(
        vad=arguments.vad,
        itn=not arguments.no_itn,
        punctuation=not arguments.no_punctuation,
        marks=arguments.punctuation,
        dates=arguments.dates,
        clock=arguments.clock,
        percent=arguments.percent,
        polish=arguments.polish,
        hotwords=read_hotwords(arguments.hotwords),
        channels=arguments.channels,
        track=arguments.track,
        raw=arguments.raw or "",
    )


@contextmanager
def opened_shelf(settings: Settings, *, create: bool = False) -> Iterator[ModelShelf]:
    """The models of an installation, with what was chosen on the page or here before.

    Args:
        settings: of the installation.
        create: make the database where there is none yet.

    Raises:
        StoreError: the database cannot be used.
    """
    if not create and not settings.database.is_file():
        yield ModelShelf(settings, None)
        return
    with closing(Database(settings.database)) as database:
        yield ModelShelf(settings, ModelChoices(database))


def on_first_interrupt(stop: Callable[[], None]) -> None:
    """The first Ctrl-C asks for a stop, a second one ends the process at once.

    So does SIGTERM, which MindSpore makes of every Ctrl-C once it has run a network.
    """

    def interrupted(*_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)


def tell(line: str) -> None:
    """One line on standard error, over a progress line if there is one."""
    start = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{start}{line}", file=sys.stderr)


def show_progress(line: str) -> None:
    """A line on the terminal that the next one takes the place of."""
    sys.stderr.write(f"\r\x1b[K{line}")
    sys.stderr.flush()


def _track(value: str) -> int:
    number = int(value)
    if number < 1:
        raise argparse.ArgumentTypeError("tracks are counted from 1")
    return number


def _polish(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not set(names) <= set(POLISHES):
        raise argparse.ArgumentTypeError(f"choose from {', '.join(POLISHES)}")
    return tuple(name for name in POLISHES if name in names)


def _raw(value: str) -> str:
    try:
        parse_raw(value)
    except SettingsError as exc:
        raise argparse.ArgumentTypeError(f"must be {exc.details['allowed']}") from exc
    return value


def read_hotwords(value: str | None) -> tuple[str, ...]:
    """Words from a file (one a line) or from the argument itself (separated by spaces, commas)."""
    if not value:
        return ()
    path = Path(value)
    try:
        is_file = path.is_file()
    except OSError:
        is_file = False
    if not is_file:
        words = re.split(r"[,，;；]" if "=" in value else r"[,，;；\s]", value)
    else:
        try:
            with path.open(encoding="utf-8-sig") as file:
                text = file.read(_MAX_HOTWORDS_CHARS + 1)
        except (OSError, UnicodeDecodeError) as exc:
            raise SettingsError(
                f"hotword file {path} cannot be read: {exc}",
                name="--hotwords",
                value=value,
                allowed="UTF-8",
            ) from exc
        if len(text) > _MAX_HOTWORDS_CHARS:
            raise SettingsError(
                f"hotword file {path} is too long",
                name="--hotwords",
                value=value,
                allowed=f"at most {_MAX_HOTWORDS_CHARS} characters",
            )
        words = text.splitlines()
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))
