"""The commands by name, and the outer frame of each."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from asr_core.cli import batch, convert, doctor, evaluate, filters, history, models, transcribe
from asr_core.cli.common import INTERRUPTED, SOME_FAILED, USAGE, tell
from asr_core.errors import AsrError, SettingsError, UnknownModelError
from asr_core.messages import describe, message
from asr_core.runtime.ascend_acl import end_acl
from asr_core.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit code; argparse itself exits with 2 on a wrong call."""
    arguments = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        # A C locale must not make Chinese text an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        settings = Settings.from_env(
            os.environ,
            model=getattr(arguments, "model", None),
            device=getattr(arguments, "device", None),
        )
    except SettingsError as exc:
        tell(describe(exc, "zh-CN"))
        return USAGE
    _log(settings.log_level)
    try:
        code: int = arguments.run(arguments, settings)
    except (UnknownModelError, SettingsError) as exc:
        tell(describe(exc, settings.locale))
        return USAGE
    except AsrError as exc:
        tell(describe(exc, settings.locale))
        return SOME_FAILED
    except BrokenPipeError:
        # The reader of standard output has enough; the interpreter must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SOME_FAILED
    except KeyboardInterrupt:
        tell(message("cli.interrupted", settings.locale))
        return INTERRUPTED
    finally:
        end_acl()
    return code


class _LineFormatter(logging.Formatter):
    """A record on one line; only a fault that nobody foresaw is told with where it was raised."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname} {record.name}: {record.getMessage()}"
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return line
        if isinstance(error, (AsrError, OSError)):
            return f"{line}: {str(error) or type(error).__name__}"
        return f"{line}\n{self.formatException((type(error), error, error.__traceback__))}"


def _log(level: str) -> None:
    """Warnings on standard error; with ``ASR_LOG_LEVEL=DEBUG`` where they come from too."""
    handler = logging.StreamHandler()
    if level != "DEBUG":
        handler.setFormatter(_LineFormatter())
    logging.basicConfig(level=max(logging.WARNING, logging.getLevelName(level)), handlers=[handler])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.sh", description="Offline Mandarin transcription on the command line."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    transcribe.register(commands.add_parser("transcribe", help="transcribe audio or video files"))
    batch.register(commands.add_parser("batch", help="transcribe a folder"))
    history.register(commands.add_parser("history", help="find and export what was transcribed"))
    models.register(commands.add_parser("models", help="list, install or verify models"))
    convert.register(commands.add_parser("convert", help="make a model folder for a runtime"))
    doctor.register(commands.add_parser("doctor", help="check before going live"))
    evaluate.register(commands.add_parser("evaluate", help="measure texts against references"))
    filters.register_itn(commands.add_parser("itn", help="filter: write spoken numbers"))
    filters.register_punctuate(commands.add_parser("punctuate", help="filter: punctuate lines"))
    return parser
