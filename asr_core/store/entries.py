"""What lists of the history show, and what they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from asr_core.jobs.model import JobState

KEEP_TAGS = ("保留", "keep")
"""Tags whose recordings stay, however old they are."""

HitField = Literal["name", "text", "hotword", "speaker", "note", "tag", "date"]


@dataclass(frozen=True, slots=True)
class Snippet:
    """Where a query was found, with what stands around it.

    Attributes:
        field: which part of the entry it is.
        text: on one line, shortened with ellipses; names, tags and dates are whole.
        ranges: ``(start, end)`` of each hit, in characters of ``text``, sorted and disjoint.
    """

    field: HitField
    text: str
    ranges: tuple[tuple[int, int], ...]

    @property
    def pieces(self) -> tuple[tuple[str, bool], ...]:
        """The text in pieces, each with whether it is a hit; they join to ``text``."""
        pieces: list[tuple[str, bool]] = []
        done = 0
        for start, end in self.ranges:
            pieces += [(self.text[done:start], False), (self.text[start:end], True)]
            done = end
        pieces.append((self.text[done:], False))
        return tuple(piece for piece in pieces if piece[0])


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One recording in a list, with the state of its newest job.

    Attributes:
        id: recording id, 32 hexadecimal digits.
        name: as the user knows it.
        origin: ``file``, ``dictation``, ``batch`` or ``cli``.
        created_ms: Unix time in milliseconds.
        duration_ms: 0 while unknown.
        state: of the newest job.
        model: that produced the text, empty without a transcript.
        preview: up to 120 characters of text around the hit of a search, else of the start.
        owner: whose it is; empty: everybody's.
        tags: in alphabetical order.
        note: of any length, empty without one.
        hits: where the query of a search was found, the name and the text first.
        deleted_ms: when it was put into the bin; ``None``: it is not there.
        audio_removed_ms: when its sound was removed as too old; ``None``: it was not.
        size_bytes: of the kept sound, 0 where none is kept.
    """

    id: str
    name: str
    origin: str
    created_ms: int
    duration_ms: int
    state: JobState
    model: str
    preview: str
    owner: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    hits: tuple[Snippet, ...] = ()
    deleted_ms: int | None = None
    audio_removed_ms: int | None = None
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Some entries of a list.

    Attributes:
        entries: in the order that was asked for.
        total: how many there are in all; at least so many where it is not exact.
        is_exact: false where counting all of them would take too long.
        cursor: gives the page that follows; empty: this is the last one.
    """

    entries: tuple[HistoryEntry, ...]
    total: int
    is_exact: bool = True
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class HistoryFilters:
    """Which recordings a list is about; without anything all that are not in the bin.

    Attributes:
        from_ms: Unix time; those that were added then or later.
        to_ms: Unix time; those that were added before.
        shortest_ms: length of the recording.
        longest_ms: length of the recording, inclusive.
        models: any of these made the text.
        states: the newest job is in any of these.
        origins: any of these.
        tags: it has all of these.
        owner: whose they are, with those of everybody; ``None``: all.
        deleted: those in the bin instead.
    """

    from_ms: int | None = None
    to_ms: int | None = None
    shortest_ms: int | None = None
    longest_ms: int | None = None
    models: tuple[str, ...] = ()
    states: tuple[JobState, ...] = ()
    origins: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    owner: str | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class HistorySort:
    """The order of a list; what is equal comes newest first where descending, else oldest first."""

    key: Literal["time", "name", "length"] = "time"
    descending: bool = True


NO_FILTERS = HistoryFilters()
NEWEST_FIRST = HistorySort()


@dataclass(frozen=True, slots=True)
class HistorySelection:
    """Recordings to do something with: those that were picked, or all that a list has.

    Attributes:
        ids: these; ``None``: all that ``query`` and ``filters`` find.
    """

    ids: tuple[str, ...] | None = None
    query: str = ""
    filters: HistoryFilters = field(default_factory=HistoryFilters)


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag and how many recordings outside the bin have it."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class HistoryFacets:
    """What a list can be filtered by, with how many recordings outside the bin there are of each.

    Attributes:
        models: by name, those with a text.
        states: of the newest job.
        origins: as in an entry.
        owners: the empty one is everybody.
        tags: in alphabetical order.
        total: recordings outside the bin.
        deleted: recordings in the bin.
    """

    models: tuple[tuple[str, int], ...]
    states: tuple[tuple[JobState, int], ...]
    origins: tuple[tuple[str, int], ...]
    owners: tuple[tuple[str, int], ...]
    tags: tuple[TagCount, ...]
    total: int
    deleted: int


@dataclass(frozen=True, slots=True)
class OwnerUse:
    """What the recordings of one owner take.

    Attributes:
        owner: empty: everybody.
        recordings: how many, with those in the bin.
        audio_bytes: of kept sound, with that in the bin.
        peaks_bytes: of the outlines beside it.
        deleted: how many of them are in the bin.
        deleted_bytes: what emptying the bin would free of sound and outlines.
    """

    owner: str
    recordings: int
    audio_bytes: int
    peaks_bytes: int
    deleted: int
    deleted_bytes: int


@dataclass(frozen=True, slots=True)
class StorageUse:
    """What the history takes on the disk.

    Attributes:
        owners: each with what belongs to it, the largest first.
        database_bytes: texts, jobs and the index of the search.
        free_bytes: what is left on that disk.
    """

    owners: tuple[OwnerUse, ...]
    database_bytes: int
    free_bytes: int

    @property
    def audio_bytes(self) -> int:
        return sum(use.audio_bytes + use.peaks_bytes for use in self.owners)
