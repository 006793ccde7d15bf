"""The runner with a real history and a transcription that the test leads step by step."""

import dataclasses
import logging
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from asr_core.errors import (
    AudioDecodeError,
    JobNotFoundError,
    JobStateError,
    TranscriptionCancelled,
    UsageError,
)
from asr_core.events import EventSink, Progress
from asr_core.jobs.model import Job, JobState
from asr_core.jobs.runner import JobRunner
from asr_core.results import Sentence, Transcript, TranscriptWarning
from asr_core.store.database import Database
from asr_core.store.history import History
from asr_core.transcription.cancel import CancelToken
from tests.unit.store.build import queued, recording, sentence, transcript
from tests.unit.store.test_job_control import UTTERANCE

WAIT_S = 30
"""Longer than any step takes; only a broken runner waits this long."""


class Led:
    """A transcription that says each word when it is told to, and ends when it is told to."""

    def __init__(self) -> None:
        self.started = threading.Semaphore(0)
        self.said = threading.Semaphore(0)
        self._go_on = threading.Semaphore(0)
        self._steps: list[Callable[[], Transcript] | Sentence] = []
        self.paths: list[Path] = []
        self.remaining_ms: int | None = None

    def __call__(self, path: Path, job: Job, sink: EventSink, token: CancelToken) -> Transcript:
        self.paths.append(path)
        self.started.release()
        spoken: list[Sentence] = []
        while True:
            assert self._go_on.acquire(timeout=WAIT_S)
            step = self._steps.pop(0)
            if token.is_cancelled:
                return transcript(*(piece.text for piece in spoken), partial=True)
            if not isinstance(step, Sentence):
                return step()
            spoken.append(step)
            sink(Progress(1000, 60_000, 500, self.remaining_ms, len(spoken), (step,)))
            self.said.release()

    def wait_for_start(self) -> None:
        assert self.started.acquire(timeout=WAIT_S)

    def say(self, text: str) -> None:
        self._step(sentence(text))
        assert self.said.acquire(timeout=WAIT_S)

    def end(self, outcome: Callable[[], Transcript] = lambda: transcript("会议")) -> None:
        self._step(outcome)

    def _step(self, step: Callable[[], Transcript] | Sentence) -> None:
        self._steps.append(step)
        self._go_on.release()


def _raise(error: BaseException) -> Callable[[], Transcript]:
    def raise_it() -> Transcript:
        raise error

    return raise_it


class Ends:
    """Waits until jobs have reached a final state, or have been put back."""

    def __init__(self, history: History, monkeypatch: pytest.MonkeyPatch) -> None:
        self._history = history
        self._changed = threading.Condition()
        for name in ("set_state", "save_transcript", "requeue"):
            monkeypatch.setattr(history, name, self._announcing(getattr(history, name)))

    def _announcing(self, change: Callable[..., object]) -> Callable[..., object]:
        def announce(*args: object, **more: object) -> object:
            result = change(*args, **more)
            with self._changed:
                self._changed.notify_all()
            return result

        return announce

    def wait(self, job: Job) -> Job:
        return self.wait_for(job, lambda found: found.state.is_final)

    def wait_for(self, job: Job, is_so: Callable[[Job], bool]) -> Job:
        with self._changed:
            came = self._changed.wait_for(lambda: is_so(self._history.job(job.id)), timeout=WAIT_S)
        assert came
        return self._history.job(job.id)


@pytest.fixture
def led() -> Led:
    return Led()


@pytest.fixture
def ends(history: History, monkeypatch: pytest.MonkeyPatch) -> Ends:
    return Ends(history, monkeypatch)


@pytest.fixture
def runner(history: History, led: Led, ends: Ends) -> Iterator[JobRunner]:
    runner = JobRunner(history, led)
    runner.start()
    yield runner
    # A job that a failed test left running goes on to see that it is cancelled.
    stopping = threading.Thread(target=runner.stop)
    stopping.start()
    while stopping.is_alive():
        led.end()
        stopping.join(0.1)


@pytest.fixture
def job(history: History, tmp_path: Path) -> Job:
    return queued(history, tmp_path / "a.wav", "周会.wav")


