"""What the engine offers for the history: finding, ordering, removing and taking along."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from asr_core.export.many import ManyExport
from asr_core.export.options import ExportOptions
from asr_core.export.progress import ExportProgress, ExportResult, ManyKind
from asr_core.settings import Settings
from asr_core.store.archive import Archive
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
from asr_core.transcription.cancel import CancelToken


class HistoryDoor:
    """The engine's methods for the history; usable from any thread.

    ``owner`` narrows everything to what one user and everybody may see; ``None`` is all.
    """

    _settings: Settings
    _archive: Archive

    def history(
        self,
        query: str = "",
        filters: HistoryFilters = NO_FILTERS,
        sort: HistorySort = NEWEST_FIRST,
        *,
        cursor: str = "",
        limit: int = 50,
    ) -> HistoryPage:
        """Recordings that contain the query anywhere and pass the filters.

        Args:
            query: looked for in names, texts, hotwords, speakers, notes and tags, whatever the
                case of letters; ``2026-11-30``, ``2026年11月30日``, ``11月30日`` and ``11-30``
                find the recordings of that day as well. Empty: all.
            filters: which ones.
            sort: in which order.
            cursor: of the page before; a cursor of another query, filter or order is ignored.
            limit: of entries, 1 to 1000.
        """
        return self._archive.find(query, filters, sort, cursor=cursor, limit=limit)

    def entry(self, recording_id: str) -> HistoryEntry:
        """One recording as a list shows it, also from the bin.

        Raises:
            RecordNotFoundError: no recording has that id.
        """
        return self._archive.entry(recording_id)

    def facets(self, owner: str | None = None) -> HistoryFacets:
        """What there is to filter by."""
        return self._archive.facets(owner)

    def tags(self, owner: str | None = None) -> tuple[TagCount, ...]:
        """Every tag with how many recordings have it, in alphabetical order."""
        return self._archive.tags(owner)

    def tag(self, recording_ids: Collection[str], names: Collection[str]) -> None:
        """Give recordings more tags; a new name makes a new tag.

        Raises:
            RecordNotFoundError: no recording has one of the ids; nothing is changed.
            HistoryError: a name is ``tag_empty`` or ``tag_long``.
        """
        self._archive.tag(recording_ids, names)

    def untag(self, recording_ids: Collection[str], names: Collection[str]) -> None:
        """Take tags from recordings; what they do not have is passed over."""
        self._archive.untag(recording_ids, names)

    def rename_tag(self, name: str, new: str) -> None:
        """Call a tag otherwise; a name that another tag has makes them one.

        Raises:
            HistoryError: ``no_tag``, ``tag_empty`` or ``tag_long``.
        """
        self._archive.rename_tag(name, new)

    def delete_tag(self, name: str) -> None:
        """Take a tag from all recordings.

        Raises:
            HistoryError: ``no_tag``.
        """
        self._archive.delete_tag(name)

    def set_note(self, recording_id: str, note: str) -> None:
        """Write something about a recording; empty takes the note away.

        Raises:
            RecordNotFoundError: no recording has that id.
            HistoryError: it is ``note_long``.
        """
        self._archive.set_note(recording_id, note)

    def rename(self, recording_id: str, name: str) -> str:
        """Call a recording otherwise.

        Returns:
            The name that it has now: without separators and control characters.

        Raises:
            RecordNotFoundError: no recording has that id.
            HistoryError: nothing is left of the name (``name_empty``).
        """
        return self._archive.rename(recording_id, name)

    @property
    def bin_days(self) -> int:
        """How long deleted recordings can be restored; 0: they are gone at once."""
        return self._settings.bin_days

    def delete(self, recording_ids: Collection[str]) -> tuple[str, ...]:
        """Put recordings into the bin, or remove them for good where there is none.

        Unknown ids and those in the bin are passed over.

        Returns:
            Ids that can be restored.

        Raises:
            JobStateError: one of them has a job that waits or runs; nothing is removed.
        """
        return self._archive.delete(recording_ids)

    def restore(self, recording_ids: Collection[str]) -> tuple[str, ...]:
        """Take recordings out of the bin.

        Returns:
            Ids of those that were in it.
        """
        return self._archive.restore(recording_ids)

    def purge(self, recording_ids: Collection[str] | None = None) -> int:
        """Remove recordings for good that are in the bin, all of them without ids.

        Returns:
            How many were removed.
        """
        return self._archive.purge(recording_ids)

    def storage(self) -> StorageUse:
        """What the history takes on the disk, of each owner and with the bin."""
        return self._archive.storage()

    def select(self, selection: HistorySelection) -> tuple[str, ...]:
        """Ids of a selection that are not gone, newest first."""
        return self._archive.select(selection)

    def export_many(
        self,
        selection: HistorySelection,
        formats: Collection[str],
        target: Path | None = None,
        *,
        kind: ManyKind = "zip",
        options: ExportOptions | None = None,
        locale: str = "",
        on_progress: Callable[[ExportProgress], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> ExportResult:
        """Write the texts of many recordings into one file, newest first.

        Recordings without a text are left out.

        Args:
            selection: which ones.
            formats: names of ``EXPORT_FORMATS``; of a zip alone.
            target: an existing file is replaced at the end, whole or not at all. ``None``: a new
                one in the folder of temporary files.
            kind: ``zip`` has a file for each recording and format, ``csv`` a row and ``jsonl`` a
                line for each recording.
            options: what the user chose for the files; its ``name`` is the template of names in a
                zip, empty for the setting of the installation.
            locale: of what stands around the text in documents; empty for the setting.
            on_progress: called on this thread, before the first recording and then at most ten
                times a second.
            cancel: looked at before every recording.

        Raises:
            ExportError: no such format or kind, ``empty`` (nothing selected has a text),
                ``disk_full`` or another reason why the file cannot be written.
            SettingsError: the template of names is not usable.
            TranscriptionCancelled: it was cancelled; nothing is left behind.
        """
        options = options or ExportOptions()
        options = replace(options, name=options.name or self._settings.export_name)
        export = ManyExport(self._archive, kind, formats, options, locale or self._settings.locale)
        if target is None:
            day = datetime.now().strftime("%Y-%m-%d")
            folder = self._settings.tmp / "exports" / uuid.uuid4().hex
            target = folder / f"tinglu-{day}.{kind}"
        return export.write(selection, target, on_progress=on_progress, cancel=cancel)
