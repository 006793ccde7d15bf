import dataclasses
import sqlite3
from pathlib import Path

import pytest

from asr_core.errors import (
    AudioDecodeError,
    JobNotFoundError,
    JobStateError,
    RecordNotFoundError,
    StoreError,
)
from asr_core.jobs.model import Job, JobState
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.entries import HistoryPage
from asr_core.store.history import History
from asr_core.store.job_rows import MAX_INTERRUPTIONS
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import MODEL, queued, recording, transcript


@pytest.fixture
def job(history: History, tmp_path: Path) -> Job:
    return queued(history, tmp_path / "a.wav", "周会.wav")


def _finished(history: History, source: Path, *texts: str, name: str = "") -> str:
    job = queued(history, source, name)
    history.set_state(job.id, JobState.RUNNING)
    history.save_transcript(job.id, transcript(*texts), JobState.DONE)
    return job.recording_id


def test_a_new_job_waits_with_its_choices(history: History, tmp_path: Path) -> None:
    options = TranscribeOptions(vad="off", itn=False, punctuation=False, hotwords=("听录", "OM"))
    recording_id = recording(history, tmp_path / "a.wav")
    job = history.add_job(recording_id, options, batch_id="b1")
    assert job == history.job(job.id)
    assert (job.name, job.origin, job.batch_id) == ("a.wav", "file", "b1")
    assert (job.state, job.options) == (JobState.QUEUED, options)
    assert (job.duration_ms, job.processing_ms, job.error_code) == (0, 0, "")


def test_a_choice_of_another_version_is_passed_over(
    history: History, database: Database, job: Job
) -> None:
    sql = 'UPDATE jobs SET options = \'{"itn": false, "future": 1}\''
    database.write(lambda db: db.execute(sql))
    assert history.job(job.id).options == TranscribeOptions(itn=False)


def test_unknown_ids_are_named(history: History) -> None:
    for use in (
        history.job,
        history.requeue,
        lambda job_id: history.set_state(job_id, JobState.RUNNING),
        lambda job_id: history.save_transcript(job_id, transcript("会"), JobState.DONE),
    ):
        with pytest.raises(JobNotFoundError) as caught:
            use("none")
        assert caught.value.details == {"id": "none"}
    for find in (history.record, lambda found: history.add_job(found, TranscribeOptions())):
        with pytest.raises(RecordNotFoundError) as missing:
            find("none")
        assert missing.value.details == {"id": "none"}


def test_jobs_are_chosen_by_batch_and_state_oldest_first(history: History, tmp_path: Path) -> None:
    recording_id = recording(history, tmp_path / "a.wav")
    first, second, third = (
        history.add_job(recording_id, TranscribeOptions(), batch_id=batch_id)
        for batch_id in ("b1", "", "b1")
    )
    running = history.set_state(third.id, JobState.RUNNING)
    assert history.jobs() == [first, second, running]
    assert history.jobs(batch_id="b1") == [first, running]
    assert history.jobs(batch_id="") == [second]
    assert history.jobs(states=[JobState.QUEUED]) == [first, second]
    assert history.jobs(batch_id="b1", states={JobState.RUNNING}) == [running]
    assert history.jobs(states=[]) == []


def test_the_queue_is_worked_off_in_the_order_of_arrival(history: History, tmp_path: Path) -> None:
    jobs = [queued(history, tmp_path / "a.wav") for _ in range(3)]
    assert [history.queue_position(job.id) for job in jobs] == [1, 2, 3]
    history.set_state(jobs[1].id, JobState.CANCELLED)
    assert [history.queue_position(job.id) for job in jobs] == [1, 0, 2]
    claimed = history.claim_next("files")
    assert claimed == dataclasses.replace(jobs[0], state=JobState.RUNNING)
    assert [history.queue_position(job.id) for job in jobs] == [0, 0, 1]
    history.requeue(jobs[0].id)
    assert [history.queue_position(job.id) for job in jobs] == [1, 0, 2]
    assert [history.claim_next("files").id for _ in range(2)] == [jobs[0].id, jobs[2].id]
    assert history.claim_next("files") is None
    assert history.queue_position("none") == 0


