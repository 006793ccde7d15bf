"""``models``: what is installed."""

from __future__ import annotations

import argparse
import sys

from asr_core.cli.common import OK, SOME_FAILED, show_progress, tell
from asr_core.messages import message
from asr_core.models.catalog import CATALOGUE
from asr_core.models.inspection import ModelState
from asr_core.models.store import ModelStore
from asr_core.settings import Settings


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = "Models of this installation."
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    actions.add_parser("list", help="every known model and its state").set_defaults(
        run=_list_models
    )
    install = actions.add_parser("install", help="put a model into the model folder")
    install.add_argument("name", metavar="NAME")
    install.set_defaults(run=_install_model)
    actions.add_parser("verify", help="hash every installed file").set_defaults(run=_verify_models)


def _list_models(_arguments: argparse.Namespace, settings: Settings) -> int:
    store = ModelStore.of(settings)
    for entry in CATALOGUE.values():
        state = store.state(entry.name)
        active = "*" if entry.name == settings.model else " "
        size_bytes = store.size_bytes(entry.name)
        size = "-" if size_bytes is None else f"{size_bytes / 1e6:.0f} MB"
        print(active, entry.name, state.value, size, entry.licence, entry.title, sep="\t")
    return OK


def _install_model(arguments: argparse.Namespace, settings: Settings) -> int:
    shown = sys.stderr.isatty()

    def progress(done_bytes: int, total_bytes: int) -> None:
        if shown:
            show_progress(f"{done_bytes / 1e6:.0f} / {total_bytes / 1e6:.0f} MB")

    store = ModelStore.of(settings)
    try:
        folder = store.install(arguments.name, progress)
    except KeyboardInterrupt:
        tell(message("cli.install_stopped", settings.locale, name=arguments.name))
        return SOME_FAILED
    source = store.source(arguments.name)
    key = "cli.installed_from" if source else "cli.installed"
    tell(message(key, settings.locale, name=arguments.name, source=source))
    print(folder)
    return OK


def _verify_models(_arguments: argparse.Namespace, settings: Settings) -> int:
    store = ModelStore.of(settings)
    states = {name: store.verify(name) for name in CATALOGUE}
    for name, state in states.items():
        print(name, state.value, store.folder(name), sep="\t")
    active = states.get(settings.model)
    usable = active is not None and active.usable
    return OK if usable and ModelState.DAMAGED not in states.values() else SOME_FAILED
