"""Views of a sentence that read better than what was said. Off by default.

A view hides tokens or writes them otherwise; the sentence keeps all of them, so the spoken form
and the times stay. Word lists are in ``assets/polish``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from asr_core.results import Token, WrittenSpan

LISTS = Path(__file__).resolve().parents[2] / "assets" / "polish"

CLAUSE_PAUSE_MS = 250
"""A pause of this length parts clauses like a mark."""

_NUMERALS = frozenset("零〇幺一二两三四五六七八九十百千万亿0123456789")


@dataclass(frozen=True, slots=True)
class PolishOptions:
    """What is made nicer to read.

    Attributes:
        spacing: one space between Chinese and Latin letters or digits (``Sentence.spaced``).
        acronyms: capitals as is customary: ``API``, ``iOS``.
        fillers: 嗯, 呃 and the like are hidden.
        repeats: 我我我们 becomes 我们; doubled words with a meaning of their own stay.
    """

    spacing: bool = False
    acronyms: bool = False
    fillers: bool = False
    repeats: bool = False


def polish_spans(
    tokens: Sequence[Token],
    spans: Sequence[WrittenSpan],
    options: PolishOptions,
    *,
    keep: Collection[str] = (),
) -> tuple[WrittenSpan, ...]:
    """What a view writes otherwise, as spans of kind ``polish``: left out, or in capitals.

    Args:
        tokens: of one sentence, with their marks.
        spans: what is written otherwise already; it stays.
        options: the view.
        keep: words with the capitals that the user gave them.

    Returns:
        Spans sorted, disjoint, and disjoint from ``spans``.
    """
    hidden = hidden_ranges(tokens, options, spans=spans)
    found = [WrittenSpan(first, last, "", "polish") for first, last in hidden]
    if options.acronyms:
        taken = {
            index
            for first, last in [*hidden, *((s.first_token, s.last_token) for s in spans)]
            for index in range(first, last + 1)
        }
        capitals = _capitals() | {word.casefold(): word for word in keep}
        found.extend(_capital_spans(tokens, taken, capitals))
    return tuple(sorted(found, key=lambda span: span.first_token))


def hidden_ranges(
    tokens: Sequence[Token], options: PolishOptions, *, spans: Sequence[WrittenSpan] = ()
) -> tuple[tuple[int, int], ...]:
    """The tokens of one sentence that the view leaves out.

    Args:
        spans: tokens that are written otherwise are never hidden.

    Returns:
        Inclusive index pairs, sorted and disjoint; none where nothing would remain.
    """
    hidden = [False] * len(tokens)
    texts = [token.text for token in tokens]
    if options.fillers:
        _hide_fillers(tokens, texts, hidden)
    if options.repeats:
        _hide_repeats(tokens, texts, hidden)
    for span in spans:
        for index in range(span.first_token, span.last_token + 1):
            hidden[index] = False
    return () if all(hidden) else tuple(_runs(hidden))


def _hide_fillers(tokens: Sequence[Token], texts: Sequence[str], hidden: list[bool]) -> None:
    lists = _word_lists("fillers.txt")
    longest = max((len(word) for words in lists.values() for word in words), default=0)
    index = 0
    while index < len(tokens):
        step = 1
        for size in range(min(longest, len(tokens) - index), 0, -1):
            last = index + size - 1
            word = "".join(texts[index : last + 1])
            if any(token.mark for token in tokens[index:last]) or len(word) != size:
                continue
            if _is_filler(lists, word, tokens, hidden, index, last):
                hidden[index : last + 1] = [True] * size
                step = size
                break
        index += step


def _is_filler(
    lists: dict[str, frozenset[str]],
    word: str,
    tokens: Sequence[Token],
    hidden: Sequence[bool],
    first: int,
    last: int,
) -> bool:
    """A filler by its list; an exclamation, a question and the end of a sentence are none."""
    mark = tokens[last].mark
    following = tokens[last + 1].text if last + 1 < len(tokens) and not mark else ""
    if mark in ("！", "？", "!", "?") or following in lists["never_before"]:
        return False
    if word in lists["anywhere"]:
        return True
    starts = _clause_starts(tokens, hidden, first)
    if word in lists["clause"]:
        return starts and last + 1 < len(tokens)
    return word in lists["isolated"] and starts and _clause_ends(tokens, last)


def _clause_starts(tokens: Sequence[Token], hidden: Sequence[bool], index: int) -> bool:
    """Behind a mark, a pause, a hidden filler or nothing; an enumeration is one clause."""
    if index == 0 or hidden[index - 1]:
        return True
    before = tokens[index - 1]
    paused = tokens[index].start_ms - before.end_ms >= CLAUSE_PAUSE_MS
    return before.mark not in ("", "、") or (not before.mark and paused)


def _clause_ends(tokens: Sequence[Token], index: int) -> bool:
    """Before a comma, or a pause without a mark, inside the sentence."""
    if index + 1 == len(tokens):
        return False
    paused = tokens[index + 1].start_ms - tokens[index].end_ms >= CLAUSE_PAUSE_MS
    return tokens[index].mark in ("，", ",") or (not tokens[index].mark and paused)


def _hide_repeats(tokens: Sequence[Token], texts: Sequence[str], hidden: list[bool]) -> None:
    """Hide all but the last of the same words in a row, looking past hidden fillers."""
    lists = _word_lists("repeats.txt")
    shown = [index for index in range(len(tokens)) if not hidden[index]]
    words = [texts[index] for index in shown]
    place = 0
    while place < len(shown):
        for size in (4, 3, 2, 1):
            group, following = words[place : place + size], words[place + size : place + 2 * size]
            if group == following and _is_repeat(lists, tokens, hidden, shown, place, size):
                for index in shown[place : place + size]:
                    hidden[index] = True
                place += size
                break
        else:
            place += 1


def _is_repeat(
    lists: dict[str, frozenset[str]],
    tokens: Sequence[Token],
    hidden: Sequence[bool],
    shown: Sequence[int],
    place: int,
    size: int,
) -> bool:
    words = [tokens[index].text for index in shown[max(place - 2, 0) : place + 3 * size]]
    behind, words = words[: min(place, 2)], words[min(place, 2) :]
    group = words[:size]
    word = "".join(group)
    if not _NUMERALS.isdisjoint(word) or len(word) != size:
        return False
    if any(tokens[index].mark for index in shown[place : place + size - 1]):
        return False
    begins = _clause_starts(tokens, hidden, shown[place])
    mark = tokens[shown[place + size - 1]].mark
    if mark not in ("", "，", "、", ",") or (mark and not (begins and size > 1)):
        return False
    if size == 1 and word in lists["characters"]:
        return True
    if size == 2 and word in lists["words"]:
        return True
    if word in lists["pronouns"]:
        carried = any("".join(behind[-n:]) in lists["before"] for n in (1, 2))
        return begins or carried or words[2 * size :] == group
    if size < 3:
        return False
    starts_lightly = any("".join(group[:n]) in lists["pronouns"] for n in (1, 2))
    return word in lists["words"] or (starts_lightly and begins)


def _capital_spans(
    tokens: Sequence[Token], taken: AbstractSet[int], capitals: dict[str, str]
) -> Iterator[WrittenSpan]:
    """Known words in their usual capitals; letters that were spelled one by one are joined."""
    parts = [(token.text, token.mark) for token in tokens]
    index = 0
    while index < len(tokens):
        size = 1
        for count in range(_spelled(parts, index), 1, -1):
            joined = "".join(text for text, _ in parts[index : index + count]).casefold()
            if joined in capitals and taken.isdisjoint(range(index, index + count)):
                yield WrittenSpan(index, index + count - 1, capitals[joined], "polish")
                size = count
                break
        else:
            written = _capitalised(tokens[index].text, capitals)
            if index not in taken and written != tokens[index].text:
                yield WrittenSpan(index, index, written, "polish")
        index += size


def _spelled(parts: Sequence[tuple[str, str]], first: int) -> int:
    """How many single letters stand in a row without a mark between them."""
    count = 0
    for text, mark in parts[first : first + 8]:
        if len(text) != 1 or not text.isascii() or not text.isalpha():
            break
        count += 1
        if mark:
            break
    return count


def _capitalised(text: str, capitals: dict[str, str]) -> str:
    """A word all in small letters, or with a capital first, as the table has it."""
    known = capitals.get(text.casefold())
    if known is None or not (text.islower() or text.istitle()):
        return text
    return known


def _runs(hidden: Sequence[bool]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for index, hide in enumerate(hidden):
        if hide and runs and runs[-1][1] == index - 1:
            runs[-1] = (runs[-1][0], index)
        elif hide:
            runs.append((index, index))
    return runs


@cache
def _capitals() -> dict[str, str]:
    text = (LISTS / "acronyms.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return {word.casefold(): word for line in lines for word in line.split()}


@cache
def _word_lists(name: str) -> dict[str, frozenset[str]]:
    """Words by section of a list file."""
    sections: dict[str, list[str]] = {}
    words: list[str] = []
    for line in (LISTS / name).read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if line.startswith("["):
            words = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            words.append(line)
    return {section: frozenset(words) for section, words in sections.items()}
