"""Jobs with a model each: two small networks with random weights run through the whole engine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from asr_core.engine import BatchRequest, Engine, JobState, TranscribeOptions
from asr_core.settings import Settings
from tests.golden.paraformer_files import PLAIN, SEACO
from tests.waiting import wait_until

OPTIONS = TranscribeOptions(vad="off", marks="own")
FIRST, SECOND = "paraformer_onnx", "paraformer_plain"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", threads=1)


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    with Engine(settings) as opened:
        for folder in (SEACO, PLAIN):
            opened.add_model_folder(folder)
        opened.use_model(FIRST)
        yield opened


def ended(engine: Engine, job_id: str) -> bool:
    return engine.live(job_id).job.state.is_final


def model_of(engine: Engine, recording_id: str) -> str:
    transcript = engine.record(recording_id).transcript
    return transcript.model.name if transcript else ""


def test_each_job_runs_with_its_model_and_says_so(engine: Engine, sample: Path) -> None:
    engine.start()
    jobs = [engine.submit(sample, replace(OPTIONS, model=name)) for name in ("", SECOND)]
    wait_until(lambda: all(ended(engine, job.id) for job in jobs))
    assert [job.options.model for job in jobs] == [FIRST, SECOND]
    assert [model_of(engine, job.recording_id) for job in jobs] == [FIRST, SECOND]
    assert [entry.model for entry in engine.history().entries] == [SECOND, FIRST]
    loaded = {model.name: model.backend for model in engine.models() if model.backend}
    assert loaded == {FIRST: "onnxruntime fp32", SECOND: "onnxruntime fp32"}


def test_a_job_keeps_its_model_over_a_restart_and_another_default(
    engine: Engine, settings: Settings, sample: Path
) -> None:
    job = engine.submit(sample, OPTIONS)  # the engine is not started: it waits
    engine.use_model(SECOND)
    engine.close()
    with Engine(settings) as again:
        again.start()
        later = again.submit(sample, OPTIONS)
        wait_until(lambda: ended(again, job.id) and ended(again, later.id))
        assert model_of(again, job.recording_id) == FIRST
        assert model_of(again, later.recording_id) == SECOND
        assert again.status().model == SECOND


def test_a_model_that_fails_is_told_by_its_job_and_the_others_go_on(
    engine: Engine, sample: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "stick"
    shutil.copytree(PLAIN, folder)
    engine.add_model_folder(folder)
    (folder / "am.mvn").unlink()
    engine.start()
    jobs = [engine.submit(sample, replace(OPTIONS, model=name)) for name in ("stick", FIRST)]
    wait_until(lambda: all(ended(engine, job.id) for job in jobs))
    bad, good = (engine.live(job.id).job for job in jobs)
    assert (bad.state, bad.error_code) == (JobState.FAILED, "model_missing")
    assert (bad.error_details["files"], bad.error_details["folder"]) == ("am.mvn", str(folder))
    assert good.state is JobState.DONE
    assert engine.status().state in ("ready", "busy")


def test_an_unknown_model_fails_with_what_there_is(engine: Engine, sample: Path) -> None:
    engine.start()
    job = engine.submit(sample, replace(OPTIONS, model="nobody"))
    wait_until(lambda: ended(engine, job.id))
    failed = engine.live(job.id).job
    assert (failed.state, failed.error_code) == (JobState.FAILED, "unknown_model")
    assert FIRST in failed.error_details["known"]


def test_one_model_at_a_time_where_memory_is_short(settings: Settings, sample: Path) -> None:
    with Engine(replace(settings, loaded_models=1)) as engine:
        for folder in (SEACO, PLAIN):
            engine.add_model_folder(folder)
        engine.use_model(FIRST)
        engine.start()
        jobs = [engine.submit(sample, replace(OPTIONS, model=name)) for name in (FIRST, SECOND)]
        wait_until(lambda: all(ended(engine, job.id) for job in jobs))
        assert [model.name for model in engine.models() if model.backend] == [SECOND]
        # The default is not in memory, and there when it is needed.
        assert engine.status().state == "ready"


def test_results_of_a_batch_belong_to_their_model(
    engine: Engine, sample: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "录音"
    folder.mkdir()
    shutil.copy(sample, folder)
    engine.start()

    def states(model: str) -> list[str]:
        request = BatchRequest(replace(OPTIONS, model=model), source=folder)
        batch = engine._batches.start(request, bound=False)
        wait_until(lambda: engine.batch(batch.id).state.is_final)
        return [item.note or item.state.value for item in engine.batch_items(batch.id)]

    assert states("") == ["done"]
    assert states(FIRST) == ["already_done"]
    assert states(SECOND) == ["done"]
    engine.use_model(SECOND)
    assert states("") == ["already_done"]


def test_what_hotwords_are_good_for_is_known_before_loading(engine: Engine) -> None:
    assert engine.hotword_use(FIRST) == engine.hotword_use() == "heard"
    assert engine.hotword_use(SECOND) == "sound"


def test_a_forgotten_folder_does_not_answer_for_another_of_its_name(
    engine: Engine, tmp_path: Path
) -> None:
    options = replace(OPTIONS, model="mine")
    for parent, source in (("a", SEACO), ("b", PLAIN)):
        shutil.copytree(source, tmp_path / parent / "mine")
    engine.add_model_folder(tmp_path / "a" / "mine")
    equipment = engine._equipment
    with equipment.stages(options) as stages:
        assert stages.worker.ready().supports_hotwords
        first = equipment.fingerprint(options, stages)
        engine.forget_model_folder("mine")
        assert engine.add_model_folder(tmp_path / "b" / "mine").name == "mine"
        assert not next(model for model in engine.models() if model.name == "mine").backend
    with equipment.stages(options) as stages:
        assert not stages.worker.ready().supports_hotwords
        # What was recognized with the other folder is not taken up.
        assert equipment.fingerprint(options, stages) != first