def test_a_job_runs_to_its_transcript(
    history: History, runner: JobRunner, led: Led, ends: Ends, job: Job
) -> None:
    runner.submit(job)
    led.wait_for_start()
    assert history.job(job.id).state is JobState.RUNNING
    led.end()
    done = ends.wait(job)
    assert (done.state, done.duration_ms, done.processing_ms) == (JobState.DONE, 60_000, 1_500)
    assert history.record(job.recording_id).transcript == transcript("会议")
    assert led.paths == [history.recording_path(job.recording_id)]


def test_silence_is_done_and_not_an_error(
    history: History, runner: JobRunner, led: Led, ends: Ends, job: Job
) -> None:
    runner.submit(job)
    warning = TranscriptWarning("no_speech", "no speech was found")
    silent = dataclasses.replace(transcript(), warnings=(warning,))
    led.end(lambda: silent)
    assert ends.wait(job).state is JobState.DONE
    assert history.record(job.recording_id).transcript == silent


def test_what_waited_before_the_start_runs_in_order(
    history: History, led: Led, ends: Ends, tmp_path: Path
) -> None:
    jobs = [queued(history, tmp_path / f"{number}.wav") for number in range(3)]
    runner = JobRunner(history, led)
    runner.start()
    try:
        led.wait_for_start()
        assert [runner.position(job.id) for job in jobs] == [0, 1, 2]
        for _ in jobs:
            led.end()
        assert [ends.wait(job).state for job in jobs] == [JobState.DONE] * 3
        assert led.paths == [history.recording_path(job.recording_id) for job in jobs]
        assert [runner.position(job.id) for job in jobs] == [0, 0, 0]
    finally:
        runner.stop()


def test_the_words_so_far_can_be_read_while_it_runs(
    runner: JobRunner, led: Led, ends: Ends, job: Job
) -> None:
    assert runner.live(job.id) == (None, ())
    runner.submit(job)
    led.wait_for_start()
    assert runner.live(job.id) == (None, ())
    led.say("今天")
    led.say("开会")
    progress, sentences = runner.live(job.id)
    assert progress == Progress(1000, 60_000, 500, None, 2, (sentence("开会"),))
    assert sentences == (sentence("今天"), sentence("开会"))
    assert runner.live("another") == (None, ())
    led.end()
    ends.wait(job)


