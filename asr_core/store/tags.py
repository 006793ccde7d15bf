"""Tags, notes and names that people give to recordings, as rows."""

from __future__ import annotations

from collections.abc import Collection

import sqlite_utils

from asr_core.errors import HistoryError
from asr_core.store import recording_rows, search
from asr_core.store.entries import TagCount
from asr_core.store.names import name_key
from asr_core.store.recordings import clean_name
from asr_core.store.rows import encodable, to_json

MOST_TAG_CHARS = 50
MOST_NOTE_CHARS = 20_000

_JOINERS = "\u200c\u200d"
"""Not shown themselves, but Persian words and composed emoji fall apart without them."""


def counts(db: sqlite_utils.Database, owner: str | None) -> tuple[TagCount, ...]:
    """Every tag with how many listed recordings have it."""
    sql = """
        SELECT name, (
            SELECT count(*) FROM recording_tags m JOIN recordings r ON r.number = m.number
            WHERE m.tag_id = tags.id AND r.part_of IS NULL AND r.state <> ''
              AND r.deleted_ms IS NULL AND (:owner IS NULL OR r.owner IN ('', :owner))
        ) FROM tags ORDER BY key
    """
    return tuple(TagCount(name, count) for name, count in db.execute(sql, {"owner": owner}))


def add(db: sqlite_utils.Database, ids: Collection[str], names: Collection[str]) -> None:
    """Give recordings tags; those that are not known yet are made.

    Raises:
        RecordNotFoundError: no recording has one of the ids.
        HistoryError: a name is empty or too long.
    """
    tags = [_make(db, _clean(name)) for name in names]
    for recording_id in ids:
        number = recording_rows.get(db, recording_id)["number"]
        db.conn.executemany(
            "INSERT OR IGNORE INTO recording_tags (tag_id, number) VALUES (?, ?)",
            [(tag, number) for tag in tags],
        )
        search.refresh(db, number)


def remove(db: sqlite_utils.Database, ids: Collection[str], names: Collection[str]) -> None:
    """Take tags from recordings; what is not there is passed over."""
    values = {"ids": to_json([*ids]), "keys": to_json([search.fold(name) for name in names])}
    numbers = [
        row[0]
        for row in db.execute(
            "SELECT number FROM recordings WHERE id IN (SELECT value FROM json_each(:ids))", values
        )
    ]
    db.execute(
        """
        DELETE FROM recording_tags
        WHERE tag_id IN (SELECT id FROM tags WHERE key IN (SELECT value FROM json_each(:keys)))
          AND number IN (
              SELECT number FROM recordings WHERE id IN (SELECT value FROM json_each(:ids))
          )
        """,
        values,
    )
    for number in numbers:
        search.refresh(db, number)


def rename(db: sqlite_utils.Database, name: str, new: str) -> None:
    """Call a tag otherwise; where another one has that name they become one.

    Raises:
        HistoryError: there is no such tag, or the new name is empty or too long.
    """
    tag = _known(db, name)
    new = _clean(new)
    numbers = _tagged(db, tag)
    other = db.execute(
        "SELECT id FROM tags WHERE key = ? AND id <> ?", [search.fold(new), tag]
    ).fetchone()
    if other is not None:
        sql = "UPDATE OR IGNORE recording_tags SET tag_id = ? WHERE tag_id = ?"
        db.execute(sql, [other[0], tag])
        db.execute("DELETE FROM tags WHERE id = ?", [tag])
    else:
        sql = "UPDATE tags SET name = ?, key = ? WHERE id = ?"
        db.execute(sql, [new, search.fold(new), tag])
    for number in numbers:
        search.refresh(db, number)


def delete(db: sqlite_utils.Database, name: str) -> None:
    """Take a tag from everything.

    Raises:
        HistoryError: there is no such tag.
    """
    tag = _known(db, name)
    numbers = _tagged(db, tag)
    db.execute("DELETE FROM tags WHERE id = ?", [tag])
    for number in numbers:
        search.refresh(db, number)


def set_note(db: sqlite_utils.Database, recording_id: str, note: str) -> None:
    """Raises RecordNotFoundError, or HistoryError where it is too long."""
    if len(note) > MOST_NOTE_CHARS:
        raise HistoryError("the note is too long", reason="note_long", most=MOST_NOTE_CHARS)
    number = recording_rows.get(db, recording_id)["number"]
    text = encodable(note.strip())
    db.execute("UPDATE recordings SET note = ? WHERE number = ?", [text, number])
    search.refresh(db, number)


def rename_recording(db: sqlite_utils.Database, recording_id: str, name: str) -> str:
    """Returns the name as it is stored; raises as :func:`set_note`."""
    if not name.strip(". /\\\t\r\n"):
        raise HistoryError("a recording needs a name", reason="name_empty")
    shown = encodable(clean_name(name))
    number = recording_rows.get(db, recording_id)["number"]
    db.execute(
        "UPDATE recordings SET name = ?, name_key = ? WHERE number = ?",
        [shown, name_key(shown), number],
    )
    search.refresh(db, number)
    return shown


def _make(db: sqlite_utils.Database, name: str) -> int:
    key = search.fold(name)
    db.execute("INSERT OR IGNORE INTO tags (name, key) VALUES (?, ?)", [name, key])
    return int(db.execute("SELECT id FROM tags WHERE key = ?", [key]).fetchone()[0])


def _known(db: sqlite_utils.Database, name: str) -> int:
    row = db.execute("SELECT id FROM tags WHERE key = ?", [search.fold(name)]).fetchone()
    if row is None:
        raise HistoryError(f"there is no tag {name!r}", reason="no_tag", name=name)
    return int(row[0])


def _tagged(db: sqlite_utils.Database, tag: int) -> list[int]:
    sql = "SELECT number FROM recording_tags WHERE tag_id = ?"
    return [row[0] for row in db.execute(sql, [tag])]


def _clean(name: str) -> str:
    """A tag on one line, single spaces inside."""
    printable = "".join(
        char if char.isprintable() or char in _JOINERS else " " for char in encodable(name)
    )
    cleaned = " ".join(printable.split())
    if not cleaned.strip(f" {_JOINERS}"):
        raise HistoryError("a tag needs a name", reason="tag_empty")
    if len(cleaned) > MOST_TAG_CHARS:
        raise HistoryError("the name of a tag is too long", reason="tag_long", most=MOST_TAG_CHARS)
    return cleaned
