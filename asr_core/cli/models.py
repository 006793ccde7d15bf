"""``models``: what is installed, and which recognizer is the default."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from asr_core.cli.common import OK, SOME_FAILED, opened_shelf, show_progress, tell
from asr_core.cli.convert import StepLines
from asr_core.errors import ModelError
from asr_core.messages import message
from asr_core.models.catalog import CATALOGUE, find_entry
from asr_core.models.convert_installed import InstalledGraphs
from asr_core.models.graph_folder import is_graph_folder, read_graph_folder
from asr_core.models.inspection import ModelState
from asr_core.models.store import ModelStore
from asr_core.settings import Settings
from asr_core.shelf import RECOGNIZERS, ShelfModel


def register(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = "Models of this installation."
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    actions.add_parser("list", help="every known model and its state").set_defaults(
        run=_list_models
    )
    install = actions.add_parser("install", help="put a model into the model folder")
    install.add_argument("name", metavar="NAME")
    install.add_argument(
        "--no-convert",
        action="store_true",
        help="leave a recognizer that is offered without graphs as it is, for MindSpore; "
        "a later install without this converts it",
    )
    install.set_defaults(run=_install_model)
    use = actions.add_parser("use", help="make a recognizer the default, or take a folder")
    use.add_argument(
        "wanted", metavar="NAME|FOLDER", help="from 'models list', or a folder that holds a model"
    )
    use.set_defaults(run=_use_model)
    actions.add_parser("verify", help="hash every installed file").set_defaults(run=_verify_models)


def _list_models(_arguments: argparse.Namespace, settings: Settings) -> int:
    with opened_shelf(settings) as shelf:
        default = shelf.default()
        for model in shelf.all():
            entry = model.entry
            active = "*" if entry.name == default else " "
            size = "-" if model.size_bytes is None else _megabytes(model.size_bytes)
            licence = entry.licence or "-"
            cells = (active, entry.name, model.state.value, size, licence, entry.title)
            print(*cells, model.folder, sep="\t")
    return OK


def _megabytes(size_bytes: int) -> str:
    """Whole numbers from 10 on, else with one decimal; never nothing for what takes space."""
    size_mb = size_bytes / 1e6
    least_mb = 0.1 if size_bytes else 0.0
    return f"{size_mb:.0f} MB" if size_mb >= 9.95 else f"{max(size_mb, least_mb):.1f} MB"


def _install_model(arguments: argparse.Namespace, settings: Settings) -> int:
    shown = sys.stderr.isatty()

    def progress(done_bytes: int, total_bytes: int) -> None:
        if shown:
            show_progress(f"{done_bytes / 1e6:.0f} / {total_bytes / 1e6:.0f} MB")

    store = ModelStore.of(settings)
    is_left = arguments.no_convert and find_entry(arguments.name).family in RECOGNIZERS
    graphs = None if is_left else InstalledGraphs(StepLines(settings.locale))
    try:
        folder = store.install(arguments.name, progress, graphs)
    except KeyboardInterrupt:
        tell(message("cli.install_stopped", settings.locale, name=arguments.name))
        return SOME_FAILED
    source = store.source(arguments.name)
    key = "cli.installed_from" if source else "cli.installed"
    tell(message(key, settings.locale, name=arguments.name, source=source))
    print(folder)
    return OK


def _use_model(arguments: argparse.Namespace, settings: Settings) -> int:
    wanted: str = arguments.wanted
    with opened_shelf(settings, create=True) as shelf:
        if os.sep in wanted or wanted.startswith("~"):
            path = Path(wanted)
            model = shelf.bring(path if wanted.startswith("~") else path.absolute())
            tell(message("cli.folder_taken", settings.locale, name=model.entry.name))
            if not model.is_recognizer:
                return OK
            wanted = model.entry.name
        model = shelf.use(wanted)
    tell(message("cli.model_used", settings.locale, name=model.entry.name))
    print(model.folder)
    return OK


def _verify_models(_arguments: argparse.Namespace, settings: Settings) -> int:
    store = ModelStore.of(settings)
    states = {name: store.verify(name) for name in CATALOGUE}
    for name, state in states.items():
        print(name, state.value, store.folder(name), sep="\t")
    with opened_shelf(settings) as shelf:
        default = shelf.default()
        brought = {one.entry.name: one for one in shelf.all() if one.brought}
    for name, one in brought.items():
        states[name] = _verified(one)
        print(name, states[name].value, one.folder, sep="\t")
    active = states.get(default)
    usable = active is not None and active.usable
    return OK if usable and ModelState.DAMAGED not in states.values() else SOME_FAILED


def _verified(model: ShelfModel) -> ModelState:
    """The state of a folder of the user; of what lies in it, its converted graphs are hashed."""
    if not model.state.usable or not is_graph_folder(model.folder):
        return model.state
    try:
        damaged = read_graph_folder(model.folder, model.entry.name).damaged()
    except (ModelError, OSError):
        return ModelState.DAMAGED
    return ModelState.DAMAGED if damaged else model.state
