"""Jobs and history across processes: one that dies, several that write, one that is still alive."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from asr_core.jobs.model import JobState
from asr_core.jobs.runner import JobRunner
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.entries import HistoryPage
from asr_core.store.history import History
from asr_core.store.job_rows import MAX_INTERRUPTIONS
from asr_core.store.process import own_tag
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import queued, recording, transcript

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 60
"""Longer than any step takes; only a broken program waits this long."""

_PRELUDE = """
import os, sys, threading
from pathlib import Path
from asr_core.jobs.model import JobState
from asr_core.jobs.runner import JobRunner
from asr_core.store.database import Database
from asr_core.store.history import History
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import recording, transcript

home = Path(sys.argv[1])
database = Database(home / "history.db")
history = History(database, home / "recordings")
"""

DIES_WHILE_RUNNING = """
def transcribe(path, job, sink, token):
    if job.name == "first.wav":
        return transcript("会议")
    (home / "recordings" / ("1" * 32 + "..part")).write_bytes(b"half")
    os._exit(9)

history.recover_interrupted()
runner = JobRunner(history, transcribe)
runner.start()
threading.Event().wait()
"""

WRITES = """
sys.stdin.readline()
for number in range(15):
    recording_id = recording(history, home / "source.wav", f"{sys.argv[2]}-{number}")
    job = history.add_job(recording_id, TranscribeOptions(), running=True)
    history.save_transcript(job.id, transcript("会议记录"), JobState.DONE)
database.close()
"""

RUNS_A_JOB_OF_ITS_OWN = """
recording_id = recording(history, home / "source.wav", keep="none")
job = history.add_job(recording_id, TranscribeOptions(), running=True)
print(job.id, flush=True)
sys.stdin.readline()
history.save_transcript(job.id, transcript("会议"), JobState.DONE)
database.close()
"""


def _spawn(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _PRELUDE + code, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextmanager
def _opened(home: Path) -> Iterator[History]:
    database = Database(home / "history.db")
    try:
        yield History(database, home / "recordings")
    finally:
        database.close()


def _listed(home: Path, query: str, limit: int = 50) -> HistoryPage:
    with closing(Database(home / "history.db")) as database:
        return Archive(database, home / "recordings").find(query, limit=limit)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "source.wav").write_bytes(b"RIFF")
    return tmp_path


def test_a_killed_batch_goes_on_where_it_was(home: Path) -> None:
    with _opened(home) as history:
        jobs = [queued(history, home / f"{name}.wav") for name in ("first", "second", "third")]
    with _spawn(DIES_WHILE_RUNNING, str(home)) as dying:
        dying.communicate(timeout=WAIT_S)
    assert dying.returncode == 9

    ended = threading.Event()
    order = []

    def finish(path, job, sink, token):
        order.append((job.name, path.read_bytes()))
        if job.name == "third.wav":
            ended.set()
        return transcript("访谈")

    with _opened(home) as history:
        assert [history.job(job.id).state for job in jobs] == [
            JobState.DONE,
            JobState.RUNNING,
            JobState.QUEUED,
        ]
        assert [job.name for job in history.recover_interrupted()] == ["second.wav"]
        runner = JobRunner(history, finish)
        runner.start()
        assert ended.wait(WAIT_S)
        runner.stop()
        assert [history.job(job.id).state for job in jobs] == [JobState.DONE] * 3
        assert _listed(home, "会议").total == 1
        assert _listed(home, "访谈").total == 2
        assert not list((home / "recordings").glob("*.part"))
    assert order == [("second.wav", b"RIFF of second.wav"), ("third.wav", b"RIFF of third.wav")]


def test_a_file_that_kills_its_process_every_time_is_given_up(home: Path) -> None:
    with _opened(home) as history:
        job = queued(history, home / "deadly.wav")
    for _ in range(MAX_INTERRUPTIONS):
        with _spawn(DIES_WHILE_RUNNING, str(home)) as dying:
            dying.communicate(timeout=WAIT_S)
        assert dying.returncode == 9
    with _opened(home) as history:
        assert history.recover_interrupted() == []
        assert history.job(job.id).state is JobState.FAILED
        assert history.job(job.id).error_details == {"reason": "interrupted"}


def test_two_processes_and_many_threads_write_at_the_same_time(home: Path) -> None:
    with _opened(home) as history:
        writers = [_spawn(WRITES, str(home), name) for name in ("甲", "乙")]
        for writer in writers:
            writer.stdin.write("\n")
            writer.stdin.flush()
        names = []

        def write(number: int) -> None:
            recording_id = recording(history, home / "source.wav", f"丙-{number}")
            job = history.add_job(recording_id, TranscribeOptions(), running=True)
            history.save_transcript(job.id, transcript("会议记录"), JobState.DONE)
            names.append(history.record(recording_id).entry.name)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for writer in writers:
            with writer:
                writer.communicate(timeout=WAIT_S)
        assert [writer.returncode for writer in writers] == [0, 0]
        expected = {f"{who}-{number}" for who in "甲乙" for number in range(15)}
        expected |= {f"丙-{number}" for number in range(20)}
        page = _listed(home, "会议", limit=100)
        assert page.total == 50
        assert {entry.name for entry in page.entries} == expected
        assert len(names) == 20
        assert len(list((home / "recordings").iterdir())) == 50


def test_starting_a_server_leaves_a_job_of_a_living_process_alone(home: Path) -> None:
    if not own_tag():
        pytest.skip("the system does not tell processes apart (no /proc)")
    with _opened(home) as history, _spawn(RUNS_A_JOB_OF_ITS_OWN, str(home)) as other:
        job_id = other.stdout.readline().strip()
        assert history.recover_interrupted() == []
        assert history.claim_next("files") is None
        assert history.job(job_id).state is JobState.RUNNING
        other.communicate("\n", timeout=WAIT_S)
        assert other.returncode == 0
        assert history.job(job_id).state is JobState.DONE
