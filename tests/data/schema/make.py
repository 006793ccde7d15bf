"""Write a small database as each schema version left it::

    python -m tests.data.schema.make

The rows are written as the program of that version wrote them. A file that exists stays: it is
what users may have.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import sqlite_utils

from asr_core.store import search
from asr_core.store.migrations import MIGRATIONS
from asr_core.store.names import name_key

FOLDER = Path(__file__).parent
RECORDINGS = {
    "产品例会.m4a": (
        "done",
        "各位同事下午好，我们邀请了26位用户进行试用。",
        "各位同事下午好，我们邀请了二十六位用户进行试用。",
    ),
    "Straße 访谈 😀.wav": ("partial", "客户说 API 很好用", "客户说 a p i 很好用"),
    "失败.mp3": ("failed", "", ""),
}
"""Name to the state of its job, its text as it is written and as it was said."""

CREATED_MS = 1_764_500_000_000


def recording_id(number: int) -> str:
    return f"{number:032x}"


def steps() -> list[str]:
    """Names of all steps, in order."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        return [step.name for step in MIGRATIONS.pending(sqlite_utils.Database(conn))]


def build(path: Path, count: int) -> None:
    """A database that has seen so many steps."""
    names = steps()
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA page_size = 1024")
        db = sqlite_utils.Database(conn)
        if count < len(names):
            MIGRATIONS.apply(db, stop_before=names[count])
        else:
            MIGRATIONS.apply(db)
        db.execute("UPDATE _sqlite_migrations SET applied_at = '2026-01-01 00:00:00+00:00'")
        for number, name in enumerate(RECORDINGS, 1):
            _write(db, number, name, count)
        if count >= 2:
            db.execute(
                "INSERT INTO checkpoints (job_id, channel, number, fingerprint, spans, tokens,"
                " end_ms, elapsed_ms) VALUES (?, 0, 0, 'f', '[[0, 16000]]',"
                """ '[[["客", 0, 200, 0.9, ""]]]', 1000, 10)""",
                [recording_id(2)],
            )
        conn.execute("VACUUM")


def _write(db: sqlite_utils.Database, number: int, name: str, count: int) -> None:
    state, text, spoken = RECORDINGS[name]
    known = recording_id(number)
    db.execute(
        "INSERT INTO recordings (number, id, name, stored_name, original_path, origin, size_bytes,"
        " sha256, duration_ms, created_ms) VALUES (?, ?, ?, NULL, ?, 'file', 1000, ?, 9000, ?)",
        [number, known, name, f"/audio/{name}", f"{number:064x}", CREATED_MS + number],
    )
    options = {"vad": None, "itn": True, "punctuation": True, "hotwords": ["热词库"]}
    db.execute(
        "INSERT INTO jobs (id, recording_id, batch_id, state, options, created_ms, started_ms,"
        " finished_ms, processing_ms, error_code, error_details)"
        " VALUES (?, ?, '', ?, ?, ?, ?, ?, 900, ?, ?)",
        [
            *(known, known, state, json.dumps(options), CREATED_MS, CREATED_MS, CREATED_MS),
            *(("audio_decode", '{"reason":"empty"}') if state == "failed" else ("", "{}")),
        ],
    )
    if text:
        _write_text(db, number, (text, spoken), count)
    if count >= 7:
        key = [name_key(name), number]
        db.execute("UPDATE recordings SET name_key = ? WHERE number = ?", key)
        search.put(db, number, name, text)
    else:
        _index(db, number, name, text)


def _write_text(db: sqlite_utils.Database, number: int, texts: tuple[str, str], count: int) -> None:
    known = recording_id(number)
    values = {
        "id": number,
        "recording_id": known,
        "job_id": known,
        "created_ms": CREATED_MS,
        "language": "zh",
        "model_name": "whisper-base",
        "backend": "ctranslate2 int8",
        "device": "cpu",
        "duration_ms": 9_000,
        "processing_ms": 900,
        "speech_ms": 8_000,
        "transcribed_ms": 8_000,
        "gaps": "[]",
        "warnings": "[]",
        "partial": int(number == 2),
        "text": texts[0],
        "spoken_text": texts[1],
    }
    if count >= 4:
        values["hotwords"] = '[["昇腾",1,0]]'
    marks = ", ".join(f":{name}" for name in values)
    db.execute(f"INSERT INTO transcripts ({', '.join(values)}) VALUES ({marks})", values)  # noqa: S608
    tokens = [[texts[0], 0, 8_000, 0.9, ""]]
    db.execute(
        "INSERT INTO sentences VALUES (?, 0, 0, 8000, 0.9, ?, ?, '说话人1', ?, '[]')",
        [number, *texts, json.dumps(tokens)],
    )


def _index(db: sqlite_utils.Database, number: int, name: str, text: str) -> None:
    """Names and texts alone, case-folded, in grams of one to three characters."""
    parts = [name.casefold(), text.casefold()]
    grams = {
        "x".join(f"{ord(char):x}" for char in part[start : start + size])
        for part in parts
        for size in (1, 2, 3)
        for start in range(len(part) - size + 1)
    }
    db.execute("INSERT INTO search_texts (number, name, text) VALUES (?, ?, ?)", [number, *parts])
    db.execute(
        "INSERT INTO search_grams (rowid, grams) VALUES (?, ?)", [number, " ".join(sorted(grams))]
    )


def main() -> None:
    names = steps()
    for count, name in enumerate(names, 1):
        target = FOLDER / f"{name}.db.gz"
        if target.exists() or count == len(names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "history.db"
            build(path, count)
            with target.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
                packed.write(path.read_bytes())


if __name__ == "__main__":
    main()
