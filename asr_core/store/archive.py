"""The history as people tidy it: find, tag, annotate, throw away, see what it takes.

Owns which steps belong together in one transaction; what became of the files follows it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path

import sqlite_utils

from asr_core.results import Transcript
from asr_core.store import bin as waste
from asr_core.store import job_rows, recording_rows, recordings, tags, usage
from asr_core.store.database import Database
from asr_core.store.entries import (
    NEWEST_FIRST,
    NO_FILTERS,
    HistoryEntry,
    HistoryFacets,
    HistoryFilters,
    HistoryPage,
    HistorySelection,
    HistorySort,
    StorageUse,
    TagCount,
)
from asr_core.store.finding import CHUNK, Wanted, every, find, ids_of, numbers_of
from asr_core.store.listing import entries
from asr_core.store.transcript_rows import load_transcript

logger = logging.getLogger(__name__)

_DAY_MS = 86_400_000
_MOST_ENTRIES = 1_000


class Archive:
    """Usable from any thread.

    Args:
        database: stays owned by the caller.
        recordings: folder of the kept copies.
        bin_days: how long deleted recordings can be restored; 0: they are gone at once.
        keep_days: older recordings go into the bin; 0: never.
        keep_audio_days: the sound of older recordings is removed; 0: never.

    Every method raises StoreError when the database cannot be used.
    """

    def __init__(
        self,
        database: Database,
        recordings: Path,
        *,
        bin_days: int = 30,
        keep_days: int = 0,
        keep_audio_days: int = 0,
    ) -> None:
        self._database = database
        self._folder = recordings
        self._bin_days = bin_days
        self._keep_days = keep_days
        self._keep_audio_days = keep_audio_days

    def find(
        self,
        query: str = "",
        filters: HistoryFilters = NO_FILTERS,
        sort: HistorySort = NEWEST_FIRST,
        *,
        cursor: str = "",
        limit: int = 50,
    ) -> HistoryPage:
        """One page of what contains a query and passes filters."""
        wanted = Wanted(query, filters, sort)
        most = min(max(limit, 1), _MOST_ENTRIES)

        def load(db: sqlite_utils.Database) -> HistoryPage:
            found = find(db, wanted, cursor=cursor, limit=most)
            listed = tuple(entries(db, found.numbers, query))
            return HistoryPage(listed, found.total, found.is_exact, found.cursor)

        return self._database.read(load)

    def entry(self, recording_id: str) -> HistoryEntry:
        """Raises RecordNotFoundError when no listed recording has that id."""

        def load(db: sqlite_utils.Database) -> HistoryEntry:
            recording = recording_rows.get(db, recording_id)
            found = next(iter(entries(db, [recording["number"]])), None)
            if found is None:
                raise recording_rows.not_found(recording_id)
            return found

        return self._database.read(load)

    def facets(self, owner: str | None = None) -> HistoryFacets:
        """What there is to filter by."""
        return self._database.read(lambda db: usage.facets(db, owner))

    def tags(self, owner: str | None = None) -> tuple[TagCount, ...]:
        """Every tag in alphabetical order."""
        return self._database.read(lambda db: tags.counts(db, owner))

    def tag(self, ids: Collection[str], names: Collection[str]) -> None:
        """Give recordings tags."""
        self._database.write(lambda db: tags.add(db, ids, names))

    def untag(self, ids: Collection[str], names: Collection[str]) -> None:
        """Take tags from recordings."""
        self._database.write(lambda db: tags.remove(db, ids, names))

    def rename_tag(self, name: str, new: str) -> None:
        """Call a tag otherwise, or let it become one with another tag."""
        self._database.write(lambda db: tags.rename(db, name, new))

    def delete_tag(self, name: str) -> None:
        """Take a tag from everything."""
        self._database.write(lambda db: tags.delete(db, name))

    def set_note(self, recording_id: str, note: str) -> None:
        """Write something about a recording."""
        self._database.write(lambda db: tags.set_note(db, recording_id, note))

    def rename(self, recording_id: str, name: str) -> str:
        """Call a recording otherwise; returns what it is called now."""
        return self._database.write(lambda db: tags.rename_recording(db, recording_id, name))

    def delete(self, ids: Collection[str]) -> tuple[str, ...]:
        """Put recordings into the bin; returns those that can be restored."""
        gone = self._database.write(lambda db: waste.put(db, ids))
        if self._bin_days:
            return gone
        self.purge(gone)
        return ()

    def restore(self, ids: Collection[str]) -> tuple[str, ...]:
        """Take recordings out of the bin; returns those that were in it."""
        return self._database.write(lambda db: waste.take_out(db, ids))

    def purge(self, ids: Collection[str] | None = None) -> int:
        """Remove recordings of the bin for good, and then their files; returns how many."""
        return self._in_steps(partial(waste.purge_some, ids=ids))

    def keep_rules(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Let go of what the rules give no longer time, in small steps.

        Args:
            is_stopped: asked before each step; true ends it early.
        """
        rules = [
            (self._keep_days, "recordings put into the bin", waste.bin_old),
            (self._bin_days, "recordings removed", waste.purge_old),
            (self._keep_audio_days, "recordings without sound from now on", waste.remove_old_audio),
        ]
        now_ms = job_rows.now_ms()
        for days, done, rule in rules:
            if not days and rule is not waste.purge_old:
                continue
            total = self._in_steps(partial(rule, before_ms=now_ms - days * _DAY_MS), is_stopped)
            if total:
                logger.info("%s count=%d", done, total)

    def storage(self) -> StorageUse:
        """What everything takes on the disk."""
        path = self._database.path
        return StorageUse(
            owners=self._database.read(lambda db: usage.owner_uses(db, self._folder)),
            database_bytes=usage.database_bytes(path),
            free_bytes=usage.free_bytes(path),
        )

    def select(self, selection: HistorySelection) -> tuple[str, ...]:
        """Ids of a selection, newest first."""
        found = (
            self._database.read(partial(ids_of, numbers=numbers))
            for numbers in self._numbers(selection)
        )
        return tuple(recording_id for some in found for recording_id in some)

    def count(self, selection: HistorySelection) -> int:
        """How many recordings a selection has."""
        return sum(len(numbers) for numbers in self._numbers(selection))

    def chunks(self, selection: HistorySelection) -> Iterator[list[HistoryEntry]]:
        """The entries of a selection, newest first, some at a time; each lot as it stands then."""
        for numbers in self._numbers(selection):
            yield self._database.read(partial(entries, numbers=numbers))

    def transcript(self, recording_id: str) -> Transcript | None:
        """The newest text of a recording; ``None`` without one or where it is gone."""
        return self._database.read(lambda db: load_transcript(db, recording_id))

    def _numbers(self, selection: HistorySelection) -> Iterator[list[int]]:
        if selection.ids is not None:
            ids = selection.ids
            picked = self._database.read(lambda db: [*numbers_of(db, ids)])
            yield from (picked[at : at + CHUNK] for at in range(0, len(picked), CHUNK))
            return
        wanted, cursor = Wanted(selection.query, selection.filters), ""
        while True:
            numbers, cursor = self._database.read(partial(every, wanted=wanted, cursor=cursor))
            yield numbers
            if not cursor:
                return

    def _in_steps(self, step: waste.Step, is_stopped: Callable[[], bool] = lambda: False) -> int:
        """Repeat a step, each in a transaction of its own, until nothing is left to do."""
        total = 0
        while not is_stopped():
            count, names = self._database.write(step)
            for name in names:
                recordings.remove(self._folder / name)
            total += count
            if count < waste.CHUNK:
                break
        return total
