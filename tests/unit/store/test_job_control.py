"""The order of waiting jobs, pauses, new attempts and what has been recognized so far."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asr_core.errors import JobNotFoundError, JobStateError
from asr_core.jobs.model import Job, JobState
from asr_core.results import Token, Utterance
from asr_core.store.database import Database
from asr_core.store.history import History
from asr_core.transcription.checkpoints import Checkpoint
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import queued, recording, transcript


@pytest.fixture
def jobs(history: History, tmp_path: Path) -> list[Job]:
    return [queued(history, tmp_path / f"{name}.wav") for name in "abc"]


def order(history: History, queue: str = "files") -> list[str]:
    claimed = []
    while (job := history.claim_next(queue)) is not None:
        claimed.append(job.id)
    return claimed


def test_a_higher_priority_runs_earlier(history: History, jobs: list[Job]) -> None:
    assert history.set_priority(jobs[2].id, 5).priority == 5
    assert [history.queue_position(job.id) for job in jobs] == [2, 3, 1]
    history.set_priority(jobs[0].id, -1)
    assert order(history) == [jobs[2].id, jobs[1].id, jobs[0].id]


def test_a_paused_job_is_passed_over_until_it_is_resumed(history: History, jobs: list[Job]) -> None:
    paused = history.set_paused(jobs[0].id, paused=True)
    assert (paused.state, paused.paused) == (JobState.QUEUED, True)
    assert [history.queue_position(job.id) for job in jobs] == [0, 1, 2]
    assert order(history) == [jobs[1].id, jobs[2].id]
    assert not history.set_paused(jobs[0].id, paused=False).paused
    assert order(history) == [jobs[0].id]


def test_only_jobs_of_one_batch_are_claimed_when_asked(history: History, tmp_path: Path) -> None:
    ids = [
        history.add_job(
            recording(history, tmp_path / f"{number}.wav"),
            TranscribeOptions(),
            batch_id=batch,
            queue="cli",
        ).id
        for number, batch in enumerate(["x", "y", "x"])
    ]
    claimed = [history.claim_next("cli", batch_id="x") for _ in range(3)]
    assert [job.id if job else None for job in claimed] == [ids[0], ids[2], None]


def test_a_job_that_may_end_its_process_lets_others_go_first(
    history: History, jobs: list[Job]
) -> None:
    for _ in range(2):
        assert history.claim_next("files").id == jobs[0].id
        history.recover_interrupted()
    assert order(history) == [jobs[1].id, jobs[2].id, jobs[0].id]


def test_progress_shows_that_a_job_is_not_what_ends_its_process(
    history: History, jobs: list[Job]
) -> None:
    for number in range(30):
        assert history.claim_next("files").id == jobs[0].id
        history.checkpoints(jobs[0].id, "v").save(0, number, [(0, 16_000)], [UTTERANCE], 5)
        assert [job.id for job in history.recover_interrupted()] == [jobs[0].id]


def test_a_running_or_ended_job_is_neither_paused_nor_moved_when_ended(
    history: History, jobs: list[Job]
) -> None:
    history.claim_next("files")
    with pytest.raises(JobStateError):
        history.set_paused(jobs[0].id, paused=True)
    history.set_state(jobs[0].id, JobState.CANCELLED)
    with pytest.raises(JobStateError):
        history.set_priority(jobs[0].id, 1)
    for act in (
        lambda: history.set_paused("none", paused=True),
        lambda: history.set_priority("none", 1),
        lambda: history.retry("none"),
    ):
        with pytest.raises(JobNotFoundError):
            act()


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.CANCELLED])
def test_another_attempt_takes_over_choices_and_results(
    history: History, jobs: list[Job], state: JobState
) -> None:
    old = history.claim_next("files")
    history.checkpoints(old.id, "v").save(0, 0, [(0, 32_000)], [UTTERANCE], 5)
    history.set_state(old.id, state)

    new = history.retry(old.id)

    assert new.id != old.id
    assert (new.recording_id, new.options, new.batch_id, new.queue) == (
        *(old.recording_id, old.options, old.batch_id, old.queue),
    )
    assert (new.state, new.recognized_ms) == (JobState.QUEUED, 2_000)
    assert history.checkpoints(new.id, "v").load(0, 0, [(0, 32_000)]) == Checkpoint((UTTERANCE,), 5)
    assert history.record(old.recording_id).job.id == new.id


def test_only_the_newest_job_of_a_recording_is_tried_again(
    history: History, jobs: list[Job]
) -> None:
    history.set_state(jobs[0].id, JobState.CANCELLED)
    new = history.retry(jobs[0].id)
    for job in (jobs[0], new, jobs[1]):
        with pytest.raises(JobStateError):
            history.retry(job.id)


def test_what_is_done_is_found_by_content_choices_and_model(
    history: History, tmp_path: Path
) -> None:
    options = TranscribeOptions(itn=False, hotwords=("昇腾",))
    source = tmp_path / "a.wav"
    first = recording(history, source)
    job = history.add_job(first, options)
    digest = history_sha(history, first)
    assert history.find_done(digest, options, "whisper-base") is None
    history.claim_next("files")
    history.save_transcript(job.id, transcript("会议"), JobState.DONE)
    model = history.record(first).transcript.model.name
    assert history.find_done(digest, options, model) == first
    assert history.find_done(digest, TranscribeOptions(), model) is None
    assert history.find_done(digest, options, "another") is None
    # How a job names its model does not count, only which one it was.
    assert history.find_done(digest, dataclasses.replace(options, model=model), model) == first
    assert history.find_done("0" * 64, options, model) is None


def history_sha(history: History, recording_id: str) -> str:
    import hashlib

    return hashlib.sha256(history.recording_path(recording_id).read_bytes()).hexdigest()


def test_half_a_transcript_is_not_done(history: History, tmp_path: Path) -> None:
    first = recording(history, tmp_path / "a.wav")
    job = history.add_job(first, TranscribeOptions())
    history.claim_next("files")
    history.save_transcript(job.id, transcript("会议", partial=True), JobState.PARTIAL)
    model = history.record(first).transcript.model.name
    assert history.find_done(history_sha(history, first), TranscribeOptions(), model) is None


UTTERANCE = Utterance(
    0, 2_000, (Token("会", 100, 300, 0.1 + 0.2, "，"), Token("议", 300, 301, 1.0))
)

TOKENS = st.builds(
    Token,
    st.text(min_size=1, max_size=4),
    st.integers(0, 10**8),
    st.integers(0, 10**8),
    st.floats(0, 1),
    st.sampled_from(["", "，", "。"]),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 10**6), st.lists(TOKENS, max_size=4)), min_size=1))
def test_groups_come_back_as_they_were(database: Database, history: History, job: Job, groups):
    spans = [(16 * start, 16 * start + 1_600) for start, _ in groups]
    said = [Utterance(start, start + 100, tuple(tokens)) for start, tokens in groups]
    kept = history.checkpoints(job.id, "v1")
    kept.save(1, 7, spans, said, 1234)
    again = history.checkpoints(job.id, "v1")
    assert again.load(1, 7, spans) == Checkpoint(tuple(said), 1234)


@pytest.fixture
def job(history: History, tmp_path: Path) -> Job:
    return queued(history, tmp_path / "a.wav")


def test_a_group_of_other_segments_or_another_model_is_not_taken(
    history: History, job: Job
) -> None:
    spans = [(0, 16_000), (20_000, 32_000)]
    history.checkpoints(job.id, "v1").save(0, 0, spans, [UTTERANCE, UTTERANCE], 1)
    assert history.checkpoints(job.id, "v1").load(0, 0, spans[:1]) is None
    assert history.checkpoints(job.id, "v1").load(0, 1, spans) is None
    assert history.checkpoints(job.id, "v1").load(1, 0, spans) is None
    assert history.checkpoints(job.id, "v2").load(0, 0, spans) is None
    assert history.checkpoints(job.id, "v1").load(0, 0, spans) is not None


def test_the_checkpoints_of_a_finished_job_are_gone(
    history: History, database: Database, job: Job
) -> None:
    history.claim_next("files")
    history.checkpoints(job.id, "v").save(0, 0, [(0, 16_000)], [UTTERANCE], 1)
    history.save_transcript(job.id, transcript("会议"), JobState.DONE)
    count = database.read(lambda db: db.execute("SELECT count(*) FROM checkpoints").fetchone()[0])
    assert count == 0
