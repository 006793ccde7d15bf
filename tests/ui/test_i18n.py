"""Both languages have every text, and every text that is used exists."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

from asr_core.messages import LOCALES, load_messages
from ui import view
from ui.i18n import build_i18n

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "\n".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / "ui").rglob("*.py")))
SCRIPTS = "\n".join(
    p.read_text(encoding="utf-8") for p in sorted((ROOT / "assets" / "js").glob("*.js"))
)


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def test_both_tables_have_the_same_keys_in_the_same_order():
    chinese, english = (list(load_messages(locale)) for locale in LOCALES)
    assert chinese == english


@pytest.mark.parametrize("key", load_messages("en"))
def test_both_languages_fill_in_the_same_values(key):
    assert fields(load_messages("zh-CN")[key]) == fields(load_messages("en")[key])


@pytest.mark.parametrize("key", load_messages("en"))
def test_no_text_is_empty_or_contains_markup(key):
    for locale in LOCALES:
        text = load_messages(locale)[key]
        assert text.strip()
        assert "<" not in text


def test_every_label_in_the_layout_exists():
    used = {f"ui.{key}" for key in re.findall(r'label\("(\w+)"\)', PYTHON)}
    assert used - set(load_messages("en")) == set()


def test_every_sentence_of_the_handlers_exists():
    used = set(re.findall(r'(?:message|refusal)\("((?:page|error)\.\w+)"', PYTHON))
    assert len(used) > 10
    assert used - set(load_messages("en")) == set()


def test_every_text_of_the_scripts_exists():
    used = {f"js.{key}" for key in re.findall(r'\bt\("([\w.]+)"', SCRIPTS)}
    used |= {f"js.format.{name}" for name in view.FORMATS}
    used |= {f"js.state.{state}" for state in ("queued", "running", "done", "failed")}
    assert len(used) > 40
    assert used - set(load_messages("en")) == set()


def test_labels_have_no_placeholders_since_the_browser_would_parse_them():
    for table in build_i18n().translations_dict.values():
        assert not [text for text in table.values() if "{" in text]
