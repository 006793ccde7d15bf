"""Small helpers that every table of the history database shares."""

from __future__ import annotations

import json
from collections.abc import Mapping

import sqlite_utils


def to_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def encodable(text: str) -> str:
    """Text that SQLite can store: lone surrogates of undecodable file names become ``?``."""
    return text.encode("utf-8", "replace").decode("utf-8")


def insert(db: sqlite_utils.Database, table: str, row: Mapping[str, object]) -> int:
    """Insert one row and return its number."""
    names = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - names are ours
    number = db.execute(sql, dict(row)).lastrowid
    return number or 0
