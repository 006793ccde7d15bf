"""Find and replace in the sentences of a transcript."""

from __future__ import annotations

import re
from dataclasses import dataclass

from asr_core.results import Sentence
from asr_core.text.editing import Splice
from asr_core.text.rewrite import Change, rewrite


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


def places(text: str, query: str, *, case: bool = False) -> list[tuple[int, int]]:
    """``(start, end)`` of every hit, from left to right, disjoint; none for an empty query.

    Args:
        case: whether capitals count.
    """
    if not query:
        return []
    pattern = re.compile(re.escape(query), 0 if case else re.IGNORECASE)
    return [match.span() for match in pattern.finditer(text)]


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
