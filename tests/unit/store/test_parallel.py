"""Hundreds at once on one history."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from asr_core.jobs.model import JobState
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.history import History
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import recording, transcript
from tests.unit.store.test_job_control import UTTERANCE

WRITERS = READERS = 100
ROUNDS = 5


def test_two_hundred_writers_and_readers_do_not_lock_each_other_out(
    database: Database, archive: Archive, folder: Path, tmp_path: Path
) -> None:
    history = History(database, folder)
    source = tmp_path / "会议.wav"
    recording(history, source)
    # A second program on the same file, as the command line beside the server.
    with closing(Database(database.path)) as beside:
        other = History(beside, folder)
        lists = {history: archive, other: Archive(beside, folder)}
        start = threading.Barrier(WRITERS + READERS)

        def write(number: int) -> int:
            own = history if number % 2 else other
            start.wait()
            for turn in range(ROUNDS):
                recording_id = recording(own, source, f"会议 {number}-{turn}.wav")
                job = own.add_job(recording_id, TranscribeOptions(), running=True)
                own.checkpoints(job.id, "v").save(0, turn, [(0, 16_000)], [UTTERANCE], 1)
                own.save_transcript(job.id, transcript(f"第{number}次会议"), JobState.DONE)
            return ROUNDS

        def read(number: int) -> int:
            own = history if number % 2 else other
            start.wait()
            found = 0
            for _ in range(ROUNDS):
                page = lists[own].find("会议", limit=20)
                found += len(page.entries)
                own.jobs(states=(JobState.RUNNING,))
                for entry in page.entries[:2]:
                    assert own.record(entry.id).entry.name == entry.name
            return found

        work: list[Callable[[], int]] = [
            *(lambda number=number: write(number) for number in range(WRITERS)),
            *(lambda number=number: read(number) for number in range(READERS)),
        ]
        with ThreadPoolExecutor(len(work)) as pool:
            results = [future.result() for future in [pool.submit(task) for task in work]]
        assert results[:WRITERS] == [ROUNDS] * WRITERS
        assert archive.find("会议").total == WRITERS * ROUNDS
        assert history.jobs(states=(JobState.RUNNING,)) == []
    with closing(sqlite3.connect(database.path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
