"""The engine as the page uses it: jobs, history, exports, playback, restart."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr_core.engine import EXPORT_FORMATS, Engine, JobState, TranscribeOptions
from asr_core.errors import ExportError, JobStateError, RecordNotFoundError
from asr_core.settings import Settings
from asr_core.store.tmp_files import prune
from tests.waiting import wait_until

pytestmark = pytest.mark.model

OPTIONS = TranscribeOptions()


@pytest.fixture
def settings(tmp_path: Path, model_folder: Path) -> Settings:
    # Small passes, so that words appear and cancels act soon.
    return Settings(home=tmp_path / "home", model_dir=model_folder, threads=2, batch_windows=1)


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    with Engine(settings) as opened:
        opened.start()
        yield opened


@pytest.fixture
def long_recording(sample: Path, tmp_path: Path) -> Path:
    waveform, rate_hz = soundfile.read(sample, dtype="int16")
    path = tmp_path / "long.flac"
    soundfile.write(path, np.tile(waveform, 20), rate_hz)
    return path


def ended(engine: Engine, job_id: str) -> bool:
    return engine.live(job_id).job.state.is_final


def test_an_upload_is_kept_transcribed_found_exported_played_and_deleted(
    engine: Engine, settings: Settings, sample: Path, tmp_path: Path
) -> None:
    upload = tmp_path / "upload.flac"
    upload.write_bytes(sample.read_bytes())
    job = engine.submit(upload, OPTIONS, name="产品例会 “三”.flac")
    upload.unlink()  # the browser's copy goes away while the job waits
    wait_until(lambda: ended(engine, job.id))
    view = engine.live(job.id)
    assert view.job.state is JobState.DONE
    assert view.sentences[0].text.startswith("各位同事下午好")

    page = engine.history("用户进行")
    assert [entry.name for entry in page.entries] == ["产品例会 “三”.flac"]
    assert engine.history("不存在的话").total == 0
    record = engine.record(job.recording_id)
    assert record.transcript is not None
    assert record.transcript.sentences == view.sentences

    for name in EXPORT_FORMATS:
        exported = engine.export(job.recording_id, name)
        assert exported.name == f"产品例会 “三”.{name}"
        assert exported.stat().st_size > 100
        assert exported.is_relative_to(settings.tmp)
    with pytest.raises(ExportError):
        engine.export(job.recording_id, "xlsx")

    assert engine.playback(job.recording_id) == record.path
    engine.delete([job.recording_id])
    engine.purge()
    assert list(settings.recordings.iterdir()) == []
    with pytest.raises(RecordNotFoundError):
        engine.record(job.recording_id)


def test_a_format_that_browsers_do_not_play_is_converted_once(
    engine: Engine, settings: Settings, sample: Path, tmp_path: Path
) -> None:
    waveform, rate_hz = soundfile.read(sample, dtype="float32")
    path = tmp_path / "old.aiff"
    soundfile.write(path, waveform[: 2 * rate_hz], rate_hz)
    job = engine.submit(path, OPTIONS)
    played = engine.playback(job.recording_id)
    assert played is not None
    assert played.suffix == ".m4a"
    assert played.is_relative_to(settings.tmp)
    before = played.stat().st_ino
    assert engine.playback(job.recording_id) == played
    assert played.stat().st_ino == before


def test_cancelling_a_running_job_keeps_its_text(engine: Engine, long_recording: Path) -> None:
    job = engine.submit(long_recording, OPTIONS)
    waiting = engine.submit(long_recording, OPTIONS)
    assert engine.live(waiting.id).queue_position >= 1
    assert [one.id for one in engine.active_jobs()] == [job.id, waiting.id]
    wait_until(lambda: bool(engine.live(job.id).sentences))
    assert engine.cancel(waiting.id).state is JobState.CANCELLED
    engine.cancel(job.id)
    wait_until(lambda: ended(engine, job.id))
    view = engine.live(job.id)
    assert view.job.state is JobState.PARTIAL
    assert view.sentences[0].text.startswith("各位同事下午好")
    assert view.sentences[-1].end_ms < 500_000
    with pytest.raises(JobStateError):
        engine.cancel(job.id)


def test_stopping_the_server_loses_no_job(settings: Settings, long_recording: Path) -> None:
    with Engine(settings) as first:
        first.start()
        running = first.submit(long_recording, OPTIONS)
        waiting = first.submit(long_recording, OPTIONS)
        wait_until(lambda: bool(first.live(running.id).sentences))
    with Engine(settings) as second:
        assert [job.id for job in second.active_jobs()] == [running.id, waiting.id]
        assert {job.state for job in second.active_jobs()} == {JobState.QUEUED}


def test_an_unusable_file_fails_with_its_name_and_the_next_one_runs(
    engine: Engine, sample: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "upload-1"
    broken.write_bytes(b"plain text, no sound" * 100)
    bad = engine.submit(broken, OPTIONS, name="会议纪要.mp3", batch_id="b")
    good = engine.submit(sample, OPTIONS, batch_id="b")
    wait_until(lambda: ended(engine, good.id))
    states = {job.name: job.state for job in engine.jobs("b")}
    assert states == {"会议纪要.mp3": JobState.FAILED, sample.name: JobState.DONE}
    failed = engine.live(bad.id).job
    assert failed.error_code == "audio_decode"
    assert failed.error_details == {"path": "会议纪要.mp3", "reason": "not_audio"}
    with pytest.raises(ExportError):
        engine.export(bad.recording_id, "txt")


def test_the_state_says_what_really_runs(engine: Engine) -> None:
    wait_until(lambda: engine.status().state == "ready")
    status = engine.status()
    assert (status.model, status.backend, status.device) == (
        "whisper-base",
        "ctranslate2 int8",
        "cpu",
    )
    assert status.threads == 2
    models = [(model.name, model.state, model.active) for model in engine.models()]
    assert models == [
        ("whisper-base", "installed", True),
        ("seaco-paraformer", "missing", False),
        ("paraformer", "missing", False),
        ("fsmn-vad", "missing", False),
        ("ct-punc", "missing", False),
    ]
    system = engine.system()
    assert system.versions["tinglu"]
    assert system.sizes_bytes["database"] > 0
    assert 0 < system.rss_bytes < system.memory_total_bytes


def test_an_npu_is_never_replaced_by_the_cpu(settings: Settings, sample: Path) -> None:
    npu = Settings(home=settings.home, model_dir=settings.model_dir, device="npu:0")
    with Engine(npu) as engine:
        engine.start()
        job = engine.submit(sample, OPTIONS)
        wait_until(lambda: ended(engine, job.id))
        assert engine.live(job.id).job.error_code == "device_unavailable"
        status = engine.status()
        assert (status.state, status.device) == ("unavailable", "npu:0")
        assert status.error_details["device"] == "npu:0"


def test_a_dictation_does_not_wait_for_a_long_recording(
    engine: Engine, long_recording: Path, sample: Path
) -> None:
    running = engine.submit(long_recording, OPTIONS)
    waiting = engine.submit(long_recording, OPTIONS)
    wait_until(lambda: bool(engine.live(running.id).sentences))
    dictation = engine.submit(sample, OPTIONS, origin="dictation")
    assert engine.live(dictation.id).queue_position <= 1
    wait_until(lambda: ended(engine, dictation.id))
    assert engine.live(dictation.id).sentences[0].text.startswith("各位同事下午好")
    assert engine.live(running.id).job.state is JobState.RUNNING
    assert engine.live(waiting.id).job.state is JobState.QUEUED
    engine.cancel(waiting.id)
    engine.cancel(running.id)


def test_temporary_files_stay_inside_their_limits(tmp_path: Path) -> None:
    now = time.time()
    for age_h, name in [(30, "old"), (3, "a/older"), (2, "a/middle"), (1, "b/young")]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * 100)
        os.utime(path, (now - age_h * 3600, now - age_h * 3600))
    assert prune(tmp_path, max_age_s=24 * 3600, max_bytes=250) == 200
    kept = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert kept == {"middle", "young"}
    assert prune(tmp_path / "absent", max_age_s=1, max_bytes=1) == 0
