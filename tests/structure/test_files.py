"""Files of the project carry no traces of one machine, and its scripts are sound."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.structure.sources import ROOT, project_files

SCRIPTS = ("run.sh", ".ci/run")

FORBIDDEN = re.compile(
    r"(?<![\w.}])/(root|home/\w+)/"  # folders of one person's machine
    r"|--(extra-)?index-url|--trusted-host"  # where packages come from is the user's choice
)


def text_of(path: Path) -> str:
    """Content of a text file, empty for a binary one."""
    content = path.read_bytes()
    return "" if b"\0" in content else content.decode("utf-8")


def test_no_file_names_somebodys_folder_or_chooses_a_package_index() -> None:
    found = []
    for path in project_files():
        if path == Path(__file__).resolve():
            continue
        for number, line in enumerate(text_of(path).splitlines(), start=1):
            if FORBIDDEN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


@pytest.mark.parametrize(
    ("line", "forbidden"),
    [
        ("pip install --index-url https://packages.example/simple x", True),
        ("open('/home/someone/x')", True),
        ("a framework/part of it", False),
        ("https://example.org/home/of/others", False),
        ("~/.local/share/tinglu", False),
    ],
)
def test_the_forbidden_words_are_recognized(line: str, forbidden: bool) -> None:
    assert bool(FORBIDDEN.search(line)) is forbidden


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_executable_and_parse(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)
    done = subprocess.run(["bash", "-n", name], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_scripts_pass_shellcheck() -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    command = str(beside) if beside.exists() else shutil.which("shellcheck")
    if command is None:
        pytest.skip("shellcheck is not installed (requirements-dev.txt brings it)")
    done = subprocess.run(
        [command, *SCRIPTS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_licence_is_whole() -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in licence
    assert "END OF TERMS AND CONDITIONS" in licence
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