def test_the_time_left_passes_between_two_reports(
    runner: JobRunner, led: Led, ends: Ends, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr("asr_core.jobs.runner.time", types.SimpleNamespace(monotonic=lambda: now_s))
    led.remaining_ms = 8000
    runner.submit(job)
    led.wait_for_start()
    led.say("今天")
    left = []
    for now_s in (100.0, 103.0, 130.0):  # noqa: B007 - read by the clock above
        progress, _sentences = runner.live(job.id)
        left.append(progress.remaining_ms if progress else None)
    assert left == [8000, 5000, 0]
    led.end()
    ends.wait(job)


@pytest.mark.parametrize(
    ("error", "code", "details"),
    [
        (
            AudioDecodeError("a.wav is damaged", path="a.wav", reason="damaged"),
            "audio_decode",
            {"path": "a.wav", "reason": "damaged"},
        ),
        (JobStateError("odd", id=7), "job_state", {"id": "7"}),
    ],
)
def test_a_known_fault_is_kept_with_its_details(
    runner: JobRunner, led: Led, ends: Ends, job: Job, error: Exception, code: str, details: dict
) -> None:
    runner.submit(job)
    led.end(_raise(error))
    failed = ends.wait(job)
    assert (failed.state, failed.error_code) == (JobState.FAILED, code)
    assert failed.error_details == details


@pytest.mark.parametrize("fault", [ZeroDivisionError("secret"), MemoryError(), KeyError("会")])
def test_an_unexpected_fault_gets_a_number_that_the_log_explains(
    runner: JobRunner,
    led: Led,
    ends: Ends,
    job: Job,
    fault: Exception,
    caplog: pytest.LogCaptureFixture,
) -> None:
    runner.submit(job)
    led.end(_raise(fault))
    failed = ends.wait(job)
    assert (failed.state, failed.error_code) == (JobState.FAILED, "internal")
    assert list(failed.error_details) == ["error_id"]
    logged = [r for r in caplog.records if failed.error_details["error_id"] in r.getMessage()]
    assert [record.levelno for record in logged] == [logging.ERROR]
    assert logged[0].exc_info[1] is fault


def test_one_bad_file_never_stops_the_rest(
    history: History, runner: JobRunner, led: Led, ends: Ends, tmp_path: Path
) -> None:
    bad, missing, good = (queued(history, tmp_path / name) for name in ("a.wav", "b.wav", "c.wav"))
    history.recording_path(missing.recording_id).unlink()
    runner.wake()
    led.end(_raise(RuntimeError("broken")))
    led.end()
    assert ends.wait(good).state is JobState.DONE
    assert ends.wait(bad).error_code == "internal"
    assert ends.wait(missing).error_details == {"path": "b.wav", "reason": "missing"}


def test_a_transcript_that_cannot_be_stored_fails_its_job_only(
    history: History, runner: JobRunner, led: Led, ends: Ends, tmp_path: Path
) -> None:
    first, second = queued(history, tmp_path / "a.wav"), queued(history, tmp_path / "b.wav")
    runner.wake()
    led.end(lambda: transcript("\ud800"))
    led.end()
    assert ends.wait(second).state is JobState.DONE
    assert ends.wait(first).error_code == "internal"


def test_a_waiting_job_is_cancelled_at_once(
    history: History, runner: JobRunner, led: Led, ends: Ends, tmp_path: Path
) -> None:
    first, second, third = (queued(history, tmp_path / "a.wav") for _ in range(3))
    runner.wake()
    led.wait_for_start()
    assert runner.cancel(second.id).state is JobState.CANCELLED
    assert runner.position(third.id) == 1
    led.end()
    led.end()
    assert ends.wait(third).state is JobState.DONE
    assert ends.wait(first).state is JobState.DONE
    assert len(led.paths) == 2


def test_cancelling_a_running_job_keeps_what_was_said(
    history: History, runner: JobRunner, led: Led, ends: Ends, job: Job
) -> None:
    runner.submit(job)
    led.wait_for_start()
    led.say("今天")
    assert runner.cancel(job.id).state is JobState.RUNNING
    led.end()
    assert ends.wait(job).state is JobState.PARTIAL
    assert history.record(job.recording_id).transcript == transcript("今天", partial=True)


def test_cancelling_before_the_first_word_leaves_no_transcript(
    history: History, runner: JobRunner, led: Led, ends: Ends, job: Job
) -> None:
    runner.submit(job)
    led.wait_for_start()
    runner.cancel(job.id)
    led.end()
    assert ends.wait(job).state is JobState.CANCELLED
    assert history.record(job.recording_id).transcript is None


def test_a_cancel_that_comes_too_late_loses_nothing(
    history: History, led: Led, ends: Ends, job: Job
) -> None:
    def finish_anyway(path: Path, job: Job, sink: EventSink, token: CancelToken) -> Transcript:
        runner.cancel(job.id)
        return transcript("会议")

    runner = JobRunner(history, finish_anyway)
    runner.start()
    try:
        assert ends.wait(job).state is JobState.DONE
    finally:
        runner.stop()
    assert history.record(job.recording_id).transcript == transcript("会议")


def test_a_transcription_may_answer_a_cancel_by_raising(
    runner: JobRunner, led: Led, ends: Ends, job: Job
) -> None:
    runner.submit(job)
    led.end(_raise(TranscriptionCancelled()))
    assert ends.wait(job).state is JobState.CANCELLED


def test_a_job_that_ended_cannot_be_cancelled(
    runner: JobRunner, led: Led, ends: Ends, history: History, tmp_path: Path
) -> None:
    first, second = queued(history, tmp_path / "a.wav"), queued(history, tmp_path / "a.wav")
    runner.wake()
    led.end()
    ends.wait(first)
    led.wait_for_start()
    led.wait_for_start()
    with pytest.raises(JobStateError) as caught:
        runner.cancel(first.id)
    assert caught.value.details == {"id": first.id, "state": "done"}
    with pytest.raises(JobNotFoundError):
        runner.cancel("none")
    led.end()
    ends.wait(second)


def test_a_job_is_asked_for_nothing_from_when_its_end_is_stored(
    runner: JobRunner, led: Led, ends: Ends, job: Job, history: History, monkeypatch
) -> None:
    refused = []
    save = history.save_transcript

    def save_and_ask(*arguments: object) -> None:
        save(*arguments)
        for ask in (runner.cancel, runner.pause, runner.resume):
            try:
                ask(job.id)
            except JobStateError as error:
                refused.append(error.details["state"])

    monkeypatch.setattr(history, "save_transcript", save_and_ask)
    runner.wake()
    led.end()
    ends.wait(job)
    runner.stop()
    assert refused == ["done"] * 3


def test_a_job_that_another_process_runs_cannot_be_cancelled_here(
    history: History, runner: JobRunner, tmp_path: Path
) -> None:
    recording_id = recording(history, tmp_path / "a.wav", keep="none")
    job = history.add_job(recording_id, queued(history, tmp_path / "b.wav").options, running=True)
    with pytest.raises(JobStateError) as caught:
        runner.cancel(job.id)
    assert caught.value.details == {"id": job.id, "state": "running"}
    assert history.job(job.id).state is JobState.RUNNING


def _stop_while_running(runner: JobRunner, led: Led) -> None:
    """Stop from another thread and let the transcription see that it is cancelled."""
    cancelled = threading.Event()
    running = runner._running
    original = running.token.cancel

    def cancel() -> None:
        original()
        cancelled.set()

    running.token.cancel = cancel
    stopping = threading.Thread(target=runner.stop)
    stopping.start()
    assert cancelled.wait(WAIT_S)
    led.end()
    stopping.join(WAIT_S)
    assert not stopping.is_alive()


def test_stopping_puts_the_running_job_back_and_a_restart_runs_it(
    history: History, runner: JobRunner, led: Led, ends: Ends, tmp_path: Path
) -> None:
    first, second = queued(history, tmp_path / "a.wav"), queued(history, tmp_path / "b.wav")
    runner.wake()
    led.wait_for_start()
    led.say("今天")
    _stop_while_running(runner, led)
    assert history.jobs(states=[JobState.QUEUED]) == [first, second]
    assert history.record(first.recording_id).transcript is None
    assert runner.live(first.id) == (None, ())

    runner.start()
    led.end()
    led.end()
    assert ends.wait(second).state is JobState.DONE
    assert ends.wait(first).state is JobState.DONE


def test_a_cancel_by_the_user_is_honoured_while_stopping(
    history: History, runner: JobRunner, led: Led, job: Job
) -> None:
    runner.submit(job)
    led.wait_for_start()
    led.say("今天")
    runner.cancel(job.id)
    _stop_while_running(runner, led)
    assert history.job(job.id).state is JobState.PARTIAL


def test_starting_twice_is_a_mistake_and_stopping_twice_is_not(history: History, led: Led) -> None:
    runner = JobRunner(history, led)
    runner.stop()
    runner.start()
    with pytest.raises(UsageError):
        runner.start()
    runner.stop()
    runner.stop()


def test_the_queue_is_taken_up_again_after_the_database_refused(
    history: History,
    database: Database,
    led: Led,
    ends: Ends,
    job: Job,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("asr_core.jobs.runner._RETRY_S", 0.01)
    database.write(lambda db: db.execute("ALTER TABLE jobs RENAME TO lost"))
    refused = threading.Event()

    class Watch(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            refused.set()

    watch = Watch()
    logging.getLogger("asr_core.jobs.runner").addHandler(watch)
    runner = JobRunner(history, led)
    runner.start()
    try:
        assert refused.wait(WAIT_S)
        database.write(lambda db: db.execute("ALTER TABLE lost RENAME TO jobs"))
        led.end()
        assert ends.wait(job).state is JobState.DONE
    finally:
        logging.getLogger("asr_core.jobs.runner").removeHandler(watch)
        runner.stop()
    assert "no such table" in caplog.text


def test_a_running_job_that_is_paused_waits_and_goes_on_when_it_is_resumed(
    runner: JobRunner, led: Led, ends: Ends, history: History, job: Job
) -> None:
    runner.submit(job)
    led.wait_for_start()
    led.say("各位")
    assert runner.pause(job.id).state is JobState.RUNNING
    led.end()
    paused = ends.wait_for(job, lambda found: found.paused)
    assert (paused.state, paused.error_code) == (JobState.QUEUED, "")
    assert [line.text for line in runner.live(job.id)[1]] == ["各位"]

    assert not runner.resume(job.id).paused
    led.wait_for_start()
    led.end()
    assert ends.wait(job).state is JobState.DONE


def test_a_waiting_job_is_paused_at_once(
    runner: JobRunner, led: Led, ends: Ends, history: History, tmp_path: Path
) -> None:
    first, second, third = (queued(history, tmp_path / "a.wav") for _ in range(3))
    runner.wake()
    led.wait_for_start()
    assert runner.pause(second.id).paused
    led.end()
    ends.wait(first)
    led.wait_for_start()
    led.end()
    assert ends.wait(third).state is JobState.DONE
    assert history.job(second.id).state is JobState.QUEUED
    runner.resume(second.id)
    led.wait_for_start()
    led.end()
    assert ends.wait(second).state is JobState.DONE


def test_a_pause_that_is_taken_back_in_time_is_none(
    runner: JobRunner, led: Led, ends: Ends, history: History, job: Job
) -> None:
    runner.submit(job)
    led.wait_for_start()
    runner.pause(job.id)
    runner.resume(job.id)
    led.end()  # sees that it was asked to stop
    led.wait_for_start()  # and is started again at once
    led.end()
    assert ends.wait(job).state is JobState.DONE


def test_a_paused_job_can_be_cancelled(
    runner: JobRunner, led: Led, ends: Ends, history: History, job: Job
) -> None:
    runner.submit(job)
    led.wait_for_start()
    runner.pause(job.id)
    led.end()
    ends.wait_for(job, lambda found: found.paused)
    assert runner.cancel(job.id).state is JobState.CANCELLED
    assert runner.live(job.id) == (None, ())


def test_a_cancel_is_stronger_than_a_pause(
    runner: JobRunner, led: Led, ends: Ends, job: Job
) -> None:
    runner.submit(job)
    led.wait_for_start()
    led.say("各位")
    runner.cancel(job.id)
    runner.pause(job.id)
    led.end()
    assert ends.wait(job).state is JobState.PARTIAL


def test_every_end_is_told_once(history: History, led: Led, ends: Ends, tmp_path: Path) -> None:
    told: list[tuple[str, JobState]] = []
    jobs = [queued(history, tmp_path / "a.wav") for _ in range(3)]
    runner = JobRunner(history, led, on_end=lambda job: told.append((job.name, job.state)))
    runner.start()
    led.wait_for_start()
    runner.cancel(jobs[2].id)
    led.end()
    led.wait_for_start()
    led.end(_raise(AudioDecodeError("no", path="a.wav", reason="damaged")))
    ends.wait(jobs[1])
    runner.stop()
    assert told == [
        ("a.wav", JobState.CANCELLED),
        ("a.wav", JobState.DONE),
        ("a.wav", JobState.FAILED),
    ]


def test_a_job_that_waits_and_is_cancelled_keeps_what_it_recognized(
    history: History, ends: Ends, tmp_path: Path
) -> None:
    first, second = queued(history, tmp_path / "a.wav"), queued(history, tmp_path / "b.wav")
    history.checkpoints(second.id, "v").save(0, 0, [(0, 16_000)], [UTTERANCE], 5)
    started, go_on = threading.Event(), threading.Event()

    def transcribe(path: Path, job: Job, sink: EventSink, token: CancelToken) -> Transcript:
        if job.id == first.id:
            started.set()
            assert go_on.wait(WAIT_S)
            return transcript("会议")
        assert token.known_only
        return transcript("各位", partial=True)

    runner = JobRunner(history, transcribe)
    runner.pause(second.id)
    runner.start()
    try:
        assert started.wait(WAIT_S)  # another job runs and goes on running
        runner.cancel(second.id)
        assert ends.wait(second).state is JobState.PARTIAL
        assert history.record(second.recording_id).transcript.text == "各位"
        assert history.job(first.id).state is JobState.RUNNING
    finally:
        go_on.set()
        ends.wait(first)
        runner.stop()


def test_a_text_that_cannot_be_kept_leaves_the_job_cancelled(
    runner: JobRunner, led: Led, ends: Ends, history: History, job: Job, tmp_path: Path
) -> None:
    history.checkpoints(job.id, "v").save(0, 0, [(0, 16_000)], [UTTERANCE], 5)
    runner.pause(job.id)
    runner.cancel(job.id)
    led.wait_for_start()
    led.end(_raise(AudioDecodeError("no", path="a.wav", reason="damaged")))
    assert ends.wait(job).state is JobState.CANCELLED
