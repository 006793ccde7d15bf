"""The sentences of a transcript as rows that are put in the place of others, and the log of that.

A row keeps its order key for life: what is put in between gets keys between those around it, so
that an edit touches no other row. The log holds whole rows, keys included; undoing puts back
exactly what was there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlite_utils

from asr_core.errors import EditConflictError, EditError
from asr_core.results import join_sentences
from asr_core.store import search
from asr_core.store.job_rows import now_ms
from asr_core.store.transcript_rows import insert_rows

Key = int | float
Row = tuple[Any, ...]
"""``position`` and the columns behind it, as they are stored."""

_COLUMNS = "position, start_ms, end_ms, confidence, text, spoken_text, speaker, tokens, spans"
_TEXT, _SPOKEN, _SPEAKER = 4, 5, 6  # places in a row
_FAR = 2**40  # beyond every order key


@dataclass(frozen=True, slots=True)
class RowSplice:
    """``before`` from sentence ``first`` on gives way to ``after``, or the other way round."""

    first: int
    before: tuple[Row, ...]
    after: tuple[Row, ...]

    @property
    def reversed(self) -> RowSplice:
        return RowSplice(self.first, self.after, self.before)


@dataclass(frozen=True, slots=True)
class Head:
    """Where a transcript stands.

    Attributes:
        transcript: its number.
        revision: 0 as it was recognized.
        recording: number of its recording.
        spaced: as its sentences.
        duration_ms: of the recording.
    """

    transcript: int
    revision: int
    recording: int
    spaced: bool
    duration_ms: int

    @property
    def stamp(self) -> str:
        return f"{self.transcript}.{self.revision}"


@dataclass(frozen=True, slots=True)
class Step:
    """One edit of the log, as it is done or undone.

    Attributes:
        splices: one after the other; positions are those that hold when it is its turn.
        hotwords: the report that holds afterwards; ``None`` where it does not change.
    """

    kind: str
    splices: tuple[RowSplice, ...]
    hotwords: str | None


def head(db: sqlite_utils.Database, recording_id: str) -> Head:
    """The newest transcript of a recording.

    Raises:
        EditError: it has none (``no_text``).
    """
    sql = """
        SELECT t.id, t.revision, r.number, t.spaced, t.duration_ms
        FROM transcripts t JOIN recordings r ON r.id = t.recording_id
        WHERE t.recording_id = ? ORDER BY t.id DESC LIMIT 1
    """
    row = db.execute(sql, [recording_id]).fetchone()
    if row is None:
        raise EditError("the recording has no transcript", reason="no_text", id=recording_id)
    return Head(row[0], row[1], row[2], bool(row[3]), row[4])


def checked_head(db: sqlite_utils.Database, recording_id: str, stamp: str) -> Head:
    """The newest transcript, if it still stands where ``stamp`` says.

    Raises:
        EditError: it has none (``no_text``).
        EditConflictError: it was changed or replaced since.
    """
    now = head(db, recording_id)
    if stamp == now.stamp:
        return now
    transcript, _, revision = stamp.partition(".")
    is_same = transcript == str(now.transcript) and revision.isdecimal()
    changes = []
    if is_same and (int(revision) == 0 or _exists(db, now.transcript, int(revision))):
        for step in path(db, now.transcript, int(revision), now.revision):
            changes += [(s.first, len(s.before), len(s.after)) for s in step.splices]
    sql = "SELECT who, created_ms FROM edits WHERE transcript_id = ? AND revision = ?"
    last = db.execute(sql, [now.transcript, now.revision]).fetchone() or ("", None)
    raise EditConflictError(
        f"the transcript of {recording_id} was changed meanwhile",
        reason="edited" if is_same else "replaced",
        revision=now.revision,
        who=last[0],
        time_ms=last[1],
        changes=[list(change) for change in changes],
    )


def count(db: sqlite_utils.Database, transcript: int) -> int:
    """How many sentences it has."""
    sql = "SELECT count(*) FROM sentences WHERE transcript_id = ?"
    found: int = db.execute(sql, [transcript]).fetchone()[0]
    return found


def rows(db: sqlite_utils.Database, transcript: int, first: int = 0, limit: int = -1) -> list[Row]:
    """Rows from a place on, in order; all of them by default."""
    sql = (
        f"SELECT {_COLUMNS} FROM sentences WHERE transcript_id = ?"  # noqa: S608 - our names
        " ORDER BY position LIMIT ? OFFSET ?"
    )
    return [tuple(row) for row in db.execute(sql, [transcript, limit, first])]


def put_rows(
    db: sqlite_utils.Database, transcript: int, first: int, removed: int, new: Sequence[Row]
) -> RowSplice:
    """Put rows in the place of others; their order keys are kept where they fit.

    Raises:
        EditError: there are not that many sentences (``no_sentence``).
    """
    lead = 1 if first else 0
    around = rows(db, transcript, first - lead, removed + lead + 1)
    if len(around) < removed + lead:
        raise EditError("there is no such sentence", reason="no_sentence")
    left = around[0][0] if lead else None
    old = tuple(around[lead : lead + removed])
    right = around[lead + removed][0] if len(around) > lead + removed else None
    keys = _keys([row[0] for row in old], [row[0] for row in new], left, right)
    if keys is None:
        _renumber(db, transcript)
        return put_rows(db, transcript, first, removed, new)
    if old:
        db.execute(
            "DELETE FROM sentences WHERE transcript_id = ? AND position BETWEEN ? AND ?",
            [transcript, old[0][0], old[-1][0]],
        )
    put = tuple((key, *row[1:]) for key, row in zip(keys, new, strict=True))
    insert_rows(db, transcript, put)
    return RowSplice(first, old, put)


def log(
    db: sqlite_utils.Database, at: Head, step: Step, who: str, hotwords_before: str | None = None
) -> Head:
    """Enter an edit that was done into the log, as the newest one."""
    sql = "SELECT coalesce(max(revision), 0) + 1 FROM edits WHERE transcript_id = ?"
    revision = int(db.execute(sql, [at.transcript]).fetchone()[0])
    db.execute(
        "INSERT INTO edits VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            *(at.transcript, revision, at.revision, step.kind, who, now_ms()),
            *(hotwords_before, step.hotwords),
        ],
    )
    db.conn.executemany(
        "INSERT INTO edit_splices VALUES (?, ?, ?, ?, ?, ?)",
        (
            (
                at.transcript,
                revision,
                number,
                splice.first,
                _pack(splice.before),
                _pack(splice.after),
            )
            for number, splice in enumerate(step.splices)
        ),
    )
    return replace(at, revision=revision)


def settle(db: sqlite_utils.Database, at: Head, step: Step) -> None:
    """Let everything that is read off the sentences follow a step that was done."""
    sql = "SELECT text, spoken_text FROM transcripts WHERE id = ?"
    old = db.execute(sql, [at.transcript]).fetchone()
    single = step.splices[0] if len(step.splices) == 1 else None
    texts = _patched(db, at.transcript, single, old) if single is not None else None
    if texts is None:
        sql = "SELECT text, spoken_text FROM sentences WHERE transcript_id = ? ORDER BY position"
        found = db.execute(sql, [at.transcript]).fetchall()
        texts = (join_sentences(row[0] for row in found), join_sentences(row[1] for row in found))
    db.execute(
        "UPDATE transcripts SET text = ?, spoken_text = ?, revision = ?,"
        " hotwords = coalesce(?, hotwords) WHERE id = ?",
        [*texts, at.revision, step.hotwords, at.transcript],
    )
    left = {row[_SPEAKER] for splice in step.splices for row in splice.before}
    come = {row[_SPEAKER] for splice in step.splices for row in splice.after}
    facts = step.hotwords is not None or left != come
    search.replace_text(db, at.recording, texts[0], facts=facts)


def _patched(
    db: sqlite_utils.Database, transcript: int, done: RowSplice, old: tuple[str, str]
) -> tuple[str, str] | None:
    """The texts after a splice, made of those before; reading every sentence takes longer.

    ``None`` where the sentences that were replaced, with their neighbours, do not stand in the
    text just once.
    """
    before = rows(db, transcript, done.first - 1, 1) if done.first else []
    behind = rows(db, transcript, done.first + len(done.after), 1)
    texts = []
    for column, whole in zip((_TEXT, _SPOKEN), old, strict=True):
        if not all(row[column] for row in (*before, *behind)):
            return None
        was, now = (
            join_sentences(row[column] for row in (*before, *side, *behind))
            for side in (done.before, done.after)
        )
        place = whole.find(was)
        if place < 0 or whole.find(was, place + 1) >= 0:
            return None
        texts.append(whole[:place] + now + whole[place + len(was) :])
    return texts[0], texts[1]


def redo(db: sqlite_utils.Database, at: Head, step: Step, revision: int) -> tuple[Head, Step]:
    """Do a step of the log, or undo one that is given in reverse; it is not logged again.

    Returns:
        Where the transcript stands then, and the step with the keys that its rows have now.
    """
    done = tuple(
        put_rows(db, at.transcript, splice.first, len(splice.before), splice.after)
        for splice in step.splices
    )
    now = replace(at, revision=revision)
    step = replace(step, splices=done)
    settle(db, now, step)
    return now, step


def step_of(
    db: sqlite_utils.Database, transcript: int, revision: int, *, undo: bool = False
) -> Step:
    """An edit of the log, or what undoes it."""
    sql = """
        SELECT kind, hotwords_before, hotwords_after FROM edits
        WHERE transcript_id = ? AND revision = ?
    """
    kind, before, after = db.execute(sql, [transcript, revision]).fetchone()
    sql = """
        SELECT first, before, after FROM edit_splices
        WHERE transcript_id = ? AND revision = ? ORDER BY number
    """
    splices = [
        RowSplice(first, _unpack(old), _unpack(new))
        for first, old, new in db.execute(sql, [transcript, revision])
    ]
    if undo:
        return Step(kind, tuple(splice.reversed for splice in reversed(splices)), before)
    return Step(kind, tuple(splices), after)


def path(db: sqlite_utils.Database, transcript: int, start: int, end: int) -> list[Step]:
    """The steps that lead from one revision to another: some undone, some done again."""
    sql = "SELECT revision, parent FROM edits WHERE transcript_id = ?"
    parents = dict(db.execute(sql, [transcript]).fetchall())
    back: list[int] = []
    forth: list[int] = []
    while start != end:
        # A parent is always older: the younger side goes back until both meet.
        if start > end:
            back.append(start)
            start = parents[start]
        else:
            forth.append(end)
            end = parents[end]
    return [
        *(step_of(db, transcript, revision, undo=True) for revision in back),
        *(step_of(db, transcript, revision) for revision in reversed(forth)),
    ]


def rows_at(db: sqlite_utils.Database, at: Head, revision: int) -> tuple[list[Row], str | None]:
    """The rows of another revision, and the hotword report there; ``None``: it is today's."""
    if revision and not _exists(db, at.transcript, revision):
        raise EditError("there is no such version", reason="no_version", revision=revision)
    found = rows(db, at.transcript)
    hotwords = None
    for step in path(db, at.transcript, at.revision, revision):
        hotwords = step.hotwords or hotwords
        for splice in step.splices:
            found[splice.first : splice.first + len(splice.before)] = splice.after
    return found, hotwords


