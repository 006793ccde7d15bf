"""Edits of transcripts: made on a revision, logged, undone, compared and gone back to.

Owns what one edit means and that everything which is read off the sentences follows it in the
same transaction. Rows and keys are in ``edit_rows``, what edits do in ``asr_core.text``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace

import sqlite_utils

from asr_core.errors import EditError
from asr_core.results import HotwordUse, Sentence
from asr_core.store import edit_rows
from asr_core.store.database import Database
from asr_core.store.edit_model import EditableLines, EditResult, Version
from asr_core.store.edit_rows import Head, Row, RowSplice, Step
from asr_core.store.job_rows import now_ms
from asr_core.store.rows import encodable, insert
from asr_core.store.transcript_rows import (
    sentence_columns,
    sentence_of,
    uses_from_json,
    uses_to_json,
)
from asr_core.text.compare import Difference, compare
from asr_core.text.editing import Splice, drop_span, respaced
from asr_core.text.finding import Preview, places, replace_in

_TEXT, _SPEAKER, _TOKENS, _SPANS = 4, 6, 7, 8  # places in a row


class Edits:
    """The newest transcripts of recordings, to edit; usable from any thread.

    Every method raises EditError (``no_text``) where a recording has no transcript. Those that
    take a stamp raise EditConflictError when the transcript does not stand there any more.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def lines(self, recording_id: str, first: int = 0, limit: int = 200) -> EditableLines:
        """Sentences from a position on, none behind the end."""

        def load(db: sqlite_utils.Database) -> EditableLines:
            at = edit_rows.head(db, recording_id)
            start = max(first, 0)
            sql = (
                "SELECT speaker FROM sentences WHERE transcript_id = ? AND speaker <> ''"
                " GROUP BY speaker ORDER BY min(position)"
            )
            return EditableLines(
                at.stamp,
                at.revision,
                edit_rows.count(db, at.transcript),
                start,
                _sentences(edit_rows.rows(db, at.transcript, start, max(limit, 0)), at),
                tuple(row[0] for row in db.execute(sql, [at.transcript])),
                edit_rows.parent(db, at) is not None,
                edit_rows.child(db, at) is not None,
            )

        return self._database.read(load)

    def change(
        self,
        recording_id: str,
        stamp: str,
        first: int,
        count: int,
        make: Callable[[tuple[Sentence, ...]], Sequence[Sentence]],
        *,
        kind: str,
        who: str = "",
    ) -> EditResult:
        """Put what ``make`` returns in the place of ``count`` sentences.

        Raises:
            EditError: there are no such sentences (``no_sentence``), or ``make`` refuses.
        """

        def save(db: sqlite_utils.Database) -> EditResult:
            at = edit_rows.checked_head(db, recording_id, stamp)
            old = _existing(db, at, first, count)
            new = tuple(make(old))
            splices = [] if new == old else [Splice(first, count, new)]
            return _edit(db, at, splices, kind, who)

        return self._database.write(save)

    def change_all(
        self,
        recording_id: str,
        stamp: str,
        make: Callable[[tuple[Sentence, ...]], Sequence[Splice]],
        *,
        kind: str,
        who: str = "",
    ) -> EditResult:
        """Make the splices that ``make`` finds in the whole transcript, undone as one edit.

        Args:
            recording_id: whose newest transcript.
            stamp: that ``make`` works on.
            make: gives splices in order, disjoint; positions are those before the edit.
            kind: a word for what was done.
            who: did it; empty for nobody known.

        Raises:
            EditError: a splice lies outside of the transcript (``no_sentence``), or there is none
                (``nothing``), or ``make`` refuses.
        """

        def save(db: sqlite_utils.Database) -> EditResult:
            at = edit_rows.checked_head(db, recording_id, stamp)
            sentences = _sentences(edit_rows.rows(db, at.transcript), at)
            return _edit(db, at, make(sentences), kind, who)

        return self._database.write(save)

    def drop_span(
        self, recording_id: str, stamp: str, position: int, first_token: int, *, who: str = ""
    ) -> EditResult:
        """Let corrected tokens stand as they were recognized; the hotword report follows.

        Raises:
            EditError: there is no such correction (``no_span``) or sentence (``no_sentence``).
        """

        def drop(db: sqlite_utils.Database) -> EditResult:
            at = edit_rows.checked_head(db, recording_id, stamp)
            (sentence,) = _existing(db, at, position, 1)
            left = drop_span(sentence, first_token)
            undone = [
                span.written
                for span in sentence.spans
                if span not in left.spans and span.kind in ("hotword", "replacement")
            ]
            splices = [Splice(position, 1, (left,))]
            return _edit(db, at, splices, "drop_correction", who, undone=undone)

        return self._database.write(drop)

    def undo(self, recording_id: str, stamp: str) -> EditResult:
        """Put back exactly what was there before the last edit.

        Raises:
            EditError: there is nothing to undo (``nothing``).
        """

        def undo(db: sqlite_utils.Database) -> EditResult:
            at = edit_rows.checked_head(db, recording_id, stamp)
            parent = edit_rows.parent(db, at)
            if parent is None:
                raise EditError("there is nothing to undo", reason="nothing")
            step = edit_rows.step_of(db, at.transcript, at.revision, undo=True)
            return _result(db, *edit_rows.redo(db, at, step, parent))

        return self._database.write(undo)

    def redo(self, recording_id: str, stamp: str) -> EditResult:
        """Do again what was undone last; a new edit ends that.

        Raises:
            EditError: there is nothing to do again (``nothing``).
        """

        def redo(db: sqlite_utils.Database) -> EditResult:
            at = edit_rows.checked_head(db, recording_id, stamp)
            child = edit_rows.child(db, at)
            if child is None:
                raise EditError("there is nothing to do again", reason="nothing")
            step = edit_rows.step_of(db, at.transcript, child)
            return _result(db, *edit_rows.redo(db, at, step, child))

        return self._database.write(redo)

    def preview(
        self, recording_id: str, query: str, replacement: str, *, case: bool = False
    ) -> tuple[str, tuple[Preview, ...]]:
        """The stamp, and what replacing every hit would make of each sentence that has one."""

        def load(db: sqlite_utils.Database) -> tuple[str, tuple[Preview, ...]]:
            at = edit_rows.head(db, recording_id)
            found = _replacements(db, at, query, replacement, case)
            return at.stamp, tuple(preview for _splice, preview in found)

        return self._database.read(load)

    def replace(
        self,
        recording_id: str,
        stamp: str,
        query: str,
        replacement: str,
        *,
        case: bool = False,
        who: str = "",
    ) -> tuple[int, EditResult]:
        """Replace every hit, as one edit; returns how many there were.

        Raises:
            EditError: there is no hit (``nothing``).
        """

        def save(db: sqlite_utils.Database) -> tuple[int, EditResult]:
            at = edit_rows.checked_head(db, recording_id, stamp)
            found = _replacements(db, at, query, replacement, case)
            splices = [splice for splice, _preview in found]
            hits = sum(len(preview.hits) for _splice, preview in found)
            return hits, _edit(db, at, splices, "replace", who)

        return self._database.write(save)

    def versions(self, recording_id: str) -> tuple[Version, ...]:
        """Revisions with a name, newest first, and revision 0 at the end."""

        def load(db: sqlite_utils.Database) -> tuple[Version, ...]:
            return _versions(db, edit_rows.head(db, recording_id))

        return self._database.read(load)

    def name_version(self, recording_id: str, stamp: str, name: str, *, who: str = "") -> Version:
        """Give the transcript as it stands a name.

        Raises:
            EditError: the name is blank (``name``).
        """
        clean = " ".join(encodable(name).split())
        if not clean:
            raise EditError("a version needs a name", reason="name")

        def save(db: sqlite_utils.Database) -> Version:
            at = edit_rows.checked_head(db, recording_id, stamp)
            values = {
                "transcript_id": at.transcript,
                "revision": at.revision,
                "name": clean,
                "who": who,
                "created_ms": now_ms(),
            }
            insert(db, "versions", values)
            return _versions(db, at)[0]

        return self._database.write(save)

    def compare(self, recording_id: str, before: int, after: int) -> tuple[Difference, ...]:
        """What changed from one revision to another, sentence by sentence.

        Raises:
            EditError: there is no such revision (``no_version``).
        """

        def load(db: sqlite_utils.Database) -> tuple[Difference, ...]:
            at = edit_rows.head(db, recording_id)
            old, new = (edit_rows.rows_at(db, at, revision)[0] for revision in (before, after))
            return tuple(
                replace(
                    found,
                    before_first=found.before_first + first,
                    after_first=found.after_first + low,
                )
                for first, end, low, high in _blocks(old, new)
                for found in compare(_sentences(old[first:end], at), _sentences(new[low:high], at))
            )

        return self._database.read(load)

    def restore(self, recording_id: str, stamp: str, revision: int, *, who: str = "") -> EditResult:
        """Let the transcript be what it was at a revision, as one more edit.

        Raises:
            EditError: there is no such revision (``no_version``), or it is the same
                (``nothing``).
        """

        def save(db: sqlite_utils.Database) -> EditResult:
            at = edit_rows.checked_head(db, recording_id, stamp)
            wanted, hotwords = edit_rows.rows_at(db, at, revision)
            old = edit_rows.rows(db, at.transcript)
            splices = [
                (first, end - first, wanted[low:high])
                for first, end, low, high in _blocks(old, wanted)
            ]
            return _edit_rows(db, at, splices, "restore", who, hotwords)

        return self._database.write(save)


