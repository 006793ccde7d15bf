"""What is confused with what, and which words would help as hotwords."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from asr_core.evaluation.comparison import Block, Comparison

_LONGEST_PAIR = 8
"""Characters of either side; a longer difference is no confusion of words."""
_CONTEXTS = 3
_CONTEXT_CHARS = 6
_LONGEST_WORD, _USUAL_WORD = 6, 4
"""Chinese characters of a suggested word; of one that went wrong only once."""
_LONGEST_LATIN = 24
_MOST_SUGGESTIONS = 30
_MOST_PAIRS = 200

_NO_EDGE = frozenset(
    "的了着过在是我你您他她它们这那和与及或也都就还不没有把被对从到为以个很更最又再让给向跟等呢吗吧啊嗯呃而且但如所之其"
    "些么怎哪谁可要想说去来做看叫请用该将使由于因则只并每各某另已曾正才刚里得地零一二三四五六七八九十百千万亿两几"
    "年月日号点分秒元块岁次儿"
)
"""Characters that words worth suggesting hardly begin or end with."""
_NEVER_INSIDE = frozenset("的了着吗呢吧是在我你您他她它")
"""Characters that hardly stand inside them either."""


@dataclass(frozen=True, slots=True)
class Context:
    """One place where something was confused, with a few characters around it."""

    before: str
    reference: str
    hypothesis: str
    after: str


@dataclass(frozen=True, slots=True)
class Confusion:
    """A part of the reference that was recognized as something else, with the first places."""

    reference: str
    hypothesis: str
    count: int
    contexts: tuple[Context, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word of the reference to add to the hotwords.

    Attributes:
        word: at least two characters.
        missed: places where it was not recognized.
        total: places where it was said.
    """

    word: str
    missed: int
    total: int


class _Places:
    """Where passages went wrong.

    Attributes:
        starts: passage to its places; one that holds two differences has one place for both.
        blocks: passage to the differences that it holds.
        around: difference to the passages that hold it.
    """

    def __init__(self) -> None:
        self.starts: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        self.blocks: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        self.around: dict[tuple[int, int], list[str]] = {}

    def add(self, block: tuple[int, int], number: int, words: dict[str, int]) -> None:
        self.around[block] = list(words)
        for word, start in words.items():
            self.starts[word].add((number, start))
            self.blocks[word].add(block)


def confusions(comparisons: Iterable[Comparison]) -> tuple[Confusion, ...]:
    """Substituted parts, the most frequent first; at most 200."""
    counts: Counter[tuple[str, str]] = Counter()
    contexts: defaultdict[tuple[str, str], list[Context]] = defaultdict(list)
    for comparison in comparisons:
        said, heard = comparison.reference.text, comparison.hypothesis.text
        for block in comparison.blocks():
            pair = said[block.start : block.end], heard[block.other_start : block.other_end]
            if not all(0 < len(side) <= _LONGEST_PAIR for side in pair):
                continue
            counts[pair] += 1
            if len(contexts[pair]) < _CONTEXTS:
                contexts[pair].append(_context(said, block, pair))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], -len(item[0][0]), item[0]))
    return tuple(
        Confusion(*pair, count, tuple(contexts[pair])) for pair, count in ranked[:_MOST_PAIRS]
    )


def _context(said: str, block: Block, pair: tuple[str, str]) -> Context:
    before = said[max(0, block.start - _CONTEXT_CHARS) : block.start]
    return Context(before, *pair, said[block.end : block.end + _CONTEXT_CHARS])


