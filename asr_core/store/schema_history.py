"""The step of the schema that brings tags, notes, owners, the bin and orders of lists."""

from __future__ import annotations

import sqlite_utils

from asr_core.store import search
from asr_core.store.names import name_key

LISTED = "part_of IS NULL AND state <> '' AND deleted_ms IS NULL"
"""What lists of the history show; the indexes of this step hold nothing else."""


def m007_history(db: sqlite_utils.Database) -> None:
    """Tags, notes, owners and the bin; what lists show and are ordered by stands in one row."""
    db.executescript(_COLUMNS)
    for number, name in db.execute("SELECT number, name FROM recordings").fetchall():
        db.execute("UPDATE recordings SET name_key = ? WHERE number = ?", [name_key(name), number])
    db.executescript(_INDEXES)
    for (number,) in db.execute("SELECT number FROM search_texts").fetchall():
        search.refresh(db, number)


_COLUMNS = """
    -- empty: everybody's
    ALTER TABLE recordings ADD COLUMN owner TEXT NOT NULL DEFAULT '';
    ALTER TABLE recordings ADD COLUMN note TEXT NOT NULL DEFAULT '';
    -- bytes that order names
    ALTER TABLE recordings ADD COLUMN name_key BLOB NOT NULL DEFAULT x'';
    -- of the newest job; empty: it has none and is not listed
    ALTER TABLE recordings ADD COLUMN state TEXT NOT NULL DEFAULT '';
    -- of the newest transcript; empty: there is none
    ALTER TABLE recordings ADD COLUMN model TEXT NOT NULL DEFAULT '';
    -- when it was put into the bin; NULL: it is not there
    ALTER TABLE recordings ADD COLUMN deleted_ms INTEGER;
    -- when the kept copy was removed because of its age; NULL: it was not
    ALTER TABLE recordings ADD COLUMN audio_removed_ms INTEGER;

    -- hotwords, speakers, note and tags, case-folded, each behind a unit separator
    ALTER TABLE search_texts ADD COLUMN facts TEXT NOT NULL DEFAULT '';

    CREATE TABLE tags (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        -- case-folded: one tag, however it is typed
        key TEXT NOT NULL UNIQUE
    );
    CREATE TABLE recording_tags (
        tag_id INTEGER NOT NULL REFERENCES tags(id) ON DELETE CASCADE,
        number INTEGER NOT NULL REFERENCES recordings(number) ON DELETE CASCADE,
        PRIMARY KEY (tag_id, number)
    ) WITHOUT ROWID;
    CREATE INDEX recording_tags_number ON recording_tags(number);

    UPDATE recordings SET
        state = coalesce((
            SELECT state FROM jobs WHERE recording_id = recordings.id ORDER BY number DESC LIMIT 1
        ), ''),
        model = coalesce((
            SELECT model_name FROM transcripts
            WHERE recording_id = recordings.id ORDER BY id DESC LIMIT 1
        ), '');

    CREATE TRIGGER jobs_added AFTER INSERT ON jobs BEGIN
        UPDATE recordings SET state = NEW.state WHERE id = NEW.recording_id;
    END;
    CREATE TRIGGER jobs_moved AFTER UPDATE OF state ON jobs
    WHEN NEW.number = (SELECT max(number) FROM jobs WHERE recording_id = NEW.recording_id) BEGIN
        UPDATE recordings SET state = NEW.state WHERE id = NEW.recording_id;
    END;
    CREATE TRIGGER transcripts_added AFTER INSERT ON transcripts BEGIN
        UPDATE recordings SET model = NEW.model_name WHERE id = NEW.recording_id;
    END;
"""

_INDEXES = f"""
    CREATE INDEX recordings_time ON recordings(created_ms) WHERE {LISTED};
    CREATE INDEX recordings_name ON recordings(name_key) WHERE {LISTED};
    CREATE INDEX recordings_length ON recordings(coalesce(duration_ms, 0)) WHERE {LISTED};
    CREATE INDEX recordings_facets ON recordings(model, state, origin, owner) WHERE {LISTED};
    CREATE INDEX recordings_bin ON recordings(deleted_ms) WHERE deleted_ms IS NOT NULL;
"""