def parent(db: sqlite_utils.Database, at: Head) -> int | None:
    """The revision that undoing leads to."""
    sql = "SELECT parent FROM edits WHERE transcript_id = ? AND revision = ?"
    row = db.execute(sql, [at.transcript, at.revision]).fetchone()
    return None if row is None else int(row[0])


def child(db: sqlite_utils.Database, at: Head) -> int | None:
    """The revision that redoing leads to: the newest edit that was made on this one."""
    sql = "SELECT max(revision) FROM edits WHERE transcript_id = ? AND parent = ?"
    row = db.execute(sql, [at.transcript, at.revision]).fetchone()
    return None if row[0] is None else int(row[0])


def _exists(db: sqlite_utils.Database, transcript: int, revision: int) -> bool:
    sql = "SELECT 1 FROM edits WHERE transcript_id = ? AND revision = ?"
    return db.execute(sql, [transcript, revision]).fetchone() is not None


def _keys(
    old: Sequence[Key], wanted: Sequence[Key | None], left: Key | None, right: Key | None
) -> list[Key] | None:
    """Order keys of rows that are put in; ``None`` where no more fit in between.

    Args:
        old: of the rows that they replace.
        wanted: that the rows had before, ``None`` for new ones.
        left: of the row before; ``None`` at the start.
        right: of the row behind; ``None`` at the end.
    """
    size = len(wanted)
    if None not in wanted and _fit(kept := [key for key in wanted if key is not None], left, right):
        return kept
    keys = [*old[:size]]
    low = keys[-1] if keys else left
    more = size - len(keys)
    if more:
        if low is None:
            low = -1 if right is None else min(-1, math.ceil(right) - more - 1)
        if right is None or right - low > more:
            keys += [math.floor(low) + 1 + index for index in range(more)]
        else:
            keys += [low + (right - low) * (index + 1) / (more + 1) for index in range(more)]
    return keys if _fit(keys, left, right) else None


def _fit(keys: Sequence[Key], left: Key | None, right: Key | None) -> bool:
    """Whether keys rise, between those around them."""
    low = -math.inf if left is None else left
    for key in keys:
        if key <= low:
            return False
        low = key
    return right is None or low < right


def _renumber(db: sqlite_utils.Database, transcript: int) -> None:
    """Give every row a whole number again; after some fifty cuts at one place."""
    keys = [row[0] for row in rows(db, transcript)]
    db.conn.executemany(
        "UPDATE sentences SET position = ? WHERE transcript_id = ? AND position = ?",
        ((_FAR + index, transcript, key) for index, key in enumerate(keys)),
    )
    db.execute(
        "UPDATE sentences SET position = position - ? WHERE transcript_id = ?", [_FAR, transcript]
    )


def _pack(found: Sequence[Row]) -> str:
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _unpack(text: str) -> tuple[Row, ...]:
    return tuple(tuple(row) for row in json.loads(text))