def suggest_hotwords(
    comparisons: Sequence[Comparison], known: Iterable[str] = ()
) -> tuple[Suggestion, ...]:
    """Words of two and more characters that were misrecognized, the most promising first.

    A passage that goes wrong several times is taken as long as it stays the same; one that goes
    wrong once is taken with its neighbours, up to a character that no such word begins or ends
    with. Words that are ``known`` already are left out; an empty hypothesis tells nothing.
    """
    places = _Places()
    for number, comparison in enumerate(comparisons):
        if not comparison.hypothesis.text:
            continue
        text, edges = comparison.reference.text, _edges(comparison)
        for block in comparison.blocks():
            if 0 < block.end - block.start <= _LONGEST_PAIR:
                words = dict(_words(text, edges, block))
                places.add((number, block.start), number, words)
    totals = _totals((comparison.reference.text for comparison in comparisons), places.starts)
    chosen = _repeated(places) | _single(places, totals)
    taken = {word.upper() for word in known}
    found = [
        Suggestion(word, len(places.starts[word]), totals[word])
        for word in chosen
        if word.upper() not in taken
    ]
    found.sort(key=lambda s: (-s.missed, -s.missed / s.total, -len(s.word), s.word))
    return tuple(found[:_MOST_SUGGESTIONS])


def _edges(comparison: Comparison) -> list[bool]:
    """Whether a mark stands before each character, and after the last one."""
    reference = comparison.reference
    return [
        index in (0, len(reference.text)) or bool(reference.gap(index))
        for index in range(len(reference.text) + 1)
    ]


def _words(text: str, edges: list[bool], block: Block) -> Iterator[tuple[str, int]]:
    """Passages around a difference that could be a word, and where they begin."""
    low, high = block.start, block.end
    if any(edges[low + 1 : high]) or not _NEVER_INSIDE.isdisjoint(text[low:high]):
        return
    if _is_latin(text[low]) or _is_latin(text[high - 1]):
        yield from _latin_word(text, edges, low, high)
        return
    for start in range(low, max(low - _LONGEST_WORD, -1), -1):
        if start < low and (edges[start + 1] or _breaks(text[start])):
            break
        if text[start] in _NO_EDGE:
            continue
        for end in range(max(high, start + 2), min(start + _LONGEST_WORD, len(text)) + 1):
            if end > high and (edges[end - 1] or _breaks(text[end - 1])):
                break
            if text[end - 1] not in _NO_EDGE:
                yield text[start:end], start


def _latin_word(text: str, edges: list[bool], low: int, high: int) -> Iterator[tuple[str, int]]:
    """The whole word of letters and digits around a difference."""
    while low > 0 and not edges[low] and _is_latin(text[low - 1]):
        low -= 1
    while high < len(text) and not edges[high] and _is_latin(text[high]):
        high += 1
    word = text[low:high]
    if 2 <= len(word) <= _LONGEST_LATIN and any(char.isalpha() for char in word):
        yield word, low


def _breaks(char: str) -> bool:
    return char in _NEVER_INSIDE or _is_latin(char)


def _is_latin(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _totals(texts: Iterable[str], words: Iterable[str]) -> Counter[str]:
    """How often each word stands in the texts."""
    wanted = set(words)
    sizes = sorted({len(word) for word in wanted})
    totals: Counter[str] = Counter()
    for text in texts:
        for size in sizes:
            grams = (text[at : at + size] for at in range(len(text) - size + 1))
            totals.update(gram for gram in grams if gram in wanted)
    return totals


def _repeated(places: _Places) -> set[str]:
    """Passages that went wrong more than once, none of them a part of a longer one."""
    covered: set[tuple[int, int]] = set()
    chosen = set()
    often = [(word, len(where)) for word, where in places.starts.items() if len(where) > 1]
    for word, _ in sorted(often, key=lambda item: (-item[1], -len(item[0]), item[0])):
        if not places.blocks[word] & covered:
            chosen.add(word)
            covered |= places.blocks[word]
    return chosen


def _single(places: _Places, totals: Counter[str]) -> set[str]:
    """For each place that went wrong in no other, the likeliest passage.

    It is the one that is said most often; then what went wrong itself where that is a word's
    length, which comes first, else the longest.
    """
    chosen = set()
    for words in places.around.values():
        once = [word for word in words if len(word) <= _USUAL_WORD or word.isascii()]
        if once and all(len(places.starts[word]) == 1 for word in words):
            most = max(totals[word] for word in once)
            likely = [word for word in once if totals[word] == most]
            shortest = min(likely, key=len)
            is_whole = all(shortest in word for word in likely)
            chosen.add(shortest if is_whole else max(likely, key=lambda word: (len(word), word)))
    return chosen
