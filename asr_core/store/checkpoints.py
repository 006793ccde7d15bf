"""What a job has recognized so far, group by group, so that it never recognizes it again."""

from __future__ import annotations

import json
from collections.abc import Sequence

import sqlite_utils

from asr_core.results import SAMPLE_RATE_HZ, Token, Utterance
from asr_core.store.database import Database
from asr_core.store.rows import to_json
from asr_core.transcription.checkpoints import Checkpoint, Spans

_MS_SAMPLES = SAMPLE_RATE_HZ // 1000


class JobCheckpoints:
    """The checkpoints of one job; see :class:`~asr_core.transcription.checkpoints.Checkpoints`.

    Args:
        database: where they are stored.
        job_id: the job, which exists.
        fingerprint: what decides over the results besides the recording and the job's options;
            checkpoints with another one are passed over.
    """

    def __init__(self, database: Database, job_id: str, fingerprint: str) -> None:
        self._database = database
        self._job_id = job_id
        self._fingerprint = fingerprint

    def load(self, channel: int, number: int, spans: Spans) -> Checkpoint | None:
        sql = """
            SELECT tokens, elapsed_ms, devices FROM checkpoints
            WHERE job_id = ? AND channel = ? AND number = ? AND fingerprint = ? AND spans = ?
        """
        key = [self._job_id, channel, number, self._fingerprint, to_json(spans)]

        def find(db: sqlite_utils.Database) -> tuple[str, int, str] | None:
            row: tuple[str, int, str] | None = db.execute(sql, key).fetchone()
            return row

        found = self._database.read(find)
        if found is None:
            return None
        tokens, elapsed_ms, devices = found
        # Checkpoints of older versions name none.
        named = json.loads(devices) or [""] * len(spans)
        utterances = tuple(
            Utterance(
                start // _MS_SAMPLES, end // _MS_SAMPLES, tuple(Token(*t) for t in said), device
            )
            for (start, end), said, device in zip(spans, json.loads(tokens), named, strict=True)
        )
        return Checkpoint(utterances, elapsed_ms)

    def save(
        self,
        channel: int,
        number: int,
        spans: Spans,
        utterances: Sequence[Utterance],
        elapsed_ms: int,
    ) -> None:
        tokens = [
            [(t.text, t.start_ms, t.end_ms, t.confidence, t.mark) for t in utterance.tokens]
            for utterance in utterances
        ]
        row = [
            *(self._job_id, channel, number, self._fingerprint),
            *(to_json(spans), to_json(tokens), spans[-1][1] // _MS_SAMPLES, elapsed_ms),
            to_json([utterance.device for utterance in utterances]),
        ]

        def store(db: sqlite_utils.Database) -> None:
            db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            # It makes progress, so it is not what ends the process.
            db.execute("UPDATE jobs SET interruptions = 0 WHERE id = ?", [self._job_id])

        self._database.write(store)
