"""Files, functions and signatures stay small enough to read at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.structure.sources import PACKAGES, ROOT, body_lines, functions, python_files

FILE_LINES = 500
FUNCTION_LINES = 60
TAB_BUILDER_LINES = 100  # a tab's builder is a list of components
PARAMETERS = 8
GOLDEN_BYTES = 3_000_000

FILES = [*python_files(*PACKAGES), *([ROOT / "app.py"] if (ROOT / "app.py").exists() else [])]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_file_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_LINES


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_functions_are_short(path: Path) -> None:
    too_long = []
    for function in functions(ast.parse(path.read_text(encoding="utf-8"))):
        builds_tab = relative(path).startswith("ui/tabs/") and function.name.startswith("build_")
        if body_lines(function) > (TAB_BUILDER_LINES if builds_tab else FUNCTION_LINES):
            too_long.append(f"{function.name} at line {function.lineno}: {body_lines(function)}")
    assert too_long == []


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_functions_take_few_parameters(path: Path) -> None:
    too_many = []
    for function in functions(ast.parse(path.read_text(encoding="utf-8"))):
        given = function.args
        names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        count = len([name for name in names if name not in ("self", "cls")])
        if count > PARAMETERS:
            too_many.append(f"{function.name} at line {function.lineno}: {count}")
    assert too_many == []


def test_the_starter_is_thin() -> None:
    assert len((ROOT / "app.py").read_text(encoding="utf-8").splitlines()) <= 80


def test_docstrings_and_long_texts_are_no_lines_of_logic() -> None:
    code = (
        'def f(a):\n    """One.\n\n    Two.\n    """\n    b = """\n    x\n    """\n    return b\n'
    )
    assert [body_lines(function) for function in functions(ast.parse(code))] == [3]


def test_golden_files_are_small() -> None:
    files = [path for path in (ROOT / "tests" / "golden").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files if path.suffix != ".pyc") < GOLDEN_BYTES
