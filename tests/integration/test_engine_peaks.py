"""Peaks of recordings in the history: left by a job, or made when somebody asks for them."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from asr_core.audio.peaks import PeaksWriter, read_peaks, write_peaks
from asr_core.engine import Engine, JobState, TranscribeOptions
from asr_core.errors import AudioError, RecordNotFoundError
from asr_core.settings import Settings
from asr_core.store.history import History
from tests.seeding import finish, open_history, queue, write_tone
from tests.waiting import wait_until


@pytest.fixture
def tone(tmp_path: Path) -> Path:
    return write_tone(tmp_path / "例会.wav", seconds=2.0)


@pytest.fixture
def finished(history: History, tone: Path) -> str:
    """A transcribed recording that has no peaks yet."""
    job = queue(history, tone)
    finish(history, job.id)
    return job.recording_id


def test_a_finished_recording_gets_its_peaks_once(
    engine: Engine, settings: Settings, finished: str
) -> None:
    path = engine.peaks(finished)
    assert path == settings.recordings / f"{finished}.peaks"
    info, points = read_peaks(path)
    assert info.duration_ms == 2000
    assert np.unique(points[5:-5], axis=0).tolist() == [[-3, 3]]
    before = path.stat().st_ino
    assert engine.peaks(finished) == path
    assert path.stat().st_ino == before
    assert engine.system().sizes_bytes["recordings"] == sum(
        file.stat().st_size for file in settings.recordings.iterdir()
    )
    engine.delete([finished])
    engine.purge()
    assert list(settings.recordings.iterdir()) == []


@pytest.mark.model
@pytest.mark.parametrize("channels", ["mix", "split"])
def test_a_job_leaves_the_peaks_of_what_it_decoded(
    tmp_path: Path, model_folder: Path, tone: Path, channels: str
) -> None:
    settings = Settings(home=tmp_path / "served", model_dir=model_folder, threads=2)
    with Engine(settings) as engine:
        engine.start()
        job = engine.submit(tone, TranscribeOptions(channels=channels))
        wait_until(lambda: engine.live(job.id).job.state.is_final)
        path = settings.recordings / f"{job.recording_id}.peaks"
        _, points = read_peaks(path)
        write_peaks(tone, path)
    assert points.tolist() == read_peaks(path)[1].tolist()


def test_existing_peaks_are_taken_as_they_are(
    engine: Engine, history: History, finished: str
) -> None:
    path = history.peaks_path(finished)
    assert path is not None
    writer = PeaksWriter(path)
    writer.accept(np.repeat(np.float32([0.25, 0.5]), 320))
    writer.commit()
    assert engine.outline(finished, 2) == bytes([32, 32, 64, 64])
    assert engine.outline(finished, 2, end_ms=20) == bytes([32, 32, 32, 32])


def test_damaged_peaks_are_made_again(engine: Engine, history: History, finished: str) -> None:
    path = history.peaks_path(finished)
    assert path is not None
    path.write_bytes(b"half of it")
    assert engine.peaks(finished) == path
    assert read_peaks(path)[0].duration_ms == 2000


def test_a_cancelled_recording_gets_peaks_as_well(
    engine: Engine, history: History, tone: Path
) -> None:
    job = queue(history, tone)
    history.set_state(job.id, JobState.CANCELLED)
    assert engine.peaks(job.recording_id) is not None


def test_what_waits_or_runs_has_none_yet(
    engine: Engine, history: History, settings: Settings, tone: Path
) -> None:
    job = queue(history, tone)
    assert engine.peaks(job.recording_id) is None
    history.set_state(job.id, JobState.RUNNING)
    assert engine.outline(job.recording_id, 10) is None
    assert not list(settings.recordings.glob("*.peaks"))


def test_what_is_not_kept_or_gone_has_none(
    engine: Engine, history: History, settings: Settings, tone: Path, finished: str
) -> None:
    recording_id = history.add_recording(tone, name="a.wav", origin="cli", keep="none")
    assert engine.peaks(recording_id) is None
    (settings.recordings / f"{finished}.wav").unlink()
    assert engine.peaks(finished) is None
    with pytest.raises(RecordNotFoundError):
        engine.peaks("0" * 32)


def test_a_recording_that_cannot_be_decoded_is_an_error_and_leaves_nothing(
    engine: Engine, history: History, settings: Settings, tmp_path: Path
) -> None:
    text = tmp_path / "text.wav"
    text.write_text("no sound")
    job = queue(history, text)
    finish(history, job.id)
    with pytest.raises(AudioError):
        engine.peaks(job.recording_id)
    assert [file.suffix for file in settings.recordings.iterdir()] == [".wav"]


def test_visitors_who_come_at_once_get_the_same_file(engine: Engine, finished: str) -> None:
    found: list[tuple[Path | None, int]] = []

    def look() -> None:
        path = engine.peaks(finished)
        found.append((path, path.stat().st_ino if path else 0))

    visitors = [threading.Thread(target=look) for _ in range(4)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_a_closed_engine_gives_up(settings: Settings, tmp_path: Path) -> None:
    with open_history(settings) as history:
        job = queue(history, write_tone(tmp_path / "a.wav"))
        finish(history, job.id)
    engine = Engine(settings)
    engine._stopping.set()
    assert engine.peaks(job.recording_id) is None
    engine.close()
    assert [file.suffix for file in settings.recordings.iterdir()] == [".wav"]
