"""What a recording is found by besides its name and its text."""

from __future__ import annotations

import json
from dataclasses import dataclass

import sqlite_utils

from asr_core.store.entries import HitField

_HOTWORDS_CHARS = 20_000
"""Of a longer list of hotwords, those behind are found only where they stand in the text."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a query may hit."""

    field: HitField
    text: str


def facts_of(db: sqlite_utils.Database, number: int) -> list[Fact]:
    """Hotwords of the newest job and those in its text, speakers, note and tags; each once."""
    row = next(iter(db.query("SELECT id, note FROM recordings WHERE number = ?", [number])), None)
    if row is None:
        return []
    transcript = db.execute(
        "SELECT id, hotwords FROM transcripts WHERE recording_id = ? ORDER BY id DESC LIMIT 1",
        [row["id"]],
    ).fetchone()
    facts = [Fact("hotword", word) for word in _hotwords(db, row["id"], transcript)]
    if transcript is not None:
        sql = "SELECT DISTINCT speaker FROM sentences WHERE transcript_id = ? AND speaker <> ''"
        speakers = db.execute(sql, [transcript[0]]).fetchall()
        facts += [Fact("speaker", speaker) for (speaker,) in sorted(speakers)]
    if row["note"]:
        facts.append(Fact("note", row["note"]))
    facts += [Fact("tag", name) for name in tag_names(db, number)]
    return facts


def tag_names(db: sqlite_utils.Database, number: int) -> tuple[str, ...]:
    """Tags of a recording, in alphabetical order."""
    sql = """
        SELECT name FROM recording_tags JOIN tags ON tags.id = tag_id
        WHERE number = ? ORDER BY key
    """
    return tuple(row[0] for row in db.execute(sql, [number]))


def _hotwords(
    db: sqlite_utils.Database, recording_id: str, transcript: tuple[int, str] | None
) -> list[str]:
    sql = "SELECT options FROM jobs WHERE recording_id = ? ORDER BY number DESC LIMIT 1"
    job = db.execute(sql, [recording_id]).fetchone()
    found = [use[0] for use in json.loads(transcript[1])] if transcript is not None else []
    asked = json.loads(job[0]).get("hotwords", ()) if job is not None else ()
    left = _HOTWORDS_CHARS
    words = []
    for word in dict.fromkeys([*found, *asked]):
        left -= len(word)
        if left < 0:
            break
        words.append(word)
    return words
