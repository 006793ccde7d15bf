"""Find and replace in the sentences of a transcript."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from asr_core.results import Sentence
from asr_core.text.editing import Splice
from asr_core.text.layout import layout, tokens_between
from asr_core.text.rewrite import Change, rewrite

Form = Literal["written", "spoken"]


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a query stands.

    Attributes:
        position: of the sentence, from 0.
        start: offset of its first character in the sentence's text of that form.
        end: one past its last character.
        first_token: the first token that it belongs to.
        last_token: the last one, inclusive.
    """

    position: int
    start: int
    end: int
    first_token: int
    last_token: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What replacing makes of one sentence.

    Attributes:
        position: of the sentence, from 0.
        before: its text.
        hits: ``(start, end)`` of every hit in it.
        after: its text afterwards; empty where it is removed.
        places: ``(start, end)`` of every replacement in that.
    """

    position: int
    before: str
    hits: tuple[tuple[int, int], ...]
    after: str
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Replacement:
    """The splices that replace every hit, in order, and what they do to each sentence."""

    splices: tuple[Splice, ...]
    previews: tuple[Preview, ...]


def places(text: str, query: str, *, case: bool = False) -> list[tuple[int, int]]:
    """``(start, end)`` of every hit, from left to right, disjoint; none for an empty query.

    Args:
        case: whether capitals count.
    """
    if not query:
        return []
    pattern = re.compile(re.escape(query), 0 if case else re.IGNORECASE)
    return [match.span() for match in pattern.finditer(text)]


def find(
    sentences: Sequence[Sentence], query: str, *, case: bool = False, form: Form = "written"
) -> list[Hit]:
    """Every hit inside a sentence, in order."""
    return [
        hit
        for position, sentence in enumerate(sentences)
        for hit in find_in(sentence, position, query, case=case, form=form)
    ]


def find_in(
    sentence: Sentence, position: int, query: str, *, case: bool = False, form: Form = "written"
) -> list[Hit]:
    """The hits of one sentence, which stands at ``position``."""
    if form == "spoken":
        sentence = replace(sentence, spans=(), spaced=False)
    found = places(sentence.text, query, case=case)
    parts = layout(sentence) if found else []
    return [Hit(position, start, end, *tokens_between(parts, start, end)) for start, end in found]


def replace_all(
    sentences: Sequence[Sentence], query: str, replacement: str, *, case: bool = False
) -> Replacement:
    """Replace every hit in the written text."""
    splices: list[Splice] = []
    previews: list[Preview] = []
    for position, sentence in enumerate(sentences):
        found = replace_in(sentence, position, query, replacement, case=case)
        if found is not None:
            splices.append(found[0])
            previews.append(found[1])
    return Replacement(tuple(splices), tuple(previews))


def replace_in(
    sentence: Sentence, position: int, query: str, replacement: str, *, case: bool = False
) -> tuple[Splice, Preview] | None:
    """Replace every hit in one sentence, which stands at ``position``; ``None`` without a hit.

    A sentence that would be blank is removed.
    """
    before = sentence.text
    hits = places(before, query, case=case)
    if not hits:
        return None
    changed = rewrite(sentence, [Change(start, end, replacement) for start, end in hits])
    shift = 0
    new_places = []
    for start, end in hits:
        new_places.append((start + shift, start + shift + len(replacement)))
        shift += len(replacement) - (end - start)
    left = () if changed is None else (changed,)
    after = "" if changed is None else changed.text
    shown = Preview(position, before, tuple(hits), after, tuple(new_places) if left else ())
    return Splice(position, 1, left), shown
