"""The word lists can be read, are in order, and say each thing once."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.errors import NormalizationError
from asr_core.text.itn import normalizer as module
from asr_core.text.itn.lexicon import FOLDER, PROTECTED_FILES, Word, WordTrie, read_words
from asr_core.text.itn.normalizer import RuleNormalizer
from asr_core.text.itn.rules import RULES

LISTS = sorted(FOLDER.glob("*.txt"))


def sections(path: Path) -> list[list[str]]:
    found: list[list[str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            found.append([])
        else:
            found[-1].extend(line.split())
    return found


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_a_list_is_commented_sorted_and_without_repeats(path: Path) -> None:
    words = read_words(path)
    entries = [entry for section in sections(path) for entry in section]
    assert path.read_text(encoding="utf-8").startswith("# ")
    assert len(words) == len(entries) == len(set(entries))
    assert not any(char in word.text for word in words for char in "[]^ ")
    begin = 0
    for section in sections(path):
        texts = [word.text for word in words[begin : begin + len(section)]]
        assert texts == sorted(texts)
        begin += len(section)


def test_no_list_takes_back_the_condition_of_another() -> None:
    words = [word for name in PROTECTED_FILES for word in read_words(FOLDER / f"{name}.txt")]
    plain = {word.text for word in words if not word.before and not word.after}
    assert [word.text for word in words if (word.before or word.after) and word.text in plain] == []


def test_protected_words_stay_as_they_are() -> None:
    normalizer = RuleNormalizer()
    changed = [
        (word.text, normalizer.write(word.text))
        for name in PROTECTED_FILES
        for word in read_words(FOLDER / f"{name}.txt")
        if not word.before or word.not_before
        if not word.after or word.not_after
        if normalizer.write(word.text) != word.text
    ]
    assert changed == []


def test_conditions_look_at_the_neighbours() -> None:
    trie = WordTrie([Word("十分", "点", True, "钟", True), Word("分钟", "十", False, "", False)])
    assert trie.end("十分好", 0) == 2
    assert trie.end("十分", 0) == 2
    assert trie.end("十分钟", 0) == 0
    assert trie.end("点十分", 1) == 1
    assert trie.end("十分钟", 1) == 3
    assert trie.end("五分钟", 1) == 1


def test_rules_have_names_of_their_own_and_stand_in_the_order_of_the_policy() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    order = ["kept", "date", "clock", "digit string", "numbering", "score", "maths", "range"]
    order += ["percent", "fraction", "decimal", "money", "unit", "ordinal", "count"]
    assert [name for name in names if name in order] == order


def test_missing_word_lists_are_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise FileNotFoundError("idioms.txt")

    monkeypatch.setattr(module, "load_lexicon", fail)
    with pytest.raises(NormalizationError, match=r"idioms\.txt") as caught:
        RuleNormalizer()
    assert caught.value.details["reason"] == "idioms.txt"
