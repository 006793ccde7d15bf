"""Imports go one way, and importing the engine loads nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.structure.sources import ROOT

HEAVY = (
    "av",
    "ctranslate2",
    "docx",
    "faster_whisper",
    "gradio",
    "mindspore",
    "onnxruntime",
    "opencc",
    "pypinyin",
)

IMPORT_EVERYTHING = """
import importlib, json, pkgutil, sys
import asr_core

# Cells are classes of MindSpore; nothing else may bring it along.
CELLS = ("asr_core.networks.", "asr_core.training.")
for module in pkgutil.walk_packages(asr_core.__path__, "asr_core."):
    if not module.name.endswith("__main__") and not module.name.startswith(CELLS):
        importlib.import_module(module.name)
json.dump(sorted(set(sys.argv[1:]) & set(sys.modules)), sys.stdout)
"""


def test_import_contracts_are_kept() -> None:
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_the_engine_loads_no_heavy_package() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING, *HEAVY],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
