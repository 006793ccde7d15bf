"""Fixtures for real material: models, also converted ones, and recordings. A pytest plugin."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import soundfile

from asr_core.errors import ModelFileMissingError
from asr_core.models.convert import OnnxOptions, convert_to_onnx
from asr_core.models.store import ModelStore
from tests.golden.paraformer_files import PLAIN, SEACO

# How long an example takes depends on the machine, not on what the test says.
hypothesis.settings.register_profile("tinglu", deadline=None)
hypothesis.settings.load_profile("tinglu")

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    """Let the programs of the tests hear Ctrl-C where the tests themselves run in the background.

    A program inherits that the signal is ignored, and would wait for it for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all processes that test side by side."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


def made_once(target: Path, make: Callable[[Path], object]) -> Path:
    """A folder that the first process makes which needs it; ``make`` publishes it as a whole."""
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            make(target)
    return target


def _converted(target: Path, source: Path, options: OnnxOptions) -> Path:
    return made_once(target, lambda folder: convert_to_onnx(source, folder, options))


@pytest.fixture(scope="session")
def seaco_fp32(shared_folder: Path) -> Path:
    """The golden Paraformer with hotwords as graphs; tests change copies only."""
    return _converted(shared_folder / "seaco_fp32", SEACO, OnnxOptions("fp32"))


@pytest.fixture(scope="session")
def seaco_sized(shared_folder: Path) -> Path:
    """The same with graphs of 20 and 90 frames besides."""
    return _converted(shared_folder / "seaco_sized", SEACO, OnnxOptions("fp32", buckets=(20, 90)))


@pytest.fixture(scope="session")
def seaco_int8(shared_folder: Path) -> Path:
    """The same with eight bits."""
    return _converted(shared_folder / "seaco_int8", SEACO, OnnxOptions("int8"))


@pytest.fixture(scope="session")
def plain_fp32(shared_folder: Path) -> Path:
    """The golden Paraformer without hotwords as graphs."""
    return _converted(shared_folder / "plain_fp32", PLAIN, OnnxOptions("fp32"))
