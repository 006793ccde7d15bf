"""The schema of the history database, as numbered steps that are only ever added to.

Owns what the tables look like and how an older file is brought up to date. A file that already
holds something is copied before it is changed.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import sqlite_utils

from asr_core.errors import MigrationError, StoreError
from asr_core.store.schema_history import m007_history

MIGRATIONS = sqlite_utils.Migrations("tinglu")


def migrate(
    db: sqlite_utils.Database, path: Path, migrations: sqlite_utils.Migrations = MIGRATIONS
) -> None:
    """Apply what is pending, all or nothing, after a backup copy of a file that holds something.

    The copy is ``<path>.backup-<n>``, where ``n`` counts the steps that the file has seen.

    Args:
        db: a connection in autocommit mode.
        path: its file.
        migrations: the steps.

    Raises:
        StoreError: the file was written by a newer program, or cannot be copied.
        MigrationError: a step failed; the file is as before and ``backup`` is its copy.
        sqlite3.Error: an empty file could not be set up.
    """
    _reject_newer(db, path, migrations)
    if not migrations.pending(db):
        return
    # The lock is taken before looking again: another process may do the same at this moment.
    db.conn.execute("BEGIN IMMEDIATE")
    try:
        _reject_newer(db, path, migrations)
        backup = None
        if db.table_names() and migrations.pending(db):
            backup = _copy(path, len(migrations.applied(db)))
        _apply(db, path, migrations, backup)
        db.commit()
    except BaseException:
        db.rollback()
        raise


def _apply(
    db: sqlite_utils.Database,
    path: Path,
    migrations: sqlite_utils.Migrations,
    backup: Path | None,
) -> None:
    try:
        migrations.apply(db)
    except sqlite3.Error as exc:
        if backup is None:
            raise
        raise MigrationError(
            f"{path} could not be upgraded: {exc}; a copy is at {backup}",
            path=str(path),
            reason=str(exc),
            backup=str(backup),
        ) from exc


def _reject_newer(
    db: sqlite_utils.Database, path: Path, migrations: sqlite_utils.Migrations
) -> None:
    with closing(sqlite_utils.Database(memory=True)) as empty:
        known = {step.name for step in migrations.pending(empty)}
    unknown = sorted({step.name for step in migrations.applied(db)} - known)
    if unknown:
        raise StoreError(
            f"{path} was written by a newer version (it has {unknown[0]}); upgrade this program",
            path=str(path),
            reason="newer",
        )


def _copy(path: Path, steps: int) -> Path:
    """Copy the file through SQLite, complete although others may have it open."""
    target = path.with_name(f"{path.name}.backup-{steps}")
    unfinished = path.with_name(f"{target.name}.part")
    try:
        unfinished.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(unfinished)) as copy:
            source.backup(copy)
        return unfinished.replace(target)
    except (OSError, sqlite3.Error) as exc:
        raise StoreError(
            f"{path} is not upgraded because it cannot be copied to {target}: {exc}",
            path=str(path),
            reason=f"no backup: {exc}",
        ) from exc


@MIGRATIONS()
def m001_initial(db: sqlite_utils.Database) -> None:
    """Recordings, their jobs, what came out, and the search index."""
    db.executescript(
        """
        CREATE TABLE recordings (
            -- grows with every recording: "newest first" without trusting the clock
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            -- 32 hexadecimal digits, the name that the outside uses
            id TEXT NOT NULL UNIQUE,
            -- as the user knows it, shown and searched
            name TEXT NOT NULL,
            -- file name inside the recordings folder; NULL: no copy is kept
            stored_name TEXT,
            -- the user's own file, when no copy is kept; NULL: a copy is kept
            original_path TEXT,
            -- file, dictation, batch or cli
            origin TEXT NOT NULL,
            size_bytes INTEGER NOT NULL,
            -- of the content, to recognize a recording again; NULL: it was never read
            sha256 TEXT,
            -- decoded length; NULL: not decoded yet
            duration_ms INTEGER,
            -- Unix time
            created_ms INTEGER NOT NULL
        );

        CREATE TABLE jobs (
            -- order of the queue
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            recording_id TEXT NOT NULL REFERENCES recordings(id) ON DELETE CASCADE,
            -- jobs submitted together share it; empty: submitted alone
            batch_id TEXT NOT NULL,
            state TEXT NOT NULL,
            -- object of TranscribeOptions: a job that waits runs with what was chosen for it
            options TEXT NOT NULL,
            created_ms INTEGER NOT NULL,
            -- of the current attempt; NULL: it has not started
            started_ms INTEGER,
            -- NULL: it has not ended
            finished_ms INTEGER,
            -- wall time of the attempt that ended it; NULL: it has not ended
            processing_ms INTEGER,
            -- how often its process ended under it; a job that kills its process is given up
            interruptions INTEGER NOT NULL DEFAULT 0,
            -- the process that runs it, to tell a living one from a dead one; NULL: nobody runs it,
            -- or the system cannot tell
            owner TEXT,
            -- AsrError.code; empty: it did not fail
            error_code TEXT NOT NULL DEFAULT '',
            -- object of strings for the user's sentence
            error_details TEXT NOT NULL DEFAULT '{}'
        );
        CREATE INDEX jobs_recording ON jobs(recording_id, number);
        CREATE INDEX jobs_state ON jobs(state, number);
        CREATE INDEX jobs_batch ON jobs(batch_id, number);

        CREATE TABLE transcripts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            recording_id TEXT NOT NULL REFERENCES recordings(id) ON DELETE CASCADE,
            job_id TEXT NOT NULL UNIQUE REFERENCES jobs(id) ON DELETE CASCADE,
            created_ms INTEGER NOT NULL,
            language TEXT NOT NULL,
            model_name TEXT NOT NULL,
            backend TEXT NOT NULL,
            device TEXT NOT NULL,
            duration_ms INTEGER NOT NULL,
            processing_ms INTEGER NOT NULL,
            -- coverage: detected speech, the part of it that became text, the rest as
            -- [[start_ms, end_ms], ...]
            speech_ms INTEGER NOT NULL,
            transcribed_ms INTEGER NOT NULL,
            gaps TEXT NOT NULL,
            -- [[code, message], ...]
            warnings TEXT NOT NULL,
            -- 1: cancelled before the end of the recording
            partial INTEGER NOT NULL,
            -- the written form of all sentences, for previews
            text TEXT NOT NULL,
            -- the same as it was said
            spoken_text TEXT NOT NULL
        );
        CREATE INDEX transcripts_recording ON transcripts(recording_id, id);

        CREATE TABLE sentences (
            transcript_id INTEGER NOT NULL REFERENCES transcripts(id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            start_ms INTEGER NOT NULL,
            end_ms INTEGER NOT NULL,
            -- mean over the tokens
            confidence REAL NOT NULL,
            text TEXT NOT NULL,
            spoken_text TEXT NOT NULL,
            -- empty: unknown
            speaker TEXT NOT NULL,
            -- [[text, start_ms, end_ms, confidence, mark], ...]; the truth that the columns above
            -- are read off
            tokens TEXT NOT NULL,
            -- [[first_token, last_token, written], ...]
            spans TEXT NOT NULL,
            PRIMARY KEY (transcript_id, position)
        );

        CREATE TABLE search_texts (
            -- recordings.number
            number INTEGER PRIMARY KEY,
            -- case-folded, what a hit is verified against
            name TEXT NOT NULL,
            text TEXT NOT NULL
        );
        -- Single characters and overlapping pairs and triples as tokens: FTS5's own tokenizers find
        -- nothing inside Chinese text or nothing short. Only which document holds a token is kept.
        CREATE VIRTUAL TABLE search_grams USING fts5(
            grams, content='', detail=none, columnsize=0, tokenize='ascii'
        );
        """
    )


@MIGRATIONS()
def m002_checkpoints(db: sqlite_utils.Database) -> None:
    """Queues, priorities and pauses of jobs; what a job has recognized before it ends."""
    db.executescript(
        """
        -- files, dictation or cli: each is worked through by a runner of its own
        ALTER TABLE jobs ADD COLUMN queue TEXT NOT NULL DEFAULT 'files';
        -- a higher one runs earlier
        ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
        -- 1: it waits until the user resumes it
        ALTER TABLE jobs ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
        UPDATE jobs SET queue = (
            SELECT CASE WHEN origin IN ('dictation', 'cli') THEN origin ELSE 'files' END
            FROM recordings WHERE recordings.id = jobs.recording_id
        );
        CREATE INDEX jobs_queue ON jobs(queue, state, paused, priority, number);
        CREATE INDEX recordings_sha256 ON recordings(sha256);

        CREATE TABLE checkpoints (
            job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
            -- of the recording, from 0
            channel INTEGER NOT NULL,
            -- of the group of segments in its channel, from 0
            number INTEGER NOT NULL,
            -- what else decides over the result: program, model, detector
            fingerprint TEXT NOT NULL,
            -- [[start, end], ...] in samples, one for each segment
            spans TEXT NOT NULL,
            -- [[[text, start_ms, end_ms, confidence, mark], ...], ...], one for each segment
            tokens TEXT NOT NULL,
            -- end of its last segment
            end_ms INTEGER NOT NULL,
            -- wall time that the group took
            elapsed_ms INTEGER NOT NULL,
            PRIMARY KEY (job_id, channel, number)
        );
        """
    )


@MIGRATIONS()
def m003_batches(db: sqlite_utils.Database) -> None:
    """Batches, what became of each of their files, and which files in output folders are ours."""
    db.executescript(
        """
        CREATE TABLE batches (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            -- as the user knows it
            name TEXT NOT NULL,
            -- bytes of a path: file names need not be text; NULL: the files were sent
            source BLOB,
            -- links in the source must not lead out of this folder; NULL: they are followed
            boundary BLOB,
            -- NULL: results are only downloaded
            output BLOB,
            -- list of names
            formats TEXT NOT NULL,
            -- skip, overwrite or rename
            on_existing TEXT NOT NULL,
            recursive INTEGER NOT NULL,
            -- list; empty: every name that a recording has
            patterns TEXT NOT NULL,
            watch INTEGER NOT NULL,
            -- object of TranscribeOptions
            options TEXT NOT NULL,
            -- of its jobs: files or cli
            queue TEXT NOT NULL,
            -- running, paused, done or cancelled
            state TEXT NOT NULL,
            -- 1: every file was found and has its row
            planned INTEGER NOT NULL DEFAULT 0,
            -- the process that works on it; NULL: none, or the system cannot tell
            owner TEXT,
            created_ms INTEGER NOT NULL,
            -- AsrError.code, why the source could not be read to its end; empty: it could
            error_code TEXT NOT NULL DEFAULT '',
            error_details TEXT NOT NULL DEFAULT '{}'
        );
        CREATE INDEX batches_state ON batches(state);

        CREATE TABLE batch_items (
            id INTEGER PRIMARY KEY,
            batch_id TEXT NOT NULL REFERENCES batches(id) ON DELETE CASCADE,
            -- from 1 in its batch
            number INTEGER NOT NULL,
            -- as it is shown, below the source
            path TEXT NOT NULL,
            -- bytes of the same path, or number and member of what was sent
            source_key BLOB NOT NULL,
            -- size and time of change of the file when it was found: a watched file that changes
            -- is taken again; empty: it was sent
            stamp TEXT NOT NULL,
            -- a final ItemState; empty: it is where its newest job is
            state TEXT NOT NULL,
            -- the job whose end the state is about; a newer job counts more; empty: it had none
            settled_job TEXT NOT NULL DEFAULT '',
            -- NULL: it has none, or it was deleted
            recording_id TEXT REFERENCES recordings(id) ON DELETE SET NULL,
            -- of the recording's content; empty: it could not be read
            sha256 TEXT NOT NULL,
            -- as the container tells; 0: it does not
            duration_ms INTEGER NOT NULL,
            -- list of paths in the output folder: chosen before it runs, written once it is done
            outputs TEXT NOT NULL,
            note TEXT NOT NULL,
            error_code TEXT NOT NULL DEFAULT '',
            error_details TEXT NOT NULL DEFAULT '{}',
            -- grows with every change of an item of the batch
            revision INTEGER NOT NULL,
            UNIQUE (batch_id, number)
        );
        CREATE INDEX batch_items_key ON batch_items(batch_id, source_key);
        CREATE INDEX batch_items_revision ON batch_items(batch_id, revision);
        CREATE INDEX batch_items_recording ON batch_items(recording_id);
        CREATE INDEX batch_items_content ON batch_items(batch_id, sha256);
        CREATE INDEX batch_items_open ON batch_items(batch_id) WHERE state = '';

        CREATE TABLE batch_results (
            -- bytes of the output folder's path
            output BLOB NOT NULL,
            -- bytes of the path below it
            path BLOB NOT NULL,
            -- bytes of the recording's own path, or name of what was sent
            input BLOB NOT NULL,
            format TEXT NOT NULL,
            -- the number in the file name, 1 without one
            number INTEGER NOT NULL,
            -- of the recording's content
            sha256 TEXT NOT NULL,
            -- of options and model
            settings TEXT NOT NULL,
            -- list of SHA-256: what the file may hold as long as nobody else has changed it
            hashes TEXT NOT NULL,
            batch_id TEXT NOT NULL,
            item INTEGER NOT NULL,
            PRIMARY KEY (output, path)
        ) WITHOUT ROWID;
        CREATE INDEX batch_results_input ON batch_results(output, input);
        """
    )


@MIGRATIONS()
def m004_text(db: sqlite_utils.Database) -> None:
    """What became of each hotword and how texts are spaced; spans say who wrote them."""
    db.executescript(
        """
        -- [[word, recognized, corrected], ...]; spans are [first_token, last_token, written, kind]
        ALTER TABLE transcripts ADD COLUMN hotwords TEXT NOT NULL DEFAULT '[]';
        -- 1: the written form has a space between Chinese and Latin
        ALTER TABLE transcripts ADD COLUMN spaced INTEGER NOT NULL DEFAULT 0;
        """
    )


@MIGRATIONS()
def m005_models(db: sqlite_utils.Database) -> None:
    """Which recognizer is the default, and model folders that the user already had."""
    db.executescript(
        """
        CREATE TABLE model_folders (
            -- what a job names; a model's own name where it has one place only
            name TEXT PRIMARY KEY,
            -- bytes of the path
            folder BLOB NOT NULL,
            family TEXT NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE choices (
            -- what was chosen: model
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) WITHOUT ROWID;
        """
    )


@MIGRATIONS()
def m006_edits(db: sqlite_utils.Database) -> None:
    """Every edit of a transcript, to undo, to compare and to go back to; parts of recordings."""
    db.executescript(
        """
        -- of edits; 0: it stands as it was recognized
        ALTER TABLE transcripts ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;

        -- sentences.position is an order key: what is put in between has a fraction
        CREATE TABLE edits (
            transcript_id INTEGER NOT NULL REFERENCES transcripts(id) ON DELETE CASCADE,
            -- from 1 in its transcript, never used again
            revision INTEGER NOT NULL,
            -- the revision that it was made on, where undoing leads; redoing leads to the newest
            -- edit that was made on a revision
            parent INTEGER NOT NULL,
            kind TEXT NOT NULL,
            -- empty: unknown
            who TEXT NOT NULL,
            created_ms INTEGER NOT NULL,
            -- transcripts.hotwords before and afterwards; NULL: unchanged
            hotwords_before TEXT,
            hotwords_after TEXT,
            PRIMARY KEY (transcript_id, revision)
        ) WITHOUT ROWID;
        CREATE INDEX edits_parent ON edits(transcript_id, parent, revision);

        CREATE TABLE edit_splices (
            transcript_id INTEGER NOT NULL,
            revision INTEGER NOT NULL,
            -- from 0 in its edit: they were done one after the other
            number INTEGER NOT NULL,
            -- place of the first sentence, from 0
            first INTEGER NOT NULL,
            -- lists of whole rows of sentences, from the column position on
            before TEXT NOT NULL,
            after TEXT NOT NULL,
            PRIMARY KEY (transcript_id, revision, number),
            FOREIGN KEY (transcript_id, revision)
                REFERENCES edits(transcript_id, revision) ON DELETE CASCADE
        );

        CREATE TABLE versions (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            transcript_id INTEGER NOT NULL REFERENCES transcripts(id) ON DELETE CASCADE,
            revision INTEGER NOT NULL,
            name TEXT NOT NULL,
            who TEXT NOT NULL,
            created_ms INTEGER NOT NULL
        );
        CREATE INDEX versions_transcript ON versions(transcript_id, id);

        -- A stretch of another recording that is recognized once more, never listed; NULL: whole
        ALTER TABLE recordings ADD COLUMN part_of TEXT
            REFERENCES recordings(id) ON DELETE CASCADE;
        ALTER TABLE recordings ADD COLUMN part_start_ms INTEGER;
        ALTER TABLE recordings ADD COLUMN part_end_ms INTEGER;
        CREATE INDEX recordings_part ON recordings(part_of) WHERE part_of IS NOT NULL;
        """
    )


MIGRATIONS()(m007_history)


@MIGRATIONS()
def m008_devices(db: sqlite_utils.Database) -> None:
    """Which device each segment really ran on, and why the model ran there."""
    db.executescript(
        """
        -- list of [device, segments]; empty: nothing tells
        ALTER TABLE transcripts ADD COLUMN devices TEXT NOT NULL DEFAULT '[]';
        -- [device, reason, [[name, figure], ...]]; NULL: nothing tells
        ALTER TABLE transcripts ADD COLUMN device_choice TEXT;
        -- of each segment of the group, or empty
        ALTER TABLE checkpoints ADD COLUMN devices TEXT NOT NULL DEFAULT '[]';
        """
    )
