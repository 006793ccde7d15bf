"""Which texts the punctuation network learns from, how much of each, under which licence."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from asr_core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Source:
    """One file of texts.

    Attributes:
        name: the file's name without ``.txt.xz``.
        repository: where the texts come from.
        commit: which state of it.
        licence: under which they are published.
        share: the part of all training units that comes from it; shares add up to about 1.
        held_out: how many paragraphs are kept for validation.
    """

    name: str
    repository: str
    commit: str
    licence: str
    share: float
    held_out: int


_SHARES = {
    "meeting-tang-transcript": (0.27, 750),
    "interview-tang-transcript": (0.20, 650),
    "speech-tang-transcript": (0.09, 150),
    "dialogue-kdconv": (0.06, 200),
    "dialogue-crosswoz": (0.05, 125),
    "tech_blog-sofastack": (0.08, 100),
    "encyclopedia-cmrc2018": (0.09, 60),
    "encyclopedia-ud-gsdsimp": (0.025, 40),
    "encyclopedia-ud-pud": (0.01, 15),
    "news-ntrex": (0.025, 50),
    "news-ud-pud": (0.02, 30),
    "docs-react-zh": (0.02, 30),
    "howto-howtocook": (0.01, 30),
    "sentences-tatoeba": (0.025, 100),
    "sentences-hsk": (0.005, 30),
    "meeting_asr-vcsum": (0.02, 100),
}
"""Share and held-out paragraphs. Meetings are most of what there is, not most of what is read."""

VALIDATION_WEIGHTS = {
    "meeting-tang-transcript": 150,
    "interview-tang-transcript": 130,
    "news-ntrex": 60,
    "news-ud-pud": 40,
    "dialogue-kdconv": 50,
    "dialogue-crosswoz": 30,
    "speech-tang-transcript": 30,
    "tech_blog-sofastack": 10,
    "encyclopedia-cmrc2018": 10,
}
"""How many paragraphs of each source a typical evaluation holds; the others weigh nothing."""


def read_sources(data: Path) -> list[Source]:
    """The sources that ``SOURCES.tsv`` lists; one that is not known gets a share of 1 %.

    Raises:
        UsageError: there is no such list.
    """
    table = data / "SOURCES.tsv"
    if not table.is_file():
        raise UsageError(f"{data} holds no SOURCES.tsv")
    sources = []
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            name = row["file"].removesuffix(".txt.xz")
            share, held_out = _SHARES.get(name, (0.01, int(row["lines"]) // 50))
            sources.append(
                Source(name, row["repo"], row["commit"], row["licence"], share, held_out)
            )
    return sources


def licence_table(sources: list[Source]) -> str:
    """Origin and licence of every source as a Markdown table."""
    lines = ["| texts | from | state | licence | share |", "|---|---|---|---|---|"]
    lines += [
        f"| {source.name} | {source.repository} | {source.commit} | {source.licence} "
        f"| {source.share:.1%} |"
        for source in sources
        if source.share > 0
    ]
    return "\n".join(lines) + "\n"
