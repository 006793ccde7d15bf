"""The command line: ``python -m asr_core transcribe | models``.

Exit codes: 0 everything worked, 1 some inputs failed or were cancelled, 2 the call was wrong.
Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from asr_core.audio.raw import parse_raw
from asr_core.engine import EXPORT_FORMATS, CancelToken, Engine, TranscribeOptions
from asr_core.errors import AsrError, ExportError, SettingsError, UnknownModelError
from asr_core.events import EventSink, Progress
from asr_core.export.clean import whole_clock
from asr_core.export.registry import export, file_name, write_file
from asr_core.messages import describe, message, warning_message
from asr_core.models.catalog import CATALOGUE, find_entry
from asr_core.models.store import ModelState, ModelStore
from asr_core.results import Transcript
from asr_core.settings import Settings

OK, SOME_FAILED, USAGE = 0, 1, 2

_BINARY_FORMATS = frozenset({"docx"})
_VAD_CHOICES = ("silero", "fsmn", "off")
_MAX_HOTWORDS_BYTES = 1024 * 1024


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
        _tell(describe(exc, "zh-CN"))
        return USAGE
    logging.basicConfig(level=max(logging.WARNING, logging.getLevelName(settings.log_level)))
    try:
        code: int = arguments.run(arguments, settings)
    except (UnknownModelError, SettingsError) as exc:
        _tell(describe(exc, settings.locale))
        return USAGE
    except AsrError as exc:
        _tell(describe(exc, settings.locale))
        return SOME_FAILED
    except BrokenPipeError:
        # The reader of standard output has enough; the interpreter must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SOME_FAILED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.sh", description="Offline Mandarin transcription on the command line."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_transcribe(commands.add_parser("transcribe", help="transcribe audio or video files"))
    _add_models(commands.add_parser("models", help="list, install or verify models"))
    return parser


def _add_transcribe(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Transcribe files. Without --output the text goes to standard output, progress to "
        "standard error."
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="audio or video file")
    parser.add_argument("--format", choices=EXPORT_FORMATS, default="txt", help="(default: txt)")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write one file per input here")
    parser.add_argument(
        "--hotwords", metavar="FILE|WORDS", help="file with one word a line, or words"
    )
    parser.add_argument("--model", metavar="NAME", help="see 'models list'")
    parser.add_argument("--device", metavar="auto|cpu|npu:N", help="where the model runs")
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
    parser.set_defaults(run=_transcribe)


def _add_models(parser: argparse.ArgumentParser) -> None:
    parser.description = "Models of this installation."
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    actions.add_parser("list", help="every known model and its state").set_defaults(
        run=_list_models
    )
    install = actions.add_parser("install", help="put a model into the model folder")
    install.add_argument("name", metavar="NAME")
    install.set_defaults(run=_install_model)
    actions.add_parser("verify", help="hash every installed file").set_defaults(run=_verify_models)


def _track(value: str) -> int:
    number = int(value)
    if number < 1:
        raise argparse.ArgumentTypeError("tracks are counted from 1")
    return number


def _raw(value: str) -> str:
    try:
        parse_raw(value)
    except SettingsError as exc:
        raise argparse.ArgumentTypeError(f"must be {exc.details['allowed']}") from exc
    return value


@dataclass(frozen=True, slots=True)
class _Target:
    """One input and where its result goes; ``output`` is ``None`` for standard output."""

    path: Path
    output: Path | None


def _transcribe(arguments: argparse.Namespace, settings: Settings) -> int:
    find_entry(settings.model)
    to_stdout = arguments.output is None
    if to_stdout and arguments.format in _BINARY_FORMATS and len(arguments.files) > 1:
        _tell(message("cli.binary_to_stdout", settings.locale, format=arguments.format))
        return USAGE
    options = TranscribeOptions(
        vad=arguments.vad,
        itn=not arguments.no_itn,
        punctuation=not arguments.no_punctuation,
        hotwords=_hotwords(arguments.hotwords),
        channels=arguments.channels,
        track=arguments.track,
        raw=arguments.raw or "",
    )
    if not to_stdout:
        _check_writable(arguments.output)
    cancel = CancelToken()
    _cancel_on_interrupt(cancel)
    failed = 0
    with Engine(settings) as engine:
        for target in _targets(arguments.files, arguments.output, arguments.format):
            if cancel.is_cancelled:
                break
            try:
                transcript = engine.transcribe(
                    target.path,
                    options,
                    on_event=_progress_line(target.path.name, settings.locale),
                    cancel=cancel,
                )
                _deliver(transcript, target, arguments.format)
            except AsrError as exc:
                _tell(describe(exc, settings.locale))
                failed += 1
            else:
                _tell(_summary(target.path.name, transcript, settings.locale))
    return SOME_FAILED if failed or cancel.is_cancelled else OK


def _cancel_on_interrupt(cancel: CancelToken) -> None:
    """The first Ctrl-C ends after the running group and keeps the text, a second one at once."""

    def interrupted(*_: object) -> None:
        cancel.cancel()
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    signal.signal(signal.SIGINT, interrupted)


def _hotwords(value: str | None) -> tuple[str, ...]:
    """Words from a file (one a line) or from the argument itself (separated by spaces, commas)."""
    if not value:
        return ()
    path = Path(value)
    try:
        is_file = path.is_file()
    except OSError:
        is_file = False
    if not is_file:
        words = value.replace(",", " ").replace("，", " ").split()
    else:
        try:
            with path.open(encoding="utf-8-sig") as file:
                words = [line.strip() for line in file.read(_MAX_HOTWORDS_BYTES).splitlines()]
        except (OSError, UnicodeDecodeError) as exc:
            raise SettingsError(
                f"hotword file {path} cannot be read: {exc}",
                name="--hotwords",
                value=value,
                allowed="UTF-8",
            ) from exc
    return tuple(dict.fromkeys(word for word in words if word))


def _targets(files: Sequence[Path], output: Path | None, format_name: str) -> list[_Target]:
    """Output paths; inputs of one name in several folders get a number each."""
    targets = []
    taken: set[Path] = set()
    for path in files:
        if output is None:
            targets.append(_Target(path, None))
            continue
        number = 1
        while (free := output / file_name(path.name, format_name, number)) in taken:
            number += 1
        taken.add(free)
        targets.append(_Target(path, free))
    return targets


def _check_writable(folder: Path) -> None:
    """Find out before hours of work that the results cannot be written."""
    probe = folder / f".write-test-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as exc:
        raise ExportError(
            f"{folder} cannot be written: {exc}", path=str(folder), reason=str(exc)
        ) from exc


def _deliver(transcript: Transcript, target: _Target, format_name: str) -> None:
    title = target.path.name
    if target.output is not None:
        write_file(transcript, format_name, target.output, title)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(export(transcript, format_name, title=title))
    sys.stdout.buffer.flush()


def _progress_line(name: str, locale: str) -> EventSink | None:
    """A line that is rewritten in place; none when standard error is no terminal."""
    if not sys.stderr.isatty():
        return None

    def show(progress: Progress) -> None:
        total = whole_clock(progress.total_ms) if progress.total_ms else "?"
        left = "" if progress.remaining_ms is None else whole_clock(progress.remaining_ms)
        line = message(
            "cli.progress",
            locale,
            name=name,
            done=whole_clock(progress.done_ms),
            total=total,
            remaining=left,
        )
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    return show


def _summary(name: str, transcript: Transcript, locale: str) -> str:
    key = "cli.cancelled" if transcript.partial else "cli.done"
    notes = "".join(f" · {warning_message(w, locale)}" for w in transcript.warnings)
    line = message(
        key,
        locale,
        name=name,
        duration=whole_clock(transcript.duration_ms),
        seconds=f"{transcript.processing_ms / 1000:.1f}",
        rtf=f"{transcript.rtf:.3f}",
    )
    return line + notes


def _list_models(_arguments: argparse.Namespace, settings: Settings) -> int:
    store = _store(settings)
    for entry in CATALOGUE.values():
        state = store.state(entry.name)
        active = "*" if entry.name == settings.model else " "
        size = f"{entry.size_bytes / 1e6:.0f} MB"
        print(active, entry.name, state.value, size, entry.licence, entry.title, sep="\t")
    return OK


def _install_model(arguments: argparse.Namespace, settings: Settings) -> int:
    shown = sys.stderr.isatty()

    def progress(done_bytes: int, total_bytes: int) -> None:
        if shown:
            sys.stderr.write(f"\r\x1b[K{done_bytes / 1e6:.0f} / {total_bytes / 1e6:.0f} MB")
            sys.stderr.flush()

    folder = _store(settings).install(arguments.name, progress)
    _tell(message("cli.installed", settings.locale, name=arguments.name))
    print(folder)
    return OK


def _verify_models(_arguments: argparse.Namespace, settings: Settings) -> int:
    store = _store(settings)
    states = {name: store.verify(name) for name in CATALOGUE}
    for name, state in states.items():
        print(name, state.value, store.folder(name), sep="\t")
    usable = states.get(settings.model) is ModelState.INSTALLED
    damaged = ModelState.DAMAGED in states.values()
    return OK if usable and not damaged else SOME_FAILED


def _store(settings: Settings) -> ModelStore:
    return ModelStore(settings.models, model_dir=settings.model_dir, hub_url=settings.hub_url)


def _tell(line: str) -> None:
    """One line on standard error, over a progress line if there is one."""
    start = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{start}{line}", file=sys.stderr)
