"""The words that decide what a number is: data files in ``assets/itn``, loaded once.

A file is a list of words separated by white space; ``#`` starts a comment. A character class
before or behind a word is a condition on its neighbour: ``十分[^钟]`` is 十分 that is not followed
by 钟, ``[^点]十分`` is 十分 that does not follow 点. An empty neighbour (start or end of the line)
meets every negative condition and no positive one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "assets" / "itn"
PROTECTED_FILES = ("idioms", "words", "calendar", "history", "places", "names", "titles")
_ENTRY = re.compile(r"(?:\[(\^?)([^\[\]]+)\])?([^\[\]]+)(?:\[(\^?)([^\[\]]+)\])?")


@dataclass(frozen=True, slots=True)
class Word:
    """One entry of a list.

    Attributes:
        before: characters of the condition on the left neighbour, empty when there is none.
        not_before: the left neighbour must not be one of ``before``.
        after: as ``before``, on the right.
        not_after: as ``not_before``, on the right.
    """

    text: str
    before: str = ""
    not_before: bool = False
    after: str = ""
    not_after: bool = False

    def fits(self, line: str, begin: int) -> bool:
        """Whether the neighbours of the word at ``begin`` meet its conditions."""
        if self.before:
            left = line[begin - 1] if begin else ""
            if (bool(left) and left in self.before) == self.not_before:
                return False
        if self.after:
            right = line[begin + len(self.text) : begin + len(self.text) + 1]
            if (bool(right) and right in self.after) == self.not_after:
                return False
        return True


@dataclass(slots=True)
class _Node:
    children: dict[str, _Node] = field(default_factory=dict)
    words: list[Word] = field(default_factory=list)


class WordTrie:
    """Longest match of a list of words at a place of a line.

    Attributes:
        heads: the first two characters of every word.
    """

    def __init__(self, words: Iterable[Word]) -> None:
        self._root = _Node()
        for word in words:
            node = self._root
            for char in word.text:
                node = node.children.setdefault(char, _Node())
            node.words.append(word)
        self.heads = frozenset(
            first + second
            for first, node in self._root.children.items()
            for second in ({"": None} if node.words else {}) | node.children
        )

    def matches(self, line: str, begin: int) -> Iterator[Word]:
        """Words that start at ``begin`` and whose conditions hold, longest first."""
        node = self._root
        path: list[list[Word]] = []
        for at in range(begin, len(line)):
            following = node.children.get(line[at])
            if following is None:
                break
            node = following
            if node.words:
                path.append(node.words)
        for words in reversed(path):
            for word in words:
                if word.fits(line, begin):
                    yield word

    def end(self, line: str, begin: int) -> int:
        """End of the longest word that starts at ``begin``; ``begin`` when there is none."""
        if line[begin : begin + 1] not in self._root.children:
            return begin
        for word in self.matches(line, begin):
            return begin + len(word.text)
        return begin


class SuffixSet:
    """Whether the text before a place ends with one of a list of words."""

    def __init__(self, words: Iterable[Word]) -> None:
        self._by_last: dict[str, list[Word]] = {}
        for word in sorted(words, key=lambda word: -len(word.text)):
            self._by_last.setdefault(word.text[-1], []).append(word)

    def begin(self, line: str, end: int) -> int:
        """Start of the longest word that ends at ``end``; ``end`` when there is none."""
        if not 0 < end <= len(line):
            return end
        for word in self._by_last.get(line[end - 1], ()):
            if line.endswith(word.text, 0, end) and word.fits(line, end - len(word.text)):
                return end - len(word.text)
        return end


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Every list, by what it decides.

    Attributes:
        protected: words that stay as they are.
        eras: a year counted from one of these stays (乾隆).
        lunar: a date behind one of these stays (农历).
        rulers: a number behind one of these stays (路易).
        series: a number with 号 behind one of these stays (神舟).
        kept_before: a number right before one of these stays (年级, 等奖).
        measures: measure words; 十 before one of them is a count.
        units: legal units.
        not_units: words that only begin like a unit or a currency (元旦, 米饭).
        money: currencies and 块 元 毛 角.
        time_words: words that make 三点 a time of day when they stand before it.
        clock_after: words that make 三点 a time of day when they follow it.
        points: nouns that make 三点 a count (建议, 要求).
        code_words: words that announce a code or a number of a device.
        latin: Latin names that take a number (iPhone, Windows), lower case.
    """

    protected: WordTrie
    eras: SuffixSet
    lunar: SuffixSet
    rulers: SuffixSet
    series: SuffixSet
    kept_before: WordTrie
    measures: WordTrie
    units: WordTrie
    not_units: WordTrie
    money: WordTrie
    time_words: SuffixSet
    clock_after: WordTrie
    points: WordTrie
    code_words: SuffixSet
    latin: frozenset[str]


def read_words(path: Path) -> list[Word]:
    """The entries of one list.

    Raises:
        OSError: the file cannot be read.
    """
    words: list[Word] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        for entry in line.partition("#")[0].split():
            match = _ENTRY.fullmatch(entry)
            if match:
                not_before, before, text, not_after, after = match.groups()
                words.append(
                    Word(text, before or "", bool(not_before), after or "", bool(not_after))
                )
    return words


@functools.cache
def load_lexicon(folder: Path = FOLDER) -> Lexicon:
    """Read every list.

    Raises:
        OSError: a file is missing or cannot be read.
    """

    def words(name: str) -> list[Word]:
        return read_words(folder / f"{name}.txt")

    return Lexicon(
        protected=WordTrie(word for name in PROTECTED_FILES for word in words(name)),
        eras=SuffixSet(words("eras")),
        lunar=SuffixSet(words("lunar")),
        rulers=SuffixSet(words("rulers")),
        series=SuffixSet(words("series")),
        kept_before=WordTrie(words("kept_before")),
        measures=WordTrie(words("measures")),
        units=WordTrie(words("units")),
        not_units=WordTrie(words("not_units")),
        money=WordTrie(words("money")),
        time_words=SuffixSet(words("time_words")),
        clock_after=WordTrie(words("clock_after")),
        points=WordTrie(words("points")),
        code_words=SuffixSet(words("code_words")),
        latin=frozenset(word.text.lower() for word in words("latin")),
    )
