"""The project's own files, as the structure checks see them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("asr_core", "ui")


def python_files(*folders: str) -> list[Path]:
    """Python files below the folders, sorted."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def project_files() -> list[Path]:
    """Files that belong to the project: those git knows or would add."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is unknown")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return sorted(path for path in paths if path.is_file())


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module, methods and nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of logic: from ``def`` to the end without docstring; a long text counts as one line."""
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    docstring = function.body[0] if ast.get_docstring(function, clean=False) is not None else None
    for node in ast.walk(function):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            total -= (node.end_lineno or node.lineno) - node.lineno
    return total - (docstring is not None)
