"""Every sentence exists in every language, with the same blanks to fill."""

from __future__ import annotations

import ast
import json
import string
from collections import Counter
from pathlib import Path

import pytest

import asr_core.errors
from asr_core.errors import AsrError
from asr_core.messages import LOCALES, TABLES
from tests.structure.sources import PACKAGES, python_files

CHINESE, ENGLISH = LOCALES


def pairs(locale: str) -> list[tuple[str, str]]:
    """Keys and sentences in file order, repeated keys included."""
    text = (TABLES / f"{locale}.json").read_text(encoding="utf-8")
    found: list[tuple[str, str]] = json.loads(text, object_pairs_hook=list)
    return found


def blanks(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def error_classes(base: type[AsrError] = AsrError) -> list[type[AsrError]]:
    """The whole tree of errors.py."""
    found = [base]
    for child in base.__subclasses__():
        if child.__module__ == asr_core.errors.__name__:
            found += error_classes(child)
    return found


def literal_keys(path: Path) -> set[str]:
    """Keys that a module passes to ``message`` literally."""
    keys = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            first = node.args[0]
            if called == "message" and isinstance(first, ast.Constant):
                keys.add(str(first.value))
    return keys


@pytest.mark.parametrize("locale", LOCALES)
def test_no_key_is_given_twice(locale: str) -> None:
    counts = Counter(key for key, _ in pairs(locale))
    assert [key for key, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("locale", LOCALES)
def test_no_sentence_is_empty(locale: str) -> None:
    assert [key for key, sentence in pairs(locale) if not sentence.strip()] == []


def test_the_tables_have_the_same_keys() -> None:
    assert {key for key, _ in pairs(CHINESE)} == {key for key, _ in pairs(ENGLISH)}


def test_the_tables_have_the_same_blanks() -> None:
    english = dict(pairs(ENGLISH))
    different = {
        key: (blanks(sentence), blanks(english[key]))
        for key, sentence in pairs(CHINESE)
        if blanks(sentence) != blanks(english[key])
    }
    assert different == {}


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("error", error_classes(), ids=lambda error: error.__name__)
def test_every_error_has_a_sentence(error: type[AsrError], locale: str) -> None:
    assert f"error.{error.code}" in dict(pairs(locale))


def test_error_codes_are_unique() -> None:
    counts = Counter(error.code for error in error_classes())
    assert [code for code, count in counts.items() if count > 1] == []


def test_keys_used_in_the_code_exist() -> None:
    known = {key for key, _ in pairs(ENGLISH)}
    used = set().union(*(literal_keys(path) for path in python_files(*PACKAGES)))
    assert used - known == set()


def test_every_error_class_says_what_its_details_are() -> None:
    tree = ast.parse(Path(asr_core.errors.__file__).read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert [node.name for node in classes if not ast.get_docstring(node)] == []
