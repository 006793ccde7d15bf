"""What the documents say about settings and commands is what the code does."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields

import pytest

from asr_core.settings import Settings, variable
from tests.structure.sources import ROOT, project_files

READMES = ("README.md", "README.zh-CN.md")
TEXT_SUFFIXES = {".md", ".sh", ".json", ".py", ""}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def table_rows(text: str) -> list[list[str]]:
    """Cells of every table row outside code blocks."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    rows = [line for line in prose.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def settings_rows(text: str) -> dict[str, str]:
    """Variable to documented default, from rows like ``| `ASR_PORT` | `7860` | … |``."""
    found = {}
    for cells in table_rows(text):
        match = re.fullmatch(r"`(ASR_[A-Z_]+)`", cells[0])
        if match:
            found[match[1]] = cells[1].strip("`")
    return found


def expected_defaults() -> dict[str, str]:
    """Variable to default: the data folder as a user reads it, a dash where there is none."""
    values = {}
    for field in fields(Settings):
        if field.default is MISSING:
            values[variable(field.name)] = "~/.local/share/tinglu"
        else:
            values[variable(field.name)] = "—" if field.default is None else str(field.default)
    return values


def code_blocks(text: str) -> list[list[str]]:
    """Lines of every code block without comments, which may be in another language."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    bare = [re.sub(r"(^|\s+)#\s.*$", "", block, flags=re.MULTILINE) for block in blocks]
    return [[line.rstrip() for line in block.splitlines() if line.strip()] for block in bare]


def first_column_code(text: str) -> list[str]:
    """First cells that are nothing but code: commands, variables, file names."""
    cells = [row[0] for row in table_rows(text)]
    return [cell for cell in cells if re.fullmatch(r"`[^`]+`", cell)]


@pytest.mark.parametrize("readme", READMES)
def test_every_setting_is_documented_with_its_default(readme: str) -> None:
    assert settings_rows(read(readme)) == expected_defaults()


def test_both_readmes_show_the_same_commands() -> None:
    english, chinese = (code_blocks(read(name)) for name in READMES)
    assert english
    assert english == chinese


def test_both_readmes_list_the_same_things_in_their_tables() -> None:
    english, chinese = (first_column_code(read(name)) for name in READMES)
    assert english == chinese


def test_every_variable_that_is_named_anywhere_exists() -> None:
    known = set(expected_defaults())
    strangers: dict[str, set[str]] = {}
    for path in project_files():
        if path.suffix in TEXT_SUFFIXES and not path.is_relative_to(ROOT / "tests"):
            named = set(re.findall(r"\bASR_[A-Z][A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8")))
            if named - known:
                strangers[path.relative_to(ROOT).as_posix()] = named - known
    assert strangers == {}


@pytest.mark.parametrize("name", [*READMES, "CONTRIBUTING.md"])
def test_links_inside_the_project_lead_somewhere(name: str) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", read(name))
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in local if not (ROOT / target).exists()] == []


def test_the_parsers_read_tables_and_code() -> None:
    text = (
        "| variable | default | meaning |\n|---|---|---|\n"
        "| `ASR_PORT` | `7860` | port |\n| `ASR_MODEL_DIR` | — | folder \\| path |\n"
        "```\n| `ASR_CODE` | `1` | no |\n```\n"
    )
    assert settings_rows(text) == {"ASR_PORT": "7860", "ASR_MODEL_DIR": "—"}
    assert first_column_code(text) == ["`ASR_PORT`", "`ASR_MODEL_DIR`"]
    code = "```bash\n./run.sh   # 启动\n# 注释\n\necho '#x'\n```\n"
    assert code_blocks(code) == [["./run.sh", "echo '#x'"]]