def _sentence(row: Row, at: Head) -> Sentence:
    return sentence_of(row[_TOKENS], row[_SPANS], row[_SPEAKER], at.spaced)


def _sentences(rows: Sequence[Row], at: Head) -> tuple[Sentence, ...]:
    return tuple(_sentence(row, at) for row in rows)


def _blocks(old: Sequence[Row], new: Sequence[Row]) -> list[tuple[int, int, int, int]]:
    """Where rows differ but for their keys: from, to in the old ones, from, to in the new ones."""
    numbers: dict[Row, int] = {}
    sides = [[numbers.setdefault(row[1:], len(numbers)) for row in rows] for rows in (old, new)]
    matcher = difflib.SequenceMatcher(a=sides[0], b=sides[1], autojunk=False)
    return [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]


def _existing(db: sqlite_utils.Database, at: Head, first: int, count: int) -> tuple[Sentence, ...]:
    found = edit_rows.rows(db, at.transcript, first, count) if first >= 0 and count > 0 else []
    if len(found) < max(count, 1):
        raise EditError("there is no such sentence", reason="no_sentence")
    return _sentences(found, at)


def _replacements(
    db: sqlite_utils.Database, at: Head, query: str, replacement: str, case: bool
) -> list[tuple[Splice, Preview]]:
    found = []
    for position, row in enumerate(edit_rows.rows(db, at.transcript)):
        if places(row[_TEXT], query, case=case):
            one = replace_in(_sentence(row, at), position, query, replacement, case=case)
            if one is not None and one[1].before != one[1].after:
                found.append(one)
    return found


