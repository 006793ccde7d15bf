"""The command line's choices of how a recording is read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.integration.test_cli import Run, environment, run
from tests.unit.audio.encoders import Track, encode_tracks

__all__ = ["environment", "run"]

pytestmark = pytest.mark.model

RATE_HZ = 16_000


@pytest.fixture(scope="module")
def speech(sample: Path) -> np.ndarray:
    return soundfile.read(sample, dtype="int16")[0][: 6 * RATE_HZ]


def test_raw_pcm_is_read_as_it_is_declared(run: Run, speech: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "录音机.pcm"
    path.write_bytes(speech.astype(">i2").tobytes())

    declared = run("transcribe", path, "--raw", "s16be:16000:1")
    undeclared = run("transcribe", path)

    assert (declared.returncode, undeclared.returncode) == (0, 1)
    assert declared.stdout.startswith("各位同事下午好")
    assert "--raw s16le:16000:1" in undeclared.stderr
    assert undeclared.stdout == ""


def test_channels_become_speakers_in_every_text(
    run: Run, speech: np.ndarray, tmp_path: Path
) -> None:
    path = tmp_path / "通话.wav"
    late = np.concatenate([np.zeros(7 * RATE_HZ, np.int16), speech])
    early = np.concatenate([speech, np.zeros(7 * RATE_HZ, np.int16)])
    soundfile.write(path, np.stack([late, early], axis=1), RATE_HZ)

    text = run("transcribe", path, "--channels", "split").stdout
    document = json.loads(run("transcribe", path, "--channels", "split", "--format", "json").stdout)

    assert text.startswith("声道2：各位同事下午好")
    assert "声道1：各位同事下午好" in text
    speakers = [sentence["speaker"] for sentence in document["sentences"]]
    assert speakers == sorted(speakers, reverse=True)
    assert set(speakers) == {"声道1", "声道2"}


def test_another_track_can_be_asked_for(run: Run, speech: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "双语.mkv"
    said = (speech / 32768).astype(np.float32)[None, :]
    tracks = [Track(waveform, RATE_HZ, "flac") for waveform in (np.zeros_like(said), said)]
    path.write_bytes(encode_tracks("matroska", tracks))

    default = run("transcribe", path)
    second = run("transcribe", path, "--track", "2")
    third = run("transcribe", path, "--track", "3")

    assert "多条音轨" in default.stderr
    assert second.stdout.startswith("各位同事下午好")
    assert "多条音轨" not in second.stderr
    assert third.returncode == 1
    assert "第 3 条音轨，共 2 条" in third.stderr


def test_fsmn_without_its_folder_says_where_the_folder_belongs(
    run: Run, sample: Path, tmp_path: Path
) -> None:
    result = run("transcribe", sample, "--vad", "fsmn", ASR_FSMN_DIR=str(tmp_path / "nowhere"))
    assert (result.returncode, result.stdout) == (1, "")
    assert str(tmp_path / "nowhere") in result.stderr


def test_fsmn_cuts_where_its_folder_is(run: Run, sample: Path, fsmn_folder: Path) -> None:
    result = run("transcribe", sample, "--vad", "fsmn", ASR_FSMN_DIR=str(fsmn_folder))
    assert result.returncode == 0
    assert result.stdout.startswith("各位同事下午好")