def test_a_job_that_its_caller_runs_is_never_queued(history: History, tmp_path: Path) -> None:
    recording_id = recording(history, tmp_path / "a.wav", keep="none")
    job = history.add_job(recording_id, TranscribeOptions(), running=True)
    assert job.state is JobState.RUNNING
    assert history.claim_next("files") is None
    history.save_transcript(job.id, transcript("会议"), JobState.DONE)
    assert history.record(recording_id).transcript == transcript("会议")


@pytest.mark.parametrize("state", [s for s in JobState if s is not JobState.RUNNING])
def test_a_transition_outside_the_diagram_changes_nothing(
    history: History, job: Job, state: JobState
) -> None:
    if state is JobState.CANCELLED:
        history.set_state(job.id, JobState.CANCELLED)
        state = JobState.RUNNING
    before = history.job(job.id)
    with pytest.raises(JobStateError) as caught:
        history.set_state(job.id, state)
    assert caught.value.details == {"id": job.id, "state": before.state.value}
    assert history.job(job.id) == before


def test_a_failed_job_keeps_why(history: History, job: Job) -> None:
    history.set_state(job.id, JobState.RUNNING)
    error = AudioDecodeError("a.wav is damaged", path="a.wav", reason="damaged", bytes=12)
    failed = history.set_state(job.id, JobState.FAILED, error=error)
    assert failed.error_code == "audio_decode"
    assert failed.error_details == {"path": "a.wav", "reason": "damaged", "bytes": "12"}
    assert history.job(job.id) == failed


def test_a_transcript_is_saved_whole_or_not_at_all(
    history: History, archive: Archive, job: Job
) -> None:
    with pytest.raises(JobStateError):
        history.save_transcript(job.id, transcript("会议"), JobState.DONE)
    assert history.record(job.recording_id).transcript is None
    assert archive.find("会议").total == 0

    history.set_state(job.id, JobState.RUNNING)
    unstorable = dataclasses.replace(transcript("会议"), language="\ud800")
    with pytest.raises(UnicodeEncodeError):
        history.save_transcript(job.id, unstorable, JobState.DONE)
    assert history.job(job.id).state is JobState.RUNNING
    assert history.record(job.recording_id).transcript is None

    history.save_transcript(job.id, transcript("会议"), JobState.PARTIAL)
    assert history.job(job.id).state is JobState.PARTIAL
    assert archive.find("会议").total == 1


def test_an_empty_history_is_an_empty_page(archive: Archive) -> None:
    assert archive.find() == archive.find("会") == HistoryPage((), 0)


def test_the_list_shows_the_newest_first_page_by_page(
    history: History, archive: Archive, tmp_path: Path
) -> None:
    ids = [_finished(history, tmp_path / "a.wav", "会议记录") for _ in range(5)]
    for query in ("", "会", "会议记"):
        pages = [archive.find(query, limit=2)]
        while pages[-1].cursor:
            pages.append(archive.find(query, limit=2, cursor=pages[-1].cursor))
        assert [page.total for page in pages] == [5] * 3
        assert [[entry.id for entry in page.entries] for page in pages] == [
            [ids[4], ids[3]],
            [ids[2], ids[1]],
            [ids[0]],
        ]


def test_an_entry_tells_what_the_list_shows(
    history: History, archive: Archive, tmp_path: Path
) -> None:
    recording_id = _finished(history, tmp_path / "a.wav", "今天开会", "讨论预算", name="周会.wav")
    entry = archive.find().entries[0]
    assert (entry.id, entry.name, entry.origin) == (recording_id, "周会.wav", "file")
    assert (entry.duration_ms, entry.state, entry.model) == (60_000, JobState.DONE, MODEL.name)
    assert entry.preview == "今天开会讨论预算"
    assert history.record(recording_id).entry == entry


