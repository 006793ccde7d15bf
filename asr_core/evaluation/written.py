"""Written numbers against the reference: does the transcript write them as it should."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from asr_core.evaluation.alignment import align
from asr_core.evaluation.normalize import normalize

_NUMBER = re.compile(r"[0-9]+(?:[.,:/-][0-9]+)*[%‰]?(?:万亿|万|亿)?")
_SPOKEN = ("width", "upper", "simplified", "punctuation")


@dataclass(frozen=True, slots=True)
class NumberScore:
    """Numbers in digits that the references have.

    Attributes:
        expected: all of them.
        exact: those that the transcript writes in the same way at the same place.
        heard: those whose spoken words the recognizer got right.
        heard_exact: those of ``heard`` that are written in the same way.
        extra: numbers of the transcript at whose place the reference has another text.
    """

    expected: int = 0
    exact: int = 0
    heard: int = 0
    heard_exact: int = 0
    extra: int = 0

    def __add__(self, other: NumberScore) -> NumberScore:
        return NumberScore(
            self.expected + other.expected,
            self.exact + other.exact,
            self.heard + other.heard,
            self.heard_exact + other.heard_exact,
            self.extra + other.extra,
        )


def score_numbers(reference: str, spoken: str, written: str, heard: str) -> NumberScore:
    """Compare the numbers of one utterance.

    Args:
        reference: what should be written.
        spoken: the same as it was said.
        written: what the transcript writes.
        heard: the spoken form of the transcript.
    """
    wanted, places = _bare(reference)
    given, given_places = _bare(written)
    said = normalize(spoken, _SPOKEN).text
    got = normalize(heard, _SPOKEN).text
    to_written, to_spoken, to_heard = align(wanted, given), align(wanted, said), align(said, got)
    exact_count = heard_count = both = 0
    matched = set()
    for place in places:
        there = to_written.image(*place)
        exact = to_written.is_equal(*place) and there in given_places
        is_heard = to_heard.is_equal(*to_spoken.image(*place))
        if exact:
            matched.add(there)
        exact_count += exact
        heard_count += is_heard
        both += exact and is_heard
    extra = len(given_places - matched)
    return NumberScore(len(places), exact_count, heard_count, both, extra)


def _bare(text: str) -> tuple[str, set[tuple[int, int]]]:
    """Letters, digits and whole numbers of a text, and where the numbers stand in it."""
    folded = unicodedata.normalize("NFKC", text).upper()
    line = ""
    places = set()
    done = 0
    for match in _NUMBER.finditer(folded):
        line += _letters(folded[done : match.start()])
        places.add((len(line), len(line) + len(match[0])))
        line += match[0]
        done = match.end()
    return line + _letters(folded[done:]), places


def _letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum())
