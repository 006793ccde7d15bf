"""What a process that was killed leaves behind, taken up by the next one: every file ends once."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from asr_core.errors import StoreError
from asr_core.jobs import outputs
from asr_core.jobs.batch_model import BatchState, ItemState
from asr_core.jobs.model import JobState
from asr_core.store.batches import BatchStore
from tests.unit.jobs.office import Office, parts, tree, write
from tests.waiting import wait_until

DONE = ItemState.DONE


class Killed(BaseException):
    """The process ends here: nobody may catch this."""


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "home")


def planned(office: Office, source: Path, **words: object) -> str:
    """A batch whose files have jobs, none of which has run."""
    office.open(run=False)
    batch = office.start(source, **words)
    wait_until(lambda: office.store.get(batch.id).planned)
    return batch.id


def take_up(office: Office, batch_id: str) -> dict[str, ItemState]:
    """Start again, wait for the end and close."""
    office.open()
    try:
        wait_until(lambda: office.desk.get(batch_id).state is BatchState.DONE)
        return office.states(office.desk.get(batch_id))
    finally:
        office.close()


def test_waiting_jobs_run_in_the_next_process(office: Office, source: Path) -> None:
    write(source, a="甲", b="乙")
    batch_id = planned(office, source)
    office.close()
    assert take_up(office, batch_id) == {"a.wav": DONE, "b.wav": DONE}
    assert tree(source / "transcripts") == {"a.txt": "甲", "b.txt": "乙"}


def test_a_walk_that_was_cut_short_is_made_again(office: Office, source: Path) -> None:
    write(source, a="甲")
    batch_id = planned(office, source)
    office.store.set_planned(batch_id, False)
    office.close()
    write(source, b="乙")
    assert take_up(office, batch_id) == {"a.wav": DONE, "b.wav": DONE}
    assert office.read == ["甲", "乙"]


def test_a_text_whose_results_were_not_written_is_written(office: Office, source: Path) -> None:
    write(source, a="甲")
    batch_id = planned(office, source)
    office.desk.close()
    job = office.history.claim_next("files")
    office.history.save_transcript(
        job.id, office._transcribe(source / "a.wav", job, lambda _: None, None), JobState.DONE
    )
    office.database.close()
    assert take_up(office, batch_id) == {"a.wav": DONE}
    assert tree(source / "transcripts") == {"a.txt": "甲"}
    assert office.read == ["甲"]


def test_a_file_that_was_entered_without_a_job_gets_one(
    office: Office, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(source, a="甲")
    office.prepare()
    batch = office.start(source)

    def refuse(*_: object, **__: object) -> None:
        raise StoreError("the process ends here", path="", reason="busy")

    monkeypatch.setattr(office.history, "add_job", refuse)
    office.desk.open()
    wait_until(lambda: len(office.items(batch)) == 1)
    office.desk.close()
    assert office.states(batch) == {"a.wav": ItemState.QUEUED}
    office.database.close()
    assert take_up(office, batch.id) == {"a.wav": DONE}


@pytest.mark.parametrize("mode", ["skip", "overwrite", "rename"])
@pytest.mark.parametrize("step", range(6))
def test_results_that_were_half_written_are_written_once(
    office: Office, source: Path, step: int, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at each step of writing two formats: staging, entering, renaming, settling."""
    write(source, a="甲")
    output = source / "transcripts"
    batch_id = planned(office, source, formats=("txt", "docx"), on_existing=mode)
    office.desk.close()
    job = office.history.claim_next("files")
    office.history.save_transcript(
        job.id, office._transcribe(source / "a.wav", job, lambda _: None, None), JobState.DONE
    )
    killed_at(step, monkeypatch)
    with pytest.raises(Killed):
        office.desk.on_job_end(office.history.job(job.id))
    monkeypatch.undo()
    office.database.close()
    left_behind(output)
    assert take_up(office, batch_id) == {"a.wav": DONE}
    assert names(output) == ["a.docx", "a.txt", "summary.csv"]
    assert parts(source, office.settings.home) == []
    again = Office(office.settings.home)
    again.open()
    try:
        assert again.run(source, formats=("txt", "docx")).items == {ItemState.SKIPPED: 1}
    finally:
        again.close()


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends after so many steps of writing."""
    count = 0

    def cut(real):
        def call(*arguments, **words):
            nonlocal count
            if count == step:
                raise Killed
            count += 1
            return real(*arguments, **words)

        return call

    monkeypatch.setattr(outputs, "stage", cut(outputs.stage))
    monkeypatch.setattr(BatchStore, "claim", cut(BatchStore.claim))
    monkeypatch.setattr(outputs, "publish", cut(outputs.publish))
    monkeypatch.setattr(BatchStore, "settle", cut(BatchStore.settle))
    monkeypatch.setattr(outputs, "discard", lambda part: None)  # a dead process clears nothing


def left_behind(folder: Path) -> None:
    """Give parts the name that a dead process would have given them."""
    for part in parts(folder):
        part.rename(part.with_name(f".{uuid.uuid4().hex}.999999999-1.part"))


def test_parts_of_dead_processes_are_removed_and_no_others(office: Office, source: Path) -> None:
    write(source, a="甲")
    batch_id = planned(office, source)
    office.close()
    output = source / "transcripts"
    dead = output / "b" / f".{uuid.uuid4().hex}.999999999-1.part"
    dead.parent.mkdir()
    dead.write_bytes(b"x")
    foreign = output / "download.part"
    foreign.write_bytes(b"x")
    take_up(office, batch_id)
    assert not dead.exists()
    assert foreign.exists()


def test_a_job_that_runs_is_paused_while_the_process_ends(office: Office, source: Path) -> None:
    write(source, a="慢甲", b="乙")
    office.open()
    batch = office.start(source)
    wait_until(office.holding.is_set)
    wait_until(lambda: len(office.items(batch)) == 2)
    office.close()
    office.release.set()
    assert take_up(office, batch.id) == {"a.wav": DONE, "b.wav": DONE}
    assert office.read == ["慢甲", "乙"]


def test_a_paused_batch_stays_paused(office: Office, source: Path) -> None:
    write(source, a="甲")
    batch_id = planned(office, source)
    office.desk.pause(batch_id)
    office.close()
    office.open()
    try:
        assert office.desk.get(batch_id).state is BatchState.PAUSED
        assert office.states(office.desk.get(batch_id)) == {"a.wav": ItemState.PAUSED}
        office.desk.resume(batch_id)
        assert office.finish(office.desk.get(batch_id)).items == {DONE: 1}
    finally:
        office.close()


def test_a_fault_of_the_database_is_survived(
    office: Office, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a job that could not be written down is written down later."""
    write(source, a="甲")
    monkeypatch.setattr("asr_core.jobs.batch_keeper._RETRY_S", 0.05)
    monkeypatch.setattr("asr_core.jobs.runner._RETRY_S", 0.05)
    batch_id = planned(office, source)
    real = office.store.settle
    faults = iter([True, True])

    def settle(*arguments: object, **words: object) -> None:
        if next(faults, False):
            raise StoreError("busy", path="", reason="busy")
        real(*arguments, **words)

    monkeypatch.setattr(office.store, "settle", settle)
    office.runner.start()
    wait_until(lambda: office.desk.get(batch_id).state is BatchState.DONE)
    assert office.desk.get(batch_id).items == {DONE: 1}
    office.close()