def test_the_preview_is_around_the_hit(history: History, archive: Archive, tmp_path: Path) -> None:
    _finished(history, tmp_path / "a.wav", "一" * 300 + "预算" + "二" * 300, name="周会.wav")
    assert archive.find("预算").entries[0].preview == "…" + "一" * 29 + "预算" + "二" * 87 + "…"
    for query in ("", "周会"):
        assert archive.find(query).entries[0].preview == "一" * 119 + "…"


def test_searching_sees_names_at_once_and_texts_once_saved(
    history: History, archive: Archive, job: Job
) -> None:
    assert [entry.id for entry in archive.find("周会").entries] == [job.recording_id]
    assert archive.find("WAV").total == 1
    assert archive.find(" 周会 ").total == 1
    assert archive.find("预算").total == 0
    history.set_state(job.id, JobState.RUNNING)
    history.save_transcript(job.id, transcript("预算会议"), JobState.DONE)
    assert archive.find("预算").total == archive.find("周会").total == 1


def test_another_job_for_a_recording_keeps_its_text_until_it_ends(
    history: History, archive: Archive, tmp_path: Path
) -> None:
    recording_id = _finished(history, tmp_path / "a.wav", "旧的文字")
    again = history.add_job(recording_id, TranscribeOptions(itn=False))
    record = history.record(recording_id)
    assert (record.job, record.transcript) == (again, transcript("旧的文字"))
    assert record.entry.state is JobState.QUEUED
    assert archive.find("旧的").total == 1

    history.set_state(again.id, JobState.RUNNING)
    history.save_transcript(again.id, transcript("新的文字"), JobState.DONE)
    assert history.record(recording_id).transcript == transcript("新的文字")
    assert archive.find("旧的").total == 0
    assert archive.find("新的").total == archive.find().total == 1


def test_a_recording_without_a_job_is_not_listed(
    history: History, archive: Archive, tmp_path: Path
) -> None:
    recording_id = recording(history, tmp_path / "a.wav")
    assert archive.find().total == archive.find("a.wav").total == 0
    with pytest.raises(RecordNotFoundError):
        history.record(recording_id)


def test_a_recording_that_is_gone_has_no_path(history: History, job: Job) -> None:
    path = history.record(job.recording_id).path
    assert path == history.recording_path(job.recording_id)
    path.unlink()
    assert history.record(job.recording_id).path is None
    assert history.recording_path(job.recording_id) is None


def test_deleting_removes_rows_files_and_hits(
    history: History, archive: Archive, database: Database, tmp_path: Path, folder: Path
) -> None:
    gone = [_finished(history, tmp_path / "a.wav", "预算会议") for _ in range(2)]
    stays = _finished(history, tmp_path / "a.wav", "预算会议")
    history.delete([*gone, "unknown"])
    assert [entry.id for entry in archive.find().entries] == [stays]
    assert [entry.id for entry in archive.find("预算").entries] == [stays]
    assert [path.stem for path in folder.iterdir()] == [stays]
    counts = {
        table: database.read(lambda db, t=table: db.table(t).count)
        for table in ("recordings", "jobs", "transcripts", "sentences", "search_texts")
    }
    assert set(counts.values()) == {1}
    history.delete(gone)
    history.delete([])
    assert archive.find().total == 1


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING])
def test_a_job_that_is_not_over_keeps_everything(
    history: History, archive: Archive, job: Job, tmp_path: Path, folder: Path, state: JobState
) -> None:
    finished = _finished(history, tmp_path / "a.wav", "会议")
    if state is JobState.RUNNING:
        history.set_state(job.id, state)
    with pytest.raises(JobStateError) as caught:
        history.delete([finished, job.recording_id])
    assert caught.value.details == {"id": job.id, "state": state.value}
    assert archive.find().total == len(list(folder.iterdir())) == 2