def _edit(
    db: sqlite_utils.Database,
    at: Head,
    splices: Sequence[Splice],
    kind: str,
    who: str,
    *,
    undone: Sequence[str] = (),
) -> EditResult:
    """Make an edit; ``undone`` are corrections to hotwords that it took back."""
    rows = [
        (
            splice.first,
            splice.removed,
            [(None, *sentence_columns(respaced(s, at.spaced))) for s in splice.sentences],
        )
        for splice in splices
    ]
    hotwords = None
    if undone:
        uses = [
            replace(use, corrected=max(use.corrected - undone.count(use.word), 0))
            for use in _uses(db, at)
        ]
        hotwords = uses_to_json(uses)
    return _edit_rows(db, at, rows, kind, who, hotwords)


def _edit_rows(
    db: sqlite_utils.Database,
    at: Head,
    splices: Sequence[tuple[int, int, Sequence[Row]]],
    kind: str,
    who: str,
    hotwords: str | None,
) -> EditResult:
    """Make an edit of ``(first, removed, rows)``, places being those before it."""
    splices = [splice for splice in splices if splice[1] or splice[2]]
    if not splices:
        raise EditError("that changes nothing", reason="nothing")
    done: list[RowSplice] = []
    shift = end = 0
    for first, removed, rows in splices:
        if first < end or removed < 0:
            raise EditError("there is no such sentence", reason="no_sentence")
        done.append(edit_rows.put_rows(db, at.transcript, first + shift, removed, rows))
        shift += len(rows) - removed
        end = first + removed
    before = uses_to_json(_uses(db, at)) if hotwords is not None else None
    step = Step(kind, tuple(done), hotwords)
    now = edit_rows.log(db, at, step, who, before)
    edit_rows.settle(db, now, step)
    return _result(db, now, step)


def _uses(db: sqlite_utils.Database, at: Head) -> tuple[HotwordUse, ...]:
    sql = "SELECT hotwords FROM transcripts WHERE id = ?"
    return uses_from_json(db.execute(sql, [at.transcript]).fetchone()[0])


def _result(db: sqlite_utils.Database, at: Head, step: Step) -> EditResult:
    return EditResult(
        stamp=at.stamp,
        revision=at.revision,
        kind=step.kind,
        total=edit_rows.count(db, at.transcript),
        changes=tuple(
            Splice(splice.first, len(splice.before), _sentences(splice.after, at))
            for splice in step.splices
        ),
        can_undo=edit_rows.parent(db, at) is not None,
        can_redo=edit_rows.child(db, at) is not None,
    )


def _versions(db: sqlite_utils.Database, at: Head) -> tuple[Version, ...]:
    sql = """
        SELECT v.revision, v.name, coalesce(e.kind, ''), v.who, v.created_ms FROM versions v
        LEFT JOIN edits e ON e.transcript_id = v.transcript_id AND e.revision = v.revision
        WHERE v.transcript_id = ? ORDER BY v.id DESC
    """
    named = [
        Version(revision, name, kind, who, created_ms, revision == at.revision)
        for revision, name, kind, who, created_ms in db.execute(sql, [at.transcript])
    ]
    sql = "SELECT created_ms FROM transcripts WHERE id = ?"
    made_ms = db.execute(sql, [at.transcript]).fetchone()[0]
    return (*named, Version(0, "", "", "", made_ms, at.revision == 0))