def test_deleting_leaves_the_users_own_file(history: History, tmp_path: Path) -> None:
    source = tmp_path / "a.wav"
    recording_id = recording(history, source, keep="none")
    job = history.add_job(recording_id, TranscribeOptions(), running=True)
    history.set_state(job.id, JobState.CANCELLED)
    history.delete([recording_id])
    assert source.exists()


def test_what_ran_when_the_process_ended_waits_again(history: History, tmp_path: Path) -> None:
    jobs = [queued(history, tmp_path / "a.wav") for _ in range(3)]
    history.claim_next("files")
    history.claim_next("files")
    history.set_state(jobs[0].id, JobState.CANCELLED)
    assert history.recover_interrupted() == [jobs[1]]
    assert history.jobs(states=[JobState.QUEUED]) == jobs[1:]
    assert history.recover_interrupted() == []


def test_a_job_that_is_interrupted_again_and_again_is_given_up(history: History, job: Job) -> None:
    for _ in range(MAX_INTERRUPTIONS - 1):
        history.claim_next("files")
        assert [found.id for found in history.recover_interrupted()] == [job.id]
    history.claim_next("files")
    assert history.recover_interrupted() == []
    failed = history.job(job.id)
    assert failed.state is JobState.FAILED
    assert (failed.error_code, failed.error_details) == ("job", {"reason": "interrupted"})


def test_putting_a_job_back_on_purpose_is_no_interruption(history: History, job: Job) -> None:
    for _ in range(5):
        history.claim_next("files")
        history.requeue(job.id)
    history.claim_next("files")
    assert [found.id for found in history.recover_interrupted()] == [job.id]


def test_a_job_whose_caller_died_fails_when_the_file_is_not_kept(
    history: History, tmp_path: Path
) -> None:
    recording_id = recording(history, tmp_path / "a.wav", keep="none")
    job = history.add_job(recording_id, TranscribeOptions(), running=True)
    assert history.recover_interrupted() == []
    assert history.job(job.id).state is JobState.FAILED
    assert history.job(job.id).error_details == {"reason": "interrupted"}


def test_everything_is_still_there_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    database = Database(path)
    history = History(database, tmp_path / "recordings")
    recording_id = _finished(history, tmp_path / "a.wav", "会议记录")
    before = history.record(recording_id)
    database.close()

    database = Database(path)
    try:
        history, archive = (one(database, tmp_path / "recordings") for one in (History, Archive))
        assert history.record(recording_id) == before
        assert archive.find("会议").total == 1
    finally:
        database.close()


def test_a_lost_table_is_a_fault_of_the_store(archive: Archive, database: Database) -> None:
    database.write(lambda db: db.execute("DROP TABLE sentences"))
    database.write(lambda db: db.execute("DROP TABLE transcripts"))
    with pytest.raises(StoreError, match="no such table") as caught:
        archive.find()
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)


def test_dictations_have_a_queue_of_their_own(history: History, tmp_path: Path) -> None:
    jobs = []
    for number, origin in enumerate(["file", "dictation", "batch", "dictation"]):
        source = tmp_path / f"{number}.wav"
        source.write_bytes(b"x")
        recording_id = history.add_recording(source, name=source.name, origin=origin, keep="copy")
        queue = "dictation" if origin == "dictation" else "files"
        jobs.append(history.add_job(recording_id, TranscribeOptions(), queue=queue))
    assert [history.queue_position(job.id) for job in jobs] == [1, 1, 2, 2]
    claimed = [history.claim_next("dictation") for _ in range(3)]
    assert [job.id if job else None for job in claimed] == [jobs[1].id, jobs[3].id, None]
    claimed = [history.claim_next("files") for _ in range(3)]
    assert [job.id if job else None for job in claimed] == [jobs[0].id, jobs[2].id, None]
